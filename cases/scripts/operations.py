"""Functions of scripts against those of NumPy, for random programs.

`exact` are those whose results have no rounding, so that comparing them, or taking the largest, has one answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Operation:
    text: str
    value: Callable[..., np.ndarray | float | bool]
    exact: bool = False  # keeps exact operands exact
    needs_exact: bool = False  # a rounding error in an operand would change the result


def column(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, float).reshape(-1, 1)


def row(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, float).reshape(1, -1)


def spread(x: np.ndarray, axis: int | None) -> np.ndarray:
    """A variance: 0 of one value, NaN of none."""
    count = x.size if axis is None else x.shape[axis]
    mean = x.sum(axis=axis, keepdims=True) / count
    return ((x - mean) ** 2).sum(axis=axis) / (count - 1 if count > 1 else count)


def last_extreme(x: np.ndarray, best: np.ndarray) -> np.ndarray:
    return column(x.shape[1] - np.argmax((x == best)[:, ::-1], axis=1))


def removed(x: np.ndarray, axis: int) -> np.ndarray:
    kept = np.compress((x != 0).any(axis=1 - axis), x, axis=axis)
    # Where nothing is left, one row or column of zeros is.
    shape = (1, x.shape[1]) if axis == 0 else (x.shape[0], 1)
    return kept if kept.shape[axis] else np.zeros(shape)


UNARY = [
    Operation("(-{})", np.negative, exact=True),
    Operation("abs({})", np.abs, exact=True),
    Operation("({} * 2)", lambda x: x * 2, exact=True),
    Operation("({} / 4)", lambda x: x / 4, exact=True),
    Operation("({} * 0)", lambda x: x * 0, exact=True),
    Operation("sqrt(abs({}))", lambda x: np.sqrt(np.abs(x))),
    Operation("exp({} / 8)", lambda x: np.exp(x / 8)),
    Operation("log(abs({}) + 1)", lambda x: np.log(np.abs(x) + 1)),
    Operation("sin({})", np.sin),
    Operation("({} ^ 2)", np.square),
    Operation("({} + 1)", lambda x: x + 1),
    Operation("(3 - {})", lambda x: 3 - x),
    Operation("(1 / ({} ^ 2 + 1))", lambda x: 1 / (x**2 + 1)),
    Operation("cumsum({})", lambda x: np.cumsum(x, axis=0)),
    Operation("rev({})", lambda x: x[::-1], exact=True),
    Operation(
        "replace(target={}, pattern=0, replacement=2)", lambda x: np.where(x == 0, 2, x), True, True
    ),
    Operation(
        "replace(target={}, pattern=NaN, replacement=1)",
        lambda x: np.where(np.isnan(x), 1, x),
        True,
    ),
    Operation("round({})", lambda x: np.floor(x + 0.5), exact=True, needs_exact=True),
    Operation("sign({})", np.sign, exact=True, needs_exact=True),
    Operation("(!{})", lambda x: (x == 0) * 1.0, exact=True, needs_exact=True),
    Operation("({} > 0)", lambda x: (x > 0) * 1.0, exact=True, needs_exact=True),
    Operation("({} == 0)", lambda x: (x == 0) * 1.0, exact=True, needs_exact=True),
]
BINARY = [
    Operation("({} + {})", np.add),
    Operation("({} - {})", np.subtract),
    Operation("({} * {})", np.multiply),
    Operation("({} / (abs({}) + 1))", lambda a, b: a / (np.abs(b) + 1)),
    Operation("max({}, {})", np.maximum, exact=True),
    Operation("min({}, {})", np.minimum, exact=True),
    Operation("({} > {})", lambda a, b: (a > b) * 1.0, exact=True, needs_exact=True),
    Operation("({} != {})", lambda a, b: (a != b) * 1.0, exact=True, needs_exact=True),
    Operation("({} & {})", lambda a, b: ((a != 0) & (b != 0)) * 1.0, exact=True, needs_exact=True),
    Operation("({} | {})", lambda a, b: ((a != 0) | (b != 0)) * 1.0, exact=True, needs_exact=True),
    Operation(
        "ifelse({}, {}, 5)", lambda a, b: np.where(a != 0, b, 5.0), exact=True, needs_exact=True
    ),
]
SCALARS = [
    Operation("sum({})", np.sum),
    Operation("mean({})", lambda x: np.sum(x) / x.size),
    Operation("min({})", lambda x: np.min(x, initial=np.inf), exact=True),
    Operation("max({})", lambda x: np.max(x, initial=-np.inf), exact=True),
    Operation("var({})", lambda x: spread(x, None)),
    Operation("sd({})", lambda x: np.sqrt(spread(x, None))),
    Operation("nrow({})", lambda x: x.shape[0], exact=True),
    Operation("ncol({})", lambda x: x.shape[1], exact=True),
    Operation("length({})", lambda x: x.size, exact=True),
]
AGGREGATES = [
    Operation("rowSums({})", lambda x: column(x.sum(1))),
    Operation("colSums({})", lambda x: row(x.sum(0))),
    Operation("rowMeans({})", lambda x: column(x.sum(1) / x.shape[1])),
    Operation("colMeans({})", lambda x: row(x.sum(0) / x.shape[0])),
    Operation("rowMaxs({})", lambda x: column(x.max(1, initial=-np.inf)), exact=True),
    Operation("colMins({})", lambda x: row(x.min(0, initial=np.inf)), exact=True),
    Operation("rowVars({})", lambda x: column(spread(x, 1))),
    Operation("colVars({})", lambda x: row(spread(x, 0))),
    Operation("colSds({})", lambda x: row(np.sqrt(spread(x, 0)))),
    Operation("t({})", np.transpose, exact=True),
    Operation('removeEmpty(target={}, margin="rows")', lambda x: removed(x, 0), True, True),
    Operation('removeEmpty(target={}, margin="cols")', lambda x: removed(x, 1), True, True),
]
# Of matrices with at least one column.
OF_COLUMNS = [
    Operation("rowIndexMax({})", lambda x: last_extreme(x, x.max(1, keepdims=True)), True, True),
    Operation("rowIndexMin({})", lambda x: last_extreme(x, x.min(1, keepdims=True)), True, True),
    Operation(
        "order(target={}, by=1)", lambda x: x[np.argsort(x[:, 0], kind="stable")], True, True
    ),
]
