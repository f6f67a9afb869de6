"""Operators of ATen that view memory: only the graph says what the tensor that they view is a view of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from headrace.torch._context import Context, Tensor, Unsupported, aten, fixed
from headrace.torch._results import inverse, is_dense, memory_order, storage_of


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
    for size in c.builder.shape(stored):
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
