"""The same elements under another shape or order, and repeated elements."""

from __future__ import annotations

import math

from onnx import helper

from cases.graphs.builder import Builder, Skip
from cases.graphs.values import ANY, FLOATS, Value


def anything(b: Builder, **options) -> Value:
    return b.pick(ANY, calm=not b.special, **options)


def product(b: Builder, dims) -> int | str:
    """The size of what becomes one dimension."""
    if len(dims) == 1:
        return dims[0]
    size = math.prod(b.shape_of(dims))
    is_open = any(isinstance(d, str) for d in dims)
    return b.derived("*".join(f"({d})" for d in dims), size) if is_open else size


def transpose(b: Builder) -> Value:
    x = anything(b)
    order = [int(i) for i in b.random.permutation(x.rank)]
    if b.chance(0.2) or not order:
        return b.node("Transpose", [x], x.dtype, x.dims[::-1], x.range)
    return b.node("Transpose", [x], x.dtype, [x.dims[i] for i in order], x.range, perm=order)


def reshape(b: Builder) -> Value:
    x = anything(b)
    if not x.rank:
        return b.node("Reshape", [x, b.integers([1, 1])], x.dtype, [1, 1], x.range)
    if x.is_fixed and x.elements:
        return reshape_fixed(b, x)
    # Dynamic dimensions: kept by 0, taken from the shape of the input, or all but one stated.
    kind = b.integer(0, 2)
    if kind == 0:
        return b.node("Reshape", [x, b.integers([0] * x.rank)], x.dtype, x.dims, x.range)
    if kind == 1 and x.rank > 1 and x.elements:
        at = b.integer(0, x.rank - 2)
        dims = [*x.dims[:at], product(b, x.dims[at : at + 2]), *x.dims[at + 2 :]]
        target = [0 if i < at else -1 if i == at else d for i, d in enumerate(dims)]
        if all(isinstance(d, int) for d in target):
            return b.node("Reshape", [x, b.integers(target)], x.dtype, dims, x.range)
    shape = b.new_name("s")
    b.add(helper.make_node("Shape", [x.name], [shape]))
    attributes = {"allowzero": 1} if b.opset >= 14 else {}
    return b.node("Reshape", [x, shape], x.dtype, x.dims, x.range, **attributes)


def reshape_fixed(b: Builder, x: Value) -> Value:
    sizes = list(x.shape)
    while len(sizes) > 1 and b.chance(0.6):
        i = b.integer(0, len(sizes) - 2)
        sizes[i : i + 2] = [sizes[i] * sizes[i + 1]]
    if b.chance(0.3):
        i = b.integer(0, len(sizes) - 1)
        factor = b.choose([f for f in (2, 3, 4, 5) if sizes[i] % f == 0] or [1])
        sizes[i : i + 1] = [sizes[i] // factor, factor]
    if b.chance(0.3):
        sizes.insert(b.integer(0, len(sizes)), 1)
    target = list(sizes)
    if b.chance(0.5):
        target[b.integer(0, len(target) - 1)] = -1
    return b.node("Reshape", [x, b.integers(target)], x.dtype, sizes, x.range)


def flatten(b: Builder) -> Value:
    x = anything(b)
    axis = b.integer(0 if b.opset < 11 else -x.rank, x.rank)
    at = axis + x.rank if axis < 0 else axis
    dims = [product(b, part) if part else 1 for part in (x.dims[:at], x.dims[at:])]
    return b.node("Flatten", [x], x.dtype, dims, x.range, axis=axis)


def signed_axes(b: Builder, axes, rank: int) -> list[int]:
    """Some of them counted from the end, which version 11 brought."""
    return [i - rank if b.opset >= 11 and b.chance(0.5) else i for i in axes]


def squeeze(b: Builder) -> Value:
    x = anything(b, ranks=(1, 2, 3, 4), accept=lambda v: 1 in v.dims)
    ones = [i for i, d in enumerate(x.dims) if d == 1]
    if x.is_fixed and b.chance(0.3):
        return b.node("Squeeze", [x], x.dtype, [d for d in x.dims if d != 1], x.range)
    axes = [i for i in ones if b.chance(0.7)] or ones[:1]
    dims = [d for i, d in enumerate(x.dims) if i not in axes]
    inputs, attributes = b.axes_of("Squeeze", signed_axes(b, axes, x.rank), since=13)
    return b.node("Squeeze", [x, *inputs], x.dtype, dims, x.range, **attributes)


def unsqueeze(b: Builder) -> Value:
    x = anything(b, ranks=(0, 1, 2, 3))
    rank = x.rank + b.integer(1, 2)
    axes = sorted(int(i) for i in b.random.choice(rank, rank - x.rank, replace=False))
    rest = iter(x.dims)
    dims = [1 if i in axes else next(rest) for i in range(rank)]
    inputs, attributes = b.axes_of("Unsqueeze", signed_axes(b, axes, rank), since=13)
    return b.node("Unsqueeze", [x, *inputs], x.dtype, dims, x.range, **attributes)


def depth_to_space(b: Builder) -> Value:
    block = b.integer(1, 2)
    n, c, h, w = b.choose([1, 2, "n"]), b.integer(1, 3), b.integer(1, 3), b.integer(1, 4)
    x = b.pick(FLOATS, dims=[n, c * block * block, h, w], calm=not b.special)
    attributes = {"mode": b.choose(["DCR", "CRD"])} if b.opset >= 11 else {}
    dims = [n, c, h * block, w * block]
    return b.node("DepthToSpace", [x], x.dtype, dims, x.range, blocksize=block, **attributes)


def space_to_depth(b: Builder) -> Value:
    block = b.integer(1, 2)
    n, c, h, w = b.choose([1, 2, "n"]), b.integer(1, 3), b.integer(1, 3), b.integer(1, 4)
    x = b.pick(FLOATS, dims=[n, c, h * block, w * block], calm=not b.special)
    dims = [n, c * block * block, h, w]
    return b.node("SpaceToDepth", [x], x.dtype, dims, x.range, blocksize=block)


def expand(b: Builder) -> Value:
    x = anything(b, ranks=(0, 1, 2, 3), accept=lambda v: v.is_fixed)
    dims = [b.size() if d == 1 else d for d in x.dims]
    if b.chance(0.3):
        dims.insert(0, b.size())
    # A size of 1 that is asked for leaves the input's as it is.
    asked = [1 if d == e and b.chance(0.3) else d for d, e in zip(dims[-x.rank :], x.dims)]
    asked = [*dims[: len(dims) - x.rank], *(asked if x.rank else [])]
    return b.node("Expand", [x, b.integers(asked)], x.dtype, dims, x.range)


def tile(b: Builder) -> Value:
    x = anything(b, ranks=(1, 2, 3))
    repeats = [b.integer(0 if b.has_empty else 1, 3) for _ in x.dims]
    sizes = [n * r for n, r in zip(x.shape, repeats)]
    dims = [
        d if r == 1 else n if isinstance(d, int) else b.derived(f"({d})*{r}", n)
        for d, r, n in zip(x.dims, repeats, sizes)
    ]
    if math.prod(sizes) > 4096:
        raise Skip("too large")
    return b.node("Tile", [x, b.integers(repeats)], x.dtype, dims, x.range)


LAYOUT = {
    "Transpose": transpose,
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "Expand": expand,
    "Tile": tile,
}
