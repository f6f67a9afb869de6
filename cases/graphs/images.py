"""Images resized, sampled and spread."""

from __future__ import annotations

import math

import numpy as np

from cases.graphs.builder import Builder, Skip
from cases.graphs.products import summed
from cases.graphs.values import FLOATS, Range, Value
from cases.graphs.windows import image, pooled_image, spatial_rank, windows

#: Cubic weights sum to 1, but their absolute values do not, along two or three axes.
CUBIC = 4.0


def blended(x: Value, factor: float = 1.0, work: float = 16.0) -> Range:
    bound = factor * x.bound
    return Range(-bound, bound, error=factor * x.error + work * max(bound, 2.0**-10))


def resized(b: Builder, op: str, x: Value, sizes: list[int], mode: str, inputs, **more) -> Value:
    dims = [*x.dims[:2], *sizes]
    made = x.range if mode == "nearest" else blended(x, CUBIC if mode == "cubic" else 1)
    return b.node(op, inputs, x.dtype, dims, made, mode=mode, **more)


def resize(b: Builder) -> Value:
    if b.opset < 11:
        raise Skip("Upsample is of that time")
    outer, sizes = image(b, b.choose([1, 2]))
    x = b.pick(FLOATS[:2], dims=[*outer, *sizes])
    mode = b.choose(["nearest", "linear", "cubic"] if len(sizes) == 2 else ["nearest", "linear"])
    how = b.choose(["half_pixel", "asymmetric", "pytorch_half_pixel"])
    # Scales by which places never lie half way between two elements.
    factors = [b.choose([1, 2, 4] if how == "asymmetric" else [1, 3]) for _ in sizes]
    scales = b.tensor(np.array([1, 1, *factors], np.float32))
    more = {"nearest_mode": "floor"} if mode == "nearest" and how == "asymmetric" else {}
    out = [n * f for n, f in zip(sizes, factors)]
    roi = b.tensor(np.zeros(0, np.float32)) if b.opset < 13 else ""
    inputs = [x, roi, scales]
    return resized(
        b, "Resize", x, out, mode, inputs, coordinate_transformation_mode=how, **more
    )  # fmt: skip


def upsample(b: Builder) -> Value:
    if b.opset > 9:
        raise Skip("Resize took its place")
    outer, sizes = image(b, 2)
    x = b.pick(FLOATS[:1], dims=[*outer, *sizes])
    factors = [b.integer(1, 3) for _ in sizes]
    scales = b.tensor(np.array([1, 1, *factors], np.float32))
    out = [n * f for n, f in zip(sizes, factors)]
    return resized(b, "Upsample", x, out, b.choose(["nearest", "linear"]), [x, scales])


def grid_sample(b: Builder) -> Value:
    outer, sizes = image(b, 2)
    x = b.pick(FLOATS[:1], dims=[*outer, *sizes])
    places = [b.integer(1, 4), b.integer(1, 4)]
    grid = b.pick([x.dtype], dims=[outer[0], *places, 2], low=-2, high=2, exact=True)
    # Linear values are continuous in the place; elements that are picked are not.
    made = blended(x, 1, 64 * max(grid.bound, 1) * 8)
    return b.node(
        "GridSample", [x, grid], x.dtype, [*x.dims[:2], *places], made,
        mode="linear" if b.opset >= 20 else "bilinear",
        padding_mode=b.choose(["zeros", "border"]), align_corners=b.integer(0, 1),
    )  # fmt: skip


def affine_grid(b: Builder) -> Value:
    batch, sizes = b.integer(1, 2), [b.integer(2, 5), b.integer(2, 5)]
    theta = b.pick(FLOATS[:1], dims=[batch, 2, 3], low=-8, high=8)
    bound = 3 * theta.bound
    made = Range(-bound, bound, error=3 * theta.error + 16 * max(bound, 2.0**-10))
    inputs = [theta, b.integers([batch, 1, *sizes])]
    return b.node(
        "AffineGrid", inputs, theta.dtype, [batch, *sizes, 2], made, align_corners=b.integer(0, 1)
    )


def roi_align(b: Builder) -> Value:
    outer, sizes = image(b, 2)
    x = b.pick(FLOATS[:1], dims=[b.integer(1, 2), outer[1], *sizes])
    count = b.integer(1, 3)
    corners = b.random.integers(0, 5, (count, 2)) / 2
    ends = corners + b.random.integers(1, 6, (count, 2)) / 2 + 0.25
    rois = b.tensor(np.concatenate([corners, ends], 1).astype(np.float32))
    places = b.tensor(b.random.integers(0, x.shape[0], count))
    height, width = b.integer(1, 3), b.integer(1, 3)
    made = Range(min(x.low, 0), max(x.high, 0), error=x.error + 256 * max(x.bound, 2.0**-10))
    return b.node(
        "RoiAlign", [x, rois, places], x.dtype, [count, x.dims[1], height, width], made,
        output_height=height, output_width=width, sampling_ratio=b.integer(0, 2),
    )  # fmt: skip


def max_roi_pool(b: Builder) -> Value:
    if b.opset >= 22:
        raise Skip("ONNX Runtime has an older version alone")
    outer, sizes = image(b, 2)
    x = b.pick(FLOATS[:1], dims=[b.integer(1, 2), outer[1], *sizes], calm=True)
    count = b.integer(1, 3)
    places = b.random.integers(0, x.shape[0], (count, 1))
    first = b.random.integers(0, 2, (count, 2))
    last = first + b.random.integers(0, 4, (count, 2))
    rois = b.tensor(np.concatenate([places, first, last], 1).astype(np.float32))
    pooled = [b.integer(1, 3), b.integer(1, 3)]
    return b.node(
        "MaxRoiPool", [x, rois], x.dtype, [count, x.dims[1], *pooled], x.range, pooled_shape=pooled
    )


def filter_of(b: Builder, x: Value, dims) -> Value:
    return b.pick([x.dtype], dims=dims, low=-8, high=8)


def conv_transpose(b: Builder) -> Value:
    (batch, _), sizes = image(b, b.choose([1, 2]))
    groups = b.choose([1, 1, 2])
    channels, features = groups * b.integer(1, 3), b.integer(1, 3)
    x = b.pick(FLOATS[:1], dims=[batch, channels, *sizes], low=-8, high=8)
    window = [b.integer(1, 3) for _ in sizes]
    strides = [b.integer(1, 3) for _ in sizes]
    dilations = [b.integer(1, 2) for _ in sizes]
    low, high = [b.integer(0, 1) for _ in sizes], [b.integer(0, 1) for _ in sizes]
    more = [b.integer(0, s - 1) for s in strides]
    out = [
        s * (n - 1) + (k - 1) * d + 1 - p - q + m
        for n, k, s, d, p, q, m in zip(sizes, window, strides, dilations, low, high, more)
    ]
    if min(out) < 1:
        raise Skip("nothing is left")
    w = filter_of(b, x, [channels, features, *window])
    made = summed(x, w, channels // groups * math.prod(window))
    return b.node(
        "ConvTranspose", [x, w], x.dtype, [batch, features * groups, *out], made, group=groups,
        strides=strides, dilations=dilations, pads=low + high, output_padding=more,
    )  # fmt: skip


def deform_conv(b: Builder) -> Value:
    batch, channels, features = b.integer(1, 2), b.integer(1, 3), b.integer(1, 3)
    sizes, window = [b.integer(3, 5), b.integer(3, 5)], [b.integer(1, 2), b.integer(1, 2)]
    x = b.pick(FLOATS[:1], dims=[batch, channels, *sizes], low=-8, high=8)
    w = filter_of(b, x, [features, channels, *window])
    out = [n - k + 1 for n, k in zip(sizes, window)]
    depth = math.prod(window)
    offset = b.pick([x.dtype], dims=[batch, 2 * depth, *out], low=-2, high=2, exact=True)
    made = summed(x, w, channels * depth)
    made = Range(made.low, made.high, error=4 * made.error + 256 * made.bound)
    return b.node("DeformConv", [x, w, offset], x.dtype, [batch, features, *out], made)


def col2im(b: Builder) -> Value:
    sizes, window = [b.integer(3, 5), b.integer(3, 5)], [b.integer(1, 3), b.integer(1, 3)]
    places = math.prod(n - k + 1 for n, k in zip(sizes, window))
    batch, channels, count = b.integer(1, 2), b.integer(1, 3), math.prod(window)
    x = b.pick(FLOATS[:1], dims=[batch, channels * count, places])
    bound = count * x.bound
    made = Range(-bound, bound, x.grid, count * x.error).rounded(x.dtype, x.is_exact, count)
    inputs = [x, b.integers(sizes), b.integers(window)]
    return b.node("Col2Im", inputs, x.dtype, [batch, channels, *sizes], made)


def max_unpool(b: Builder) -> Value:
    outer = [b.integer(1, 2), b.integer(1, 3)]
    sizes = [b.integer(1, 3), b.integer(1, 3)]
    x = b.pick(FLOATS[:1], dims=[*outer, *sizes])
    out = [2 * n for n in sizes]
    count = math.prod(outer) * math.prod(out)
    places = b.random.permutation(count)[: x.elements].reshape(x.shape)
    made = Range(min(x.low, 0), max(x.high, 0), x.grid, x.error)
    return b.node(
        "MaxUnpool", [x, b.tensor(places)], x.dtype, [*outer, *out], made,
        kernel_shape=[2, 2], strides=[2, 2],
    )  # fmt: skip


def lp_pool(b: Builder) -> Value:
    outer, sizes = image(b, spatial_rank(b))
    x = b.pick(FLOATS[:1], dims=[*outer, *sizes], low=0.25, high=8)
    attributes, out = windows(b, x.shape[2:], pool=True, dilated=False)
    attributes.pop("ceil_mode", None)
    if "pads" in attributes:
        size, strides = attributes["kernel_shape"], attributes["strides"]
        pads = attributes["pads"] = [0] * (2 * len(size))
        out = [(n - k) // s + 1 for n, k, s in zip(sizes, size, strides)]
        assert not any(pads)
    count = math.prod(attributes["kernel_shape"])
    bound = count * x.bound
    made = Range(0, bound, error=8 * count * x.error + 64 * bound)
    dims = [*x.dims[:2], *out]
    return b.node("LpPool", [x], x.dtype, dims, made, p=b.integer(1, 2), **attributes)


def global_lp_pool(b: Builder) -> Value:
    x = pooled_image(b, FLOATS[:1], low=0.25, high=8)
    count = math.prod(x.shape[2:])
    bound = count * x.bound
    made = Range(0, bound, error=8 * count * x.error + 64 * bound)
    dims = [*x.dims[:2], *[1] * (x.rank - 2)]
    return b.node("GlobalLpPool", [x], x.dtype, dims, made, p=b.integer(1, 2))


def lrn(b: Builder) -> Value:
    outer, sizes = image(b, 2)
    x = b.pick(FLOATS[:1], dims=[*outer, *sizes], low=-8, high=8)
    made = Range(
        -x.bound, x.bound, error=16 * x.error * (1 + x.bound) + 64 * max(x.bound, 2.0**-10)
    )
    return b.node("LRN", [x], x.dtype, x.dims, made, size=b.choose([1, 3, 5]), alpha=0.5)


IMAGES = {
    "Resize": resize,
    "Upsample": upsample,
    "GridSample": grid_sample,
    "AffineGrid": affine_grid,
    "RoiAlign": roi_align,
    "MaxRoiPool": max_roi_pool,
    "ConvTranspose": conv_transpose,
    "DeformConv": deform_conv,
    "Col2Im": col2im,
    "MaxUnpool": max_unpool,
    "LpPool": lp_pool,
    "GlobalLpPool": global_lp_pool,
    "LRN": lrn,
}
