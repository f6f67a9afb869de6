"""Writes a random graph: values that operators read come from earlier nodes, or are made for them."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper
from values import ANY, BOOL, LARGEST, MANTISSA, Program, Range, Value

SIZES = [1, 2, 2, 3, 3, 4, 5, 7, 8, 17]
SYMBOLS = "nmk"


def onnx_type(dtype: np.dtype) -> int:
    return helper.np_dtype_to_tensor_dtype(dtype)


class Builder:
    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        self.seed = seed
        self.opset = int(self.choose([13, 17, 18, 21]))
        self.has_empty = self.chance(0.06)
        self.special = self.chance(0.2)
        self.symbols = {name: self.size() for name in SYMBOLS}
        # What a program mostly has, so that its operators find each other's results.
        self.usual_types = [self.choose(ANY), self.choose(ANY), BOOL]
        self.usual_dims = self.dims(self.integer(1, 3))
        self.values: list[Value] = []
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.feeds: dict[str, np.ndarray] = {}
        self.operators: set[str] = set()
        self.made = 0

    # Choices
    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def choose(self, options):
        return options[int(self.random.integers(len(options)))]

    def integer(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def size(self) -> int:
        return 0 if self.has_empty and self.chance(0.3) else int(self.choose(SIZES))

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
        """A new input or initializer; open sizes make it an input."""
        if grid is None:
            grid = 0.25 if dtype in MANTISSA else 1.0
        if dtype == BOOL:
            low, high, grid = 0, 1, 1
        shape = self.shape_of(dims)
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
                self.nodes.append(helper.make_node("Constant", [], [value.name], value=tensor))
                self.operators.add("Constant")
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
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
            self.operators.add("Constant")
        else:
            self.initializers.append(tensor)
        return name

    def pick(self, dtypes, *, dims=None, ranks=None, low=-64.0, high=64.0, exact=False, accept=None,
             calm=True) -> Value:  # fmt: skip
        """A value to read, of one of the types and within the range: one that is there, or a new one.

        `calm` refuses values with NaN, infinities and the like among them.
        """
        fits = [
            value
            for value in self.values
            if value.dtype in dtypes
            and (dims is None or value.dims == tuple(dims))
            and (ranks is None or value.rank in ranks)
            and value.low >= low
            and value.high <= high
            and not (exact and not value.is_exact)
            and not (calm and value.special)
            and value.error <= 1e3
            and (accept is None or accept(value))
        ]
        if fits and self.chance(0.75):
            # The latest most often, so that graphs are deep.
            return fits[-1] if self.chance(0.5) else self.choose(fits)
        usual = [dtype for dtype in self.usual_types if dtype in dtypes]
        dtype = self.choose(usual if usual and self.chance(0.8) else list(dtypes))
        if dims is None and self.chance(0.6):
            trial = Value("", dtype, self.usual_dims, self.shape_of(self.usual_dims))
            if (ranks is None or trial.rank in ranks) and (accept is None or accept(trial)):
                dims = self.usual_dims
        if dims is None:
            for _ in range(20):
                dims = self.dims(self.choose(list(ranks or (0, 1, 2, 2, 3, 4))))
                trial = Value("", dtype, dims, self.shape_of(dims))
                if accept is None or accept(trial):
                    break
            else:
                raise Skip("no shape fits")
        grid = 0.25 if dtype in MANTISSA else 1.0
        a, b = max(low, -4.0), min(high, 4.0)
        if a > b:
            a, b = low, high
        if np.floor(b / grid) < np.ceil(a / grid):
            grid = 2.0**-5
        return self.leaf(dtype, dims, a, b, grid, special=self.special and not calm)

    # Nodes
    def node(self, op: str, inputs, dtype, dims, result: Range, *, extra=(), **attributes) -> Value:
        """Adds a node with one result that counts; `extra` names further outputs."""
        name = self.new_name("v")
        names = [value.name if isinstance(value, Value) else value for value in inputs]
        dims = tuple(dims)
        value = Value(
            name, dtype, dims, self.shape_of(dims), result.low, result.high, result.grid,
            result.error, result.special,
        )  # fmt: skip
        if dtype in MANTISSA:
            limit = LARGEST.get(dtype, 1e30)
        else:
            limit = 2 if dtype == BOOL else float(np.iinfo(dtype).max)
        if value.bound >= limit and not value.special:
            raise Skip("out of the type's range")
        self.nodes.append(helper.make_node(op, names, [name, *extra], **attributes))
        self.operators.add(op)
        self.values.append(value)
        return value

    def finish(self) -> Program:
        computed = [v for v in self.values if not v.name.startswith(("x", "w"))]
        read = {name for node in self.nodes for name in node.input}
        outputs = [v for v in computed if v.name not in read or self.chance(0.25)]
        outputs = outputs[-5:]
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
            self.operators,
        )


class Skip(Exception):
    """What was tried does not fit; another operator is tried instead."""
