"""Shapes of graphs that chance seldom makes: values read twice, joined again, and updated in parts.

Where memory is reused or kernels are fused, these are what goes wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from cases.graphs.builder import Builder, Skip
from cases.graphs.elementwise import ELEMENTWISE
from cases.graphs.values import FLOATS, NUMBERS, Range, Value

UNARY = ("Neg", "Abs", "Relu", "Tanh", "Sigmoid", "Exp", "Cos", "Identity", "LeakyRelu", "Softsign")
JOINS = ("Add", "Sub", "Mul", "Max", "Min")


def applied(b: Builder, x: Value) -> Value:
    """A function of every element of this value."""
    for op in b.random.permutation(UNARY):
        if op == "Identity":
            return b.node("Identity", [x], x.dtype, x.dims, x.range)
        b.preferred = x
        try:
            made = ELEMENTWISE[str(op)](b)
        except Skip:
            continue
        finally:
            b.preferred = None
        if made.dims == x.dims and made.dtype == x.dtype:
            return made
    raise Skip("nothing can be computed of it")


def joined(b: Builder, x: Value, y: Value) -> Value:
    if x.dims != y.dims or x.dtype != y.dtype or x.special or y.special:
        raise Skip("they do not fit together")
    op = b.choose(JOINS)
    if op in ("Max", "Min"):
        bounds = [(f(x.low, y.low), f(x.high, y.high)) for f in (min, max)]
        low, high = bounds[op == "Max"]
        result = Range(low, high, min(x.grid, y.grid), max(x.error, y.error))
    elif op == "Mul":
        bound = x.bound * y.bound
        error = x.error * y.bound + y.error * x.bound
        result = Range(-bound, bound, x.grid * y.grid, error)
    else:
        bound = x.bound + y.bound
        result = Range(-bound, bound, min(x.grid, y.grid), x.error + y.error)
    if op not in ("Max", "Min"):
        result = result.rounded(x.dtype, x.is_exact and y.is_exact)
    return b.node(op, [x, y], x.dtype, x.dims, result)


def start(b: Builder, **options) -> Value:
    return b.pick(FLOATS, low=-8, high=8, **options)


def diamond(b: Builder) -> Value:
    x = start(b)
    left, right = applied(b, x), applied(b, x)
    return joined(b, left, right)


def residual(b: Builder) -> Value:
    """A chain of functions added to where it began."""
    x = start(b)
    y = x
    for _ in range(b.integer(1, 3)):
        y = applied(b, y)
        if b.chance(0.3):
            b.shown.add(y.name)
    return joined(b, x, y)


def shown_chain(b: Builder) -> Value:
    """Every step overwrites the last one's memory, unless that is an output."""
    x = start(b)
    for _ in range(b.integer(2, 4)):
        x = applied(b, x)
        b.shown.add(x.name)
    return x


def own_product(b: Builder) -> Value:
    """One value as both operands."""
    x = b.pick(NUMBERS, low=-4, high=4)
    return joined(b, x, x)


def centred(b: Builder) -> Value:
    """A reduction over rows that is broadcast over them again."""
    x = start(b, ranks=(1, 2, 3), accept=lambda v: 0 not in v.shape)
    axis = b.integer(0, x.rank - 1)
    dims = [1 if i == axis else d for i, d in enumerate(x.dims)]
    inputs, attributes = b.axes_of("ReduceMax", [axis], since=18)
    op = b.choose(["ReduceMax", "ReduceMin"])
    top = b.node(op, [x, *inputs], x.dtype, dims, x.range, keepdims=1, **attributes)
    if b.chance(0.4):
        b.shown.add(top.name)
    result = Range(-2 * x.bound, 2 * x.bound, x.grid, 2 * x.error)
    return b.node("Sub", [x, top], x.dtype, x.dims, result.rounded(x.dtype, x.is_exact))


def updated_part(b: Builder) -> Value:
    """Some rows are computed anew and put back among the others; the old ones are read as well."""
    x = start(b, ranks=(1, 2, 3), accept=lambda v: isinstance(v.dims[0], int) and v.dims[0] > 1)
    at = b.integer(1, x.shape[0] - 1)
    sizes, attributes = b.axes_of("Split", [at, x.shape[0] - at], since=13, name="split")
    parts = [b.result(x.dtype, [n, *x.dims[1:]], x.range) for n in (at, x.shape[0] - at)]
    head, tail = b.node_of("Split", [x, *sizes], parts, axis=0, **attributes)
    new = applied(b, head)
    order = [new, tail] if b.chance(0.7) else [tail, new]
    result = Range(
        min(new.low, tail.low), max(new.high, tail.high), min(new.grid, tail.grid),
        max(new.error, tail.error),
    )  # fmt: skip
    whole = b.node("Concat", order, x.dtype, x.dims, result, axis=0)
    if b.chance(0.5):
        b.shown.add(whole.name)
    return joined(b, whole, x)


def two_readers(b: Builder) -> Value:
    """One result read by operators of different shapes, and an output itself."""
    x = applied(b, start(b, ranks=(2, 3)))
    b.shown.add(x.name)
    applied(b, x)
    return b.node("Transpose", [x], x.dtype, x.dims[::-1], x.range)


PATTERNS: list[Callable[[Builder], Value]] = [
    diamond,
    residual,
    shown_chain,
    own_product,
    centred,
    updated_part,
    two_readers,
]
