"""The log of compilations, `hr.log("compile")`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import headrace as hr
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from cases import graph_text  # noqa: E402


@pytest.fixture
def logged() -> Iterator[None]:
    hr.log("compile")
    yield
    hr.log("compile", False)


def test_each_version_has_a_line(logged, tmp_path: Path, capfd) -> None:
    path = graph_text.write(
        tmp_path / "model.onnx", "m (float[N,3] x) => (float[N,3] y) { y = Relu(x) }"
    )
    model = hr.load(path, specialize="never", plan_cache_size=1)
    for rows in (5, 7, 1):
        model(np.ones((rows, 3), np.float32))
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 3, lines
    assert "compiled model.onnx (N >= 2) in " in lines[0]
    assert lines[0].endswith("ms: first call with such sizes")
    assert "compiled model.onnx (N = 1) in " in lines[1]
    assert "dropped model.onnx (N >= 2): the least recently used" in lines[2]


def test_a_split_model_names_nodes_and_shapes(logged, tmp_path: Path, capfd) -> None:
    text = "m (float[N] x, int64[1] axes) => (float[A] y) { e = Exp(x) y = Unsqueeze(e, axes) }"
    model = hr.load(graph_text.write(tmp_path / "model.onnx", text))
    for size in (3, 4, 5):
        model(np.ones(size, np.float32), np.array([0]))
    text = capfd.readouterr().err
    assert text.count("compiled model.onnx, Exp node of output 'e' and 1 more") == 2
    assert "(x: 3, axes: 1)" in text
    assert "(x: ?, axes: 1)" in text
    assert "replaced model.onnx" in text


def test_it_can_be_ended_and_does_not_hide_the_logarithm(tmp_path: Path, capfd) -> None:
    hr.log("compile")
    hr.log("compile", False)
    x = hr.placeholder((3,), "f32")
    compiled = hr.compile(hr.compute((3,), lambda i: hr.log(x[i])))
    np.testing.assert_allclose(compiled(np.array([1, 2, 3], np.float32)), np.log([1, 2, 3]), 1e-6)
    assert capfd.readouterr().err == ""
    with pytest.raises(hr.InvalidArgumentError, match="expected 'compile' or a value, got 'run'"):
        hr.log("run")
