"""Every ONNX operator that can be imported, on odd cases, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from onnx_peer import as_list, runtime_results

from cases.operators.case import Case, ints, normal, one
from cases.operators.compute import compute_cases
from cases.operators.movement import movement_cases, node

headrace = pytest.importorskip("headrace")

CASES = [*compute_cases(), *movement_cases()]


def expected_results(case: Case, path: Path) -> list[np.ndarray]:
    return runtime_results(str(path), case.inputs)


def assert_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        tolerance = 2e-3 if theirs.dtype == np.float16 else 2e-5
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_operator(case: Case, tmp_path: Path) -> None:
    path = case.save(tmp_path)
    try:
        expected = expected_results(case, path)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        pytest.skip("ONNX Runtime has no kernel for these types")
    model = headrace.load(path)
    inputs = list(case.inputs.values())
    assert_same(as_list(model.reference(*inputs)), expected)
    assert_same(as_list(model(*inputs)), expected)


def refuse(case: Case, tmp_path: Path, kind: type, *words: str) -> None:
    with pytest.raises(kind) as raised:
        headrace.load(case.save(tmp_path))
    message = str(raised.value)
    assert "\n" not in message
    for word in ("model.onnx", *words):
        assert word in message


def test_unsupported_operators_are_all_named(tmp_path: Path) -> None:
    nodes = [
        node("Frobnicate", "x", "d"),
        node("Twiddle", "d", "n"),
        node("Frobnicate", "x", "e"),
        node("Neg", "e", "y"),
    ]
    case = Case("bad", nodes, {"x": normal(3, 3)})
    refuse(
        case,
        tmp_path,
        headrace.UnsupportedError,
        "Frobnicate_d",
        "'Frobnicate' (opset 17)",
        "'Twiddle'",
    )


def test_shapes_that_do_not_fit_name_the_node(tmp_path: Path) -> None:
    refuse(one("Add", normal(2, 3), normal(4)), tmp_path, headrace.Error, "the_Add", "2 x 3", "4")
    refuse(
        one("MatMul", normal(2, 3), normal(4, 2)), tmp_path, headrace.Error, "the_MatMul", "2 x 3"
    )


def test_shapes_that_data_tell_are_taken_from_there(tmp_path: Path) -> None:
    data = normal(2, 3)
    model = headrace.load(one("Reshape", data, ints(3, 2)).save(tmp_path))
    np.testing.assert_array_equal(model(data, ints(3, 2)), data.reshape(3, 2))
    with pytest.raises(headrace.Error, match="the_Reshape"):
        model(data, ints(4, 2))


def test_unsigned_inputs_of_functions_of_floats_are_refused_by_name(tmp_path: Path) -> None:
    case = one("Exp", np.zeros(3, np.uint8))
    refuse(case, tmp_path, headrace.TypeMismatchError, "'x0'", "expected floats, got ui8")


def test_sizes_outside_their_range_are_refused(tmp_path: Path) -> None:
    """A table of 16 rows serves up to 16 steps; more must not read beyond it."""
    case = next(case for case in CASES if case.name == "positions")
    model = headrace.load(case.save(tmp_path))
    assert model(normal(2, 16, 4)).shape == (2, 16, 4)
    with pytest.raises(headrace.Error):
        model(normal(2, 17, 4))


def test_operators_as_of_the_newest_operator_set(tmp_path: Path) -> None:
    """SpaceToDepth has a mode, and Mod of floats rounds down unless told otherwise."""
    x = np.arange(48, dtype=np.float32).reshape(1, 2, 4, 6)
    blocks = x.reshape(1, 2, 2, 2, 3, 2)
    a = np.array([5.5, -5.5, 5.5, -5.5, 0, np.inf, 1, -1], np.float32)
    b = np.array([3, 3, -3, -3, 2, 2, np.inf, np.inf], np.float32)
    nodes = [
        helper.make_node("SpaceToDepth", ["x"], ["rows"], blocksize=2),
        helper.make_node("SpaceToDepth", ["x"], ["columns"], blocksize=2, mode="CRD"),
        helper.make_node("Mod", ["a", "b"], ["rest"]),
    ]
    inputs = {"x": x, "a": a, "b": b}
    graph = helper.make_graph(
        nodes,
        "newest",
        [helper.make_tensor_value_info(n, 1, list(v.shape)) for n, v in inputs.items()],
        [helper.make_tensor_value_info(n, 1, None) for n in ("rows", "columns", "rest")],
    )
    path = tmp_path / "model.onnx"
    for opset in (28, 29):
        version = [helper.make_opsetid("", opset)]
        onnx.save(helper.make_model(graph, opset_imports=version, ir_version=8), path)
        if opset == 29:
            with pytest.raises(headrace.Error, match="1 to 28, got 29"):
                headrace.load(path)
            continue
        rows, columns, rest = headrace.load(path)(**inputs)
        np.testing.assert_array_equal(rows, blocks.transpose(0, 3, 5, 1, 2, 4).reshape(1, 8, 2, 3))
        np.testing.assert_array_equal(
            columns, blocks.transpose(0, 1, 3, 5, 2, 4).reshape(1, 8, 2, 3)
        )
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(rest, np.mod(a, b))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_reductions_of_integers_by_functions_of_reals_round_towards_0(
    tmp_path: Path, dtype
) -> None:
    """ONNX Runtime has few of these types."""
    x = np.random.default_rng(1).integers(1, 30, (3, 20)).astype(dtype)
    real = x.astype(np.float64)
    expected = {
        "ReduceL2": np.sqrt((real**2).sum(1)),
        "ReduceLogSum": np.log(real.sum(1)),
        "ReduceLogSumExp": np.log(np.exp(real).sum(1)),
    }
    for operator, reals in expected.items():
        case = one(operator, x, opset=13, axes=[1], keepdims=0, label=np.dtype(dtype).name)
        model = headrace.load(case.save(tmp_path))
        for found in (model(x), model.reference(x)):
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, np.trunc(reals).astype(dtype))
