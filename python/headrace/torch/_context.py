"""The context of an ATen operator's lowering: the builder of the program, and the node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch import fx

from headrace import _core

NAMES = {
    torch.bool: "bool",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}

TYPES = {name: dtype for dtype, name in NAMES.items()}

Tensor = _core.GraphNode
Size = int | _core.OpenSize
# Arithmetic on sizes as numbers: sympy's operation or PyTorch's, and the function.
OF_SIZES = {
    "Add": "add", "Mul": "mul", "Pow": "power", "PowByNatural": "power", "FloatPow": "power",
    "IntTrueDiv": "div", "FloatTrueDiv": "div", "FloorDiv": "floor_divide",
    "CleanDiv": "floor_divide", "Mod": "modulo", "PythonMod": "modulo", "Max": "max", "Min": "min",
    "Abs": "abs", "OpaqueUnaryFn_sqrt": "sqrt", "floor": "floor", "FloorToInt": "floor",
    "ceiling": "ceil", "CeilToInt": "ceil", "TruncToInt": "trunc", "TruncToFloat": "trunc",
    "ToFloat": "",
}  # fmt: skip


Place = tuple[str, int]  # a file of the user's, and a line of it


@dataclass(frozen=True)
class Reason:
    """A feature that the program does not have, and which node of PyTorch's graph asks for it."""

    what: str
    place: Place | None = None
    node: fx.Node | None = None


class Unsupported(Exception):
    """One or more features that the program does not have; the message names them."""

    def __init__(self, message: str, reasons: Sequence[Reason] = ()) -> None:
        super().__init__(message)
        self.reasons = list(reasons)

    @property
    def place(self) -> Place | None:
        return next((reason.place for reason in self.reasons if reason.place), None)


def dtype_name(dtype: torch.dtype) -> str:
    if dtype not in NAMES:
        raise Unsupported(f"tensors of {dtype}")
    return NAMES[dtype]


def fixed(size: Any) -> int | None:
    """The size where it is known: PyTorch may have settled on a value."""
    if isinstance(size, torch.SymInt):
        expr = size.node.shape_env.simplify(size.node.expr)
        return int(expr) if expr.is_Integer else None
    return size


class Context:
    """Writes operators into the program that is being built, for one node of the graph at a time."""

    def __init__(
        self, builder: _core.GraphBuilder, differentiates: bool, symbols: dict[sympy.Symbol, Any]
    ) -> None:
        self.builder = builder
        self.differentiates = differentiates  # whether a result may be asked for its gradient
        self.symbols = symbols  # of sizes and numbers, and where each can be read off at a call
        self.node: fx.Node | None = None
        self.values: dict[fx.Node, Any] = {}  # of the nodes before it
        self._sizes: dict[sympy.Expr, Size] = {}
        self._examples: dict[str, int] = {}
        self.dimensions: set[sympy.Symbol] = (
            set()
        )  # symbols that are sizes of tensors the program reads
        # Further inputs, with their names: expressions over Python numbers, and random tensors.
        self.extra: list[tuple[str, Any]] = []
        self._numbers: dict[sympy.Expr, Tensor] = {}

    # The node's result as PyTorch sees it.

    @property
    def value(self) -> Any:
        return self.node.meta["val"]

    @property
    def dtype(self) -> str:
        return dtype_name(self.value.dtype)

    @property
    def shape(self) -> list[Size]:
        return self.sizes(self.value.shape)

    def value_of(self, argument: int | str) -> Any:
        """An argument as PyTorch sees it: a fake tensor where it is a tensor."""
        found = (
            self.node.kwargs.get(argument)
            if isinstance(argument, str)
            else self.node.args[argument]
            if argument < len(self.node.args)
            else None
        )
        return found.meta["val"] if isinstance(found, fx.Node) else found

    # Sizes

    def sizes(self, sizes: Iterable[Any]) -> list[Size]:
        return [self.size(size) for size in sizes]

    def size(self, size: Any) -> Size:
        if isinstance(size, torch.SymInt):
            self._note_examples(size.node.shape_env)
            size = size.node.shape_env.simplify(size.node.expr)
        if isinstance(size, (int, sympy.Integer)):
            return int(size)
        if isinstance(size, _core.OpenSize):
            return size
        if size not in self._sizes:
            self._sizes[size] = self._translate(size)
        return self._sizes[size]

    def _note_examples(self, environment: Any) -> None:
        """The sizes in the call that is traced. PyTorch renamed the table of them and warns of the old name."""
        renamed = hasattr(environment, "backed_var_to_val")
        table = environment.backed_var_to_val if renamed else environment.var_to_val
        for symbol, value in table.items():
            if isinstance(value, (int, sympy.Integer)) and value > 0:
                self._examples[str(symbol)] = int(value)

    def _translate(self, expr: sympy.Expr) -> Size:
        if isinstance(expr, sympy.Symbol):
            if expr not in self.dimensions:
                raise Unsupported("a size that no tensor among the inputs has")
            return self.builder.symbol(str(expr), self._examples.get(str(expr), 0))
        if isinstance(expr, sympy.Pow) and expr.exp.is_Integer and expr.exp > 0:
            return self._fold("mul", [expr.base] * int(expr.exp))
        functions = {"Add": "add", "Mul": "mul", "FloorDiv": "floordiv", "CleanDiv": "floordiv",
                     "Mod": "mod", "PythonMod": "mod"}  # fmt: skip
        function = functions.get(type(expr).__name__)
        if function is None:
            raise Unsupported(f"the size {expr}")
        return self._fold(function, expr.args)

    def _fold(self, function: str, parts: Sequence[Any]) -> Size:
        total = self.size(parts[0])
        for part in parts[1:]:
            total = self.builder.arithmetic(function, total, self.size(part))
        return total

    # Operators

    def map(self, function: str, *operands: Any, dtype: str | None = None) -> Tensor:
        """A function of scalars over tensors and numbers, all taken in one element type."""
        tensors = [x for x in operands if isinstance(x, Tensor)]
        dtype = dtype or self.builder.dtype(tensors[0])
        return self.builder.elementwise(function, [self.typed(x, dtype) for x in operands])

    def typed(self, x: Any, dtype: str) -> Tensor:
        if isinstance(x, Tensor):
            return self.builder.cast(x, dtype)
        return self.scalar(x, dtype)

    def scalar(self, value: Any, dtype: str) -> Tensor:
        if isinstance(value, (torch.SymInt, torch.SymFloat)):
            return self.builder.cast(self.number(value), dtype)
        return self.builder.scalar(float(value), dtype)

    def number(self, value: Any) -> Tensor:
        """A symbolic number as a tensor of rank 0."""
        return self._number(value.node.expr)

    def _number(self, expr: sympy.Expr) -> Tensor:
        """The value of an expression over sizes and Python numbers, of rank 0 in double precision."""
        if expr.is_number:
            return self.builder.scalar(float(expr), "f64")
        if not expr.free_symbols & self.dimensions:
            return self._given(expr)
        if isinstance(expr, sympy.Symbol):
            return self.builder.size_as_data(self.size(expr), "f64")
        function = OF_SIZES.get(type(expr).__name__)
        if function is None:
            raise Unsupported(f"the number {expr}")
        total, *others = [self._number(part) for part in expr.args]
        if not others:
            return self.builder.elementwise(function, [total]) if function else total
        for part in others:
            total = self.builder.elementwise(function, [total, part])
        return total

    def _given(self, expr: sympy.Expr) -> Tensor:
        """A number that no size tells (a Python number that changes): one more input."""
        if expr not in self._numbers:
            self._numbers[expr] = self.extra_input("number", expr, "f64", [])
        return self._numbers[expr]

    def extra_input(self, kind: str, source: Any, dtype: str, shape: Sequence[Size]) -> Tensor:
        name = f"{kind} {len(self.extra)}"
        self.extra.append((name, source))
        return self.builder.input(name, dtype, list(shape))

    def constant(self, value: torch.Tensor) -> Tensor:
        value = value.detach().cpu().contiguous()
        return self.builder.constant(value, dtype_name(value.dtype))

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        return self.builder.cast(x, dtype)


Function = Callable[..., Any]
FUNCTIONS: dict[Any, Function] = {}


def aten(*names: str) -> Callable[[Function], Function]:
    """Enters a function of operators: "add" stands for all overloads, "add.Tensor" for one."""

    def enter(function: Function) -> Function:
        for name in names:
            for overload in overloads(name):
                FUNCTIONS[overload] = function
        return function

    return enter


def overloads(name: str) -> list[Any]:
    packet_name, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, packet_name, None)
    if packet is None:  # another version of PyTorch
        return []
    if overload:
        return [getattr(packet, overload)] if overload in packet.overloads() else []
    return [getattr(packet, each) for each in packet.overloads() if not each.endswith("out")]
