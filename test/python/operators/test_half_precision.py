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
