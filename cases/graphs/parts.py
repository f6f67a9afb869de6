"""Parts of tensors, tensors put together from parts, and values from nowhere."""

from __future__ import annotations

import numpy as np
from onnx import helper

from cases.graphs.builder import Builder, Skip, onnx_type
from cases.graphs.layout import anything
from cases.graphs.values import ANY, BOOL, FLOATS, INTEGERS, Range, Value

FAR = 2**40


def taken_size(b: Builder, dim: int | str, start: int, end: int, step: int, size: int) -> int | str:
    count = len(range(*slice(start, end, step).indices(size)))
    if isinstance(dim, int):
        return count
    return dim if count == size else b.derived(f"({dim})[{start}:{end}:{step}]", count)


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
                b.choose([b.integer(-size - 1, size + 1), FAR]),
            )
            step = b.choose([1, 1, 2, 3, -1, -2])
            if step < 0 and b.chance(0.5):
                end = -FAR
        else:
            # Of a dynamic dimension what is within it: all, backwards, every other, from or up to the second last.
            parts = [(0, FAR, 1), (-1, -FAR, -1), (0, FAR, 2)]
            start, end, step = b.choose(parts + ([(1, FAR, 1), (0, -1, 1)] if size > 1 else []))
        if b.opset < 10:
            step = 1
            start, end = (0, FAR) if isinstance(x.dims[axis], str) else (start, max(end, 0))
        dims[axis] = taken_size(b, x.dims[axis], start, end, step, size)
        axes.append(axis - x.rank if b.opset >= 10 and b.chance(0.3) else axis)
        starts.append(start)
        ends.append(end)
        steps.append(step)
    if b.opset < 10:
        return b.node(
            "Slice", [x], x.dtype, dims, x.range, starts=starts, ends=ends, axes=axes
        )  # fmt: skip
    lists = [starts, ends, axes, steps]
    if axes == list(range(len(axes))) and steps == [1] * len(steps) and b.chance(0.5):
        lists = lists[:2]
    return b.node("Slice", [x, *map(b.integers, lists)], x.dtype, dims, x.range)


def split(b: Builder) -> Value:
    def splits(v: Value) -> bool:
        return any(isinstance(d, int) and d > 1 for d in v.dims)

    x = anything(b, ranks=(1, 2, 3), accept=splits)
    axis = b.choose([i for i, d in enumerate(x.dims) if isinstance(d, int) and d > 1])
    size = x.shape[axis]
    given = axis - x.rank if b.opset >= 11 and b.chance(0.5) else axis
    inputs, attributes = [x], {"axis": given}
    count = b.integer(2, min(size, 4))
    if b.chance(0.5):
        cuts = sorted(b.integer(0, size) for _ in range(count - 1))
        sizes = [int(n) for n in np.diff([0, *cuts, size])]
        more, named = b.axes_of("Split", sizes, since=13, name="split")
        inputs, attributes = inputs + more, {**attributes, **named}
    elif b.opset >= 18:
        chunk = -(-size // count)
        if chunk * (count - 1) >= size:
            raise Skip("the last parts would be empty")
        sizes = [*[chunk] * (count - 1), size - chunk * (count - 1)]
        attributes["num_outputs"] = count
    else:
        if size % count:
            raise Skip("parts are not equal")
        sizes = [size // count] * count
    shapes = [[*x.dims[:axis], n, *x.dims[axis + 1 :]] for n in sizes]
    results = [b.result(x.dtype, shape, x.range) for shape in shapes]
    return b.node_of("Split", inputs, results, **attributes)[0]


def concat(b: Builder) -> Value:
    x = anything(b, ranks=(1, 2, 3))
    axis = b.integer(0, x.rank - 1)
    parts = [x]
    for _ in range(b.integer(0, 3)):
        dims = list(x.dims)
        if b.chance(0.5):
            dims[axis] = b.choose([b.size(), b.choose("nmk")])
        parts.append(b.pick([x.dtype], dims=dims, calm=not b.special))
    total = sum(p.shape[axis] for p in parts)
    sizes = [p.dims[axis] for p in parts]
    is_open = any(isinstance(d, str) for d in sizes)
    dims = list(x.dims)
    if len(parts) > 1:
        dims[axis] = b.derived("+".join(f"({d})" for d in sizes), total) if is_open else total
    result = Range(
        min(p.low for p in parts), max(p.high for p in parts), min(p.grid for p in parts),
        max(p.error for p in parts), any(p.special for p in parts),
    )  # fmt: skip
    at = axis - x.rank if b.opset >= 11 and b.chance(0.5) else axis
    return b.node("Concat", parts, x.dtype, dims, result, axis=at)


def pad(b: Builder) -> Value:
    x = b.pick(FLOATS + INTEGERS[:2], ranks=(1, 2, 3), calm=not b.special)
    least = [-1 if n > 3 and b.chance(0.2) else 0 for n in x.shape]
    low = [b.integer(m, 2) for m in least]
    high = [b.integer(m, 2) for m in least]
    axes = list(range(x.rank))
    if b.opset >= 18 and b.chance(0.3):
        axes = [i for i in axes if b.chance(0.6)] or axes[:1]
    dims = list(x.dims)
    for i in axes:
        more = low[i] + high[i]
        if more and isinstance(dims[i], str):
            dims[i] = b.derived(f"({dims[i]})+{more}", x.shape[i] + more)
        elif more:
            dims[i] += more
    pads = [low[i] for i in axes] + [high[i] for i in axes]
    result = Range(min(x.low, 0), max(x.high, 2), x.grid, x.error, x.special)
    number = b.choose([0, 2])
    if b.opset < 11:
        return b.node("Pad", [x], x.dtype, dims, result, pads=pads, value=float(number))
    inputs = [x, b.integers(pads)]
    if number:
        inputs.append(b.leaf(x.dtype, (), number, number, constant=True))
    if len(axes) < x.rank:
        inputs += ["", b.integers(axes)][len(inputs) - 2 :]
    return b.node("Pad", inputs, x.dtype, dims, result, mode="constant")


def gather(b: Builder) -> Value:
    def gathers(v: Value) -> bool:
        return 0 not in v.shape

    x = anything(b, ranks=(1, 2, 3), accept=gathers)
    axis = b.integer(0, x.rank - 1)
    least = 0 if b.opset < 11 else -x.shape[axis]
    kinds = [np.dtype(np.int64), np.dtype(np.int32)]
    indices = b.pick(kinds, ranks=(0, 1, 2), low=least, high=x.shape[axis] - 1)
    dims = [*x.dims[:axis], *indices.dims, *x.dims[axis + 1 :]]
    at = axis - x.rank if b.opset >= 11 and b.chance(0.5) else axis
    return b.node("Gather", [x, indices], x.dtype, dims, x.range, axis=at)


# Values


def constant_of_shape(b: Builder) -> Value:
    dtype = b.choose(ANY[:3] + INTEGERS + [BOOL])
    number = 1 if dtype == BOOL else b.integer(-3, 3)
    value = {"value": helper.make_tensor("value", onnx_type(dtype), [1], [number])}
    if b.chance(0.15):
        dtype, number, value = np.dtype(np.float32), 0, {}
    if b.chance(0.4):
        x = anything(b)
        shape, dims = b.new_name("s"), x.dims
        b.add(helper.make_node("Shape", [x.name], [shape]))
    else:
        dims = [b.size() for _ in range(b.integer(0, 3))]
        shape = b.integers(dims)
    return b.node("ConstantOfShape", [shape], dtype, dims, Range(number, number), **value)


def shape(b: Builder) -> Value:
    x = anything(b)
    kind, range_ = np.dtype(np.int64), Range(0, 4096)
    if b.opset < 15 or b.chance(0.5):
        return b.node("Shape", [x], kind, [x.rank], range_)
    start, end = b.integer(-x.rank - 1, x.rank + 1), b.integer(-x.rank - 1, x.rank + 1)
    count = len(range(x.rank)[start:end])
    return b.node("Shape", [x], kind, [count], range_, start=start, end=end)


def size(b: Builder) -> Value:
    x = anything(b)
    return b.node("Size", [x], np.dtype(np.int64), [], Range(0, 1 << 20))


def numbers_range(b: Builder) -> Value:
    dtype = b.choose([np.dtype(t) for t in (np.int64, np.int32, np.int16, np.float32, np.float64)])
    start, count, step = b.integer(-3, 3), b.integer(0, 6), b.choose([1, 2, -1])
    limits = [
        b.leaf(dtype, (), v, v, 1.0, constant=True) for v in (start, start + step * count, step)
    ]
    return b.node("Range", limits, dtype, [count], Range(-20, 20))


def identity(b: Builder) -> Value:
    x = anything(b)
    return b.node("Identity", [x], x.dtype, x.dims, x.range)


def dropout(b: Builder) -> Value:
    x = b.pick(FLOATS, calm=not b.special)
    return b.node("Dropout", [x], x.dtype, x.dims, x.range)


def constant(b: Builder) -> Value:
    """The numbers it can hold as attributes, or a tensor."""
    kind = b.integer(0, 4)
    if kind == 0 or b.opset < 12:
        dtype = b.choose(ANY)
        x = b.leaf(dtype, b.dims(b.integer(0, 3), fixed=True), constant=True)
        return b.node("Identity", [x], x.dtype, x.dims, x.range)
    whole = kind in (1, 2)
    dtype = np.dtype(np.int64 if whole else np.float32)
    numbers = [b.integer(-3, 3) for _ in range(b.integer(1, 5))]
    name = "value_int" if whole else "value_float"
    if kind % 2:
        return b.node(
            "Constant",
            [],
            dtype,
            [],
            Range(-3, 3),
            **{name: numbers[0] if whole else float(numbers[0])},
        )
    numbers = numbers if whole else [float(n) for n in numbers]
    return b.node("Constant", [], dtype, [len(numbers)], Range(-3, 3), **{name + "s": numbers})


PARTS = {
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
}
