"""Windows over dynamic dimensions: pads that depend on the size, windows that reach beyond it."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases import graph_text

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

OPERATORS = {
    "Conv": "Conv<{}>(x, w)",
    "ConvTranspose": "ConvTranspose<{}>(x, w)",
    "MaxPool": "MaxPool<kernel_shape = {k}, {}>(x)",
    "AveragePool": "AveragePool<kernel_shape = {k}, {}>(x)",
    "counted AveragePool": "AveragePool<kernel_shape = {k}, count_include_pad = 1, {}>(x)",
    "LpPool": "LpPool<kernel_shape = {k}, {}>(x)",
}


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def text(op: str, sizes: str, window: list[int], attributes: str) -> str:
    call = OPERATORS[op].replace("{k}", str(window)).replace("{}", attributes)
    weights = numbers(2, 2, *window)
    values = ", ".join(map(str, weights.ravel()))
    return (
        f"m (float[b,2,{sizes}] x) => (float y) "
        f"<float[2,2,{window[0]},{window[1]}] w = {{{values}}}> {{ y = {call} }}"
    )


def same_padding(mode: str, strides: list[int], dilations: list[int]) -> str:
    more = "" if dilations == [1, 1] else f", dilations = {dilations}"
    return f'auto_pad = "SAME_{mode}", strides = {strides}{more}'


def write(folder: Path, written: str) -> Path:
    return graph_text.write(folder / "model.onnx", written, opset=22)


def assert_close(found: np.ndarray, expected: np.ndarray, what: object) -> None:
    assert found.shape == expected.shape, what
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5, err_msg=str(what))


@pytest.mark.parametrize("mode", ["UPPER", "LOWER"])
@pytest.mark.parametrize("op", OPERATORS)
def test_pads_follow_from_open_sizes(tmp_path: Path, op: str, mode: str) -> None:
    for window, strides in (([3, 2], [2, 1]), ([2, 5], [2, 3]), ([4, 4], [3, 2])):
        attributes = same_padding(mode, strides, [1, 1])
        path = write(tmp_path, text(op, "h,w", window, attributes))
        model, peer = hr.load(path, specialize="never"), runtime.InferenceSession(path)
        for rows, columns in ((2, 7), (3, 6), (4, 5), (5, 4), (6, 3), (7, 2), (9, 11), (1, 8)):
            x = numbers(2, 2, rows, columns)
            (expected,) = peer.run(None, {"x": x})
            assert_close(model(x), expected, (window, rows, columns))
            assert_close(model.reference(x), expected, (window, rows, columns))
        assert model.compiled_versions <= 4


@pytest.mark.parametrize("mode", ["UPPER", "LOWER"])
@pytest.mark.parametrize("op", [op for op in OPERATORS if op != "ConvTranspose"])
def test_windows_with_gaps_are_padded_as_over_exact_sizes(
    tmp_path: Path, op: str, mode: str
) -> None:
    dilates = op in ("Conv", "MaxPool")  # ONNX Runtime takes these for windows without dilation
    for window, strides, dilations in (
        ([2, 1], [3, 2], [1, 1]),
        ([3, 2], [5, 4], [1, 1]),
        *([([2, 3], [3, 2], [2, 2])] if dilates else []),
    ):
        attributes = same_padding(mode, strides, dilations)
        model = hr.load(write(tmp_path, text(op, "h,w", window, attributes)), specialize="never")
        for rows, columns in ((2, 9), (3, 8), (4, 7), (5, 6), (6, 5), (11, 3)):
            exact = hr.load(write(tmp_path, text(op, f"{rows},{columns}", window, attributes)))
            x = numbers(2, 2, rows, columns)
            assert_close(model(x), exact.reference(x), (window, rows, columns))


def test_places_of_maxima_under_open_pads(tmp_path: Path) -> None:
    attributes = "kernel_shape = [3, 4], " + same_padding("LOWER", [2, 3], [1, 1])
    written = f"m (uint8[1,2,h,w] x) => (uint8 y, int64 i) {{ y, i = MaxPool<{attributes}>(x) }}"
    path = write(tmp_path, written)
    model, peer = hr.load(path, specialize="never"), runtime.InferenceSession(path)
    for rows, columns in ((4, 5), (5, 7), (6, 6), (7, 9)):
        x = (np.abs(numbers(1, 2, rows, columns)) * 20).astype(np.uint8)
        for found, expected in zip(model(x), peer.run(None, {"x": x}), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("zero", [0, 130])
def test_integers_are_padded_with_their_zero_point(tmp_path: Path, zero: int) -> None:
    attributes = same_padding("UPPER", [2, 3], [1, 1])
    written = f"""m (uint8[1,1,h,w] x) => (int32 y)
        <int8[1,1,3,4] w = {{1,-2,3,4,5,-6,7,8,9,10,-11,12}}, uint8 z = {{{zero}}}>
        {{ y = ConvInteger<{attributes}>(x, w, z) }}"""
    path = write(tmp_path, written)
    model, peer = hr.load(path, specialize="never"), runtime.InferenceSession(path)
    for rows, columns in ((4, 5), (5, 7), (6, 6)):
        x = (np.abs(numbers(1, 1, rows, columns)) * 80).astype(np.uint8)
        np.testing.assert_array_equal(model(x), peer.run(None, {"x": x})[0])


@pytest.mark.parametrize("sizes", ["h,w", None])
@pytest.mark.parametrize("op", [op for op in OPERATORS if "Conv" not in op])
def test_windows_larger_than_the_input(tmp_path: Path, op: str, sizes: str | None) -> None:
    for attributes in ("strides = [2, 3]", "strides = [3, 2], pads = [1, 0, 0, 1], ceil_mode = 1"):
        for rows, columns in ((4, 3), (3, 5), (4, 4), (8, 3)):
            written = text(op, sizes or f"{rows},{columns}", [5, 5], attributes)
            path = write(tmp_path, written)
            model, peer = hr.load(path), runtime.InferenceSession(path)
            x = numbers(2, 2, rows, columns)
            (expected,) = peer.run(None, {"x": x})
            assert_close(model(x), expected, (attributes, rows, columns))
            assert_close(model.reference(x), expected, (attributes, rows, columns))


def test_a_window_two_strides_beyond_the_input_is_an_error(tmp_path: Path) -> None:
    model = hr.load(write(tmp_path, text("MaxPool", "h,w", [5, 5], "strides = [1, 1]")))
    with pytest.raises(hr.ShapeMismatchError, match="window that reaches less than two strides"):
        model(numbers(1, 2, 3, 6))
