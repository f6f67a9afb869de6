"""Losses of ATen. Classes are picked by comparison, which joins the loops around it."""

from __future__ import annotations

from typing import Any

import torch

from headrace.torch._context import Context, Tensor, Unsupported, aten
from headrace.torch._reductions import reduced

KINDS = {0: "none", 1: "mean", 2: "sum"}


def finish(c: Context, losses: Tensor, reduction: int) -> Tensor:
    return losses if reduction == 0 else reduced(c, KINDS[reduction], losses, None, False)


@aten("mse_loss")
def mse_loss(c: Context, x: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    return finish(c, c.map("square", c.map("sub", x, target, dtype=c.dtype)), reduction)


@aten("nll_loss_forward.default", "nll_loss2d_forward")
def nll_loss(
    c: Context, x: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple:
    """x: [classes], [batch, classes] or [batch, classes, height, width]."""
    shape, dtype = c.shape_of(x), c.builder.dtype(x)
    axis = 0 if len(shape) == 1 else 1
    classes = shape[axis]
    if not isinstance(classes, int):
        raise Unsupported("a loss over a free number of classes")
    target = c.builder.targets(target, classes, ignore_index)
    numbers = c.constant(torch.arange(classes))
    numbers = c.builder.reshape(numbers, [classes] + [1] * (len(shape) - 1 - axis))
    wanted = c.unsqueeze(c.cast(target, "i64"), [axis])
    chosen = c.map("equal", wanted, numbers)
    valid = c.map("not_equal", target, ignore_index)
    factor = c.cast(valid, dtype)
    if weight is not None:
        weights = c.builder.reshape(weight, [classes] + [1] * (len(shape) - 1 - axis))
        own = reduced(c, "sum", c.select(chosen, weights, 0, dtype), axis, False)
        factor = c.map("mul", factor, own)
    picked = reduced(c, "sum", c.select(chosen, x, 0, dtype), axis, False)
    losses = c.map("neg", c.map("mul", picked, factor))
    total = reduced(c, "sum", factor, None, False)
    if reduction == 1:
        return c.map("div", reduced(c, "sum", losses, None, False), total), total
    return finish(c, losses, reduction), total


def slope_of_the_sure(c: Context, x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """
    Where x is all but 0 or 1 PyTorch divides by a small number instead of x (1 - x): whether it is, and a line through
    0 with that slope.
    """
    dtype, least = c.builder.dtype(x), 9.999999960041972e-13  # 1e-12 in f32
    x, target = c.widened(x), c.widened(target)
    here, wanted = c.builder.detach(x), c.builder.detach(target)
    is_sure = c.map("less", c.map("mul", here, c.map("sub", 1, here)), least)
    slope = c.map("div", c.map("sub", here, wanted), least)
    line = c.cast(c.map("mul", c.map("sub", x, here), slope), dtype)
    return is_sure, c.select(is_sure, line, 0, dtype)


@aten("binary_cross_entropy")
def binary_cross_entropy(
    c: Context, x: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    """Logarithms are bounded by -100, as PyTorch bounds them."""
    sure = slope_of_the_sure(c, x, target) if c.differentiates else None
    if sure is not None:
        is_sure, linear = sure
        x = c.select(is_sure, c.builder.detach(x), x, c.builder.dtype(x))
    yes = c.map("max", c.map("log", x), -100)
    no = c.map("max", c.map("log", c.map("sub", 1, x)), -100)
    likely = c.map("add", c.map("mul", target, yes), c.map("mul", c.map("sub", 1, target), no))
    losses: Any = c.map("neg", likely)
    if sure is not None:
        losses = c.map("add", losses, linear)
    if weight is not None:
        losses = c.map("mul", losses, weight)
    return finish(c, losses, reduction)
