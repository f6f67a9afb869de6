"""Convolution and pooling."""

from __future__ import annotations

import math

from cases.graphs.builder import Builder, Skip
from cases.graphs.products import summed
from cases.graphs.values import FLOATS, NUMBERS, Range, Value


def image(b: Builder, spatial: int) -> tuple[list[int | str], list[int]]:
    batch = b.choose([1, 2, "n"])
    return [batch, b.integer(1, 4)], [b.integer(3, 7) for _ in range(spatial)]


def spatial_rank(b: Builder) -> int:
    return b.choose([1, 1, 2, 2, 2, 3])


def pooled_image(b: Builder, dtypes, **options) -> Value:
    """An earlier result of three or more dimensions where there is one."""
    if b.chance(0.5):
        return b.pick(
            dtypes, ranks=(3, 4), accept=lambda v: v.is_fixed and min(v.shape[2:]) >= 3, **options
        )
    outer, sizes = image(b, spatial_rank(b))
    return b.pick(dtypes, dims=[*outer, *sizes], **options)


def windows(b: Builder, sizes, *, pool: bool, dilated: bool = True) -> tuple[dict, list[int]]:
    """A window with its strides, dilations and pads, and the sizes that leaves."""
    window = [b.integer(1, 3) for _ in sizes]
    strides = [b.integer(1, 3) for _ in sizes]
    dilations = [b.integer(1, 2) if dilated and b.chance(0.3) else 1 for _ in sizes]
    extents = [(k - 1) * d + 1 for k, d in zip(window, dilations)]
    attributes = {"kernel_shape": window, "strides": strides}
    if dilated:
        attributes["dilations"] = dilations
    if b.chance(0.2) and dilations == [1] * len(sizes):
        attributes["auto_pad"] = b.choose(["SAME_UPPER", "SAME_LOWER", "VALID"])
        same = attributes["auto_pad"] != "VALID"
        out = [-(-s // t) if same else (s - e) // t + 1 for s, e, t in zip(sizes, extents, strides)]
    else:
        most = [min(e - 1, 2) if pool else 2 for e in extents]
        low, high = [b.integer(0, m) for m in most], [b.integer(0, m) for m in most]
        attributes["pads"] = low + high
        out = []
        up = pool and b.opset >= 10 and b.chance(0.3)
        for s, p, q, e, t in zip(sizes, low, high, extents, strides):
            count = -(-(s + p + q - e) // t) + 1 if up else (s + p + q - e) // t + 1
            if up and (count - 1) * t >= s + p:
                raise Skip("shape inference keeps a last window that reads padding alone")
            out.append(count)
        if up:
            attributes["ceil_mode"] = 1
    if any(o < 1 for o in out) or any(s < e for s, e in zip(sizes, extents)):
        raise Skip("the window does not fit")
    return attributes, out


def conv(b: Builder) -> Value:
    (batch, _), sizes = image(b, spatial_rank(b))
    groups = b.choose([1, 1, 2, 3])
    channels, features = groups * b.integer(1, 3), groups * b.integer(1, 3)
    x = b.pick(FLOATS, dims=[batch, channels, *sizes], low=-8, high=8)
    attributes, out = windows(b, sizes, pool=False)
    filter_dims = [features, channels // groups, *attributes["kernel_shape"]]
    w = b.pick([x.dtype], dims=filter_dims, low=-8, high=8)
    depth = math.prod(filter_dims[1:])
    inputs, result = [x, w], summed(x, w, depth)
    if b.chance(0.5):
        bias = b.pick([x.dtype], dims=[features])
        inputs.append(bias)
        result = Range(
            result.low + bias.low, result.high + bias.high, min(result.grid, bias.grid),
            result.error + bias.error,
        ).rounded(x.dtype, result.error == 0 and bias.is_exact)  # fmt: skip
    if b.chance(0.3):
        del attributes["kernel_shape"]
    dims = [batch, features, *out]
    return b.node("Conv", inputs, x.dtype, dims, result, group=groups, **attributes)


def max_pool(b: Builder) -> Value:
    x = pooled_image(b, NUMBERS, calm=not b.special)
    attributes, out = windows(b, x.shape[2:], pool=True, dilated=b.opset >= 10)
    return b.node("MaxPool", [x], x.dtype, [*x.dims[:2], *out], x.range, **attributes)


def average_pool(b: Builder) -> Value:
    x = pooled_image(b, FLOATS)
    attributes, out = windows(b, x.shape[2:], pool=True, dilated=b.opset >= 19)
    result = Range(min(x.low, 0), max(x.high, 0), error=x.error + 30 * max(x.bound, 2.0**-10))
    return b.node(
        "AveragePool", [x], x.dtype, [*x.dims[:2], *out], result,
        count_include_pad=b.integer(0, 1), **attributes,
    )  # fmt: skip


def global_pool(op: str):
    def make(b: Builder) -> Value:
        x = pooled_image(b, FLOATS)
        result = x.range
        if op == "GlobalAveragePool":
            error = x.error + math.prod(x.shape[2:]) * max(x.bound, 2.0**-10)
            result = Range(x.low, x.high, error=error)
        return b.node(op, [x], x.dtype, [*x.dims[:2], *[1] * (x.rank - 2)], result)

    return make


WINDOWS = {
    "Conv": conv,
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": global_pool("GlobalAveragePool"),
    "GlobalMaxPool": global_pool("GlobalMaxPool"),
}
