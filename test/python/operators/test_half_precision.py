"""f16 and bf16 are computed in f32 and rounded once; floats become integers without surprises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ml_dtypes = pytest.importorskip("ml_dtypes")
hr = pytest.importorskip("headrace")

from onnx import TensorProto, helper  # noqa: E402

TYPES = {
    "f16": (np.float16, TensorProto.FLOAT16),
    "bf16": (ml_dtypes.bfloat16, TensorProto.BFLOAT16),
    "f32": (np.float32, TensorProto.FLOAT),
    "f64": (np.float64, TensorProto.DOUBLE),
    "i8": (np.int8, TensorProto.INT8),
    "i32": (np.int32, TensorProto.INT32),
    "i64": (np.int64, TensorProto.INT64),
}


def run(
    folder: Path, operator: str, inputs: list[np.ndarray], kind: str, result: str = "", **attributes
) -> tuple[np.ndarray, np.ndarray]:
    """Results of one operator, compiled and by the reference."""
    names = [f"x{i}" for i in range(len(inputs))]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(operator, names, ["y"], **attributes)],
        "graph",
        [info(name, TYPES[kind][1], x.shape) for name, x in zip(names, inputs)],
        [info("y", TYPES[result or kind][1], None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.save(model, folder / "model.onnx")
    loaded = hr.load(folder / "model.onnx")
    return np.asarray(loaded(*inputs)), np.asarray(loaded.reference(*inputs))


# operator, shapes of inputs, what they are filled with, the exact result, attributes
CASES = [
    ("Softmax", [(1, 70_000)], 1, 1 / 70_000, {}),
    ("LogSoftmax", [(1, 70_000)], 1, -np.log(70_000), {}),
    ("MatMul", [(3, 5000), (5000, 7)], 1, 5000, {}),
    ("Einsum", [(3, 5000), (5000, 7)], 1, 5000, {"equation": "ij,jk->ik"}),
    ("Conv", [(1, 512, 5, 5), (4, 512, 3, 3)], 1, 4608, {}),
    ("AveragePool", [(1, 1, 60, 60)], 1, 1, {"kernel_shape": [60, 60]}),
    ("GlobalAveragePool", [(1, 1, 90, 90)], 1, 1, {}),
    ("MaxPool", [(3, 1, 3)], 2, 2, {"kernel_shape": [3]}),
    ("ReduceSum", [(5000,)], 1, 5000, {}),
    ("ReduceMean", [(7000,)], 300, 300, {}),
    ("ReduceL2", [(100,)], 300, 3000, {}),
    ("ReduceLogSumExp", [(70_000,)], 1, 1 + np.log(70_000), {}),
    ("ReduceLogSum", [(70_000,)], 1, np.log(70_000), {}),
    ("Mean", [(2,), (2,), (2,)], 40_000, 40_000, {}),
    ("Sigmoid", [(2,)], -11.5, 1 / (1 + np.exp(11.5)), {}),
    ("Gelu", [(2,)], -2.75, -0.0081939, {}),
]


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_results_are_rounded_once(case: tuple, kind: str, tmp_path: Path) -> None:
    operator, shapes, fill, exact, attributes = case
    dtype = TYPES[kind][0]
    inputs = [np.full(shape, fill).astype(dtype) for shape in shapes]
    found, _ = run(tmp_path, operator, inputs, kind, **attributes)
    given = float(inputs[0].ravel()[0])  # as far as the type holds it
    unit = 2.0 ** (-10 if kind == "f16" else -7) * abs(exact)
    slope = 0 if given == fill else abs(exact * (given - fill)) * 1.5
    distance = np.abs(found.astype(np.float64) - exact).max()
    # A result below the smallest normal number has that one's unit.
    assert distance <= max(0.51 * unit, 2.0**-25 if kind == "f16" else 0) + slope


# Tiles of one and of several vectors with lanes left over, an odd number of terms, one row.
PRODUCTS = [
    ("MatMul", [(7, 33), (33, 19)], {}),
    ("MatMul", [(5, 64), (64, 40)], {}),
    ("MatMul", [(1, 18), (18, 32)], {}),
    ("MatMul", [(3, 5, 16), (3, 16, 11)], {}),
    ("MatMul", [(30, 2), (2, 96)], {}),
    ("Gemm", [(16, 9), (16, 34)], {"transA": 1}),
    ("Gemm", [(9, 26), (35, 26)], {"transB": 1}),
    ("Conv", [(1, 8, 9, 7), (36, 8, 3, 3)], {"pads": [1, 1, 1, 1]}),
    ("Conv", [(2, 17, 8, 8), (10, 17, 2, 3)], {"strides": [2, 2]}),
    ("Conv", [(1, 6, 9, 9), (33, 6, 3, 3)], {"dilations": [2, 2]}),
    ("Conv", [(2, 32, 6, 6), (64, 32, 1, 1)], {}),
    ("Conv", [(1, 12, 11), (21, 4, 3)], {"group": 3}),
    ("Conv", [(1, 6, 4, 5, 5), (7, 6, 2, 2, 2)], {}),
    ("ConvTranspose", [(1, 8, 5, 5), (8, 6, 3, 3)], {"strides": [2, 2]}),
]


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("case", PRODUCTS, ids=lambda case: f"{case[0]}{case[1]}")
def test_products_of_any_shape_agree_with_the_reference(
    case: tuple, kind: str, tmp_path: Path
) -> None:
    operator, shapes, attributes = case
    random = np.random.default_rng(0)
    inputs = [random.standard_normal(shape).astype(TYPES[kind][0]) for shape in shapes]
    found, expected = run(tmp_path, operator, inputs, kind, **attributes)
    unit = 2.0 ** (-10 if kind == "f16" else -7)
    distance = np.abs(found.astype(np.float64) - expected.astype(np.float64)).max()
    assert distance <= 1.01 * unit * np.abs(expected.astype(np.float64)).max()


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
@pytest.mark.parametrize("integer", ["i8", "i32", "i64"])
def test_floats_beyond_the_integers_become_the_nearest_integer(
    kind: str, integer: str, tmp_path: Path
) -> None:
    dtype, limits = TYPES[kind][0], np.iinfo(TYPES[integer][0])
    with np.errstate(over="ignore"):
        numbers = np.array(
            [np.nan, np.inf, -np.inf, 3e9, -3e9, 1e19, -1e19, 127.6, -128.5, 300, -1.5, 0.0]
        ).astype(dtype)
    expected = [
        0 if np.isnan(x) else limits.max if x >= limits.max else limits.min if x <= limits.min
        else int(x)
        for x in numbers.astype(np.float64)
    ]  # fmt: skip
    for found in run(tmp_path, "Cast", [numbers], kind, integer, to=TYPES[integer][1]):
        assert found.tolist() == expected
