"""Elements found, picked and placed by index or position."""

from __future__ import annotations

import numpy as np

from cases.graphs.builder import Builder, Skip
from cases.graphs.layout import anything
from cases.graphs.values import FLOATS, INTEGERS, NUMBERS, Range, Value

I64, I32 = INTEGERS[:2]


def has_elements(value: Value) -> bool:
    return 0 not in value.shape


def signed(b: Builder, axis: int, rank: int) -> int:
    return axis - rank if b.opset >= 11 and b.chance(0.5) else axis


def gather_elements(b: Builder) -> Value:
    x = anything(b, ranks=(1, 2, 3), accept=has_elements)
    axis = b.integer(0, x.rank - 1)
    dims = list(x.dims)
    dims[axis] = b.integer(1, 5)
    size = x.shape[axis]
    indices = b.pick([I64, I32], dims=dims, low=-size, high=size - 1)
    return b.node(
        "GatherElements", [x, indices], x.dtype, dims, x.range, axis=signed(b, axis, x.rank)
    )


def gather_nd(b: Builder) -> Value:
    x = anything(b, ranks=(1, 2, 3), accept=has_elements)
    depth = b.integer(1, x.rank)
    least = min(x.shape[:depth])
    points = [b.integer(1, 4) for _ in range(b.integer(0, 2))]
    indices = b.pick([I64], dims=[*points, depth], low=-least, high=least - 1)
    return b.node("GatherND", [x, indices], x.dtype, [*points, *x.dims[depth:]], x.range)


def combined(b: Builder, x: Value, y: Value, count: int) -> tuple[str, Range]:
    kind = "none"
    if b.opset >= 18 and x.dtype in (*FLOATS[:2], I64, I32):
        kind = b.choose(["none", "add", "max", "min"])
    low, high = min(x.low, y.low), max(x.high, y.high)
    if kind == "add":
        low, high = x.low + count * min(y.low, 0), x.high + count * max(y.high, 0)
    error = x.error + y.error * (count if kind == "add" else 1)
    made = Range(low, high, min(x.grid, y.grid), error, x.special or y.special)
    if kind == "add":
        made = made.rounded(x.dtype, x.is_exact and y.is_exact, count)
    return kind, made


def scatter_elements(op: str):
    def make(b: Builder) -> Value:
        if op == "Scatter" and b.opset > 10:
            raise Skip("it has another name by then")
        kinds = [*FLOATS[:2], I64, I32]
        x = b.pick(kinds, ranks=(1, 2), accept=lambda v: has_elements(v) and v.is_fixed)
        axis = b.integer(0, x.rank - 1)
        shape = list(x.shape)
        shape[axis] = b.integer(1, x.shape[axis])
        # Without a reduction every element is written once.
        order = np.argsort(b.random.random(x.shape), axis)
        indices = np.take(order, range(shape[axis]), axis)
        if b.opset >= 11 and b.chance(0.5):
            indices = indices - x.shape[axis]
        y = b.pick([x.dtype], dims=shape)
        kind, made = combined(b, x, y, 1)
        more = {"reduction": kind} if kind != "none" else {}
        inputs = [x, b.tensor(indices), y]
        return b.node(op, inputs, x.dtype, x.dims, made, axis=signed(b, axis, x.rank), **more)

    return make


def scatter_nd(b: Builder) -> Value:
    kinds = [*FLOATS[:2], I64, I32]
    x = b.pick(kinds, ranks=(1, 2, 3), accept=lambda v: has_elements(v) and v.is_fixed)
    count = b.integer(1, x.shape[0])
    rows = b.random.permutation(x.shape[0])[:count].reshape(count, 1)
    y = b.pick([x.dtype], dims=[count, *x.dims[1:]])
    kind, made = combined(b, x, y, 1)
    more = {"reduction": kind} if kind != "none" else {}
    return b.node("ScatterND", [x, b.tensor(rows), y], x.dtype, x.dims, made, **more)


def tensor_scatter(b: Builder) -> Value:
    batch, length, width = b.integer(1, 3), b.integer(3, 6), b.integer(1, 4)
    x = b.pick(FLOATS, dims=[batch, length, width])
    count = b.integer(1, 3)
    y = b.pick([x.dtype], dims=[batch, count, width])
    mode = b.choose(["linear", "circular"])
    most = length - count if mode == "linear" else length - 1
    starts = b.tensor(b.random.integers(0, most + 1, batch))
    _, made = combined(b, x, y, 0)
    made = Range(min(x.low, y.low), max(x.high, y.high), min(x.grid, y.grid), max(x.error, y.error))
    return b.node("TensorScatter", [x, y, starts], x.dtype, x.dims, made, mode=mode)


def one_hot(b: Builder) -> Value:
    depth = b.integer(1, 6)
    indices = b.pick([I64, I32], ranks=(1, 2), low=-depth, high=depth - 1)
    values = b.pick([FLOATS[0], I64], dims=[2])
    axis = b.integer(0, indices.rank)
    dims = [*indices.dims[:axis], depth, *indices.dims[axis:]]
    at = axis - indices.rank - 1 if b.chance(0.5) else axis
    inputs = [indices, b.number(depth), values]
    return b.node("OneHot", inputs, values.dtype, dims, values.range, axis=at)


def reverse_sequence(b: Builder) -> Value:
    x = anything(b, ranks=(2, 3), accept=lambda v: v.is_fixed and has_elements(v))
    time = b.integer(0, 1)
    lengths = b.random.integers(1, x.shape[time] + 1, x.shape[1 - time])
    return b.node(
        "ReverseSequence", [x, b.tensor(lengths)], x.dtype, x.dims, x.range,
        time_axis=time, batch_axis=1 - time,
    )  # fmt: skip


# Search


def arg(op: str):
    def make(b: Builder) -> Value:
        x = b.pick(NUMBERS[:6], ranks=(1, 2, 3), exact=True, accept=has_elements)
        axis, keep = b.integer(0, x.rank - 1), b.integer(0, 1)
        dims = [1 if i == axis else d for i, d in enumerate(x.dims) if keep or i != axis]
        more = {"select_last_index": b.integer(0, 1)} if b.opset >= 12 else {}
        made = Range(0, max(x.shape[axis] - 1, 0))
        at = signed(b, axis, x.rank)
        return b.node(op, [x], I64, dims, made, axis=at, keepdims=keep, **more)

    return make


def hardmax(b: Builder) -> Value:
    x = b.pick(FLOATS, ranks=(1, 2, 3), exact=True, accept=has_elements)
    if b.opset < 13 and x.rank < 2:
        raise Skip("older versions take matrices")
    axis = b.integer(0, x.rank - 1)
    return b.node("Hardmax", [x], x.dtype, x.dims, Range(0, 1), axis=signed(b, axis, x.rank))


def top_k(b: Builder) -> Value:
    x = b.pick([*FLOATS[:3], I64, I32], ranks=(1, 2, 3), exact=True, accept=has_elements)
    axis = b.integer(0, x.rank - 1)
    if isinstance(x.dims[axis], str):
        raise Skip("a dynamic dimension may be less than k")
    count = b.integer(1, x.shape[axis])
    dims = [*x.dims[:axis], count, *x.dims[axis + 1 :]]
    results = [
        b.result(x.dtype, dims, x.range),
        b.result(I64, dims, Range(0, max(x.shape[axis] - 1, 0))),
    ]
    if b.opset < 10:
        return b.node_of("TopK", [x], results, axis=axis, k=count)[0]
    more = {"largest": b.integer(0, 1)} if b.opset >= 11 else {}
    inputs = [x, b.integers([count])]
    return b.node_of("TopK", inputs, results, axis=signed(b, axis, x.rank), **more)[0]


# By position


def trilu(b: Builder) -> Value:
    x = anything(b, ranks=(2, 3))
    made = Range(min(x.low, 0), max(x.high, 0), x.grid, x.error, x.special)
    inputs = [x] if b.chance(0.3) else [x, b.number(b.integer(-4, 4))]
    return b.node("Trilu", inputs, x.dtype, x.dims, made, upper=b.integer(0, 1))


def eye_like(b: Builder) -> Value:
    x = b.pick(NUMBERS, ranks=(2,))
    dtype = b.choose([FLOATS[0], I64])
    made = b.result(dtype, x.dims, Range(0, 1))
    code, diagonal = b.type_code(dtype), b.integer(-3, 3)
    return b.node_of("EyeLike", [x], [made], dtype=code, k=diagonal)[0]


def center_crop_pad(b: Builder) -> Value:
    x = b.pick(FLOATS + INTEGERS[:2], ranks=(1, 2, 3), accept=lambda v: v.is_fixed)
    dims = [max(d + b.integer(-2, 3), 1) for d in x.shape]
    made = Range(min(x.low, 0), max(x.high, 0), x.grid, x.error)
    return b.node("CenterCropPad", [x, b.integers(dims)], x.dtype, dims, made)


PICKING = {
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Scatter": scatter_elements("Scatter"),
    "ScatterElements": scatter_elements("ScatterElements"),
    "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter,
    "OneHot": one_hot,
    "ReverseSequence": reverse_sequence,
    "ArgMax": arg("ArgMax"),
    "ArgMin": arg("ArgMin"),
    "Hardmax": hardmax,
    "TopK": top_k,
    "Trilu": trilu,
    "EyeLike": eye_like,
    "CenterCropPad": center_crop_pad,
}
