"""Cases of recurrent layers, transforms of signals, determinants."""

from __future__ import annotations

import numpy as np

from cases.operators.case import Case, ints, normal, one

CELLS = {"RNN": 1, "GRU": 3, "LSTM": 4}


def layer(
    op: str, *, steps=5, batch=2, features=3, hidden=4, bias=True, lengths=None, initial=False,
    peepholes=False, dtype=np.float32, label="", free=None, **more,
) -> Case:  # fmt: skip
    gates, two = CELLS[op], more.get("direction") == "bidirectional"
    ways = 2 if two else 1
    inputs = [
        normal(steps, batch, features, dtype=dtype),
        normal(ways, gates * hidden, features, dtype=dtype, seed=1),
        normal(ways, gates * hidden, hidden, dtype=dtype, seed=2),
        normal(ways, 2 * gates * hidden, dtype=dtype, seed=3) if bias else None,
        None if lengths is None else np.array(lengths, np.int32),
    ]
    states = 2 if op == "LSTM" else 1
    inputs += [
        normal(ways, batch, hidden, dtype=dtype, seed=4 + i) if initial else None
        for i in range(states)
    ]
    if op == "LSTM":
        inputs.append(normal(ways, 3 * hidden, dtype=dtype, seed=7) if peepholes else None)
    while inputs[-1] is None:
        inputs.pop()
    return one(
        op,
        *inputs,
        results=1 + states,
        opset=14,
        hidden_size=hidden,
        label=label,
        free=free,
        **more,
    )


def recurrent_cases() -> list[Case]:
    cases = []
    for op in CELLS:
        cases += [
            layer(op, direction=way, initial=way != "forward", label=way)
            for way in ("forward", "reverse", "bidirectional")
        ]
        cases += [
            layer(op, bias=False, label="no bias"),
            layer(op, lengths=[3, 5, 1], batch=3, direction="bidirectional", label="lengths"),
            layer(op, clip=0.4, label="clip"),
            layer(op, steps=1, batch=1, hidden=1, features=1, label="one"),
            layer(op, free={0: ["t", "b", 3]}, label="free"),
            layer(op, hidden=16, direction="bidirectional", label="vectors"),
            layer(op, hidden=40, lengths=[5, 2], label="half vectors"),
        ]
    cases += [
        layer("GRU", linear_before_reset=1, direction="bidirectional", label="linear"),
        layer("GRU", linear_before_reset=1, bias=False, lengths=[2, 4], label="linear lengths"),
        layer("LSTM", peepholes=True, initial=True, direction="bidirectional", label="peepholes"),
        layer("LSTM", input_forget=1, label="coupled"),
        layer("RNN", activations=["Affine"], activation_alpha=[0.5], activation_beta=[0.1], label="affine"),
        layer("RNN", activations=["Relu", "Softsign"], direction="bidirectional", label="two"),
        layer("RNN", activations=["Tanh", "Tanh"], label="default of two"),
        layer("GRU", activations=["HardSigmoid", "ScaledTanh"], activation_alpha=[0.3, 0.8],
              activation_beta=[0.4, 1.2], label="scaled"),
        layer("LSTM", activations=["Sigmoid", "LeakyRelu", "Elu"], activation_alpha=[0.2, 0.7], label="elu"),
    ]  # fmt: skip
    return cases


def signal_cases() -> list[Case]:
    x, pair = normal(2, 9, 1), normal(2, 6, 2)
    return [
        one("DFT", x, axis=1),
        one("DFT", pair, axis=1, label="complex"),
        one("DFT", pair, axis=1, inverse=1, label="inverse"),
        one("DFT", x, axis=1, onesided=1, label="half"),
        one("DFT", x, ints(12)[0], constants=(1,), axis=1, label="longer"),
        one("DFT", x, ints(5)[0], constants=(1,), axis=1, label="shorter"),
        one("DFT", normal(2, 3, 4, 2), axis=2, label="inner"),
        one("STFT", normal(2, 30, 1), ints(4)[0], normal(8, seed=1), constants=(1,)),
        one("STFT", normal(2, 30, 1), ints(5)[0], None, ints(10)[0], constants=(1, 3), label="length"),
        one(
            "STFT", normal(2, 30, 1), ints(4)[0], normal(8, seed=1), constants=(1,), onesided=0,
            free={0: ["n", "t", 1]}, label="free",
        ),
        one("HannWindow", ints(9)[0], constants=(0,)),
        one("HammingWindow", ints(10)[0], constants=(0,), periodic=0),
        one("BlackmanWindow", ints(7)[0], constants=(0,), output_datatype=11),
        one(
            "MelWeightMatrix", ints(8)[0], ints(64)[0], ints(16000)[0], np.float32(100), np.float32(7000),
            constants=(0, 1, 2, 3, 4),
        ),
        one("Det", normal(4, 4), opset=11),
        one("Det", normal(2, 3, 5, 5), opset=11, label="batch"),
        one("Det", np.float32([[0, 2], [3, 0]]), opset=11, label="pivot"),
        one("Det", np.zeros((3, 3), np.float32), opset=11, label="singular"),
        one("Einsum", normal(2, 3, 4), normal(2, 4, 5), equation="...ij,...jk->...ik", label="dots"),
        one("Einsum", normal(4, 5), normal(2, 5, 3), equation="ij,...jk", label="dots on one side"),
        one("Einsum", normal(2, 4, 4), equation="...ii->...i", label="diagonal"),
        one("Einsum", normal(4, 4), equation="ii", label="trace"),
    ]  # fmt: skip


def recurrence_cases() -> list[Case]:
    return [*recurrent_cases(), *signal_cases()]
