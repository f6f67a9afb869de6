"""Writes a random graph: values that operators read come from earlier nodes, or are made for them."""

from __future__ import annotations

import functools

import numpy as np
import onnx
from onnx import helper, numpy_helper

from cases.graphs.adapt import adapted
from cases.graphs.requirement import Requirement
from cases.graphs.values import ANY, BOOL, LARGEST, MANTISSA, Program, Range, Value

OPSETS = [9, 11, 13, 13, 17, 18, 18, 21]
SIZES = [1, 2, 2, 3, 3, 4, 5, 7, 8, 17]
# Few programs have them: what is larger than a tile of a kernel.
LARGE_SIZES = [16, 31, 33, 64, 100]
MOST_ELEMENTS = 20_000
SYMBOLS = "nmk"


def onnx_type(dtype: np.dtype) -> int:
    return helper.np_dtype_to_tensor_dtype(dtype)


@functools.cache
def is_in(op: str, opset: int) -> bool:
    return onnx.defs.has(op, max_inclusive_version=opset)


def fits_single(value: Value) -> bool:
    is_exact_there = value.bound < value.grid * 2.0 ** (MANTISSA[np.dtype(np.float32)] - 1)
    return not value.special and (is_exact_there or not value.is_exact)


class Builder:
    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        self.seed = seed
        self.opset = int(self.choose(OPSETS))
        self.has_empty = self.chance(0.06)
        self.has_large = self.chance(0.06)
        self.special = self.chance(0.2)
        self.symbols = {name: self.size() for name in SYMBOLS}
        # The usual types and sizes of a program, so that its operators find each other's results.
        self.usual_types = [self.choose(ANY), self.choose(ANY), BOOL]
        self.usual_dims = self.dims(self.integer(1, 3))
        self.values: list[Value] = []
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.feeds: dict[str, np.ndarray] = {}
        self.operators: set[str] = set()
        self.made = 0
        # The value that the next operator reads first, if it can.
        self.preferred: Value | None = None
        # Results that are outputs although others read them.
        self.shown: set[str] = set()

    # Choices
    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def choose(self, options):
        return options[int(self.random.integers(len(options)))]

    def integer(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def size(self) -> int:
        if self.has_empty and self.chance(0.3):
            return 0
        return int(self.choose(LARGE_SIZES if self.has_large and self.chance(0.4) else SIZES))

    def dims(self, rank: int, *, fixed: bool = False) -> tuple[int | str, ...]:
        opens = not fixed and self.chance(0.5)
        return tuple(
            self.choose(SYMBOLS) if opens and self.chance(0.6) else self.size() for _ in range(rank)
        )

    def shape_of(self, dims) -> tuple[int, ...]:
        return tuple(self.symbols[d] if isinstance(d, str) else d for d in dims)

    def axis(self, rank: int) -> int:
        """Counted from either end."""
        return self.integer(-rank, rank - 1)

    # Values
    def new_name(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made}"

    def elements(
        self, dtype, shape, low: float, high: float, grid: float, special: bool
    ) -> np.ndarray:
        if dtype == BOOL:
            return self.random.integers(0, 2, shape).astype(bool)
        first, last = int(np.ceil(low / grid)), int(np.floor(high / grid))
        data = (self.random.integers(first, last + 1, shape) * grid).astype(dtype)
        if special and dtype in MANTISSA and data.size:
            odd = [np.nan, np.inf, -np.inf, -0.0, 0.0]
            top = LARGEST.get(dtype, 3e38)
            odd += [top, -top]
            places = self.random.random(shape) < 0.4
            picks = self.random.integers(0, len(odd), shape)
            data = np.where(places, np.array(odd)[picks].astype(dtype), data)
        return np.asarray(data, dtype=dtype)

    def leaf(
        self, dtype, dims, low=-4.0, high=4.0, grid=None, special=False, constant=None
    ) -> Value:
        """A new input or initializer; dynamic dimensions make it an input."""
        if any(isinstance(d, str) and d not in SYMBOLS for d in dims):
            raise Skip("only a result has such a size")
        if grid is None:
            grid = 0.25 if dtype in MANTISSA else 1.0
        if dtype == BOOL:
            low, high, grid = 0, 1, 1
        shape = self.shape_of(dims)
        if np.prod(shape) > MOST_ELEMENTS:
            raise Skip("too large")
        data = self.elements(dtype, shape, low, high, grid, special)
        is_open = any(isinstance(d, str) for d in dims)
        if constant is None:
            constant = not is_open and self.chance(0.35)
        value = Value(
            self.new_name("w" if constant else "x"), dtype, tuple(dims), shape, low, high, grid,
            special=special and dtype in MANTISSA,
        )  # fmt: skip
        self.add_leaf(value, data, constant)
        return value

    def add_leaf(self, value: Value, data: np.ndarray, constant: bool) -> None:
        if constant:
            value.is_constant = True
            value.dims = value.shape
            tensor = numpy_helper.from_array(data, value.name)
            if self.chance(0.3):
                self.add(helper.make_node("Constant", [], [value.name], value=tensor))
            else:
                self.initializers.append(tensor)
        else:
            self.inputs.append(
                helper.make_tensor_value_info(value.name, onnx_type(value.dtype), list(value.dims))
            )
            self.feeds[value.name] = data
        self.values.append(value)

    def integers(self, numbers) -> str:
        """A constant list, as operators take axes and shapes."""
        name = self.new_name("i")
        tensor = numpy_helper.from_array(np.array(numbers, np.int64), name)
        if self.chance(0.2):
            self.add(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.initializers.append(tensor)
        return name

    def number(self, value, dtype=np.int64) -> str:
        """A constant of rank 0."""
        return self.tensor(np.array(value, dtype))

    def tensor(self, data: np.ndarray) -> str:
        """A constant that no other operator reads."""
        name = self.new_name("i")
        self.initializers.append(numpy_helper.from_array(data, name))
        return name

    def axes_of(self, op: str, axes, *, since: int, name: str = "axes"):
        """A list of numbers as the version has it: the inputs and the attributes."""
        if self.opset >= since:
            return [self.integers(axes)], {}
        return [], {name: [int(i) for i in axes]}

    def derived(self, formula: str, size: int) -> int | str:
        """A size that is computed from open ones; the formula names it."""
        self.symbols[formula] = size
        return formula

    def pick(self, dtypes, *, dims=None, **options) -> Value:
        """A value to read: an existing one, one made of it, or a new input."""
        wanted = Requirement(dtypes, None if dims is None else tuple(dims), **options)
        preferred, self.preferred = self.preferred, None
        if preferred and wanted.fits(preferred):
            return preferred
        if preferred and (made := adapted(self, preferred, wanted)):
            return made
        fits = [value for value in self.values if wanted.fits(value)]
        computed = [value for value in fits if value.is_computed]
        if computed and self.chance(0.85):
            # The latest most often, so that graphs are deep.
            return computed[-1] if self.chance(0.4) else self.choose(computed)
        if fits and self.chance(0.6):
            return self.choose(fits)
        computed = [value for value in self.values if value.is_computed]
        if computed and self.chance(0.4) and (made := adapted(self, self.choose(computed), wanted)):
            return made
        return self.new_input(wanted)

    def new_input(self, wanted: Requirement) -> Value:
        usual = [dtype for dtype in self.usual_types if dtype in wanted.dtypes]
        dtype = self.choose(usual if usual and self.chance(0.8) else list(wanted.dtypes))
        dims = self.dims_for(wanted, dtype)
        grid = 0.25 if dtype in MANTISSA else 1.0
        a, b = max(wanted.low, -4.0), min(wanted.high, 4.0)
        if a > b:
            a, b = wanted.low, wanted.high
        if np.floor(b / grid) < np.ceil(a / grid):
            grid = 2.0**-5
        return self.leaf(dtype, dims, a, b, grid, special=self.special and not wanted.calm)

    def dims_for(self, wanted: Requirement, dtype) -> tuple[int | str, ...]:
        def fits(dims) -> bool:
            return wanted.fits_shape(Value("", dtype, tuple(dims), self.shape_of(dims)))

        if wanted.dims is not None:
            return wanted.dims
        if self.chance(0.6) and fits(self.usual_dims):
            return self.usual_dims
        for _ in range(20):
            dims = self.dims(self.choose(list(wanted.ranks or (0, 1, 2, 2, 3, 4))))
            if fits(dims):
                return dims
        raise Skip("no shape fits")

    # Nodes
    def add(self, node: onnx.NodeProto) -> None:
        if not is_in(node.op_type, self.opset):
            raise Skip("a later version has it")
        self.nodes.append(node)
        self.operators.add(node.op_type)

    def type_code(self, dtype: np.dtype) -> int:
        return onnx_type(dtype)

    def result(self, dtype, dims, made: Range) -> Value:
        dims = tuple(dims)
        value = Value(
            self.new_name("v"), dtype, dims, self.shape_of(dims), made.low, made.high, made.grid,
            made.error, made.special, is_computed=True,
        )  # fmt: skip
        if dtype in MANTISSA:
            limit = LARGEST.get(dtype, 1e30)
        else:
            limit = 2 if dtype == BOOL else float(np.iinfo(dtype).max)
        if value.bound >= limit and not value.special:
            raise Skip("out of the type's range")
        if value.elements > MOST_ELEMENTS:
            raise Skip("too large")
        return value

    def node(self, op: str, inputs, dtype, dims, made: Range, **attributes) -> Value:
        """Adds a node with one result."""
        return self.node_of(op, inputs, [self.result(dtype, dims, made)], **attributes)[0]

    def node_of(self, op: str, inputs, results: list[Value], **attributes) -> list[Value]:
        names = [value.name if isinstance(value, Value) else value for value in inputs]
        self.add(helper.make_node(op, names, [value.name for value in results], **attributes))
        self.values += results
        return results

    def finish(self) -> Program:
        computed = [v for v in self.values if v.is_computed]
        read = {name for node in self.nodes for name in node.input}
        outputs = [
            v for v in computed if v.name not in read or v.name in self.shown or self.chance(0.2)
        ]
        outputs = outputs[-6:]
        if self.chance(0.08) and self.inputs:
            outputs += [v for v in self.values if v.name == self.inputs[0].name]
        elif self.chance(0.05):
            outputs += [v for v in self.values if v.is_constant][:1]
        graph = helper.make_graph(
            self.nodes,
            f"seed{self.seed}",
            self.inputs,
            [
                helper.make_tensor_value_info(v.name, onnx_type(v.dtype), [None] * v.rank)
                for v in outputs
            ],
            self.initializers,
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9
        )
        return Program(
            self.seed,
            model,
            self.feeds,
            {v.name: v.error for v in self.values},
            {v.name for v in self.values if v.special},
            {v.name: v.dtype for v in self.values},
            {v.name: v.shape for v in self.values},
            all(fits_single(v) for v in self.values if v.dtype == np.float64),
            self.operators,
        )


class Skip(Exception):
    """The operator does not fit; another one is tried instead."""
