"""Reductions over some axes, with the range and the rounding error of what they give."""

from __future__ import annotations

import math

from cases.graphs.builder import Builder
from cases.graphs.layout import signed_axes
from cases.graphs.values import FLOATS, INTEGERS, NUMBERS, Range, Value

REDUCTIONS = {
    "ReduceSum": NUMBERS[:6],
    "ReduceProd": [*FLOATS[:3], *INTEGERS[:2]],
    "ReduceMean": FLOATS,
    "ReduceMax": NUMBERS,
    "ReduceMin": NUMBERS,
    "ReduceSumSquare": [*FLOATS, *INTEGERS[:2]],
    "ReduceL1": [*FLOATS, *INTEGERS[:2]],
    "ReduceL2": FLOATS,
    "ReduceLogSum": FLOATS,
    "ReduceLogSumExp": FLOATS,
}


def reduced(op: str, x: Value, count: int) -> Range:
    n, bound = max(count, 1), x.bound
    if x.special:
        return Range(x.low, x.high, x.grid, x.error, special=True)
    if op == "ReduceProd":
        factor = max(float(bound), 1.0)
        top = factor**n if n * math.log10(factor) < 300 else 1e300  # no type holds more
        return Range(-top, top, x.grid**n, x.error * n * top).rounded(x.dtype, x.is_exact, n)
    if op in ("ReduceMax", "ReduceMin"):
        return Range(x.low, x.high, x.grid, x.error, x.special)
    if op == "ReduceSum":
        return Range(-n * bound, n * bound, x.grid, n * x.error).rounded(x.dtype, x.is_exact, n)
    if op == "ReduceMean":
        return Range(x.low, x.high, error=x.error + (n + 2) * max(bound, 2.0**-10))
    if op == "ReduceSumSquare":
        top = n * bound * bound
        return Range(0, top, x.grid**2, 2 * n * bound * x.error).rounded(x.dtype, x.is_exact, n)
    if op == "ReduceL1":
        return Range(0, n * bound, x.grid, n * x.error).rounded(x.dtype, x.is_exact, n)
    if op == "ReduceL2":
        # The root's slope at the least sum that is not 0.
        slope = max(1.0, bound) * n / max(x.low, 0.25)
        top = math.sqrt(n) * bound
        return Range(0, top, error=slope * (2 * x.error + n * bound))
    if op == "ReduceLogSum":
        top = abs(math.log(n * max(bound, 2))) + 3
        return Range(-top, top, error=n * x.error / x.low + (n + 8) * top * bound / x.low)
    top = bound + math.log(n) + 1
    return Range(-top, top, error=2 * x.error + (n + 16) * top)


def reduction(op: str):
    def make(b: Builder) -> Value:
        low, high = {"ReduceLogSum": (0.25, 8), "ReduceL2": (0.25, 8), "ReduceProd": (-2, 2)}.get(
            op, (-8, 8)
        )
        needs_element = op not in (
            "ReduceSum",
            "ReduceProd",
            "ReduceSumSquare",
            "ReduceL1",
            "ReduceL2",
        )
        x = b.pick(
            REDUCTIONS[op], ranks=(0, 1, 2, 3, 4), low=low, high=high,
            accept=lambda v: not (needs_element and 0 in v.shape),
            calm=not (b.special and op in ("ReduceMax", "ReduceMin")),
        )  # fmt: skip
        axes = [i for i in range(x.rank) if b.chance(0.5)]
        # Without axes all of them, unless the node says that none are meant.
        none = (
            not axes and (b.opset >= 18 or (b.opset >= 13 and op == "ReduceSum")) and b.chance(0.3)
        )
        over = axes or ([] if none else list(range(x.rank)))
        keep = b.integer(0, 1)
        count = math.prod(x.shape[i] for i in over)
        if keep:
            dims = [1 if i in over else d for i, d in enumerate(x.dims)]
        else:
            dims = [d for i, d in enumerate(x.dims) if i not in over]
        attributes = {"keepdims": keep, **({"noop_with_empty_axes": 1} if none else {})}
        inputs = []
        if axes:
            since = 13 if op == "ReduceSum" else 18
            inputs, named = b.axes_of(op, signed_axes(b, axes, x.rank), since=since)
            attributes |= named
        return b.node(op, [x, *inputs], x.dtype, dims, reduced(op, x, count), **attributes)

    return make


def scan(op: str):
    def make(b: Builder) -> Value:
        kinds = FLOATS[:2] + INTEGERS[:2]
        x = b.pick(kinds, ranks=(1, 2, 3), low=-2, high=2)
        axis = b.integer(0, x.rank - 1)
        n = max(x.shape[axis], 1)
        made = reduced("ReduceSum" if op == "CumSum" else "ReduceProd", x, n)
        # Of nothing, and of the first alone.
        made = Range(min(made.low, 0), max(made.high, 1), min(made.grid, 1.0), made.error)
        return b.node(
            op, [x, b.number(axis - b.integer(0, 1) * x.rank)], x.dtype, x.dims, made,
            exclusive=b.integer(0, 1), reverse=b.integer(0, 1),
        )  # fmt: skip

    return make


REDUCED = {op: reduction(op) for op in REDUCTIONS} | {op: scan(op) for op in ("CumSum", "CumProd")}
