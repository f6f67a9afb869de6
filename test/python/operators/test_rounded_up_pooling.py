"""Poolings that round their result's size up, over dynamic dimensions: right answers at every one."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases import graph_text

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

# Window, strides, pads, dilations of rows and columns. In some, the last window would begin in the end padding.
WINDOWS = [
    ([3, 3], [2, 2], [0, 0, 0, 0], [1, 1]),
    ([3, 2], [2, 3], [1, 0, 1, 1], [1, 1]),
    ([2, 2], [3, 3], [1, 1, 1, 1], [1, 1]),
    ([1, 2], [3, 4], [0, 0, 0, 1], [1, 1]),
    ([2, 3], [4, 3], [0, 2, 1, 0], [2, 2]),
    ([5, 3], [3, 5], [4, 1, 2, 2], [1, 1]),
]
KINDS = [
    ("MaxPool", ""),
    ("AveragePool", ", count_include_pad = 0"),
    ("AveragePool", ", count_include_pad = 1"),
    ("LpPool", ", p = 2"),
]


def numbers(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(rows * 41 + columns).standard_normal(
        (2, 3, rows, columns), np.float32
    )


def written(folder: Path, op: str, more: str, window, strides, pads, dilations) -> Path:
    attributes = (
        f"kernel_shape = {window}, strides = {strides}, pads = {pads}, dilations = {dilations}"
    )
    text = f"m (float[b,3,h,w] x) => (float[b,3,p,q] y) {{ y = {op}<{attributes}, ceil_mode = 1{more}>(x) }}"
    return graph_text.write(folder / "model.onnx", text, opset=22)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("op, more", KINDS)
def test_poolings_of_open_sizes_round_up(tmp_path: Path, op: str, more: str, window) -> None:
    path = written(tmp_path, op, more, *window)
    model, peer = hr.load(path, specialize="never"), runtime.InferenceSession(path)
    for n in range(5, 41):
        x = numbers(n, 45 - n)
        (expected,) = peer.run(None, {"x": x})
        for found in (model(x), model.reference(x)):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5, err_msg=f"{n}")


def test_places_of_maxima_that_round_up(tmp_path: Path) -> None:
    attributes = "kernel_shape = [3, 2], strides = [2, 3], pads = [1, 0, 1, 1], ceil_mode = 1"
    text = f"m (float[b,3,h,w] x) => (float y, int64 i) {{ y, i = MaxPool<{attributes}>(x) }}"
    path = graph_text.write(tmp_path / "model.onnx", text, opset=12)
    model, peer = hr.load(path, specialize="never"), runtime.InferenceSession(path)
    for n in range(5, 41):
        x = numbers(n, 45 - n)
        for ours, theirs in zip(model(x), peer.run(None, {"x": x})):
            np.testing.assert_array_equal(ours, theirs)


def test_quantized_averages_that_round_up(tmp_path: Path) -> None:
    constants = "s = Constant<value = float {0.02}>() z = Constant<value = uint8 {120}>()"
    attributes = "kernel_shape = [3, 2], strides = [2, 3], pads = [1, 0, 1, 1], ceil_mode = 1"
    pool = f"com.microsoft.QLinearAveragePool<{attributes}>(x, s, z, s, z)"
    text = f"m (uint8[b,3,h,w] x) => (uint8 y) {{ {constants} y = {pool} }}"
    path = graph_text.write(tmp_path / "model.onnx", text, imports=', "com.microsoft" : 1')
    model, peer = hr.load(path, specialize="never"), runtime.InferenceSession(path)
    for n in range(5, 41):
        x = (numbers(n, 45 - n) * 40 + 128).clip(0, 255).astype(np.uint8)
        (expected,) = peer.run(None, {"x": x})
        assert np.abs(model(x).astype(int) - expected).max() <= 1
