"""Operators of ATen that pick and place elements by index.

All of them are gathers and scatters of rows: an index along several dimensions becomes one position
along the dimension that they make together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from headrace.torch._context import Context, Size, Tensor, Unsupported, aten


def wrapped(c: Context, index: Tensor, size: Size) -> Tensor:
    """An index that is checked when the program runs; a negative one counts from the end."""
    index = c.cast(c.builder.checked_indices(index, size, True), "i64")
    length = c.builder.size_as_data(size, "i64")
    return c.select(c.map("less", index, 0), c.map("add", index, length), index, "i64")


def joined(c: Context, indices: Sequence[Tensor], sizes: Sequence[Size]) -> Tensor:
    """Positions along one dimension that stands for several."""
    total = indices[0]
    for index, size in zip(indices[1:], sizes[1:]):
        total = c.map("add", c.map("mul", total, c.builder.size_as_data(size, "i64")), index)
    return total


def along(c: Context, index: Tensor, axis: int, sizes: Sequence[Size]) -> Tensor:
    """Positions in a tensor of these sizes, seen as a vector, for an index along one axis."""
    shape = c.shape_of(index)
    rank = len(shape)
    indices = []
    for dim in range(rank):
        if dim == axis:
            indices.append(c.cast(c.builder.checked_indices(index, sizes[dim], False), "i64"))
        else:
            ones: list[Size] = [1] * rank
            ones[dim] = shape[dim]
            indices.append(c.builder.reshape(c.iota(shape[dim]), ones))
    return c.builder.broadcast(joined(c, indices, sizes), shape)


def flat(c: Context, x: Tensor) -> Tensor:
    return c.builder.reshape(x, [c.product(c.shape_of(x))])


def put(c: Context, updates: Tensor, positions: Tensor, x: Tensor, kind: str = "") -> Tensor:
    """Single elements put into a tensor, by positions in it as a vector."""
    count = c.product(c.shape_of(positions))
    rows = c.builder.reshape(updates, [1, count, 1])
    data = c.builder.reshape(x, [1, c.product(c.shape_of(x)), 1])
    placed = scatter_rows(c, rows, c.builder.reshape(positions, [count]), data, kind)
    return c.builder.reshape(placed, c.shape_of(x))


def scatter_rows(c: Context, rows: Tensor, indices: Tensor, data: Tensor, kind: str) -> Tensor:
    """Rows [outer, T, inner] put into data [outer, size, inner]."""
    if kind in ("prod", "max", "min") and c.differentiates:
        raise Unsupported("a gradient of a scatter that multiplies or compares")
    dtype = c.builder.dtype(data)
    if kind and dtype == "bool":
        rows, data = c.cast(rows, "i32"), c.cast(data, "i32")
    wide = rows if not kind else c.widened(rows)
    target = data if not kind else c.widened(data)
    return c.cast(c.builder.scatter(wide, indices, target, kind), dtype)


# Along one dimension


@aten("gather")
def gather(c: Context, x: Tensor, axis: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    if c.rank(x) == 0 or c.rank(index) == 0:
        return c.builder.broadcast(c.builder.reshape(x, []), c.shape)
    positions = along(c, index, c.axis(axis, c.rank(x)), c.shape_of(x))
    return c.builder.gather(flat(c, x), positions, 0, False)


@aten("take_along_dim")
def take_along_dim(c: Context, x: Tensor, index: Tensor, axis: int | None = None) -> Tensor:
    if axis is None:
        return c.builder.gather(flat(c, x), flat(c, index), 0, True)
    return gather(c, x, axis, index)


REDUCTIONS = {
    "sum": "sum",
    "prod": "prod",
    "amax": "max",
    "amin": "min",
    "add": "sum",
    "multiply": "prod",
}


@aten("scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce", "scatter_add")
def scatter(
    c: Context, x: Tensor, axis: int, index: Tensor, source: Any, *, reduce: str = ""
) -> Tensor:
    name = c.node.target.overloadpacket.__name__
    kind = "sum" if name == "scatter_add" else REDUCTIONS[reduce] if reduce else ""
    return scattered(c, x, axis, index, source, kind)


def scattered(c: Context, x: Tensor, axis: int, index: Tensor, source: Any, kind: str) -> Tensor:
    shape = c.shape_of(x)
    x, index = (v if c.rank(v) else c.builder.reshape(v, [1]) for v in (x, index))
    count = c.shape_of(index)
    if isinstance(source, Tensor):
        source = source if c.rank(source) else c.builder.reshape(source, [1])
        zeros, ones = [0] * len(count), [1] * len(count)
        updates = c.builder.slice(c.cast(source, c.dtype), zeros, count, ones)
    else:
        updates = c.full(source, c.dtype, count)
    positions = along(c, index, c.axis(axis, c.rank(x)), c.shape_of(x))
    return c.builder.reshape(put(c, updates, positions, x, kind), shape)


@aten("scatter_reduce.two")
def scatter_reduce(
    c: Context, x: Tensor, axis: int, index: Tensor, source: Tensor, reduce: str, *,
    include_self: bool = True,
) -> Tensor:  # fmt: skip
    def start(value: float) -> Tensor:
        return x if include_self else scattered(c, x, axis, index, value, "")

    if reduce == "sum":
        return scattered(c, start(0), axis, index, source, "sum")
    if reduce == "prod":
        return scattered(c, start(1), axis, index, source, "prod")
    if reduce == "mean":
        total = scattered(c, start(0), axis, index, source, "sum")
        ones = c.full(1, c.dtype, c.shape_of(source))
        counted = c.full(1 if include_self else 0, c.dtype, c.shape_of(x))
        number = scattered(c, counted, axis, index, ones, "sum")
        function = "div" if c.value.is_floating_point() else "floor_divide"
        return c.map(function, total, c.map("max", number, 1))
    limits = torch.finfo if c.value.is_floating_point() else torch.iinfo
    lowest = limits(c.value.dtype).min if reduce == "amax" else limits(c.value.dtype).max
    if c.value.is_floating_point():
        lowest = float("-inf") if reduce == "amax" else float("inf")
    return scattered(c, start(lowest), axis, index, source, REDUCTIONS[reduce])


@aten("index_add", "index_copy", "index_fill.int_Scalar", "index_fill.int_Tensor")
def index_rows(
    c: Context, x: Tensor, axis: int, index: Tensor, source: Any, *, alpha: Any = 1
) -> Tensor:
    """Whole rows along a dimension: added, or instead of those of the tensor."""
    name = c.node.target.overloadpacket.__name__
    shape = c.shape_of(x)
    if not shape:
        x, shape = c.builder.reshape(x, [1]), [1]
    axis = c.axis(axis, len(shape))
    outer, inner = c.product(shape[:axis]), c.product(shape[axis + 1 :])
    index = flat(c, index)
    count = c.shape_of(index)[0]
    rows = [outer, count, inner]
    if name == "index_fill":
        value = c.typed(source, c.dtype)
        updates = c.builder.broadcast(c.builder.reshape(value, [1, 1, 1]), rows)
    else:
        updates = c.builder.reshape(c.cast(source, c.dtype), rows)
    if name == "index_add" and alpha != 1:
        updates = c.map("mul", updates, alpha)
    data = c.builder.reshape(x, [outer, shape[axis], inner])
    kind = "sum" if name == "index_add" else ""
    placed = scatter_rows(c, updates, wrapped(c, index, shape[axis]), data, kind)
    return c.builder.reshape(placed, c.shape)


# By several tensors


@dataclass
class Picked:
    """The dimensions that indices are given for, as one, between others: [outer, rows, inner]."""

    x: Tensor
    outer: list[Size]
    rows: Size
    inner: list[Size]
    positions: Tensor  # of any rank
    front: int  # how many dimensions of the result come before those of the positions


def picked(c: Context, x: Tensor, indices: Sequence[Tensor | None]) -> Picked:
    given = [i for i, each in enumerate(indices) if each is not None]
    if any(c.builder.dtype(indices[i]) in ("bool", "u8") for i in given):
        raise Unsupported("indexing by masks")
    shape = c.shape_of(x)
    others = [i for i in range(len(shape)) if i not in given]
    adjacent = given == list(range(given[0], given[-1] + 1))
    first = given[0] if adjacent else 0
    order = [*others[:first], *given, *others[first:]]
    if order != sorted(order):
        x = c.builder.transpose(x, order)
    sizes = [shape[i] for i in given]
    tensors = [wrapped(c, indices[i], shape[i]) for i in given]
    return Picked(
        x, [shape[i] for i in others[:first]], c.product(sizes), [shape[i] for i in others[first:]],
        joined(c, tensors, sizes), first,
    )  # fmt: skip


@aten("index.Tensor", "_unsafe_index.Tensor")
def index(c: Context, x: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    given = [i for i, each in enumerate(indices) if each is not None]
    if len(given) == 1 and c.builder.dtype(indices[given[0]]) not in ("bool", "u8"):
        return c.builder.gather(x, indices[given[0]], given[0], True)
    p = picked(c, x, indices)
    rows = c.builder.reshape(p.x, [*p.outer, p.rows, *p.inner])
    return c.builder.reshape(c.builder.gather(rows, p.positions, p.front, False), c.shape)


@aten("index_put", "_unsafe_index_put")
def index_put(
    c: Context, x: Tensor, indices: Sequence[Tensor | None], values: Tensor,
    accumulate: bool = False,
) -> Tensor:  # fmt: skip
    masks = [i for i, each in enumerate(indices) if each is not None]
    if len(masks) == 1 and c.builder.dtype(indices[masks[0]]) == "bool":
        return masked_put(c, x, indices[masks[0]], masks[0], values, accumulate)
    p = picked(c, x, indices)
    at = c.shape_of(p.positions)
    whole = [*p.outer, *at, *p.inner]
    updates = c.builder.broadcast(c.cast(values, c.dtype), whole)
    count, outer, inner = c.product(at), c.product(p.outer), c.product(p.inner)
    rows = c.builder.reshape(updates, [outer, count, inner])
    data = c.builder.reshape(p.x, [outer, p.rows, inner])
    positions = c.builder.reshape(p.positions, [count])
    placed = scatter_rows(c, rows, positions, data, "sum" if accumulate else "")
    return restored(c, x, indices, c.builder.reshape(placed, c.shape_of(p.x)))


def restored(c: Context, x: Tensor, indices: Sequence[Any], placed: Tensor) -> Tensor:
    """The dimensions in the order they had before `picked`."""
    given = [i for i, each in enumerate(indices) if each is not None]
    if given == list(range(given[0], given[-1] + 1)):
        return placed
    others = [i for i in range(c.rank(x)) if i not in given]
    order = [*given, *others]
    return c.builder.transpose(placed, [order.index(i) for i in range(len(order))])


def masked_put(
    c: Context, x: Tensor, mask: Tensor, axis: int, values: Tensor, accumulate: bool
) -> Tensor:
    """Values that are the same for every place of the mask."""
    behind = c.rank(x) - axis - c.rank(mask)
    if c.rank(values) > behind and c.product(c.shape_of(values)) != 1:
        raise Unsupported("one value for each place of a mask")
    if c.rank(values) > behind:
        values = c.builder.reshape(values, [])
    mask = c.builder.reshape(mask, [*c.shape_of(mask), *([1] * behind)])
    values = c.cast(values, c.dtype)
    if accumulate:
        values = c.map("add", x, values)
    return c.select(mask, values, x, c.dtype)


@aten("masked_scatter")
def masked_scatter(c: Context, x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The k-th place of the mask gets the k-th element."""
    shape = c.shape
    places = flat(c, c.builder.broadcast(mask, shape))
    number = c.builder.scan("sum", c.cast(places, "i64"), 0, True, False)
    elements = flat(c, source)
    count = c.shape_of(elements)[0]
    if count == 0:
        return c.builder.broadcast(x, shape)
    # Beyond the mask's last place there is nothing to read.
    read = c.map("min", number, c.builder.size_as_data(c.sub(count, 1), "i64"))
    taken = c.builder.gather(elements, c.select(places, number, read, "i64"), 0, False)
    return c.select(mask, c.builder.reshape(taken, shape), x, c.dtype)


@aten("put")
def put_elements(
    c: Context, x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False
) -> Tensor:
    size = c.product(c.shape_of(x))
    return put(c, source, flat(c, wrapped(c, index, size)), x, "sum" if accumulate else "")


# Bags of embeddings


@aten("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(
    c: Context, table: Tensor, indices: Tensor, offsets: Tensor, by_frequency: bool = False,
    mode: int = 0, sparse: bool = False, weights: Tensor | None = None,
    include_last: bool = False, padding: int = -1,
) -> tuple:  # fmt: skip
    """Rows of a table, combined for each bag: a bag ends where the next one starts."""
    if c.differentiates and (by_frequency or sparse or mode == 2):
        raise Unsupported("a gradient of embedding_bag with these options")
    dtype, (count,) = c.builder.dtype(table), c.shape_of(indices)
    (bags,) = c.shape_of(offsets)
    rows = c.builder.gather(table, indices, 0, False)
    place = c.builder.reshape(c.iota(count), [count, 1])
    starts = c.builder.reshape(c.cast(offsets, "i64"), [1, bags])
    begun = c.cast(c.map("less_equal", starts, place, dtype="i64"), "i64")
    bag = c.map("sub", c.builder.reduce("sum", begun, [1], False), 1)
    used = c.full(1, dtype, [count])
    if padding >= 0:
        used = c.cast(c.map("not_equal", indices, padding), dtype)
    factor = used if weights is None else c.map("mul", used, c.cast(weights, dtype))
    width = c.shape_of(table)[1]
    results = c.sizes(c.value[0].shape)
    if mode == 2:
        lowest = c.full(float("-inf"), dtype, [1, results[0], width])
        kept = c.select(c.unsqueeze(c.map("greater", used, 0), [1]), rows, float("-inf"), dtype)
        most = scatter_rows(c, c.unsqueeze(kept, [0]), bag, lowest, "max")
        empty = c.map("equal", most, float("-inf"))
        return c.builder.reshape(c.select(empty, 0, most, dtype), results), None, None, None
    rows = c.map("mul", rows, c.unsqueeze(factor, [1]))
    zeros = c.full(0, dtype, [1, results[0], width])
    total = c.builder.reshape(scatter_rows(c, c.unsqueeze(rows, [0]), bag, zeros, "sum"), results)
    if mode == 1:
        none = c.full(0, dtype, [1, results[0], 1])
        number = scatter_rows(c, c.unsqueeze(used, [0, 2]), bag, none, "sum")
        number = c.builder.reshape(c.map("max", number, 1), [results[0], 1])
        total = c.map("div", total, number)
    return total, None, None, None
