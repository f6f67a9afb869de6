"""Operators of ATen that compare elements along a dimension, or accumulate them in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.torch._context import Context, Tensor, Unsupported, aten, fixed
from headrace.torch._indexing import along, flat


def taken_at(c: Context, x: Tensor, positions: Tensor, axis: int) -> Tensor:
    """The elements at positions along an axis."""
    return c.builder.gather(flat(c, x), along(c, positions, axis, c.shape_of(x)), 0, False)


# Sorting


def ordered(c: Context, x: Tensor, axis: int, descending: bool, count: Any) -> tuple:
    """The first elements in order, and their positions."""
    if c.rank(x) == 0:
        return x, c.full(0, "i64", [])
    axis = c.axis(axis, c.rank(x))
    flags = c.builder.dtype(x) == "bool"
    keys = c.cast(x, "i32") if flags else x
    positions = c.builder.sort(c.builder.detach(keys), axis, descending, count)
    return taken_at(c, x, positions, axis), positions


@aten("sort.default", "sort.stable")
def sort(
    c: Context, x: Tensor, axis: int = -1, descending: bool = False, *, dim: int | None = None,
    stable: bool | None = None,
) -> tuple:  # fmt: skip
    axis = axis if dim is None else dim
    size = c.shape_of(x)[axis] if c.rank(x) else 1
    named = c.node.kwargs.get("descending", descending)
    return ordered(c, x, axis, named, size)


@aten("topk.default")
def topk(
    c: Context, x: Tensor, k: Any, axis: int = -1, largest: bool = True, sorted: bool = True
) -> tuple:
    return ordered(c, x, axis, largest, c.size(k))


@aten("kthvalue")
def kth_value(c: Context, x: Tensor, k: int, axis: int = -1, keep: bool = False) -> tuple:
    return at_rank(c, x, axis, k - 1)


@aten("median.dim")
def median(c: Context, x: Tensor, axis: int = -1, keep: bool = False) -> tuple:
    """The lower one of two; NaN if there is one."""
    size = fixed(c.value_of(0).shape[axis]) if c.rank(x) else 1
    if size is None:
        raise Unsupported("the median of a dynamic dimension")
    value, position = at_rank(c, x, axis, (size - 1) // 2)
    if not c.value[0].is_floating_point() or not c.rank(x):
        return value, position
    axis = c.axis(axis, c.rank(x))
    isnan = c.cast(c.map("is_nan", x), "i32")
    odd = c.builder.reshape(c.builder.reduce("max", isnan, [axis], True), c.sizes(c.value[0].shape))
    _, last = at_rank(c, x, axis, size - 1)
    odd = c.cast(odd, "bool")
    return c.select(odd, float("nan"), value, c.builder.dtype(x)), c.select(
        odd, last, position, "i64"
    )


@aten("median.default")
def median_of_all(c: Context, x: Tensor) -> Tensor:
    size = fixed(c.value_of(0).numel())
    if not size:
        raise Unsupported("the median of a dynamic dimension")
    x = flat(c, x)
    value = c.builder.reshape(at_rank(c, x, 0, (size - 1) // 2, [])[0], [])
    if not c.value.is_floating_point():
        return value
    odd = c.builder.reduce("max", c.cast(c.map("is_nan", x), "i32"), [0], False)
    return c.select(c.cast(odd, "bool"), float("nan"), value, c.builder.dtype(x))


def at_rank(
    c: Context, x: Tensor, axis: int, place: int, shape: Sequence[Any] | None = None
) -> tuple:
    """The element at this place of the order."""
    if c.rank(x) == 0:
        return x, c.full(0, "i64", [])
    axis = c.axis(axis, c.rank(x))
    values, positions = ordered(c, x, axis, False, place + 1)
    sizes = c.shape_of(values)
    starts = [place if i == axis else 0 for i in range(len(sizes))]
    sizes[axis] = 1
    shape = c.sizes(c.value[0].shape) if shape is None else list(shape)
    return tuple(
        c.builder.reshape(c.builder.slice(each, starts, sizes, [1] * len(sizes)), shape)
        for each in (values, positions)
    )


@aten("searchsorted.Tensor", "bucketize.Tensor")
def search_sorted(
    c: Context, first: Tensor, second: Tensor, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """How many elements of the row are less than the value, or at most the value."""
    bucketize = c.node.target.overloadpacket.__name__ == "bucketize"
    rows, values = (second, first) if bucketize else (first, second)
    if sorter is not None:
        rows = taken_at(c, rows, sorter, c.rank(rows) - 1)
    if c.rank(rows) == 1:
        rows = c.builder.reshape(rows, [1] * c.rank(values) + c.shape_of(rows))
    else:
        rows = c.unsqueeze(rows, [c.rank(rows) - 1])
    values = c.unsqueeze(values, [c.rank(values)])
    dtypes = {c.builder.dtype(rows), c.builder.dtype(values)}
    dtype = dtypes.pop() if len(dtypes) == 1 else "f64"
    function = "less_equal" if right or side == "right" else "less"
    before = c.map(function, rows, values, dtype=dtype)
    axis = c.rank(before) - 1
    total = c.builder.reduce("sum", c.cast(before, "i64"), [axis], False)
    return c.cast(c.builder.reshape(total, c.shape), c.dtype)


# Extrema and where they are


def extremum(c: Context, x: Tensor, kind: str, axis: int) -> Tensor:
    """The position of the first extremum along an axis, which stays with size 1; NaN is the extremum."""
    flags = c.builder.dtype(x) == "bool"
    x = c.builder.detach(c.cast(x, "i32") if flags else x)
    dtype = c.builder.dtype(x)
    most = c.builder.reduce(kind, x, [axis], True)
    hits = c.map("equal", x, most)
    if dtype in ("f16", "bf16", "f32", "f64"):
        hits = c.map("or", c.cast(hits, "bool"), c.cast(c.map("is_nan", x), "bool"), dtype="bool")
    shape = c.shape_of(x)
    place = c.builder.reshape(
        c.iota(shape[axis]), [n if i == axis else 1 for i, n in enumerate(shape)]
    )
    places = c.select(hits, place, c.builder.size_as_data(shape[axis], "i64"), "i64")
    return c.builder.reduce("min", places, [axis], True)


@aten("argmax", "argmin")
def arg_extremum(c: Context, x: Tensor, axis: int | None = None, keepdim: bool = False) -> Tensor:
    kind = c.node.target.overloadpacket.__name__.removeprefix("arg")
    if c.rank(x) == 0:
        return c.full(0, "i64", c.shape)
    if axis is None:
        x, axis = flat(c, x), 0
    return c.builder.reshape(extremum(c, x, kind, c.axis(axis, c.rank(x))), c.shape)


@aten("max.dim", "min.dim")
def extremum_along(c: Context, x: Tensor, axis: int, keep: bool = False) -> tuple:
    """The value and its position, which alone has the gradient."""
    if c.rank(x) == 0:
        return x, c.full(0, "i64", [])
    axis = c.axis(axis, c.rank(x))
    position = extremum(c, x, c.node.target.overloadpacket.__name__, axis)
    shape = c.sizes(c.value[0].shape)
    value = taken_at(c, x, position, axis)
    return c.builder.reshape(value, shape), c.builder.reshape(position, shape)


# Cumulative


def cumulated(
    c: Context, values: Sequence[Tensor], axis: int, neutral: Sequence[float],
    combine: Callable[[Sequence[Tensor], Sequence[Tensor]], Sequence[Tensor]],
) -> list[Tensor]:  # fmt: skip
    """All results of an associative function up to each element: by steps of 1, 2, 4, ..."""
    size = c.shape_of(values[0])[axis]
    if not isinstance(size, int):
        raise Unsupported(f"{c.node.target} of a dynamic dimension")
    rank, values = c.rank(values[0]), list(values)
    step = 1
    while step < size:
        earlier = []
        for each, number in zip(values, neutral):
            shape = c.shape_of(each)
            shape[axis] = size - step
            part = c.builder.slice(each, [0] * rank, shape, [1] * rank)
            shape[axis] = step
            start = c.full(number, c.builder.dtype(each), shape)
            earlier.append(c.builder.concat([start, part], axis))
        values = list(combine(earlier, values))
        step *= 2
    return values


@aten("cumsum", "cumprod")
def cumulative(c: Context, x: Tensor, axis: int, *, dtype: Any = None) -> Tensor:
    kind = c.node.target.overloadpacket.__name__.removeprefix("cum")
    x = c.cast(x, c.dtype)
    if c.rank(x) == 0:
        return x
    axis = c.axis(axis, c.rank(x))
    wide = c.widened(x)
    if kind == "prod" and c.differentiates:
        function = lambda a, b: [c.map("mul", a[0], b[0])]  # noqa: E731
        return c.cast(cumulated(c, [wide], axis, [1], function)[0], c.dtype)
    return c.cast(c.builder.scan(kind, wide, axis, False, False), c.dtype)


@aten("logcumsumexp")
def logcumsumexp(c: Context, x: Tensor, axis: int) -> Tensor:
    if c.rank(x) == 0:
        return x

    def add(a: Sequence[Tensor], b: Sequence[Tensor]) -> list[Tensor]:
        dtype = c.builder.dtype(a[0])
        most = c.builder.detach(c.map("max", a[0], b[0]))
        finite = c.map("equal", c.map("sub", most, most), 0)
        most = c.select(finite, most, 0, dtype)
        total = c.map("add", *(c.map("exp", c.map("sub", each[0], most)) for each in (a, b)))
        return [c.map("add", c.map("log", total), most)]

    axis = c.axis(axis, c.rank(x))
    found = cumulated(c, [c.widened(x)], axis, [float("-inf")], add)[0]
    return c.cast(found, c.dtype)


@aten("cummax", "cummin")
def cumulative_extremum(c: Context, x: Tensor, axis: int) -> tuple:
    """The last of equal extrema counts; NaN is the extremum."""
    if c.rank(x) == 0:
        return x, c.full(0, "i64", [])
    axis = c.axis(axis, c.rank(x))
    is_max = c.node.target.overloadpacket.__name__ == "cummax"
    is_float = c.value[0].is_floating_point()
    keys = c.builder.detach(c.cast(x, "i32") if c.builder.dtype(x) == "bool" else x)
    shape = c.shape_of(x)
    place = c.builder.reshape(
        c.iota(shape[axis]), [n if i == axis else 1 for i, n in enumerate(shape)]
    )
    place = c.builder.broadcast(place, shape)

    def later(a: Sequence[Tensor], b: Sequence[Tensor]) -> list[Tensor]:
        wins = c.map("greater_equal" if is_max else "less_equal", b[0], a[0])
        wins = c.map("or", c.cast(wins, "bool"), c.map("less", a[1], 0, dtype="i64"), dtype="bool")
        if is_float:
            odd, other = (c.cast(c.map("is_nan", each[0]), "bool") for each in (a, b))
            wins = c.map(
                "or",
                other,
                c.map("and", wins, c.map("not", odd, dtype="bool"), dtype="bool"),
                dtype="bool",
            )
        dtype = c.builder.dtype(b[0])
        return [c.select(wins, b[0], a[0], dtype), c.select(wins, b[1], a[1], "i64")]

    _, position = cumulated(c, [keys, place], axis, [0, -1], later)
    return taken_at(c, x, position, axis), position
