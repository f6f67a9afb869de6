"""The default choice between generated code and libraries: by predicted time, operator by operator."""

from __future__ import annotations

import ctypes
from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases import graph_text
from cases.policy import assert_close

pytest.importorskip("onnx")

# Register tiles need to know the columns; a call takes longer than a product of 17 x 17.
OPEN = "m (float[512,512] a, float[512,n] b) => (float[512,n] y) { y = MatMul(a, b) }"
SMALL = "m (float[17,17] a, float[17,17] b) => (float[17,17] y) { y = MatMul(a, b) }"


def takes_library(model: hr.Model) -> bool:
    return "openblas.sgemm" in model.ir("kernels")


def test_a_model_takes_the_faster_expansion_by_default(tmp_path: Path) -> None:
    try:
        ctypes.CDLL("libopenblas.so.0")
    except OSError:
        pytest.skip("OpenBLAS is not installed")
    path = graph_text.write(tmp_path / "open.onnx", OPEN)
    model = hr.load(path)
    assert takes_library(model)
    assert not takes_library(hr.load(path, expansion="generated"))
    assert not takes_library(hr.load(graph_text.write(tmp_path / "small.onnx", SMALL)))
    a, b = np.ones((512, 512), np.float32), np.ones((512, 33), np.float32)
    assert_close(model(a, b), a @ b)
