"""Operators of the newest sets and of com.microsoft, on odd cases, against ONNX Runtime or ONNX's own evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator
from onnx_peer import as_list, runtime_results

from cases.operators.case import Case, node, normal, one, truth
from cases.operators.microsoft import microsoft_cases
from cases.operators.sequences import sequence_cases
from cases.policy import assert_close

headrace = pytest.importorskip("headrace")

CASES = [*sequence_cases(), *microsoft_cases()]
BYTES = (np.int8, np.uint8)


def expected_results(case: Case, path: Path) -> list[np.ndarray]:
    """ONNX Runtime's, as long as it has the operator in this version."""
    try:
        return runtime_results(str(path), case.inputs)
    except Exception:
        if case.nodes[0].domain:
            raise
        return ReferenceEvaluator(case.model()).run(None, case.inputs)


def assert_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        assert ours.dtype == theirs.dtype
        assert ours.shape == np.shape(theirs)
        if theirs.dtype in BYTES:  # halves may round either way after products in another order
            assert np.abs(ours.astype(int) - theirs.astype(int)).max(initial=0) <= 1
            continue
        tolerance = 4e-3 if theirs.dtype == np.float16 else 4e-5
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_operator(case: Case, tmp_path: Path) -> None:
    path = case.save(tmp_path)
    expected = expected_results(case, path)
    model = headrace.load(path)
    inputs = list(case.inputs.values())
    assert_same(as_list(model.reference(*inputs)), expected)
    assert_same(as_list(model(*inputs)), expected)


def run(case: Case, folder: Path, *inputs: np.ndarray):
    return headrace.load(case.save(folder))(*(inputs or case.inputs.values()))


def test_a_seed_gives_the_same_numbers_again(tmp_path: Path) -> None:
    def drawn(seed: float) -> np.ndarray:
        return run(one("RandomNormal", shape=[1000, 3], seed=seed, mean=2.0, scale=3.0), tmp_path)

    first = drawn(7.0)
    np.testing.assert_array_equal(first, drawn(7.0))
    assert not np.array_equal(first, drawn(8.0))
    assert abs(first.mean() - 2) < 0.2
    assert abs(first.std() - 3) < 0.2


def test_uniform_numbers_fill_their_interval(tmp_path: Path) -> None:
    like = np.zeros((64, 65), np.float64)
    found = run(one("RandomUniformLike", like, low=-1.0, high=3.0, seed=1.0), tmp_path)
    assert found.dtype == np.float64
    assert found.min() >= -1
    assert found.max() < 3
    counts, _ = np.histogram(found, bins=8, range=(-1, 3))
    assert counts.min() > 0.8 * found.size / 8


def test_classes_are_drawn_by_their_weights(tmp_path: Path) -> None:
    weights = np.array([[0.1, 0.6, 0.3], [1.0, 0.0, 0.0]], np.float32)
    with np.errstate(divide="ignore"):
        case = one("Multinomial", np.log(weights), sample_size=4000, seed=3.0, dtype=7)
    found = run(case, tmp_path)
    for row, expected in zip(found, weights):
        shares = np.bincount(row, minlength=3) / row.size
        np.testing.assert_allclose(shares, expected, atol=0.05)


def test_dropout_keeps_the_mean_and_tells_what_it_kept(tmp_path: Path) -> None:
    x = np.ones((100, 100), np.float32)
    case = one("Dropout", x, np.float32(0.25), np.bool_(True), opset=13, results=2, seed=5)
    model = headrace.load(case.save(tmp_path))
    y, kept = model(*case.inputs.values())
    np.testing.assert_array_equal(y, np.where(kept, np.float32(1 / 0.75), 0))
    assert abs(kept.mean() - 0.75) < 0.02
    same, all_kept = model(x, np.float32(0.25), np.bool_(False))
    np.testing.assert_array_equal(same, x)
    assert all_kept.all()


@pytest.mark.parametrize("opset", [1, 6])
def test_old_operator_sets_broadcast_from_an_axis(opset: int, tmp_path: Path) -> None:
    x, y = normal(2, 3, 4), normal(3, seed=1)
    case = one("Add", x, y, opset=opset, axis=1, broadcast=1)
    assert_close(run(case, tmp_path), x + y[:, None])


def test_shapes_that_were_attributes(tmp_path: Path) -> None:
    x = normal(2, 3, 4)
    assert run(one("Reshape", x, opset=1, shape=[0, -1]), tmp_path).shape == (2, 12)
    padded = run(one("Pad", x, opset=1, paddings=[0, 0, 1, 0, 0, 2]), tmp_path)
    np.testing.assert_array_equal(padded, np.pad(x, ((0, 0), (0, 0), (1, 2))))
    whole = run(one("Cast", x, opset=1, to="INT32"), tmp_path)
    np.testing.assert_array_equal(whole, x.astype(np.int32))


def test_targets_that_are_no_class_name_the_node(tmp_path: Path) -> None:
    targets = np.array([0, 5])
    case = one("NegativeLogLikelihoodLoss", normal(2, 5), targets, opset=13)
    model = headrace.load(case.save(tmp_path))
    with pytest.raises(headrace.Error, match="the_NegativeLogLikelihoodLoss.*5"):
        model(*case.inputs.values())


def refusal(case: Case, folder: Path) -> str:
    with pytest.raises(headrace.Error) as raised:
        headrace.load(case.save(folder))
    return str(raised.value)


def test_what_does_not_fit_is_refused_in_words(tmp_path: Path) -> None:
    q, k = normal(1, 4, 5, 8), normal(1, 3, 5, 8)
    assert "3 heads" in refusal(one("Attention", q, k, k, opset=23), tmp_path)
    rows = normal(1, 5, 30)
    odd = one("Attention", rows, rows, rows, opset=23, q_num_heads=4, kv_num_heads=4)
    assert "multiple of 4 heads" in refusal(odd, tmp_path)
    past = one("Attention", q, q, q, None, q, opset=23)
    assert "past" in refusal(past, tmp_path)
    targets = one("NegativeLogLikelihoodLoss", normal(2, 5), truth(2, 1), opset=13)
    assert "expected 2" in refusal(targets, tmp_path)
    bits = one("BitCast", normal(3), opset=26, to=7)
    assert "equal width" in refusal(bits, tmp_path)
    unknown = one("Frobnicate", normal(3), domain="com.microsoft")
    assert "com.microsoft.Frobnicate" in refusal(unknown, tmp_path)


def gradient_case(x: np.ndarray, w: np.ndarray, **names: object) -> Case:
    nodes = [
        node("Mul", "x,w", "p"),
        node("Add", "p,x", "s"),
        node("Tanh", "s", "t"),
        node("Gradient", "x,w", "dx,dw", domain="ai.onnx.preview.training", **names),
    ]
    return Case("gradient", nodes, {"x": x, "w": w}, outputs=("t", "dx", "dw"))


def test_gradients_sum_over_uses_and_broadcasts(tmp_path: Path) -> None:
    x, w = normal(3, 4), normal(4, seed=1)
    t, dx, dw = run(gradient_case(x, w, xs=["x", "w"], y="t"), tmp_path)
    slope = 1 - t * t
    np.testing.assert_allclose(dx, slope * (w + 1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(dw, (slope * x).sum(0), rtol=1e-4, atol=1e-5)


def test_gradients_of_what_is_not_there_are_refused(tmp_path: Path) -> None:
    x, w = normal(3, 4), normal(4, seed=1)
    assert "'nothing'" in refusal(gradient_case(x, w, xs=["x", "w"], y="nothing"), tmp_path)
    assert "'p'" in refusal(gradient_case(x, w, xs=["p", "w"], y="t"), tmp_path)
