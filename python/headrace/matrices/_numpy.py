"""NumPy's functions on lazy matrices: `np.exp(X)`, `np.where(X > 0, X, 0)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace import _core, _functions
from headrace.errors import InvalidArgumentError
from headrace.matrices import _matrix as m
from headrace.matrices._graph import Node


def _cells(function: str) -> Callable[[Any], Any]:
    return lambda x: m.applied(function, x)


def _pair(function: str) -> Callable[[Any, Any], Any]:
    return lambda a, b: m.cellwise(function, a, b)


def _functions_of_cells() -> dict[Any, Callable[..., Any]]:
    """NumPy's functions of one value that scripts have, too."""
    table: dict[Any, Callable[..., Any]] = {}
    known = set(_core.script_functions()) - {"round"}  # which rounds ties upwards
    for name in known & {*_functions.__all__, "sign"}:
        function = getattr(np, name, None) or getattr(np, "arc" + name[1:], None)
        if isinstance(function, np.ufunc):
            table[function] = _cells(name)
    return table


_OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "true_divide": "/",
    "power": "^",
    "float_power": "^",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
    "logical_and": "&",
    "logical_or": "|",
    "logical_xor": "xor",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "minimum": "min",
    "maximum": "max",
}


def _log1p(x: Any) -> Any:
    """log(1 + x), corrected by what rounding took from 1 + x."""
    whole = 1 + x
    return _where(whole == 1, x, np.log(whole) * (x / (whole - 1)))


def _expm1(x: Any) -> Any:
    """exp(x) - 1, corrected likewise."""
    power = np.exp(x)
    less = power - 1
    small = _where(power == 1, x, less * (x / np.log(power)))
    return _where((less == -1) | np.isinf(power), less, small)


UFUNCS: dict[Any, Callable[..., Any]] = {
    **_functions_of_cells(),
    np.log1p: _log1p,
    np.expm1: _expm1,
    np.exp2: lambda x: 2.0**x,
    np.log2: lambda x: np.log(x) / np.log(2.0),
    np.log10: lambda x: np.log(x) / np.log(10.0),
    np.absolute: _cells("abs"),
    np.fabs: _cells("abs"),
    **{getattr(np, name): _pair(symbol) for name, symbol in _OPERATORS.items()},
    np.matmul: lambda a, b: m.product(a, b),
    np.negative: lambda x: -x,
    np.positive: lambda x: x,
    np.square: lambda x: x**2,
    np.reciprocal: lambda x: 1 / x,
    np.logical_not: lambda x: ~x,
    np.invert: lambda x: ~x,
    np.isnan: lambda x: m.applied("isNaN", x, np.dtype(bool)),
    np.isinf: lambda x: m.applied("isInf", x, np.dtype(bool)),
    np.isfinite: lambda x: ~(np.isnan(x) | np.isinf(x)),
    np.floor_divide: lambda a, b: m.applied("floor", m.cellwise("/", a, b)),
    np.remainder: lambda a, b: a - b * m.applied("floor", m.cellwise("/", a, b)),
}


def _where(condition: Any, yes: Any, no: Any) -> Any:
    whole = _shaped(condition, yes, no)
    operands, dtypes = [], []
    for value in (condition, yes, no):
        ref, _, dtype = m._operand(value)
        operands.append(("", ref))
        dtypes.append(dtype)
    return m.Matrix((Node("ifelse", operands), 0), whole, m._common(dtypes[1:]))


def _shaped(*values: Any) -> Any:
    shape: Any = ()
    for value in values:
        shape = m._broadcast("where", shape, m._operand(value)[1])
    return shape


def _bind(parts: Sequence[Any], axis: int) -> Any:
    made = [part if isinstance(part, m.Matrix) else m.matrix(part) for part in parts]
    shapes = [part.shape for part in made]
    across = 1 - m._axis(axis)
    if len({shape[across] for shape in shapes}) != 1:
        raise m.ShapeMismatchError(
            f"concatenate: expected equal sizes across axis {axis}, got {shapes}"
        )
    size = sum(shape[1 - across] for shape in shapes)
    shape = (size, shapes[0][1]) if across == 1 else (shapes[0][0], size)
    operands = [("", part._ref) for part in made]
    node = Node("rbind" if across == 1 else "cbind", operands)
    return m.Matrix((node, 0), shape, m._common([part.dtype for part in made]))


def _concatenate(parts: Sequence[Any], axis: int = 0) -> Any:
    return _bind(parts, axis)


def _solve(a: Any, b: Any) -> Any:
    return _function("solve", [a, b], lambda left, right: (left[1], right[1]))


def _function(name: str, operands: Sequence[Any], shape: Callable[..., Any]) -> Any:
    made = [x if isinstance(x, m.Matrix) else m.matrix(x) for x in operands]
    node = Node(name, [("", x._ref) for x in made])
    return m.Matrix((node, 0), shape(*(x.shape for x in made)), m._common([x.dtype for x in made]))


def _several(name: str, x: Any, shapes: Callable[[Any], list[Any]]) -> list[Any]:
    made = x if isinstance(x, m.Matrix) else m.matrix(x)
    sizes = shapes(made.shape)
    node = Node(name, [("", made._ref)], len(sizes))
    return [m.Matrix((node, i), size, made.dtype) for i, size in enumerate(sizes)]


def _eigh(x: Any) -> Any:
    return tuple(_several("eigen", x, lambda size: [(size[0], 1), size]))


def _svd(x: Any, full_matrices: bool = False) -> Any:
    if full_matrices:
        raise InvalidArgumentError("svd: expected full_matrices=False")

    def shapes(size: Any) -> list[Any]:
        least = min(size)
        return [(size[0], least), (least, least), (size[1], least)]

    u, s, v = _several("svd", x, shapes)
    return u, _diagonal(s), v.T


def _diagonal(x: Any) -> Any:
    return _function(
        "diag", [x], lambda size: (min(size), 1) if size[1] != 1 else (size[0], size[0])
    )


def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    result = x if low is None else np.maximum(x, low)
    return result if high is None else np.minimum(result, high)


def _method(name: str) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{
        getattr(np, name): _method(name)
        for name in "sum mean prod min max var std all any argmax argmin cumsum trace reshape".split()
    },
    np.amin: _method("min"),
    np.amax: _method("max"),
    np.transpose: lambda x: x.T,
    np.dot: lambda a, b: m.product(a, b),
    np.where: _where,
    np.concatenate: _concatenate,
    np.vstack: lambda parts: _bind(parts, 0),
    np.hstack: lambda parts: _bind(parts, 1),
    np.column_stack: lambda parts: _bind(parts, 1),
    np.clip: _clip,
    np.diag: _diagonal,
    np.diagonal: _diagonal,
    np.outer: lambda a, b: m.cellwise("*", a.reshape(-1, 1), b.reshape(1, -1)),
    np.zeros_like: lambda x: m.matrix(np.zeros(x.shape)),
    np.ones_like: lambda x: m.matrix(np.ones(x.shape)),
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.size: lambda x: x.size,
    np.linalg.solve: _solve,
    np.linalg.inv: lambda x: _function("inv", [x], lambda size: size),
    np.linalg.cholesky: lambda x: _function("cholesky", [x], lambda size: size),
    np.linalg.det: lambda x: _function("det", [x], lambda size: ()),
    np.linalg.eigh: _eigh,
    np.linalg.svd: _svd,
    np.linalg.norm: lambda x: m.applied("sqrt", (x * x).sum()),
}
