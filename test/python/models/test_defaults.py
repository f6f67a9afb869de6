"""Inputs of ONNX models with defaults, which are initializers of their names: they may be given, by name."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases import graph_text
from cases.policy import assert_close

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

TEXT = """m (float[n,2] x, float[2,3] w, float[3] b) => (float[n,3] y)
    <float[2,3] w = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3}> { p = MatMul(x, w) y = Add(p, b) }"""
X = np.array([[1, -2], [3, 0.5]], np.float32)
W = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
B = np.array([7, 8, 9], np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return graph_text.write(tmp_path / "model.onnx", TEXT)


@pytest.mark.parametrize("given", [{}, {"w": W}, {"b": B}, {"w": W, "b": B}, {}], ids=str)
def test_inputs_with_defaults_may_be_given(path: Path, given: dict[str, np.ndarray]) -> None:
    (expected,) = runtime.InferenceSession(path).run(None, {"x": X, **given})
    model = hr.load(path)
    assert [spec.name for spec in model.inputs] == ["x"]
    assert_close(model(X, **given), expected)
    assert_close(model(X), X @ np.arange(1, 7).reshape(2, 3) + [1, 2, 3])
    assert_close(model.reference(x=X, **given), expected)
    (found,) = hr.InferenceSession(path).run(None, {"x": X, **given})
    assert_close(found, expected)


def test_names_that_are_no_inputs_are_refused(path: Path) -> None:
    model = hr.load(path)
    with pytest.raises(hr.InvalidArgumentError, match="expected inputs 'x', got 'p'"):
        model(X, p=W)
    with pytest.raises(hr.MissingInputError, match="'x' is missing"):
        model(w=W)
    with pytest.raises(hr.Error, match="expected 1 input "):
        model(X, W)
    with pytest.raises(hr.Error, match="'x' once"):
        model(X, x=X, w=W)
    with pytest.raises(hr.Error, match="'w'"):
        model(X, w=W[:1])
