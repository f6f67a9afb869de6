"""Operators of ATen that replace parts of a tensor, and those that view diagonals and windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from headrace.torch._context import Context, Tensor, Unsupported, aten, fixed
from headrace.torch._indexing import flat, put, scatter_rows
from headrace.torch._movement import clamped, part


@aten("slice_scatter")
def slice_scatter(
    c: Context, x: Tensor, source: Tensor, axis: int = 0, start: Any = None, end: Any = None,
    step: int = 1,
) -> Tensor:  # fmt: skip
    size = c.value.shape[c.axis(axis, c.rank(x))]
    return placed_along(c, x, source, c.axis(axis, c.rank(x)), clamped(start, size) or 0, step)


@aten("select_scatter")
def select_scatter(c: Context, x: Tensor, source: Tensor, axis: int, index: Any) -> Tensor:
    axis = c.axis(axis, c.rank(x))
    start = index + c.value.shape[axis] if index < 0 else index
    shape = c.shape_of(x)
    shape[axis] = 1
    return placed_along(c, x, c.builder.reshape(source, shape), axis, start, 1)


def placed_along(c: Context, x: Tensor, source: Tensor, axis: int, start: Any, step: int) -> Tensor:
    """The source instead of every `step`-th part of the tensor along an axis."""
    shape, source = c.shape_of(x), c.cast(source, c.dtype)
    count = c.shape_of(source)[axis]
    if step == 1:
        end = c.add(c.size(start), count)
        pieces = [part(c, x, axis, 0, c.size(start)), source]
        pieces.append(part(c, x, axis, end, c.sub(shape[axis], end)))
        return c.builder.concat([each for each in pieces if c.shape_of(each)[axis] != 0], axis)
    if fixed(c.value.shape[axis]) is None or not isinstance(count, int) or fixed(start) is None:
        raise Unsupported("a slice with steps of a dynamic dimension that is changed")
    at = c.constant(fixed(start) + step * torch.arange(count))
    outer, inner = c.product(shape[:axis]), c.product(shape[axis + 1 :])
    rows = c.builder.reshape(source, [outer, count, inner])
    data = c.builder.reshape(x, [outer, shape[axis], inner])
    return c.builder.reshape(scatter_rows(c, rows, at, data, ""), shape)


# Diagonals and windows


def diagonal_positions(shape: Sequence[Any], offset: int, first: int, second: int) -> torch.Tensor:
    sizes = [fixed(size) for size in shape]
    if None in sizes:
        raise Unsupported("a diagonal of dynamic dimensions")
    numbers = torch.arange(torch.Size(sizes).numel()).reshape(sizes)
    return numbers.diagonal(offset, first, second)


@aten("diagonal")
def diagonal(c: Context, x: Tensor, offset: int = 0, first: int = 0, second: int = 1) -> Tensor:
    at = diagonal_positions(c.value_of(0).shape, offset, first, second)
    return c.builder.gather(flat(c, x), c.constant(at), 0, False)


@aten("diagonal_scatter")
def diagonal_scatter(
    c: Context, x: Tensor, source: Tensor, offset: int = 0, first: int = 0, second: int = 1
) -> Tensor:
    at = diagonal_positions(c.value.shape, offset, first, second)
    return put(c, c.cast(source, c.dtype), c.constant(at), x)


@aten("unfold")
def unfold(c: Context, x: Tensor, axis: int, size: int, step: int) -> Tensor:
    """Windows along a dimension, each as the last dimension."""
    rank = c.rank(x)
    if rank == 0:
        return c.builder.reshape(x, c.shape)
    axis = c.axis(axis, rank)
    count = fixed(c.value.shape[axis])
    if count is None:
        raise Unsupported("windows of a dynamic dimension")
    at = torch.arange(count)[:, None] * step + torch.arange(size)
    windows = c.builder.gather(x, c.constant(at), axis, False)
    order = [i for i in range(rank + 1) if i != axis + 1] + [axis + 1]
    return c.builder.transpose(windows, order)
