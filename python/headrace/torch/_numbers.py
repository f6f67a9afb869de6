"""Numbers that PyTorch computes from sizes, and from numbers it is called with."""

from __future__ import annotations

from typing import Any

import sympy
import torch
from torch import fx
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis

from headrace.torch._context import Unsupported

#: Where the value of a symbol stands at a call: an input's number, and which dimension of it; None
#: for the input itself, "item" for the one element it has.
Place = tuple[int, int | str | None]


class Number:
    """An integer, float or truth value that depends on the symbols of a graph."""

    def __init__(
        self, symbolic: Any, symbols: dict[sympy.Symbol, Place], kind: type | None = None
    ) -> None:
        self.expr = symbolic.node.expr if hasattr(symbolic, "node") else sympy.sympify(symbolic)
        kinds = {torch.SymFloat: float, torch.SymBool: bool}
        self.kind = kind or kinds.get(type(symbolic), int)
        if not self.expr.free_symbols <= symbols.keys():
            raise Unsupported("a number that is computed from the elements of tensors (item)")

    def __call__(self, values: dict[sympy.Symbol, Any]) -> Any:
        return self.kind(sympy_interp(PythonReferenceAnalysis, values, self.expr))


def find_symbols(module: fx.GraphModule) -> dict[sympy.Symbol, Place]:
    """Where each symbol of the graph can be read off at a call."""
    symbols: dict[sympy.Symbol, Place] = {}
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    for number, node in enumerate(inputs):
        value = node.meta["example_value"]
        if is_symbol(value):
            symbols.setdefault(value.node.expr, (number, None))
        elif isinstance(value, torch.Tensor):
            for dim, size in enumerate(value.shape):
                if is_symbol(size):
                    symbols.setdefault(size.node.expr, (number, dim))
            for user in node.users:
                found = user.meta.get("example_value")
                if user.op == "call_method" and user.target == "item" and is_symbol(found):
                    symbols.setdefault(found.node.expr, (number, "item"))
    return symbols


def is_symbol(value: Any) -> bool:
    symbolic = isinstance(value, (torch.SymInt, torch.SymFloat))
    return symbolic and isinstance(value.node.expr, sympy.Symbol)


def read_symbols(symbols: dict[sympy.Symbol, Place], args: tuple[Any, ...]) -> dict[Any, Any]:
    values = {}
    for symbol, (number, place) in symbols.items():
        arg = args[number]
        if place is None:
            values[symbol] = arg
        else:
            values[symbol] = arg.item() if place == "item" else arg.shape[place]
    return values
