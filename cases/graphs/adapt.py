"""Nodes that turn a result into what another operator can read: its type, its range, its shape.

Without them most operators would read inputs of their own, since types and shapes seldom fit by chance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onnx import helper

from cases.graphs.requirement import Requirement
from cases.graphs.values import BOOL, MANTISSA, Range, Value

if TYPE_CHECKING:
    from cases.graphs.builder import Builder

MOST_ELEMENTS = 2048


def adapted(b: Builder, value: Value, wanted: Requirement) -> Value | None:
    """The value through nodes after which it fits; None if there is no way."""
    if not wanted.fits_kind(value) or value.special:
        return None
    if value.dtype not in wanted.dtypes:
        converted = with_type(b, value, wanted)
        if converted is None:
            return None
        value = converted
    value = within(b, value, wanted.low, wanted.high)
    if wanted.dims is not None and value.dims != wanted.dims:
        shaped = with_dims(b, value, wanted.dims)
        if shaped is None:
            return None
        value = shaped
    elif wanted.ranks is not None and value.rank not in wanted.ranks:
        value = with_rank(b, value, wanted.ranks)
    return value if wanted.fits(value) else None


def converted_range(x: Value, to) -> Range:
    if to == BOOL:
        return Range(0, 1)
    if to not in MANTISSA:
        return Range(math.floor(x.low), math.ceil(x.high))
    if x.dtype not in MANTISSA:
        return Range(x.low, x.high, 1.0).rounded(to, True)
    lost = MANTISSA[to] - MANTISSA[x.dtype]
    return Range(x.low, x.high, x.grid, x.error * 2.0**lost, x.special).rounded(to, x.is_exact)


def with_type(b: Builder, x: Value, wanted: Requirement) -> Value | None:
    usual = [dtype for dtype in b.usual_types if dtype in wanted.dtypes]
    to = b.choose(usual or list(wanted.dtypes))
    if to not in MANTISSA and not x.is_exact:
        return None
    return b.node("Cast", [x], to, x.dims, converted_range(x, to), to=b.type_code(to))


def within(b: Builder, x: Value, low: float, high: float) -> Value:
    """Magnitudes where only positive numbers will do, then what is outside moved to the bounds."""
    if x.dtype == BOOL:
        return x
    if low > 0 and x.low < 0:
        x = b.node("Abs", [x], x.dtype, x.dims, Range(0, x.bound, x.grid, x.error))
    if x.low >= low and x.high <= high:
        return x
    a, c = max(x.low, low), min(x.high, high)
    if a > c:  # apart: one bound is all that is left
        a = c = low if x.high < low else high
    grid = min(x.grid, 0.25) if x.dtype in MANTISSA else x.grid
    bounds = [b.leaf(x.dtype, (), v, v, 0.25 if x.dtype in MANTISSA else 1.0) for v in (low, high)]
    if b.opset >= 11 and b.chance(0.5):
        return b.node("Clip", [x, *bounds], x.dtype, x.dims, Range(a, c, grid, x.error))
    least = b.node(
        "Max", [x, bounds[0]], x.dtype, x.dims, Range(a, max(x.high, low), grid, x.error)
    )
    return b.node("Min", [least, bounds[1]], x.dtype, x.dims, Range(a, c, grid, x.error))


def with_dims(b: Builder, x: Value, dims: tuple[int | str, ...]) -> Value | None:
    if x.is_fixed and all(isinstance(d, int) for d in dims):
        return resized(b, x, dims)
    kept = x.rank - len(dims)
    if 0 in b.shape_of(dims):
        return None
    if kept >= 0 and all(d in (1, e) for d, e in zip(dims, x.dims[kept:])):
        axes = [*range(kept), *(kept + i for i, d in enumerate(dims) if d != x.dims[kept + i])]
        return greatest(b, x, axes, dims)
    if kept <= 0 and all(e in (1, d) for e, d in zip(x.dims[::-1], dims[::-1])):
        return spread(b, x, dims)
    return None


def resized(b: Builder, x: Value, dims: tuple[int, ...]) -> Value | None:
    """As many of its elements as are needed, repeated where there are too few."""
    count, wanted = x.elements, math.prod(dims)
    if not count or not wanted or wanted > MOST_ELEMENTS:
        return None
    if count == wanted:
        return b.node("Reshape", [x, b.integers(dims)], x.dtype, dims, x.range)
    if x.rank != 1:
        x = b.node("Reshape", [x, b.integers([-1])], x.dtype, [count], x.range)
    if count < wanted:
        times = -(-wanted // count)
        x = b.node("Tile", [x, b.integers([times])], x.dtype, [count * times], x.range)
    if x.shape[0] > wanted:
        x = first_elements(b, x, wanted)
    return b.node("Reshape", [x, b.integers(dims)], x.dtype, dims, x.range)


def first_elements(b: Builder, x: Value, count: int) -> Value:
    if b.opset < 10:
        limits = {"starts": [0], "ends": [count], "axes": [0]}
        return b.node("Slice", [x], x.dtype, [count], x.range, **limits)
    limits = [b.integers([n]) for n in (0, count, 0)]
    return b.node("Slice", [x, *limits], x.dtype, [count], x.range)


def greatest(b: Builder, x: Value, axes: list[int], dims: tuple[int | str, ...]) -> Value | None:
    """The maxima over the axes, under a shape that lacks or keeps each of them."""
    if x.dtype == BOOL or any(x.shape[i] == 0 for i in axes):
        return None
    keep = len(dims) == x.rank
    shape = dims if keep else [d for i, d in enumerate(x.dims) if i not in axes]
    inputs, attributes = b.axes_of("ReduceMax", axes, since=18)
    top = b.node(
        "ReduceMax", [x, *inputs], x.dtype, shape, x.range, keepdims=int(keep), **attributes
    )
    if top.dims == tuple(dims):
        return top
    return b.node("Reshape", [top, b.integers([d if isinstance(d, int) else -1 for d in dims])],
                  x.dtype, dims, x.range) if sum(isinstance(d, str) for d in dims) < 2 else None  # fmt: skip


def spread(b: Builder, x: Value, dims: tuple[int | str, ...]) -> Value | None:
    """Expanded to sizes that another value has."""
    like = [v for v in b.values if v.dims == dims]
    if not like or math.prod(b.shape_of(dims)) > MOST_ELEMENTS:
        return None
    shape = b.new_name("s")
    b.add(helper.make_node("Shape", [b.choose(like).name], [shape]))
    return b.node("Expand", [x, shape], x.dtype, dims, x.range)


def with_rank(b: Builder, x: Value, ranks) -> Value:
    if x.rank < min(ranks):
        more = min(ranks) - x.rank
        inputs, attributes = b.axes_of("Unsqueeze", list(range(more)), since=13)
        dims = [*[1] * more, *x.dims]
        return b.node("Unsqueeze", [x, *inputs], x.dtype, dims, x.range, **attributes)
    if x.rank > max(ranks) and x.dtype != BOOL:
        axes = list(range(x.rank - max(ranks)))
        return greatest(b, x, axes, x.dims[len(axes) :]) or x
    return x
