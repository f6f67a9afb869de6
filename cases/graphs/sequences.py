"""Recurrent layers, transforms of signals, determinants."""

from __future__ import annotations

import math

import numpy as np

from cases.graphs.builder import Builder, Skip
from cases.graphs.values import FLOATS, Range, Value

CELLS = {"RNN": (1, 1), "GRU": (3, 1), "LSTM": (4, 2)}


def layer(op: str):
    gates, states = CELLS[op]

    def make(b: Builder) -> Value:
        steps, batch = b.choose([1, 3, "n"]), b.choose([1, 2, "m"])
        features, hidden = b.integer(1, 4), b.integer(1, 4)
        direction = b.choose(["forward", "reverse", "bidirectional"])
        ways = 2 if direction == "bidirectional" else 1
        if 0 in b.shape_of([steps, batch]):
            raise Skip("there is no step")
        x = b.pick(FLOATS[:1], dims=[steps, batch, features], low=-4, high=4)

        def weight(*dims: int) -> Value:
            return b.leaf(x.dtype, dims, -1, 1, constant=True)

        inputs = [x, weight(ways, gates * hidden, features), weight(ways, gates * hidden, hidden)]
        if b.chance(0.6):
            inputs.append(weight(ways, 2 * gates * hidden))
        bound = 1.0
        if op == "LSTM":
            bound += x.shape[0]  # cells are not bounded by 1
        # Every step may double what was wrong before it.
        growth = min(4.0 * hidden, 8.0) ** min(x.shape[0], 6)
        error = growth * (features * x.error + 64 * features * max(x.bound, 1))
        results = [b.result(x.dtype, [steps, ways, batch, hidden], Range(-1, 1, error=error))]
        for _ in range(states):
            results.append(
                b.result(x.dtype, [ways, batch, hidden], Range(-bound, bound, error=error))
            )
        more = {"linear_before_reset": b.integer(0, 1)} if op == "GRU" else {}
        return b.node_of(op, inputs, results, hidden_size=hidden, direction=direction, **more)[0]

    return make


def transform(b: Builder) -> Value:
    n, parts = b.integer(1, 12), b.integer(1, 2)
    # ONNX Runtime divides by the length in f32.
    x = b.pick(FLOATS[:1], dims=[b.integer(1, 3), n, parts])
    inverse = b.integer(0, 1) if parts == 2 else 0
    half = b.integer(0, 1) if parts == 1 else 0
    bound = 2 * n * x.bound
    made = Range(-bound, bound, error=2 * n * x.error + 64 * n * max(x.bound, 2.0**-10))
    dims = [x.dims[0], n // 2 + 1 if half else n, 2]
    inputs, more = ([x, "", b.number(1)], {}) if b.opset >= 20 else ([x], {"axis": 1})
    return b.node("DFT", inputs, x.dtype, dims, made, inverse=inverse, onesided=half, **more)


def short_transform(b: Builder) -> Value:
    frame, step, count = b.integer(1, 8), b.integer(1, 4), b.integer(1, 4)
    n = frame + step * (count - 1)
    x = b.pick(FLOATS[:1], dims=[b.integer(1, 3), n, 1])
    window = b.leaf(x.dtype, (frame,), -2, 2, constant=True)
    bound = 4 * frame * x.bound
    made = Range(-bound, bound, error=4 * frame * x.error + 128 * frame * max(x.bound, 2.0**-10))
    dims = [x.dims[0], count, frame // 2 + 1, 2]
    return b.node("STFT", [x, b.number(step), window], x.dtype, dims, made)


def window(op: str):
    def make(b: Builder) -> Value:
        size = b.integer(2, 12)
        made = Range(-0.01, 1.01, error=64)
        return b.node(
            op, [b.number(size)], FLOATS[0], [size], made, periodic=b.integer(0, 1)
        )  # fmt: skip

    return make


def mel(b: Builder) -> Value:
    bins, length = b.integer(2, 6), 64
    inputs = [b.number(v) for v in (bins, length, 16000)]
    inputs += [b.number(v, np.float32) for v in (100, 7000)]
    return b.node(
        "MelWeightMatrix", inputs, FLOATS[0], [length // 2 + 1, bins], Range(0, 1, error=64)
    )


def determinant(b: Builder) -> Value:
    n = b.integer(1, 4)
    x = b.pick(FLOATS[:1], dims=[*b.dims(b.integer(0, 1)), n, n], low=-4, high=4)
    bound = math.factorial(n) * max(x.bound, 1) ** n
    made = Range(-bound, bound, error=n * bound * (x.error + 64))
    return b.node("Det", [x], x.dtype, x.dims[:-2], made)


SEQUENCES = {
    **{op: layer(op) for op in CELLS},
    "DFT": transform,
    "STFT": short_transform,
    **{op: window(op) for op in ("HannWindow", "HammingWindow", "BlackmanWindow")},
    "MelWeightMatrix": mel,
    "Det": determinant,
}
