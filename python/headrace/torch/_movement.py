"""Operators of ATen that move elements or make them from nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from headrace.torch._context import Context, Tensor, Unsupported, aten, dtype_name, fixed
from headrace.torch._results import inverse, is_dense, memory_order, storage_of


@aten("view.default", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "squeeze_copy")
def view(c: Context, x: Tensor, *_: Any) -> Tensor:
    return c.builder.reshape(x, c.shape)


@aten("permute")
def permute(c: Context, x: Tensor, order: Sequence[int]) -> Tensor:
    rank = c.rank(x)
    return c.builder.transpose(x, [c.axis(i, rank) for i in order])


@aten("transpose.int")
def transpose(c: Context, x: Tensor, first: int, second: int) -> Tensor:
    rank = c.rank(x)
    order = list(range(rank))
    if rank:
        first, second = c.axis(first, rank), c.axis(second, rank)
        order[first], order[second] = second, first
    return c.builder.transpose(x, order)


@aten("t")
def transposed(c: Context, x: Tensor) -> Tensor:
    return c.builder.transpose(x, list(reversed(range(c.rank(x)))))


@aten("expand")
def expand(c: Context, x: Tensor, sizes: Any, implicit: bool = False) -> Tensor:
    return c.builder.broadcast(x, c.shape)


@aten("repeat")
def repeat(c: Context, x: Tensor, times: Sequence[int]) -> Tensor:
    """[a, b] -> [1, a, 1, b] -> [r0, a, r1, b] -> [r0 * a, r1 * b]."""
    own = [1] * (len(times) - c.rank(x)) + c.shape_of(x)
    split = [size for each in own for size in (1, each)]
    repeated = [size for count, each in zip(times, own) for size in (c.size(count), each)]
    return c.builder.reshape(c.builder.broadcast(c.builder.reshape(x, split), repeated), c.shape)


@aten("as_strided")
def as_strided(
    c: Context, x: Tensor, sizes: Sequence[Any], strides: Sequence[Any], offset: Any = None
) -> Tensor:
    """Any view of memory: an arrangement of whole dimensions, parts of them, or elements by position."""
    base, flat = in_memory(c)
    count = base.numel()
    if c.value.storage_offset() == base.storage_offset() and c.value.numel() == count:
        order = list(range(c.value.dim())) if c.value.is_contiguous() else memory_order(c.value)
        if order is not None:
            shape = c.sizes(c.value.shape[i] for i in order)
            return c.builder.transpose(c.builder.reshape(flat, shape), inverse(order))
    return c.builder.gather(flat, c.constant(positions(c, base, sizes, strides, offset)), 0, False)


@aten("as_strided_scatter")
def as_strided_scatter(
    c: Context, x: Tensor, source: Tensor, sizes: Any, strides: Any, offset: Any = None
) -> Tensor:
    if c.differentiates:
        raise Unsupported("a gradient of as_strided_scatter")
    base, flat = in_memory(c)
    at = positions(c, base, sizes, strides, offset).reshape(-1)
    updates = c.builder.reshape(c.cast(source, c.dtype), [1, at.numel(), 1])
    length = c.builder.shape(flat)
    data = c.builder.reshape(flat, [1, *length, 1])
    placed = c.builder.scatter(updates, c.constant(at), data, "")
    order = memory_order(base) or list(range(base.dim()))
    stored = c.builder.reshape(placed, c.sizes(base.shape[i] for i in order))
    return c.builder.reshape(c.builder.transpose(stored, inverse(order)), c.shape)


def in_memory(c: Context) -> tuple[torch.Tensor, Tensor]:
    """The tensor that the first argument is a view of, and its elements as they are in memory."""
    node = c.node.args[0]
    while is_view_of_first(node):
        node = node.args[0]
    base = node.meta["val"]
    if not is_dense(base):
        raise Unsupported(f"{c.node.target} of a tensor that is not contiguous")
    order = memory_order(base)
    stored = c.values[node] if order is None else c.builder.transpose(c.values[node], order)
    total: Any = 1
    for size in c.shape_of(stored):
        total = c.builder.arithmetic("mul", total, size)
    return base, c.builder.reshape(stored, [total])


def is_view_of_first(node: fx.Node) -> bool:
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], fx.Node):
        return False
    value, source = node.meta["val"], node.args[0].meta["val"]
    both = isinstance(value, torch.Tensor) and isinstance(source, torch.Tensor)
    return both and storage_of(value) == storage_of(source)


def positions(
    c: Context, base: torch.Tensor, sizes: Sequence[Any], strides: Sequence[Any], offset: Any
) -> torch.Tensor:
    """Of the elements of a view, in the memory of its base."""
    numbers = [fixed(each) for each in (*sizes, *strides, base.numel())]
    start = c.value_of(0).storage_offset() if offset is None else offset
    if None in numbers or fixed(start) is None:
        raise Unsupported(f"{c.node.target} over dynamic dimensions")
    at = torch.full((), fixed(start) - fixed(base.storage_offset()))
    for size, stride in zip(numbers[: len(sizes)], numbers[len(sizes) : -1]):
        at = at.unsqueeze(-1) + torch.arange(size) * stride
    if at.numel() and (at.min() < 0 or at.max() >= numbers[-1]):
        raise Unsupported(f"{c.node.target} beyond its tensor")
    return at


# Parts


def part(c: Context, x: Tensor, axis: int, start: Any, size: Any, step: int = 1) -> Tensor:
    shape = c.shape_of(x)
    starts: list[Any] = [0] * len(shape)
    steps = [1] * len(shape)
    starts[axis], steps[axis], shape[axis] = c.size(start), step, c.size(size)
    return c.builder.slice(x, starts, shape, steps)


def clamped(position: Any, size: Any) -> Any:
    """A position as Python's slices take it; one past the end means the end."""
    if position is None:
        return None
    if isinstance(position, int) and position > 1 << 40:
        return size
    if position < 0:
        position = position + size
    return 0 if position < 0 else size if position > size else position


@aten("slice.Tensor")
def slice_(
    c: Context, x: Tensor, axis: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    source = c.value_of(0).shape
    axis = c.axis(axis, len(source))
    start = clamped(start, source[axis]) or 0
    return part(c, x, axis, start, c.value.shape[axis], step)


@aten("select.int")
def select(c: Context, x: Tensor, axis: int, index: Any) -> Tensor:
    source = c.value_of(0).shape
    axis = c.axis(axis, len(source))
    start = index + source[axis] if index < 0 else index
    return c.builder.reshape(part(c, x, axis, start, 1), c.shape)


@aten("narrow")
def narrow(c: Context, x: Tensor, axis: int, start: Any, length: Any) -> Tensor:
    return part(c, x, c.axis(axis, c.rank(x)), start, length)


@aten("split.Tensor", "split_with_sizes", "unsafe_split", "chunk", "unbind.int")
def split(c: Context, x: Tensor, sizes: Any = 0, axis: int = 0, dim: int | None = None) -> tuple:
    name = c.node.target.overloadpacket.__name__
    unbind = name == "unbind"
    axis = c.axis((sizes if unbind else axis) if dim is None else dim, c.rank(x))
    start: Any = 0
    parts = []
    for result in c.value:
        size = 1 if unbind else result.shape[axis]
        piece = part(c, x, axis, start, size)
        parts.append(c.builder.reshape(piece, c.sizes(result.shape)) if unbind else piece)
        start = start + size
    return tuple(parts)


@aten("flip")
def flip(c: Context, x: Tensor, axes: Sequence[int]) -> Tensor:
    shape = c.shape_of(x)
    starts: list[Any] = [0] * len(shape)
    steps = [1] * len(shape)
    for axis in (c.axis(each, len(shape)) for each in axes):
        starts[axis], steps[axis] = c.sub(shape[axis], 1), -1
    return c.builder.slice(x, starts, shape, steps)


@aten("cat")
def cat(c: Context, parts: Sequence[Tensor], axis: int = 0) -> Tensor:
    # PyTorch lets an empty vector join anything.
    kept = [c.cast(x, c.dtype) for x in parts if c.shape_of(x) != [0]] or [parts[0]]
    return c.builder.concat(kept, c.axis(axis, c.rank(kept[0])))


@aten("stack")
def stack(c: Context, parts: Sequence[Tensor], axis: int = 0) -> Tensor:
    axis = c.axis(axis, c.rank(parts[0]) + 1)
    return c.builder.concat([c.unsqueeze(c.cast(x, c.dtype), [axis]) for x in parts], axis)


@aten("constant_pad_nd")
def pad(c: Context, x: Tensor, pads: Sequence[int], value: Any = 0) -> Tensor:
    rank = c.rank(x)
    low, high = [0] * rank, [0] * rank
    for i in range(len(pads) // 2):
        low[rank - 1 - i], high[rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
    for axis in range(rank):
        cut_low, cut_high = max(-low[axis], 0), max(-high[axis], 0)
        if cut_low or cut_high:
            x = part(c, x, axis, cut_low, c.sub(c.shape_of(x)[axis], cut_low + cut_high))
    low, high = [max(n, 0) for n in low], [max(n, 0) for n in high]
    return c.builder.pad(x, low, high, float(value)) if any(low + high) else x


@aten("embedding")
def embedding(
    c: Context, table: Tensor, indices: Tensor, padding: int = -1, by_frequency: bool = False,
    sparse: bool = False,
) -> Tensor:  # fmt: skip
    rows = c.builder.gather(table, indices, 0, False)
    if not c.differentiates:
        return rows
    if by_frequency or sparse:
        option = "scale_grad_by_freq" if by_frequency else "sparse"
        raise Unsupported(f"a gradient of embedding with {option}")
    if padding < 0:
        return rows
    padded = c.unsqueeze(c.map("equal", indices, padding), [c.rank(indices)])
    return c.select(padded, c.builder.detach(rows), rows, c.dtype)


@aten("index_select")
def index_select(c: Context, x: Tensor, axis: int, indices: Tensor) -> Tensor:
    if c.rank(x) == 0:
        raise Unsupported("index_select of a scalar")
    return c.builder.gather(x, indices, c.axis(axis, c.rank(x)), False)


# Tensors made from nothing


@aten("full", "zeros", "ones", "scalar_tensor", "new_full", "new_zeros", "new_ones")
@aten("full_like", "zeros_like", "ones_like", "empty", "empty_like", "new_empty", "empty_strided")
def full(c: Context, *args: Any, **options: Any) -> Tensor:
    name = c.node.target.overloadpacket.__name__
    value: Any = 1 if "ones" in name else 0
    if name == "scalar_tensor":
        value = args[0]
    elif "full" in name:
        value = options["fill_value"] if "fill_value" in options else args[-1]
    if name == "new_full":
        value = args[2]
    return c.full(value, c.dtype, c.shape)


@aten("fill.Scalar", "fill.Tensor")
def fill(c: Context, x: Tensor, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return c.builder.broadcast(c.cast(value, c.dtype), c.shape)
    return c.full(value, c.dtype, c.shape)


@aten("arange")
def arange(c: Context, *args: Any, **options: Any) -> Tensor:
    if fixed(c.value.shape[0]) is None:
        return arange_of_dynamic(c, *args)
    numbers = [int(each) if isinstance(each, torch.SymInt) else each for each in args]
    return c.constant(torch.arange(*numbers, dtype=c.value.dtype))


def arange_of_dynamic(c: Context, *bounds: Any) -> Tensor:
    start, step = (bounds[0], 1) if len(bounds) == 2 else (0, 1)
    if len(bounds) == 3:
        start, _, step = bounds
    numbers = c.cast(c.iota(c.value.shape[0]), c.dtype)
    return c.map("add", c.map("mul", numbers, step), start)


@aten("eye")
def eye(c: Context, *_: Any, **__: Any) -> Tensor:
    rows, columns = map(fixed, c.value.shape)
    if rows is None or columns is None:
        raise Unsupported("eye of a dynamic dimension")
    return c.constant(torch.eye(rows, columns, dtype=c.value.dtype))


@aten("triu", "tril")
def triangle(c: Context, x: Tensor, diagonal: int = 0) -> Tensor:
    rows, columns = map(fixed, c.value.shape[-2:])
    if rows is None or columns is None:
        raise Unsupported("a triangle of a dynamic dimension")
    keep = getattr(torch, c.node.target.overloadpacket.__name__)
    mask = keep(torch.ones(rows, columns, dtype=torch.bool), diagonal)
    return c.select(c.constant(mask), x, 0, dtype_name(c.value.dtype))
