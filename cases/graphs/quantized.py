"""Integers that stand for floats, their products, and operators of unsigned integers.

Scales are powers of two, so that every result is exact and compared to the bit.
"""

from __future__ import annotations

import numpy as np

from cases.graphs.builder import Builder
from cases.graphs.values import INTEGERS, Range, Value

U8, I8, I32 = np.dtype(np.uint8), np.dtype(np.int8), np.dtype(np.int32)
F32 = np.dtype(np.float32)
UNSIGNED = [np.dtype(t) for t in (np.uint8, np.uint16, np.uint32, np.uint64)]


def constant(b: Builder, dtype: np.dtype, numbers, shape=()) -> Value:
    data = np.broadcast_to(np.asarray(numbers, dtype), shape).copy()
    low, high = float(data.min()), float(data.max())
    value = Value(b.new_name("w"), dtype, tuple(shape), tuple(shape), low, high, 2.0**-5)
    b.add_leaf(value, data, constant=True)
    return value


def scale(b: Builder) -> Value:
    return constant(b, F32, b.choose([0.25, 0.5, 1.0, 2.0]))


def ends(dtype: np.dtype) -> tuple[int, int]:
    return (0, 255) if dtype == U8 else (-128, 127)


def whole(dtype: np.dtype) -> Range:
    """All of an 8-bit type, said so that it is within it."""
    low, high = ends(dtype)
    return Range(low + 0.5 if low else 0, high - 0.5)


def zero(b: Builder, dtype: np.dtype, shape=()) -> Value:
    low, high = ends(dtype)
    return constant(b, dtype, b.choose([0, low, high, b.integer(low, high)]), shape)


def numbers(b: Builder, dtype: np.dtype, dims, fixed=None) -> Value:
    low, high = ends(dtype)
    value = b.leaf(dtype, dims, low, high, constant=fixed)
    value.low, value.high = whole(dtype).low, whole(dtype).high
    return value


def quantize(b: Builder) -> Value:
    x = b.pick([F32], exact=True, low=-16, high=16, ranks=(1, 2, 3))
    dtype = b.choose([U8, I8])
    return b.node("QuantizeLinear", [x, scale(b), zero(b, dtype)], dtype, x.dims, whole(dtype))


def dequantize(b: Builder) -> Value:
    dtype = b.choose([U8, I8])
    x = numbers(b, dtype, b.dims(b.integer(1, 3)))
    return b.node(
        "DequantizeLinear", [x, scale(b), zero(b, dtype)], F32, x.dims, Range(-512, 512, 0.25)
    )


def dynamic_quantize(b: Builder) -> Value:
    """Of integers from 0 to 255: the scale is 1."""
    shape = (b.integer(2, 6), b.integer(1, 5))
    data = b.random.integers(0, 256, shape).astype(np.float32)
    data.flat[:2] = 0, 255
    x = Value(b.new_name("x"), F32, shape, shape, 0, 255)
    b.add_leaf(x, data, constant=False)
    results = [
        b.result(U8, shape, whole(U8)),
        b.result(F32, (), Range(1, 1)),
        b.result(U8, (), Range(0, 0)),
    ]
    return b.node_of("DynamicQuantizeLinear", [x], results)[0]


def factors(b: Builder) -> tuple[Value, Value, int | str]:
    rows, columns = b.dims(2)
    depth = b.choose([1, 3, 4, 17])
    x = numbers(b, U8, (rows, depth))
    return x, numbers(b, b.choose([U8, I8]), (depth, columns)), columns


def summed(depth: int) -> Range:
    return Range(-65536.0 * depth, 65536.0 * depth)


def matmul_integer(b: Builder) -> Value:
    x, y, columns = factors(b)
    inputs = [x, y]
    if b.chance(0.7):
        inputs += [zero(b, x.dtype), zero(b, y.dtype)][: b.integer(1, 2)]
    return b.node("MatMulInteger", inputs, I32, [x.dims[0], columns], summed(x.shape[1]))


def qlinear_matmul(b: Builder) -> Value:
    x, y, columns = factors(b)
    inputs = [x, scale(b), zero(b, U8), y, scale(b), zero(b, y.dtype)]
    inputs += [constant(b, F32, b.choose([16.0, 256.0])), zero(b, U8)]
    return b.node("QLinearMatMul", inputs, U8, [x.dims[0], columns], whole(U8))


def image_and_filter(b: Builder) -> tuple[Value, Value, tuple, dict]:
    channels, features, size, window = (
        b.choose([1, 3, 8]), b.choose([1, 4, 17]), b.integer(3, 8), b.integer(1, 3),
    )  # fmt: skip
    x = numbers(b, U8, (b.choose([1, 2]), channels, size, size))
    w = numbers(b, I8, (features, channels, window, window), fixed=True)
    pads = [b.integer(0, window - 1) for _ in range(4)]
    strides = [b.integer(1, 2) for _ in range(2)]
    sizes = [(size + pads[i] + pads[i + 2] - window) // strides[i] + 1 for i in range(2)]
    dims = (x.shape[0], features, *sizes)
    return x, w, dims, {"pads": pads, "strides": strides}


def conv_integer(b: Builder) -> Value:
    x, w, dims, attributes = image_and_filter(b)
    inputs = [x, w, zero(b, U8)] if b.chance(0.7) else [x, w]
    depth = w.elements // w.shape[0]
    return b.node("ConvInteger", inputs, I32, dims, summed(depth), **attributes)


def qlinear_conv(b: Builder) -> Value:
    x, w, dims, attributes = image_and_filter(b)
    inputs = [x, scale(b), zero(b, U8), w, scale(b), constant(b, I8, 0)]
    inputs += [constant(b, F32, b.choose([16.0, 256.0])), zero(b, U8)]
    if b.chance(0.5):
        inputs.append(constant(b, I32, b.integer(-1000, 1000), (w.shape[0],)))
    return b.node("QLinearConv", inputs, U8, dims, whole(U8), **attributes)


def bit_shift(b: Builder) -> Value:
    dtype = b.choose(UNSIGNED)
    dims = b.dims(2)
    x, distance = b.leaf(dtype, dims, 0, 100), b.leaf(dtype, dims, 0, 7)
    if dtype == U8:
        x.high = 100.0
    direction = b.choose(["LEFT", "RIGHT"])
    return b.node(
        "BitShift", [x, distance], dtype, dims, Range(0, 254 if dtype == U8 else 12800),
        direction=direction,
    )  # fmt: skip


def bitwise_not(b: Builder) -> Value:
    x = b.pick(INTEGERS)
    return b.node("BitwiseNot", [x], x.dtype, x.dims, Range(-x.high - 1, -x.low - 1))


QUANTIZED = {
    "QuantizeLinear": quantize,
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic_quantize,
    "MatMulInteger": matmul_integer,
    "QLinearMatMul": qlinear_matmul,
    "ConvInteger": conv_integer,
    "QLinearConv": qlinear_conv,
    "BitShift": bit_shift,
    "BitwiseNot": bitwise_not,
}
