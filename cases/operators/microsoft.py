"""Cases of the operators of com.microsoft, as ONNX Runtime's optimizer and quantizer write them."""

from __future__ import annotations

import numpy as np

from cases.operators.case import Case, normal, one, positive, truth, whole

I32 = np.int32


def ms(op: str, *inputs, label: str = "", results: int = 1, **attributes) -> Case:
    case = one(op, *inputs, label=label, results=results, domain="com.microsoft", **attributes)
    return case


def fused_cases() -> list[Case]:
    x = normal(2, 3, 6)
    image, filters = normal(1, 4, 5, 5), normal(6, 2, 3, 3)
    conv = {"group": 2, "pads": [1, 1, 1, 1], "strides": [2, 2]}
    return [
        ms("Gelu", x),
        ms("BiasGelu", x, normal(6)),
        ms("FastGelu", x),
        ms("FastGelu", x, normal(6), label="bias"),
        ms("QuickGelu", x, alpha=1.3),
        ms("FusedMatMul", x, normal(2, 6, 4), alpha=0.5),
        ms("FusedMatMul", x, normal(2, 3, 4), transA=1, label="left"),
        ms("FusedMatMul", x, normal(2, 4, 6), transB=1, label="right"),
        ms("FusedMatMul", normal(3, 2, 5, 4), normal(2, 5, 4, 6), transBatchA=1, label="batch"),
        ms("FusedGemm", normal(3, 4), normal(5, 4), normal(5), transB=1, activation="Relu"),
        ms("FusedConv", image, filters, normal(6), activation="Relu", **conv),
        ms("FusedConv", image, filters, normal(6), normal(1, 6, 3, 3), label="sum", **conv),
        ms(
            "FusedConv", image, filters, activation="Clip", activation_params=[0.0, 0.5],
            label="clip", **conv,
        ),
    ]  # fmt: skip


def normalization_cases() -> list[Case]:
    x, skip = normal(2, 3, 8), normal(2, 3, 8, seed=1)
    ids, segments = whole(2, 3, low=0, high=9, dtype=I32), whole(2, 3, low=0, high=2, dtype=I32)
    tables = normal(9, 8), normal(5, 8, seed=1), normal(2, 8, seed=2)
    four = {"opset": 17}
    return [
        ms("SkipLayerNormalization", x, skip, normal(8), normal(8, seed=2), epsilon=1e-5),
        ms(
            "SkipLayerNormalization", x, skip, normal(8), normal(8, seed=2), normal(8, seed=3),
            label="bias", epsilon=1e-5,
        ),
        ms("SkipSimplifiedLayerNormalization", x, skip, normal(8), epsilon=1e-5),
        one("SimplifiedLayerNormalization", x, normal(8), axis=-1, epsilon=1e-5, **four),
        ms(
            "EmbedLayerNormalization", ids, segments, *tables, normal(8), normal(8, seed=3),
            truth(2, 3).astype(I32), results=2, epsilon=1e-5,
        ),
        ms(
            "EmbedLayerNormalization", ids, None, *tables[:2], None, normal(8), normal(8, seed=3),
            results=2, epsilon=1e-5, label="words",
        ),
    ]  # fmt: skip


def attention_cases() -> list[Case]:
    x, weights, bias = normal(2, 5, 12), normal(12, 36) * np.float32(0.3), normal(36)
    q, k, v = normal(2, 5, 12), normal(2, 7, 12, seed=1), normal(2, 7, 12, seed=2)
    mask = whole(2, 7, low=0, high=2, dtype=I32)
    mask[:, 0] = 1
    past = normal(2, 2, 3, 4, 4)
    return [
        ms("Attention", x, weights, bias, num_heads=3),
        ms("Attention", x, weights, bias, num_heads=3, unidirectional=1, label="causal"),
        ms("Attention", x, weights, bias, mask[:, :5], num_heads=3, label="mask"),
        ms("Attention", x, weights, bias, np.array([5, 3], I32), num_heads=3, label="lengths"),
        ms("Attention", x, weights, bias, None, past, num_heads=3, results=2, unidirectional=1,
           label="past"),
        ms("Attention", x, weights, bias, None, None, normal(2, 3, 5, 5), num_heads=3,
           label="bias"),
        ms("MultiHeadAttention", q, k, v, num_heads=3),
        ms("MultiHeadAttention", q, k, v, normal(36), num_heads=3, label="bias"),
        ms("MultiHeadAttention", q, k, v, None, mask, num_heads=3, label="mask"),
        ms("MultiHeadAttention", q, k, v, None, None, normal(1, 3, 5, 7), num_heads=3,
           label="scores"),
        ms("MultiHeadAttention", q, q, q, None, None, None, normal(2, 3, 4, 4),
           normal(2, 3, 4, 4, seed=3), num_heads=3, results=3, unidirectional=1, label="past"),
    ]  # fmt: skip


def grouped_cases() -> list[Case]:
    q, k, v = normal(2, 4, 64), normal(2, 4, 32, seed=1), normal(2, 4, 32, seed=2)
    one_q, one_k, one_v = q[:, :1], k[:, :1], v[:, :1]
    past = normal(2, 2, 5, 16, seed=3), normal(2, 2, 5, 16, seed=4)
    angles = normal(16, 8, seed=5)
    cos, sin = np.cos(angles), np.sin(angles)
    heads = {"num_heads": 4, "kv_num_heads": 2, "results": 3}

    def last(*values: int) -> np.ndarray:
        return np.array(values, I32)

    def total(value: int) -> np.ndarray:
        return np.array(value, I32)

    def gqa(*inputs, label: str, **attributes) -> Case:
        return ms("GroupQueryAttention", *inputs, label=label, **heads, **attributes)

    rotary = {"do_rotary": 1}
    at = whole(2, 4, low=0, high=16)
    return [
        gqa(q, k, v, None, None, last(3, 3), total(4), label="first"),
        gqa(q, k, v, None, None, last(3, 3), total(4), cos, sin, label="rotary", **rotary),
        gqa(
            q, k, v, None, None, last(3, 3), total(4), cos, sin, label="neighbours",
            rotary_interleaved=1, **rotary,
        ),
        gqa(one_q, one_k, one_v, *past, last(5, 5), total(6), cos, sin, label="next", **rotary),
        gqa(one_q, one_k, one_v, *past, last(5, 5), total(6), label="window", local_window_size=2),
        gqa(q, k, v, None, None, last(3, 3), total(4), label="first-window", local_window_size=2),
        gqa(q, k, v, None, None, last(3, 1), total(4), label="padded"),
        gqa(one_q, one_k, one_v, *past, last(5, 3), total(6), cos, sin, label="uneven", **rotary),
        gqa(
            np.concatenate([q, k, v], axis=2), None, None, None, None, last(3, 3), total(4),
            label="packed",
        ),
        gqa(q, k, v, None, None, last(3, 3), total(4), label="softcap", softcap=3.0, scale=0.5),
        ms("RotaryEmbedding", normal(2, 3, 4, 16), at, cos, sin),
        ms("RotaryEmbedding", normal(2, 4, 48), at, cos, sin, label="rows", interleaved=1),
        ms("RotaryEmbedding", normal(2, 3, 4, 16), np.array([3]), cos, sin, label="start"),
    ]  # fmt: skip


def weight_cases() -> list[Case]:
    random = np.random.default_rng(0)

    def case(depth: int, columns: int, bits: int, zero: str, label: str) -> Case:
        block = 16
        blocks = -(-depth // block)
        packed = random.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8)
        scales = random.random((columns, blocks)).astype(np.float32)
        zeros = {
            "none": None,
            "bytes": random.integers(0, 256, (columns, -(-blocks * bits // 8))).astype(np.uint8),
        }[zero]
        return ms(
            "MatMulNBits", normal(2, 3, depth), packed, scales, zeros, constants=(1, 2, 3),
            label=label, K=depth, N=columns, bits=bits, block_size=block,
        )  # fmt: skip

    return [
        case(32, 5, 4, "none", "whole"),
        case(40, 7, 4, "bytes", "odd"),
        case(48, 7, 8, "bytes", "bytes"),
    ]


def quantized_cases() -> list[Case]:
    def byte(*shape: int, dtype=np.uint8, seed: int = 0) -> np.ndarray:
        low = 0 if dtype == np.uint8 else -128
        return np.random.default_rng(seed).integers(low, low + 256, shape).astype(dtype)

    def scale(value: float) -> np.ndarray:
        return np.float32(value)

    def point(value: int, dtype=np.uint8) -> np.ndarray:
        return dtype(value)

    a, b = byte(3, 4), byte(3, 4, seed=1)
    first, second = (scale(0.02), point(130)), (scale(0.03), point(120))
    result = scale(0.05), point(127)
    x = normal(3, 6)
    return [
        ms("QLinearAdd", a, *first, b, *second, *result),
        ms("QLinearMul", a, *first, b, *second, *result),
        ms("QLinearSigmoid", a, *first, scale(0.004), point(0), constants=(1, 2, 3, 4)),
        ms("QLinearLeakyRelu", a, *first, *result, alpha=0.1, constants=(1, 2, 3, 4)),
        ms("QLinearGlobalAveragePool", byte(1, 3, 4, 4), *first, *result),
        ms("QLinearAveragePool", byte(1, 3, 5, 5), *first, *result, kernel_shape=[3, 2], strides=[2, 1],
           pads=[1, 0, 1, 1], count_include_pad=1, constants=(1, 2, 3, 4)),
        ms("QLinearAveragePool", byte(1, 3, 5, 5), *first, *result, kernel_shape=[2, 2], strides=[2, 2],
           ceil_mode=1, constants=(1, 2, 3, 4), label="ceil"),
        ms("QLinearAveragePool", byte(1, 3, 6, 5), *first, *result, kernel_shape=[3, 2], strides=[2, 2],
           pads=[1, 0, 1, 1], ceil_mode=1, count_include_pad=1, constants=(1, 2, 3, 4), label="ceil counted"),
        ms("QLinearConcat", *result, a, *first, b, *second, axis=1),
        ms("QLinearWhere", b > a, a, *first, b[:1], *second, *result, constants=(2, 3, 5, 6, 7, 8)),
        ms("QGemm", a, *first, byte(4, 5, seed=2), scale(0.01), point(3),
           whole(5, dtype=I32), scale(0.2), point(128)),
        ms("MatMulIntegerToFloat", a, byte(4, 5, dtype=np.int8), scale(0.1), positive(5),
           point(9), np.zeros(5, np.int8), normal(5)),
        ms("DynamicQuantizeMatMul", x, byte(6, 5, dtype=np.int8), positive(5),
           np.zeros(5, np.int8), normal(5)),
        ms("DynamicQuantizeMatMul", x, byte(6, 5), scale(0.1), point(128), label="one"),
        *quantized_lstm_cases(),
    ]  # fmt: skip


def quantized_lstm_cases() -> list[Case]:
    """Weights for each direction are transposed; scales are one for each of them, or for each column.

    ONNX Runtime divides a batch among threads, each of which rounds by the range of its own part: so there is no batch.
    """

    def lstm(directions: int, *scales_shape: int, dtype, label: str, **attributes) -> Case:
        low, high = (0, 255) if dtype == np.uint8 else (-127, 127)
        w, r = (whole(directions, rows, 16, low=low, high=high, dtype=dtype) for rows in (6, 4))
        scales = np.full((directions, *scales_shape), 0.004, np.float32)
        points = np.full((directions, *scales_shape), 128 if dtype == np.uint8 else 0, dtype)
        scales *= np.linspace(0.5, 1.5, scales.size, dtype=np.float32).reshape(scales.shape)
        return ms(
            "DynamicQuantizeLSTM", normal(5, 1, 6), w, r, normal(directions, 32), None,
            normal(directions, 1, 4) * np.float32(0.3), normal(directions, 1, 4, seed=1), None,
            scales, points, scales, points, results=3, label=label, hidden_size=4,
            constants=(1, 2, 3, 8, 9, 10, 11), **attributes,
        )  # fmt: skip

    return [
        lstm(1, dtype=np.int8, label="signed"),
        lstm(1, dtype=np.uint8, label="unsigned"),
        lstm(1, 16, dtype=np.int8, label="columns"),
        lstm(2, dtype=np.int8, label="both ways", direction="bidirectional"),
    ]


def microsoft_cases() -> list[Case]:
    return [
        *fused_cases(),
        *normalization_cases(),
        *attention_cases(),
        *grouped_cases(),
        *weight_cases(),
        *quantized_cases(),
    ]
