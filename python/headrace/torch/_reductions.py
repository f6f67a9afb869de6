"""Reductions, softmax and normalizations of ATen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from headrace.torch._context import TYPES, Context, Size, Tensor, Unsupported, aten

Axes = Sequence[int] | int | None


def reduced(c: Context, kind: str, x: Tensor, axes: Axes, keep: bool) -> Tensor:
    rank = c.rank(x)
    if rank == 0:
        return x
    return c.builder.reduce(kind, x, c.axes(axes, rank), keep)


@aten("sum.default", "sum.dim_IntList", "mean.default", "mean.dim", "prod.default", "prod.dim_int")
def fold(c: Context, x: Tensor, axes: Axes = None, keep: bool = False, **_: Any) -> Tensor:
    name = c.node.target.overloadpacket.__name__
    return reduced(c, name, c.cast(x, c.dtype), axes, keep)


@aten("amax", "amin", "max.default", "min.default")
def extreme(c: Context, x: Tensor, axes: Axes = None, keep: bool = False) -> Tensor:
    kind = c.node.target.overloadpacket.__name__.removeprefix("a")
    return reduced(c, kind, x, axes, keep)


@aten("any", "all")
def logical(c: Context, x: Tensor, axes: Axes = None, keep: bool = False) -> Tensor:
    kind = "max" if c.node.target.overloadpacket.__name__ == "any" else "min"
    flags = c.cast(c.cast(x, "bool"), "i32")
    return c.cast(reduced(c, kind, flags, axes, keep), "bool")


@aten("logsumexp")
def logsumexp(c: Context, x: Tensor, axes: Axes, keep: bool = False) -> Tensor:
    # An infinite maximum stays out of the difference, where it would give NaN.
    most = c.builder.detach(reduced(c, "max", x, axes, True))
    finite = c.map("equal", c.map("sub", most, most), 0)
    most = c.select(finite, most, 0, c.builder.dtype(x))
    total = reduced(c, "sum", c.map("exp", c.map("sub", x, most)), axes, True)
    result = c.map("add", c.map("log", total), most)
    return c.builder.reshape(result, c.shape)


def moments(c: Context, x: Tensor, axes: Axes, correction: float) -> tuple[Tensor, Tensor]:
    """Variance and mean, with the dimensions kept."""
    mean = reduced(c, "mean", x, axes, True)
    squares = c.map("square", c.map("sub", x, mean))
    if correction == 0:
        return reduced(c, "mean", squares, axes, True), mean
    total = reduced(c, "sum", squares, axes, True)
    freedom = c.map("max", c.map("sub", count(c, x, axes), correction), 0)
    return c.map("div", total, freedom), mean


def root(c: Context, x: Tensor) -> Tensor:
    """The square root of what cannot be less than 0; PyTorch takes it to be flat there."""
    return c.select(c.map("equal", x, 0), 0, c.map("sqrt", x), c.builder.dtype(x))


def count(c: Context, x: Tensor, axes: Axes) -> Tensor:
    """How many elements the axes combine, of the type of `x`."""
    shape = c.shape_of(x)
    total: Size = 1
    for axis in c.axes(axes, len(shape)):
        total = c.builder.arithmetic("mul", total, shape[axis])
    return c.builder.size_as_data(total, c.builder.dtype(x))


@aten("var.correction", "std.correction", "var_mean.correction")
def variance(
    c: Context, x: Tensor, axes: Axes = None, correction: Any = 1, keepdim: bool = False
) -> Any:
    name = c.node.target.overloadpacket.__name__
    results = c.value if name == "var_mean" else (c.value,)
    shape = c.sizes(results[0].shape)
    # f16 and bf16 may not represent the number of elements.
    spread, mean = moments(c, c.widened(x), axes, 1 if correction is None else correction)
    if name == "std":
        spread = root(c, spread)
    spread, mean = (
        c.cast(c.builder.reshape(each, shape), c.builder.dtype(x)) for each in (spread, mean)
    )
    return (spread, mean) if name == "var_mean" else spread


@aten("linalg_vector_norm")
def vector_norm(
    c: Context, x: Tensor, order: Any = 2, axes: Axes = None, keep: bool = False, **_: Any
) -> Tensor:
    if order == 2:
        return root(c, reduced(c, "sum", c.map("square", x), axes, keep))
    if order == 1:
        return reduced(c, "sum", c.map("abs", x), axes, keep)
    raise Unsupported(f"a norm of order {order}")


@aten("_safe_softmax")
def safe_softmax(c: Context, x: Tensor, axis: int, dtype: Any = None) -> Tensor:
    if c.rank(x) == 0:
        x = c.cast(x, c.dtype)
        return c.select(c.map("equal", x, float("-inf")), 0, 1, c.dtype)
    return masked_softmax(c, c.cast(x, c.dtype), c.axis(axis, c.rank(x)))


def masked_softmax(c: Context, x: Tensor, axis: int) -> Tensor:
    """0 where x is -inf: in rows that are nothing else, too, and so are the gradients."""
    dtype = c.builder.dtype(x)
    least = torch.finfo(TYPES[dtype]).min
    finite = c.builder.softmax(c.map("max", x, least), axis, False)
    return c.select(c.map("equal", x, float("-inf")), 0, finite, dtype)


@aten("_softmax", "_log_softmax", "softmax.int", "log_softmax.int")
def softmax(c: Context, x: Tensor, axis: int, *_: Any, **__: Any) -> Tensor:
    log = "log" in c.node.target.overloadpacket.__name__
    if c.rank(x) == 0:
        return c.full(0 if log else 1, c.dtype, [])
    return c.builder.softmax(c.cast(x, c.dtype), c.axis(axis, c.rank(x)), log)


# Normalizations: parameters and running statistics may be wider than what is normalized.


@aten("native_layer_norm")
def layer_norm(
    c: Context,
    x: Tensor,
    shape: Sequence[int],
    scale: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple:
    dtype, axis = c.builder.dtype(x), c.rank(x) - len(shape)
    x, scale, bias = (c.widened(each) for each in (x, scale, bias))
    if scale is None:
        scale = c.full(1, c.builder.dtype(x), c.shape_of(x)[axis:])
    return c.cast(c.builder.layer_norm(x, scale, bias, axis, eps), dtype), None, None


@aten("native_group_norm")
def group_norm(
    c: Context, x: Tensor, scale: Tensor | None, bias: Tensor | None, n: Any, channels: Any,
    area: Any, groups: int, eps: float,
) -> tuple:  # fmt: skip
    dtype, shape = c.builder.dtype(x), c.shape_of(x)
    x, scale, bias = (c.widened(each) for each in (x, scale, bias))
    rows = c.builder.reshape(x, [c.size(n), groups, c.size(channels // groups * area)])
    ones = c.full(1, c.builder.dtype(x), [c.size(channels // groups * area)])
    normal = c.builder.reshape(c.builder.layer_norm(rows, ones, None, 2, eps), shape)
    return c.cast(affine(c, normal, scale, bias), dtype), None, None


def affine(c: Context, x: Tensor, scale: Tensor | None, bias: Tensor | None) -> Tensor:
    """Scaled and shifted, channel by channel."""
    if scale is not None:
        x = c.map("mul", x, c.per_channel(scale, c.rank(x)))
    return x if bias is None else c.map("add", x, c.per_channel(bias, c.rank(x)))


@aten("_native_batch_norm_legit_no_training")
def batch_norm_inference(
    c: Context, x: Tensor, scale: Tensor | None, bias: Tensor | None, mean: Tensor, var: Tensor,
    momentum: float, eps: float,
) -> tuple:  # fmt: skip
    channels, dtype = [c.shape_of(x)[1]], c.builder.dtype(x)
    x, scale, bias, mean, var = (c.widened(each) for each in (x, scale, bias, mean, var))
    wide = c.builder.dtype(x)
    scale = c.full(1, wide, channels) if scale is None else scale
    bias = c.full(0, wide, channels) if bias is None else bias
    return c.cast(c.builder.batch_norm(x, scale, bias, mean, var, eps), dtype), None, None


@aten("_native_batch_norm_legit_functional")
def batch_norm(
    c: Context, x: Tensor, scale: Tensor | None, bias: Tensor | None, mean: Tensor, var: Tensor,
    training: bool, momentum: float, eps: float,
) -> tuple:  # fmt: skip
    """In training: by the batch's own statistics, which also move the running ones."""
    if not training:
        return *batch_norm_inference(c, x, scale, bias, mean, var, momentum, eps), mean, var
    result, batch_mean, batch_var = normalize_by_batch(c, x, scale, bias, eps)
    axes = [0, *range(2, c.rank(x))]
    total = count(c, x, axes)
    unbiased = c.map("mul", batch_var, c.map("div", total, c.map("sub", total, 1)))
    moved = [
        c.map("add", c.map("mul", old, 1 - momentum), c.map("mul", c.builder.detach(new), momentum))
        for old, new in ((mean, batch_mean), (var, unbiased))
    ]
    return result, None, None, *moved


@aten("_native_batch_norm_legit.no_stats")
def batch_norm_without_running(
    c: Context, x: Tensor, scale: Tensor | None, bias: Tensor | None, training: bool,
    momentum: float, eps: float,
) -> tuple:  # fmt: skip
    return normalize_by_batch(c, x, scale, bias, eps)[0], None, None


def normalize_by_batch(
    c: Context, x: Tensor, scale: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The result, the mean and the variance of each channel."""
    rank, dtype = c.rank(x), c.builder.dtype(x)
    x, scale, bias = (c.widened(each) for each in (x, scale, bias))
    var, mean = moments(c, x, [0, *range(2, rank)], 0)
    factor = c.map("rsqrt", c.map("add", var, eps))
    normal = c.map("mul", c.map("sub", x, mean), factor)
    channels = [c.shape_of(x)[1]]
    mean, var = c.builder.reshape(mean, channels), c.builder.reshape(var, channels)
    return c.cast(affine(c, normal, scale, bias), dtype), mean, var
