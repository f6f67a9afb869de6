"""Cases of attention and what stands around it: rotary embeddings, normalizations, losses, states."""

from __future__ import annotations

import numpy as np

from cases.operators.case import Case, f32, ints, normal, one, positive, truth, whole

NAN = np.nan


def attention_cases() -> list[Case]:
    q, k, v = normal(2, 4, 5, 8), normal(2, 4, 7, 8, seed=1), normal(2, 4, 7, 6, seed=2)
    shared_k, shared_v = normal(2, 2, 7, 8, seed=1), normal(2, 2, 7, 6, seed=2)
    past_k, past_v = normal(2, 4, 3, 8, seed=3), normal(2, 4, 3, 6, seed=4)
    rows = normal(2, 5, 32), normal(2, 7, 16, seed=1), normal(2, 7, 12, seed=2)
    heads = {"q_num_heads": 4, "kv_num_heads": 2}

    def case(*inputs, label: str, opset: int = 23, **attributes) -> Case:
        return one("Attention", *inputs, opset=opset, label=label, **attributes)

    unseen = truth(5, 7)
    unseen[2] = False
    lengths = ints(7, 4)
    return [
        case(q, k, v, label="heads"),
        case(q, k, v, label="causal", is_causal=1),
        case(q, k, v, label="scale", scale=0.3, softcap=2.0),
        case(q, k, v, truth(5, 7), label="mask"),
        case(q, k, v, unseen, label="row-unseen", is_causal=1),
        case(q, k, v, normal(2, 1, 5, 7), label="bias"),
        case(q, k, v, normal(4, 5, 7), label="bias-heads", is_causal=1),
        case(q, shared_k, shared_v, label="groups", is_causal=1),
        case(q, shared_k, shared_v, normal(2, 4, 5, 7), label="groups-bias"),
        case(q, shared_k, shared_v, truth(2, 1, 5, 7), label="groups-mask"),
        case(*rows, label="rows", **heads),
        case(*rows, label="rows-causal", is_causal=1, **heads),
        case(q, k, v, None, past_k, past_v, label="past", results=3, is_causal=1),
        case(q, k, v, truth(5, 10), past_k, past_v, label="past-mask", results=3),
        *(
            case(
                q, k, v, normal(5, 7), label=f"scores{mode}", results=4, softcap=1.5,
                qk_matmul_output_mode=mode,
            )
            for mode in range(4)
        ),
        case(q, k, v, None, None, None, lengths, label="lengths", opset=24),
        case(q, k, v, None, None, None, lengths, label="lengths-causal", opset=24, is_causal=1),
        case(q, shared_k, shared_v, truth(5, 6), None, None, lengths, label="short", opset=24),
        case(q.astype(np.float16), *(x.astype(np.float16) for x in (k, v)), label="half"),
        case(q[:, :, :1], shared_k, shared_v, label="decode"),
        case(
            q, k, v, label="free",
            free={0: ["batch", 4, "queries", 8], 1: ["batch", 4, "keys", 8],
                  2: ["batch", 4, "keys", 6]},
        ),
        case(
            *rows, label="free-rows", is_causal=1,
            free={0: ["batch", "length", 32], 1: ["batch", "keys", 16], 2: ["batch", "keys", 12]},
            **heads,
        ),
    ]  # fmt: skip


def rotary_cases() -> list[Case]:
    x, angles = normal(2, 3, 5, 8), normal(9, 4, seed=3)
    at = whole(2, 5, low=0, high=9)
    cos, sin = np.cos(angles), np.sin(angles)
    each = cos[at], sin[at]
    rows = np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(2, 5, 24)

    def case(*inputs, label: str, **attributes) -> Case:
        return one("RotaryEmbedding", *inputs, opset=23, label=label, **attributes)

    return [
        case(x, cos, sin, at, label="heads"),
        case(x, cos, sin, at, label="neighbours", interleaved=1),
        case(x, cos[:, :2], sin[:, :2], at, label="part", rotary_embedding_dim=4),
        case(rows, cos, sin, at, label="rows", num_heads=3),
        case(rows, *each, None, label="given", num_heads=3, interleaved=1),
    ]


def normalization_cases() -> list[Case]:
    x = normal(2, 3, 4, 5)
    return [
        one("RMSNormalization", x, normal(5), opset=23),
        one("RMSNormalization", x, normal(3, 4, 5), opset=23, axis=1, epsilon=0.1, label="axis"),
        one("LayerNormalization", x, normal(5), normal(5), results=3, label="statistics"),
        one("LayerNormalization", x, normal(4, 5), results=3, axis=-2, label="no-bias"),
        one("LpNormalization", x, axis=1),
        one("LpNormalization", x, p=1, label="magnitudes"),
        one("LpNormalization", np.zeros((2, 3), np.float32), opset=22, label="zeros"),
        one("MeanVarianceNormalization", x, opset=13),
        one("MeanVarianceNormalization", x, axes=[1], opset=13, label="axis"),
        one(
            "BatchNormalization", x, *(positive(3) for _ in range(4)),
            opset=15, training_mode=1, results=3, momentum=0.7, label="training",
        ),
        one("Shrink", normal(3, 7), bias=0.3, lambd=0.7),
        one("Shrink", whole(9, dtype=np.int32), bias=1.0, lambd=2.5, label="int"),
        one("Swish", normal(3, 7), opset=24, alpha=0.7),
        one("SwiGLU", normal(3, 7), normal(3, 7, seed=1), opset=28, alpha=0.7),
    ]  # fmt: skip


def loss_cases() -> list[Case]:
    x, weights = normal(3, 5, 2, 4), positive(5)
    target = whole(3, 2, 4, low=0, high=5)
    some = np.where(truth(3, 2, 4), target, 7)
    logs = -positive(3, 5, 2, 4)

    def case(op: str, *inputs, label: str, **attributes) -> Case:
        results = 2 if op == "SoftmaxCrossEntropyLoss" else 1
        return one(op, *inputs, opset=13, label=label, results=results, **attributes)

    return [
        case(op, data, *rest, label=f"{label}-{reduction}", reduction=reduction, **attributes)
        for op, data in (("NegativeLogLikelihoodLoss", logs), ("SoftmaxCrossEntropyLoss", x))
        for reduction in ("none", "sum", "mean")
        for label, rest, attributes in (
            ("plain", (target,), {}),
            ("weights", (target, weights), {}),
            ("ignored", (some,), {"ignore_index": 7}),
            ("both", (some.astype(np.int32), weights), {"ignore_index": 7}),
        )
    ]


def state_cases() -> list[Case]:
    x, filters = normal(2, 3, 6), normal(3, 1, 4)
    q, k, v = normal(2, 4, 8), normal(2, 4, 4, seed=1), normal(2, 4, 6, seed=2)
    heads = {"q_num_heads": 4, "kv_num_heads": 2}
    memory, decay, beta = normal(2, 2, 2, 3), -positive(2, 4, 2), positive(2, 4, 2)

    def linear(*inputs, rule: str) -> Case:
        return one(
            "LinearAttention", q, k, v, *inputs,
            opset=27, results=2, label=rule, update_rule=rule, **heads,
        )  # fmt: skip

    return [
        one("CausalConvWithState", x, filters, opset=27, results=2),
        one(
            "CausalConvWithState", x, filters, normal(3), normal(2, 3, 3, seed=5),
            opset=27, results=2, activation="silu", label="state",
        ),
        linear(None, None, None, rule="linear"),
        linear(memory, decay, None, rule="gated"),
        linear(memory, None, beta, rule="delta"),
        linear(memory, decay, beta, rule="gated_delta"),
    ]  # fmt: skip


def conversion_cases() -> list[Case]:
    numbers = f32(0, -1.5, 3.25, 1e-40, np.inf, NAN)
    return [
        one("BitCast", numbers, opset=26, to=6, label="f32-i32"),
        one("BitCast", normal(5, dtype=np.float64), opset=26, to=13, label="f64-u64"),
        one("BitCast", whole(7, dtype=np.int16), opset=26, to=10, label="i16-f16"),
        one("BitCast", whole(7, dtype=np.int8), opset=26, to=2, label="i8-u8"),
        one("Upsample", normal(1, 2, 3, 4), f32(1, 1, 2, 3), constants=(1,), opset=9),
        one("Upsample", normal(1, 2, 3, 4), opset=7, scales=[1.0, 1.0, 1.5, 2.5], label="odd"),
        one("Upsample", normal(1, 2, 3, 4), opset=7, scales=[1.0, 1.0, 2.0, 3.0], mode="linear",
            label="linear"),
    ]  # fmt: skip


def sequence_cases() -> list[Case]:
    return [
        *attention_cases(),
        *rotary_cases(),
        *normalization_cases(),
        *loss_cases(),
        *state_cases(),
        *conversion_cases(),
    ]
