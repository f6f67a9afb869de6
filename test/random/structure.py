"""Operators that move elements or combine many: layout, parts, products, windows, normalizations."""

from __future__ import annotations

import math

import numpy as np
from builder import Builder, Skip, onnx_type
from onnx import helper
from reductions import REDUCED
from values import ANY, BOOL, FLOATS, INTEGERS, Range, Value


def same(x: Value) -> Range:
    return Range(x.low, x.high, x.grid, x.error, x.special)


def anything(b: Builder, **options) -> Value:
    return b.pick(ANY, calm=not b.special, **options)


def is_fixed(x: Value) -> bool:
    return all(isinstance(d, int) for d in x.dims)


# Layout


def transpose(b: Builder) -> Value:
    x = anything(b)
    order = [int(i) for i in b.random.permutation(x.rank)]
    if b.chance(0.2) or not order:
        return b.node("Transpose", [x], x.dtype, x.dims[::-1], same(x))
    return b.node("Transpose", [x], x.dtype, [x.dims[i] for i in order], same(x), perm=order)


def reshape(b: Builder) -> Value:
    x = anything(b)
    if is_fixed(x) and x.rank and 0 not in x.shape:
        sizes = [d for d in x.shape]
        while len(sizes) > 1 and b.chance(0.6):
            i = b.integer(0, len(sizes) - 2)
            sizes[i : i + 2] = [sizes[i] * sizes[i + 1]]
        if b.chance(0.3):
            sizes.insert(b.integer(0, len(sizes)), 1)
        target = list(sizes)
        if b.chance(0.5):
            target[b.integer(0, len(target) - 1)] = -1
        return b.node("Reshape", [x, b.integers(target)], x.dtype, sizes, same(x))
    if not x.rank:
        return b.node("Reshape", [x, b.integers([1, 1])], x.dtype, [1, 1], same(x))
    # Open sizes: kept by 0, or taken from the shape of the input.
    if b.chance(0.5):
        return b.node("Reshape", [x, b.integers([0] * x.rank)], x.dtype, x.dims, same(x))
    shape = b.new_name("s")
    b.nodes.append(helper.make_node("Shape", [x.name], [shape]))
    b.operators.add("Shape")
    return b.node("Reshape", [x, shape], x.dtype, x.dims, same(x))


def flatten(b: Builder) -> Value:
    x = anything(b, accept=is_fixed)
    axis = b.integer(-x.rank, x.rank)
    at = axis + x.rank if axis < 0 else axis
    dims = [math.prod(x.shape[:at]), math.prod(x.shape[at:])]
    return b.node("Flatten", [x], x.dtype, dims, same(x), axis=axis)


def squeeze(b: Builder) -> Value:
    x = anything(b, ranks=(1, 2, 3, 4), accept=lambda v: 1 in v.dims)
    ones = [i for i, d in enumerate(x.dims) if d == 1]
    axes = [i for i in ones if b.chance(0.7)] or ones[:1]
    dims = [d for i, d in enumerate(x.dims) if i not in axes]
    given = [i - x.rank if b.chance(0.5) else i for i in axes]
    return b.node("Squeeze", [x, b.integers(given)], x.dtype, dims, same(x))


def unsqueeze(b: Builder) -> Value:
    x = anything(b, ranks=(0, 1, 2, 3))
    rank = x.rank + b.integer(1, 2)
    axes = sorted(int(i) for i in b.random.choice(rank, rank - x.rank, replace=False))
    rest = iter(x.dims)
    dims = [1 if i in axes else next(rest) for i in range(rank)]
    given = [i - rank if b.chance(0.5) else i for i in axes]
    return b.node("Unsqueeze", [x, b.integers(given)], x.dtype, dims, same(x))


def depth_to_space(b: Builder) -> Value:
    block = b.integer(1, 2)
    n, c, h, w = b.integer(1, 2), b.integer(1, 3), b.integer(1, 3), b.integer(1, 4)
    x = b.pick(FLOATS, dims=[n, c * block * block, h, w], calm=not b.special)
    dims = [n, c, h * block, w * block]
    return b.node(
        "DepthToSpace", [x], x.dtype, dims, same(x), blocksize=block, mode=b.choose(["DCR", "CRD"])
    )


def space_to_depth(b: Builder) -> Value:
    block = b.integer(1, 2)
    n, c, h, w = b.integer(1, 2), b.integer(1, 3), b.integer(1, 3), b.integer(1, 4)
    x = b.pick(FLOATS, dims=[n, c, h * block, w * block], calm=not b.special)
    dims = [n, c * block * block, h, w]
    return b.node("SpaceToDepth", [x], x.dtype, dims, same(x), blocksize=block)


def expand(b: Builder) -> Value:
    x = anything(b, accept=is_fixed)
    dims = [b.size() if d == 1 else d for d in x.dims]
    if b.chance(0.3) and len(dims) < 4:
        dims.insert(0, b.size())
    return b.node("Expand", [x, b.integers(dims)], x.dtype, dims, same(x))


def tile(b: Builder) -> Value:
    x = anything(b, ranks=(1, 2, 3), accept=is_fixed)
    repeats = [b.integer(1, 3) for _ in x.dims]
    dims = [d * r for d, r in zip(x.shape, repeats)]
    if math.prod(dims) > 4096:
        raise Skip("too large")
    return b.node("Tile", [x, b.integers(repeats)], x.dtype, dims, same(x))


# Parts


def slice_node(b: Builder) -> Value:
    x = anything(b, ranks=(1, 2, 3, 4))
    axes, starts, ends, steps, dims = [], [], [], [], list(x.dims)
    for axis in range(x.rank):
        if b.chance(0.4) and axes:
            continue
        size = x.shape[axis]
        if isinstance(x.dims[axis], int):
            start, end = (
                b.integer(-size - 1, size + 1),
                b.choose([b.integer(-size - 1, size + 1), 2**40]),
            )
            step = b.choose([1, 1, 2, 3, -1, -2])
            if step < 0 and b.chance(0.5):
                end = -(2**40)
        else:
            # Of an open size what every size has: all of it, or backwards.
            start, end, step = b.choose([(0, 2**40, 1), (-1, -(2**40), -1), (0, 2**40, 2)])
        taken = len(range(*slice(start, end, step).indices(size)))
        if isinstance(x.dims[axis], str) and abs(step) != 1:
            continue
        dims[axis] = x.dims[axis] if isinstance(x.dims[axis], str) else taken
        axes.append(axis - x.rank if b.chance(0.3) else axis)
        starts.append(start)
        ends.append(end)
        steps.append(step)
    if not axes:
        raise Skip("nothing to slice")
    inputs = [x, *(b.integers(numbers) for numbers in (starts, ends, axes, steps))]
    return b.node("Slice", inputs, x.dtype, dims, same(x))


def split(b: Builder) -> Value:
    x = anything(
        b, ranks=(1, 2, 3), accept=lambda v: any(isinstance(d, int) and d > 1 for d in v.dims)
    )
    axis = b.choose([i for i, d in enumerate(x.dims) if isinstance(d, int) and d > 1])
    first = b.integer(1, x.shape[axis] - 1)
    sizes = [first, x.shape[axis] - first]
    second = b.new_name("v")
    dims = [list(x.dims), list(x.dims)]
    for part, size in zip(dims, sizes):
        part[axis] = size
    made = b.node(
        "Split", [x, b.integers(sizes)], x.dtype, dims[0], same(x), extra=[second],
        axis=axis - x.rank if b.chance(0.5) else axis,
    )  # fmt: skip
    b.values.append(
        Value(
            second,
            x.dtype,
            tuple(dims[1]),
            b.shape_of(dims[1]),
            x.low,
            x.high,
            x.grid,
            x.error,
            x.special,
        )
    )
    return made


def concat(b: Builder) -> Value:
    x = anything(b, ranks=(1, 2, 3))
    fixed = [i for i, d in enumerate(x.dims) if isinstance(d, int)]
    if not fixed:
        raise Skip("no axis of known size")
    axis = b.choose(fixed)
    parts = [x]
    for _ in range(b.integer(1, 3)):
        dims = list(x.dims)
        if b.chance(0.5):
            dims[axis] = b.size()
        parts.append(b.pick([x.dtype], dims=dims, calm=not b.special))
    dims = list(x.dims)
    dims[axis] = sum(p.shape[axis] for p in parts)
    result = Range(
        min(p.low for p in parts), max(p.high for p in parts), min(p.grid for p in parts),
        max(p.error for p in parts), any(p.special for p in parts),
    )  # fmt: skip
    at = axis - x.rank if b.chance(0.5) else axis
    return b.node("Concat", parts, x.dtype, dims, result, axis=at)


def pad(b: Builder) -> Value:
    x = b.pick(FLOATS + INTEGERS[:2], ranks=(1, 2, 3), accept=is_fixed)
    low = [b.integer(0, 2) for _ in x.dims]
    high = [b.integer(0, 2) for _ in x.dims]
    dims = [d + p + q for d, p, q in zip(x.shape, low, high)]
    inputs = [x, b.integers(low + high)]
    if b.chance(0.5):
        inputs.append(b.leaf(x.dtype, (), 2, 2, constant=True))
    result = Range(min(x.low, 0), max(x.high, 2), x.grid, x.error)
    return b.node("Pad", inputs, x.dtype, dims, result, mode="constant")


def gather(b: Builder) -> Value:
    x = anything(
        b, ranks=(1, 2, 3), accept=lambda v: any(isinstance(d, int) and d > 0 for d in v.dims)
    )
    axis = b.choose([i for i, d in enumerate(x.dims) if isinstance(d, int) and d > 0])
    size = x.shape[axis]
    indices = b.leaf(
        np.dtype(b.choose([np.int64, np.int32])), b.dims(b.integer(0, 2)), -size, size - 1
    )
    dims = [*x.dims[:axis], *indices.dims, *x.dims[axis + 1 :]]
    at = axis - x.rank if b.chance(0.5) else axis
    return b.node("Gather", [x, indices], x.dtype, dims, same(x), axis=at)


# Values


def constant_of_shape(b: Builder) -> Value:
    dims = [b.size() for _ in range(b.integer(0, 3))]
    dtype = b.choose(ANY[:3] + INTEGERS + [BOOL])
    number = 1 if dtype == BOOL else b.integer(-3, 3)
    tensor = helper.make_tensor("value", onnx_type(dtype), [1], [number])
    return b.node(
        "ConstantOfShape", [b.integers(dims)], dtype, dims, Range(number, number), value=tensor
    )


def shape(b: Builder) -> Value:
    x = anything(b)
    return b.node("Shape", [x], np.dtype(np.int64), [x.rank], Range(0, 4096))


def size(b: Builder) -> Value:
    x = anything(b)
    return b.node("Size", [x], np.dtype(np.int64), [], Range(0, 1 << 20))


def numbers_range(b: Builder) -> Value:
    dtype = b.choose([np.dtype(t) for t in (np.int64, np.int32, np.float32, np.float64)])
    start, count, step = b.integer(-3, 3), b.integer(0, 6), b.choose([1, 2, -1])
    limits = [
        b.leaf(dtype, (), v, v, 1.0, constant=True) for v in (start, start + step * count, step)
    ]
    return b.node("Range", limits, dtype, [count], Range(-20, 20))


def identity(b: Builder) -> Value:
    x = anything(b)
    return b.node("Identity", [x], x.dtype, x.dims, same(x))


def dropout(b: Builder) -> Value:
    x = b.pick(FLOATS, calm=not b.special)
    return b.node("Dropout", [x], x.dtype, x.dims, same(x))


def constant(b: Builder) -> Value:
    dtype = b.choose(ANY)
    x = b.leaf(dtype, b.dims(b.integer(0, 3), fixed=True), constant=True)
    return b.node("Identity", [x], x.dtype, x.dims, same(x))


# Products


def summed(b: Builder, x: Value, y: Value, depth: int) -> Range:
    bound = x.bound * y.bound * max(depth, 1)
    error = depth * (x.error * y.bound + y.error * x.bound)
    return Range(-bound, bound, x.grid * y.grid, error).rounded(
        x.dtype, x.is_exact and y.is_exact, max(depth, 1)
    )


def matmul(b: Builder) -> Value:
    x = b.pick(FLOATS + INTEGERS[:2], ranks=(1, 2, 3), low=-8, high=8)
    depth = x.dims[-1]
    columns = b.dims(1)[0]
    kind = b.integer(0, 2)
    if kind == 0:
        y = b.pick([x.dtype], dims=[depth], low=-8, high=8)
        dims = x.dims[:-1]
    elif kind == 1 or x.rank != 3:
        y = b.pick([x.dtype], dims=[depth, columns], low=-8, high=8)
        dims = [*x.dims[:-1], columns]
    else:
        y = b.pick([x.dtype], dims=[b.choose([1, x.dims[0]]), depth, columns], low=-8, high=8)
        dims = [*x.dims[:-1], columns]
    return b.node("MatMul", [x, y], x.dtype, dims, summed(b, x, y, x.shape[-1]))


def gemm(b: Builder) -> Value:
    x = b.pick(FLOATS, ranks=(2,), low=-8, high=8)
    trans_a, trans_b = b.integer(0, 1), b.integer(0, 1)
    rows, depth = (x.dims[1], x.dims[0]) if trans_a else x.dims
    columns = b.dims(1)[0]
    y = b.pick([x.dtype], dims=[columns, depth] if trans_b else [depth, columns], low=-8, high=8)
    inputs = [x, y]
    result = summed(b, x, y, b.shape_of([depth])[0])
    alpha, beta = b.choose([1.0, 0.5, 2.0]), b.choose([1.0, 0.5, 0.0])
    low, high, error = result.low * alpha, result.high * alpha, result.error * alpha
    grid = result.grid / 2
    if b.chance(0.6):
        shape = b.choose([[columns], [1, columns], [rows, columns], [rows, 1], []])
        c = b.pick([x.dtype], dims=shape)
        inputs.append(c)
        low, high, error = low + min(c.low, 0), high + max(c.high, 0), error + c.error
        grid = min(grid, c.grid / 2)
    exact = all(v.is_exact for v in inputs) and result.error == 0
    final = Range(low, high, grid, error).rounded(x.dtype, exact, 2)
    return b.node(
        "Gemm", inputs, x.dtype, [rows, columns], final, transA=trans_a, transB=trans_b, alpha=alpha,
        beta=beta,
    )  # fmt: skip


def einsum(b: Builder) -> Value:
    x = b.pick(FLOATS[:3], ranks=(2,), low=-8, high=8)
    i, j = x.dims
    kind = b.integer(0, 3)
    if kind == 0:
        return b.node("Einsum", [x], x.dtype, [j, i], same(x), equation="ij->ji")
    if kind == 1:
        terms = max(x.shape[1], 1)
        result = Range(x.low * terms, x.high * terms, x.grid, x.error * terms)
        result.low, result.high = -result.bound, result.bound
        return b.node(
            "Einsum",
            [x],
            x.dtype,
            [i],
            result.rounded(x.dtype, x.is_exact, terms),
            equation="ij->i",
        )
    if kind == 2:
        y = b.pick([x.dtype], dims=[j, b.dims(1)[0]], low=-8, high=8)
        result = summed(b, x, y, x.shape[1])
        return b.node("Einsum", [x, y], x.dtype, [i, y.dims[1]], result, equation="ij,jk->ik")
    y = b.pick([x.dtype], dims=[i, j], low=-8, high=8)
    return b.node("Einsum", [x, y], x.dtype, [i], summed(b, x, y, x.shape[1]), equation="bj,bj->b")


# Windows


def image(b: Builder, spatial: int) -> tuple[list[int | str], list[int]]:
    batch = b.choose([1, 2, "n"])
    return [batch, b.integer(1, 4)], [b.integer(3, 7) for _ in range(spatial)]


def windows(b: Builder, sizes: list[int], *, below: bool) -> tuple[dict, list[int]]:
    """A window with its strides, dilations and pads, and the sizes that leaves."""
    window = [b.integer(1, 3) for _ in sizes]
    strides = [b.integer(1, 2) for _ in sizes]
    dilations = [b.integer(1, 2) if b.chance(0.3) else 1 for _ in sizes]
    extents = [(k - 1) * d + 1 for k, d in zip(window, dilations)]
    most = [min(e - 1, 2) if below else 2 for e in extents]
    low, high = [b.integer(0, m) for m in most], [b.integer(0, m) for m in most]
    out = [(s + p + q - e) // t + 1 for s, p, q, e, t in zip(sizes, low, high, extents, strides)]
    if any(o < 1 for o in out):
        raise Skip("the window does not fit")
    attributes = {
        "kernel_shape": window,
        "strides": strides,
        "dilations": dilations,
        "pads": low + high,
    }
    return attributes, out


def conv(b: Builder) -> Value:
    spatial = b.integer(1, 2)
    (batch, _), sizes = image(b, spatial)
    groups = b.choose([1, 1, 2])
    channels, features = groups * b.integer(1, 3), groups * b.integer(1, 3)
    x = b.pick(FLOATS, dims=[batch, channels, *sizes], low=-8, high=8)
    attributes, out = windows(b, sizes, below=False)
    filter_dims = [features, channels // groups, *attributes["kernel_shape"]]
    w = b.pick([x.dtype], dims=filter_dims, low=-8, high=8)
    depth = math.prod(filter_dims[1:])
    inputs, result = [x, w], summed(b, x, w, depth)
    if b.chance(0.5):
        bias = b.pick([x.dtype], dims=[features])
        inputs.append(bias)
        result = Range(
            result.low + bias.low, result.high + bias.high, min(result.grid, bias.grid),
            result.error + bias.error,
        ).rounded(x.dtype, result.error == 0 and bias.is_exact)  # fmt: skip
    return b.node(
        "Conv", inputs, x.dtype, [batch, features, *out], result, group=groups, **attributes
    )


def max_pool(b: Builder) -> Value:
    (batch, channels), sizes = image(b, b.integer(1, 2))
    x = b.pick(FLOATS, dims=[batch, channels, *sizes])
    attributes, out = windows(b, sizes, below=True)
    return b.node("MaxPool", [x], x.dtype, [batch, channels, *out], same(x), **attributes)


def average_pool(b: Builder) -> Value:
    (batch, channels), sizes = image(b, b.integer(1, 2))
    x = b.pick(FLOATS, dims=[batch, channels, *sizes])
    attributes, out = windows(b, sizes, below=True)
    if b.opset < 19:
        del attributes["dilations"]
        extents = attributes["kernel_shape"]
        pads = attributes["pads"]
        half = len(sizes)
        pads = [min(p, e - 1) for p, e in zip(pads, extents * 2)]
        attributes["pads"] = pads
        out = [
            (s + pads[i] + pads[half + i] - extents[i]) // attributes["strides"][i] + 1
            for i, s in enumerate(sizes)
        ]
    result = Range(min(x.low, 0), max(x.high, 0), error=x.error + 10 * max(x.bound, 2.0**-10))
    return b.node(
        "AveragePool", [x], x.dtype, [batch, channels, *out], result,
        count_include_pad=b.integer(0, 1), **attributes,
    )  # fmt: skip


def global_pool(op: str):
    def make(b: Builder) -> Value:
        (batch, channels), sizes = image(b, b.integer(1, 2))
        x = b.pick(FLOATS, dims=[batch, channels, *sizes])
        error = (
            x.error
            if op == "GlobalMaxPool"
            else x.error + math.prod(sizes) * max(x.bound, 2.0**-10)
        )
        result = Range(x.low, x.high, x.grid, error)
        return b.node(op, [x], x.dtype, [batch, channels, *[1] * len(sizes)], result)

    return make


# Normalizations: the result of a row is bounded by the root of its length


def softmax(op: str):
    def make(b: Builder) -> Value:
        x = b.pick(FLOATS, ranks=(1, 2, 3), low=-8, high=8)
        axis = b.axis(x.rank)
        length = max(x.shape[axis], 1)
        bound = 1.0 if op == "Softmax" else 17 + math.log(length)
        error = 4 * x.error + (16 + length) * bound
        return b.node(op, [x], x.dtype, x.dims, Range(-bound, bound, error=error), axis=axis)

    return make


def normalized(b: Builder, x: Value, scale: Value, bias: Value | None, length: int) -> Range:
    """With an epsilon of 0.5 what is normalized is divided by at least its root."""
    spread = 2 * x.bound
    bound = scale.bound * spread / math.sqrt(0.5) + (bias.bound if bias else 0)
    slope = scale.bound * (2 + 4 * spread * spread)
    error = slope * (x.error + (4 + length) * max(x.bound, 0.25)) + 8 * bound
    error += scale.error * spread * 2 + (bias.error if bias else 0)
    return Range(-bound, bound, error=error)


def layer_norm(b: Builder) -> Value:
    if b.opset < 17:
        raise Skip("a later version has it")
    x = b.pick(FLOATS, ranks=(1, 2, 3), low=-8, high=8)
    axis = b.integer(0, x.rank - 1)
    dims = x.dims[axis:]
    scale = b.pick([x.dtype], dims=dims, low=-4, high=4)
    bias = b.pick([x.dtype], dims=dims, low=-4, high=4) if b.chance(0.6) else None
    result = normalized(b, x, scale, bias, math.prod(x.shape[axis:]))
    inputs = [x, scale, *([bias] if bias else [])]
    return b.node(
        "LayerNormalization", inputs, x.dtype, x.dims, result,
        axis=axis - x.rank if b.chance(0.5) else axis, epsilon=0.5,
    )  # fmt: skip


def batch_norm(b: Builder) -> Value:
    (batch, channels), sizes = image(b, b.integer(1, 2))
    x = b.pick(FLOATS, dims=[batch, channels, *sizes], low=-8, high=8)
    scale, bias, mean = (b.pick([x.dtype], dims=[channels], low=-4, high=4) for _ in range(3))
    variance = b.pick([x.dtype], dims=[channels], low=0.25, high=4)
    result = normalized(b, x, scale, bias, 4)
    result.error += 4 * (mean.error + variance.error * 8) * scale.bound + 64 * result.bound
    return b.node(
        "BatchNormalization", [x, scale, bias, mean, variance], x.dtype, x.dims, result, epsilon=0.5
    )


def instance_norm(b: Builder) -> Value:
    (batch, channels), sizes = image(b, b.integer(1, 2))
    x = b.pick(FLOATS, dims=[batch, channels, *sizes], low=-8, high=8)
    scale, bias = (b.pick([x.dtype], dims=[channels], low=-4, high=4) for _ in range(2))
    result = normalized(b, x, scale, bias, math.prod(sizes))
    return b.node("InstanceNormalization", [x, scale, bias], x.dtype, x.dims, result, epsilon=0.5)


def group_norm(b: Builder) -> Value:
    if b.opset < 18:
        raise Skip("a later version has it")
    (batch, _), sizes = image(b, b.integer(1, 2))
    groups, each = b.integer(1, 2), b.integer(1, 2)
    x = b.pick(FLOATS, dims=[batch, groups * each, *sizes], low=-8, high=8)
    count = groups * each if b.opset >= 21 else groups
    scale, bias = (b.pick([x.dtype], dims=[count], low=-4, high=4) for _ in range(2))
    result = normalized(b, x, scale, bias, each * math.prod(sizes))
    return b.node(
        "GroupNormalization",
        [x, scale, bias],
        x.dtype,
        x.dims,
        result,
        num_groups=groups,
        epsilon=0.5,
    )


STRUCTURE = {
    "Transpose": transpose,
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "Expand": expand,
    "Tile": tile,
    "Slice": slice_node,
    "Split": split,
    "Concat": concat,
    "Pad": pad,
    "Gather": gather,
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "Shape": shape,
    "Size": size,
    "Range": numbers_range,
    "Identity": identity,
    "Dropout": dropout,
    "MatMul": matmul,
    "Gemm": gemm,
    "Einsum": einsum,
    "Conv": conv,
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": global_pool("GlobalAveragePool"),
    "GlobalMaxPool": global_pool("GlobalMaxPool"),
    "Softmax": softmax("Softmax"),
    "LogSoftmax": softmax("LogSoftmax"),
    "LayerNormalization": layer_norm,
    "BatchNormalization": batch_norm,
    "InstanceNormalization": instance_norm,
    "GroupNormalization": group_norm,
    **REDUCED,
}
