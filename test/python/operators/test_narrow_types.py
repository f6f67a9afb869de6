"""Unsigned integers, float8, float4 and integers of 4 and 2 bits: conversions and arithmetic, against NumPy and ml_dtypes."""

from __future__ import annotations

import headrace as hr
import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]
SMALL_FLOATS = [
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float4_e2m1fn",
]
ONNX_TYPES = {
    "float8_e4m3fn": TensorProto.FLOAT8E4M3FN,
    "float8_e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
    "float8_e5m2": TensorProto.FLOAT8E5M2,
    "float8_e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
    "float4_e2m1fn": TensorProto.FLOAT4E2M1,
    "float8_e8m0fnu": TensorProto.FLOAT8E8M0,
    "int2": TensorProto.INT2,
    "uint2": TensorProto.UINT2,
    "int4": TensorProto.INT4,
    "uint4": TensorProto.UINT4,
    "bfloat16": TensorProto.BFLOAT16,
}


def onnx_type(dtype) -> int:
    name = np.dtype(dtype).name
    return ONNX_TYPES.get(name) or helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def load(tmp_path, operator, inputs, result, weights=(), opset=23, **attributes):
    """A model of one node: inputs are (type, shape), weights constants after them."""
    names = [f"x{i}" for i in range(len(inputs))]
    constants = [f"w{i}" for i in range(len(weights))]
    node = helper.make_node(operator, names + constants, ["y"], **attributes)
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info(n, onnx_type(t), s) for n, (t, s) in zip(names, inputs)],
        [helper.make_tensor_value_info("y", onnx_type(result), None)],
        [onnx.numpy_helper.from_array(w, n) for n, w in zip(constants, weights)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=11)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return hr.load(path)


def ends(dtype) -> np.ndarray:
    """Numbers at the ends of the range and at its middle, where signs would show."""
    info = np.iinfo(dtype)
    middle = info.max // 2
    few = [0, 1, 2, 3, 7, middle - 1, middle, middle + 1, info.max - 1, info.max]
    return np.array(few * 5, dtype)[:47]


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_arithmetic_of_unsigned_numbers_is_numpys(tmp_path, dtype):
    a = ends(dtype)
    b = np.roll(a, 7)
    functions = {
        "Add": np.add,
        "Sub": np.subtract,
        "Mul": np.multiply,
        "Max": np.maximum,
        "Min": np.minimum,
        "Less": np.less,
        "GreaterOrEqual": np.greater_equal,
        "Equal": np.equal,
        "BitwiseXor": np.bitwise_xor,
    }
    for name, function in functions.items():
        expected = function(a, b)
        model = load(tmp_path, name, [(dtype, a.shape)] * 2, expected.dtype)
        np.testing.assert_array_equal(model(a, b), expected, err_msg=name)
    for name, function in {"Div": np.floor_divide, "Mod": np.mod}.items():
        divisor = np.maximum(b, 1).astype(dtype)
        model = load(tmp_path, name, [(dtype, a.shape)] * 2, dtype)
        np.testing.assert_array_equal(model(a, divisor), function(a, divisor), err_msg=name)


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_powers_of_unsigned_numbers_wrap_around(tmp_path, dtype):
    base, exponent = (
        np.array([0, 2, 3, 255, 7, 6], dtype),
        np.array([0, 5, 200, 255, 129, 64], dtype),
    )
    bits = np.iinfo(dtype).bits
    expected = [pow(int(b), int(e), 2**bits) for b, e in zip(base, exponent)]
    model = load(tmp_path, "Pow", [(dtype, base.shape)] * 2, dtype)
    np.testing.assert_array_equal(model(base, exponent), np.array(expected, dtype))


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_reductions_of_unsigned_numbers_compare_without_sign(tmp_path, dtype):
    x = ends(dtype)[:44].reshape(4, 11)
    axes = np.array([1])
    for name, function in {"ReduceMax": np.max, "ReduceMin": np.min, "ReduceSum": np.sum}.items():
        expected = function(x, axis=1, keepdims=True).astype(dtype)
        model = load(tmp_path, name, [(dtype, x.shape)], dtype, [axes])
        np.testing.assert_array_equal(model(x), expected, err_msg=name)


def test_largest_pixels_are_found_without_sign(tmp_path):
    x = np.random.default_rng(0).integers(0, 256, (2, 3, 9, 9)).astype(np.uint8)
    model = load(
        tmp_path, "MaxPool", [(np.uint8, x.shape)], np.uint8, kernel_shape=[3, 3], pads=[1] * 4
    )
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    np.testing.assert_array_equal(model(x), windows.max((4, 5)))


def test_integers_convert_modulo_and_floats_clamp(tmp_path):
    signed = np.array([-1, -128, 0, 127, 255, 256, 2**31 - 1], np.int64)
    for dtype in [*UNSIGNED, np.int8]:
        model = load(tmp_path, "Cast", [(np.int64, signed.shape)], dtype, to=onnx_type(dtype))
        np.testing.assert_array_equal(model(signed), signed.astype(dtype))
        back = load(tmp_path, "Cast", [(dtype, (3,))], np.int64, to=TensorProto.INT64)
        few = np.array([0, 100, np.iinfo(dtype).max], dtype)
        np.testing.assert_array_equal(back(few), few.astype(np.int64))
        real = load(tmp_path, "Cast", [(dtype, (3,))], np.float64, to=TensorProto.DOUBLE)
        np.testing.assert_array_equal(real(few), few.astype(np.float64))
    floats = np.array(
        [-1.5, -0.5, 0.9, 127.9, 200.5, 1e9, 1e30, np.inf, -np.inf, np.nan], np.float32
    )
    model = load(tmp_path, "Cast", [(np.float32, floats.shape)], np.uint8, to=TensorProto.UINT8)
    np.testing.assert_array_equal(model(floats), [0, 0, 0, 127, 200, 255, 255, 255, 0, 0])


def test_shifts_by_the_width_or_more_leave_nothing(tmp_path):
    a, by = np.array([255, 255, 255, 1], np.uint8), np.array([1, 8, 200, 7], np.uint8)
    left = load(tmp_path, "BitShift", [(np.uint8, (4,))] * 2, np.uint8, direction="LEFT")
    right = load(tmp_path, "BitShift", [(np.uint8, (4,))] * 2, np.uint8, direction="RIGHT")
    np.testing.assert_array_equal(left(a, by), [254, 0, 0, 128])
    np.testing.assert_array_equal(right(a, by), [127, 0, 0, 0])


def limits(name: str) -> np.ndarray:
    """Every number of the type, what is between two, and what is too large or small."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    count = 16 if name.startswith("float4") else 256
    with np.errstate(all="ignore"):
        numbers = np.arange(count, dtype=np.uint8).view(dtype).astype(np.float32)
    finite = np.unique(numbers[np.isfinite(numbers)])
    between = (finite[1:] + finite[:-1]) / 2
    beyond = finite[-1] + (finite[-1] - finite[-2]) * np.array([0.5, 1, 100], np.float32)
    few = np.concatenate([finite, between, beyond, -beyond, np.float32([1e-45, 1e-30, 3e38])])
    return few.astype(np.float32)


def all_roundings(name: str) -> np.ndarray:
    """The type's limits, their neighbours, NaN and infinities."""
    few = limits(name)
    few = np.concatenate([few, np.nextafter(few, np.inf), np.nextafter(few, -np.inf)]).astype("f4")
    special = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)
    return np.concatenate([few, special])


def assert_same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == expected.dtype
    is_nan = np.isnan(expected.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float32)), is_nan)
    np.testing.assert_array_equal(found.view(np.uint8)[~is_nan], expected.view(np.uint8)[~is_nan])


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_small_floats_round_as_ml_dtypes_does(tmp_path, name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    x = all_roundings(name)
    model = load(tmp_path, "Cast", [(np.float32, x.shape)], dtype, to=ONNX_TYPES[name], saturate=0)
    with np.errstate(all="ignore"):
        assert_same_bits(model(x), x.astype(dtype))


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_doubles_become_small_floats_by_one_rounding(tmp_path, name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    single = limits(name)
    single = single[single != 0]
    wide = single.astype(np.float64)
    x = np.concatenate([wide, wide * (1 + 2**-40), wide * (1 - 2**-40)])
    # As f32 rounds what is close to it, which ml_dtypes does not see in doubles.
    away, toward = np.nextafter(single, np.copysign(np.inf, single)), np.nextafter(single, 0)
    with np.errstate(all="ignore"):
        expected = np.concatenate([single, away, toward]).astype(dtype)
    for constant in (False, True):
        inputs, weights = ([], [x]) if constant else ([(np.float64, x.shape)], [])
        model = load(tmp_path, "Cast", inputs, dtype, weights, to=ONNX_TYPES[name], saturate=0)
        assert_same_bits(model(*([] if constant else [x])), expected)


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_small_floats_saturate_where_told_to(tmp_path, name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    largest = float(ml_dtypes.finfo(dtype).max)
    x = np.array([largest, largest * 1.5, 3e38, np.inf, -np.inf, -1e30, np.nan], np.float32)
    model = load(tmp_path, "Cast", [(np.float32, x.shape)], dtype, to=ONNX_TYPES[name])
    found = model(x).astype(np.float32)
    np.testing.assert_array_equal(found[:6], [largest] * 4 + [-largest] * 2)


@pytest.mark.parametrize("name", [*SMALL_FLOATS, "float8_e8m0fnu"])
@pytest.mark.parametrize("to", [np.float32, np.float16, np.float64])
def test_every_small_float_becomes_what_it_stands_for(tmp_path, name, to):
    dtype = np.dtype(getattr(ml_dtypes, name))
    count = 16 if name.startswith("float4") else 256
    x = np.arange(count, dtype=np.uint8).view(dtype)
    model = load(tmp_path, "Cast", [(dtype, x.shape)], to, to=onnx_type(to))
    np.testing.assert_array_equal(model(x), x.astype(to))
    constant = load(tmp_path, "Cast", [], to, [x], to=onnx_type(to))
    np.testing.assert_array_equal(constant(), x.astype(to))


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("saturate", [0, 1])
def test_powers_of_two_are_rounded_as_the_node_says(tmp_path, mode, saturate):
    dtype = np.dtype(ml_dtypes.float8_e8m0fnu)
    fractions = np.array([1, 1.25, 1.5, 1.75, np.nextafter(2, 1)], np.float32)
    with np.errstate(over="ignore"):
        x = [np.ldexp(fractions, e) for e in (-149, -127, -126, -1, 0, 7, 126, 127)]
    special = np.array([0, -0.0, -3, np.inf, -np.inf, np.nan, 3.4028235e38], np.float32)
    x = np.concatenate([*x, special]).astype(np.float32)
    model = load(
        tmp_path, "Cast", [(np.float32, x.shape)], dtype,
        opset=24, to=TensorProto.FLOAT8E8M0, round_mode=mode, saturate=saturate,
    )  # fmt: skip
    expected = onnx.numpy_helper.to_float8e8m0(x, bool(saturate), mode)
    np.testing.assert_array_equal(model(x).view(np.uint8), expected.view(np.uint8))


RANGES = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}


@pytest.mark.parametrize("name", RANGES)
def test_integers_of_few_bits_convert_both_ways(tmp_path, name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    low, high = RANGES[name]
    every = np.arange(low, high + 1).astype(dtype)
    model = load(tmp_path, "Cast", [(dtype, every.shape)], np.int32, to=TensorProto.INT32)
    np.testing.assert_array_equal(model(every), np.arange(low, high + 1))
    odd = load(tmp_path, "Cast", [], np.float32, [every[:-1]], to=TensorProto.FLOAT)
    np.testing.assert_array_equal(odd(), np.arange(low, high))
    wide = np.arange(-40, 40, dtype=np.int32)
    narrow = load(tmp_path, "Cast", [(np.int32, wide.shape)], dtype, to=ONNX_TYPES[name])
    np.testing.assert_array_equal(narrow(wide), wide.astype(dtype))
    floats = np.array([low - 5.0, low, 2.9, -0.5, high, high + 9, 100.5], np.float32)
    model = load(tmp_path, "Cast", [(np.float32, floats.shape)], dtype, to=ONNX_TYPES[name])
    np.testing.assert_array_equal(model(floats), floats.astype(np.int32).astype(dtype))


def test_types_for_storage_are_moved_but_not_computed_with(tmp_path):
    dtype = ml_dtypes.float8_e4m3fn
    x = np.arange(24, dtype=np.uint8).view(dtype).reshape(4, 6)
    turned = load(tmp_path, "Transpose", [(dtype, x.shape)], dtype, perm=[1, 0])
    np.testing.assert_array_equal(turned(x).view(np.uint8), x.T.view(np.uint8))
    with pytest.raises(hr.Error, match="expected numbers, got f8E4M3FN"):
        load(tmp_path, "Add", [(dtype, x.shape)] * 2, dtype)


def test_bytes_do_not_pass_for_small_floats(tmp_path):
    dtype = ml_dtypes.float8_e5m2
    model = load(tmp_path, "Cast", [(dtype, (3,))], np.float32, to=TensorProto.FLOAT)
    with pytest.raises(hr.Error, match="expected float8_e5m2, got uint8"):
        model(np.zeros(3, np.uint8))
    np.testing.assert_array_equal(model([1.0, 0.5, -2.0]), [1.0, 0.5, -2.0])


def test_packages_keep_unsigned_and_small_types(tmp_path):
    dtype = ml_dtypes.float8_e4m3fn
    model = load(tmp_path, "Cast", [(np.uint8, (5,))], dtype, to=TensorProto.FLOAT8E4M3FN)
    hr.write_package(tmp_path / "model.onnx", tmp_path / "cast.hrpkg")
    packaged = hr.load(tmp_path / "cast.hrpkg")
    assert packaged.inputs == model.inputs and packaged.outputs == model.outputs
    x = np.array([0, 1, 200, 255, 128], np.uint8)
    for each in (model, packaged):
        np.testing.assert_array_equal(each(x).astype(np.float32), [0, 1, 192, 256, 128])
