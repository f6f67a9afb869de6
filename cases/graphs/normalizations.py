"""Softmax and normalizations; the result of a row is bounded by the root of its length."""

from __future__ import annotations

import math

from cases.graphs.builder import Builder, Skip
from cases.graphs.values import FLOATS, Range, Value
from cases.graphs.windows import image, spatial_rank


def softmax(op: str):
    def make(b: Builder) -> Value:
        # Infinities are what masks are made of.
        odd = op == "Softmax" and b.special and b.chance(0.4)
        x = b.pick(FLOATS, ranks=(1, 2, 3, 4), low=-8, high=8, calm=not odd)
        axis = b.axis(x.rank) if b.opset >= 11 else b.integer(0, x.rank - 1)
        # Before version 13 all dimensions from the axis on counted as one.
        over = x.shape[axis:] if b.opset < 13 else [x.shape[axis]]
        length = max(math.prod(over), 1)
        bound = 1.0 if op == "Softmax" else 17 + math.log(length)
        error = 4 * x.error + (16 + length) * bound
        result = Range(-bound, bound, error=error, special=x.special)
        return b.node(op, [x], x.dtype, x.dims, result, axis=axis)

    return make


def normalized(x: Value, scale: Value, bias: Value | None, length: int) -> Range:
    """With an epsilon of 0.5 what is normalized is divided by at least its root."""
    spread = 2 * x.bound
    bound = scale.bound * spread / math.sqrt(0.5) + (bias.bound if bias else 0)
    slope = scale.bound * (2 + 4 * spread * spread)
    error = slope * (x.error + (4 + length) * max(x.bound, 0.25)) + 8 * bound
    error += scale.error * spread * 2 + (bias.error if bias else 0)
    return Range(-bound, bound, error=error)


def parameter(b: Builder, x: Value, dims, low: float = -4.0) -> Value:
    return b.pick([x.dtype], dims=dims, low=low, high=4)


def layer_norm(b: Builder) -> Value:
    if b.opset < 17:
        raise Skip("a later version has it")
    x = b.pick(FLOATS, ranks=(1, 2, 3), low=-8, high=8)
    axis = b.integer(0, x.rank - 1)
    dims = x.dims[axis:]
    scale = parameter(b, x, dims)
    bias = parameter(b, x, dims) if b.chance(0.6) else None
    result = normalized(x, scale, bias, math.prod(x.shape[axis:]))
    inputs = [x, scale, *([bias] if bias else [])]
    at = axis - x.rank if b.chance(0.5) else axis
    return b.node("LayerNormalization", inputs, x.dtype, x.dims, result, axis=at, epsilon=0.5)


def normalized_image(b: Builder, least: int) -> Value:
    outer, sizes = image(b, spatial_rank(b) if least else b.integer(0, 2))
    return b.pick(FLOATS, dims=[*outer, *sizes], low=-8, high=8)


def batch_norm(b: Builder) -> Value:
    x = normalized_image(b, least=0)
    scale, bias, mean = (parameter(b, x, [x.dims[1]]) for _ in range(3))
    variance = parameter(b, x, [x.dims[1]], low=0.25)
    result = normalized(x, scale, bias, 4)
    # The mean is given, and the deviation from it is as large as both together.
    result.low -= scale.bound * 2 * mean.bound
    result.high += scale.bound * 2 * mean.bound
    result.error += 4 * (mean.error + variance.error * 8) * scale.bound + 64 * result.bound
    inputs = [x, scale, bias, mean, variance]
    return b.node("BatchNormalization", inputs, x.dtype, x.dims, result, epsilon=0.5)


def instance_norm(b: Builder) -> Value:
    x = normalized_image(b, least=1)
    scale, bias = (parameter(b, x, [x.dims[1]]) for _ in range(2))
    result = normalized(x, scale, bias, math.prod(x.shape[2:]))
    return b.node("InstanceNormalization", [x, scale, bias], x.dtype, x.dims, result, epsilon=0.5)


def group_norm(b: Builder) -> Value:
    if b.opset < 18:
        raise Skip("a later version has it")
    (batch, _), sizes = image(b, b.integer(1, 2))
    groups, each = b.integer(1, 2), b.integer(1, 2)
    x = b.pick(FLOATS, dims=[batch, groups * each, *sizes], low=-8, high=8)
    count = groups * each if b.opset >= 21 else groups
    scale, bias = (parameter(b, x, [count]) for _ in range(2))
    result = normalized(x, scale, bias, each * math.prod(sizes))
    inputs = [x, scale, bias]
    return b.node(
        "GroupNormalization", inputs, x.dtype, x.dims, result, num_groups=groups, epsilon=0.5
    )


def lp_norm(b: Builder) -> Value:
    """Away from zero, where the quotient of two small numbers has no bound."""
    x = b.pick(FLOATS, ranks=(1, 2, 3), low=0.5, high=8)
    axis, p = b.axis(x.rank), b.integer(1, 2)
    error = 8 * x.error + (16 + x.shape[axis]) * 4
    result = Range(0, 1, error=error)
    return b.node("LpNormalization", [x], x.dtype, x.dims, result, axis=axis, p=p)


def mean_variance(b: Builder) -> Value:
    """Over numbers that are all new, of which many differ."""
    x = b.leaf(FLOATS[0], [b.integer(3, 5), 3, b.integer(3, 5), 4], constant=False)
    axes = b.choose([[0, 2, 3], [0, 1, 2, 3], [0, 2]])
    result = Range(-16, 16, error=4096)
    return b.node("MeanVarianceNormalization", [x], x.dtype, x.dims, result, axes=axes)


NORMALIZATIONS = {
    "LpNormalization": lp_norm,
    "MeanVarianceNormalization": mean_variance,
    "Softmax": softmax("Softmax"),
    "LogSoftmax": softmax("LogSoftmax"),
    "LayerNormalization": layer_norm,
    "BatchNormalization": batch_norm,
    "InstanceNormalization": instance_norm,
    "GroupNormalization": group_norm,
}
