"""ImageDecoder: every format of the standard, exactly; what is damaged is empty, as the standard has it."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import headrace as hr
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.backend.test.case.node import _image_decoder_data as frozen

from cases.policy import assert_close

FILES = {
    name.removeprefix("image_decoder_decode_").removesuffix("_rgb"): getattr(frozen, name)
    for name in dir(frozen)
    if name.endswith("_rgb")
}


def decoder(folder: Path, **attributes: str) -> hr.Model:
    node = helper.make_node("ImageDecoder", ["file"], ["picture"], **attributes)
    file = helper.make_tensor_value_info("file", TensorProto.UINT8, [None])
    picture = helper.make_tensor_value_info("picture", TensorProto.UINT8, [None, None, None])
    graph = helper.make_graph([node], "decoder", [file], [picture])
    path = folder / "decoder.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)
    return hr.load(path)


@pytest.fixture
def decode(tmp_path: Path):
    model = decoder(tmp_path)
    return lambda content: model(np.frombuffer(content, np.uint8))


def chunk(name: bytes, content: bytes) -> bytes:
    checked = name + content
    return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))


def png(rows: np.ndarray, color: int, bits: int = 8, parts: bytes = b"") -> bytes:
    """A file of these samples: color 0 is grey, 2 RGB, 3 numbers of a palette, 6 RGB and transparency."""
    header = struct.pack(">IIBBBBB", rows.shape[1], rows.shape[0], bits, color, 0, 0, 0)
    samples = rows.astype(">u2" if bits == 16 else np.uint8)
    data = b"".join(b"\0" + row.tobytes() for row in samples)
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + parts
    return start + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("name", FILES)
def test_formats_are_exact(name: str, decode) -> None:
    np.testing.assert_array_equal(decode(FILES[name].data.tobytes()), FILES[name].output)


def test_order_and_grey_of_pixels(tmp_path: Path) -> None:
    data, rgb = FILES["png"].data, FILES["png"].output
    np.testing.assert_array_equal(decoder(tmp_path, pixel_format="BGR")(data), rgb[..., ::-1])
    grey = decoder(tmp_path, pixel_format="Grayscale")(data)
    expected = np.rint(rgb @ np.array([0.299, 0.587, 0.114]))
    assert grey.shape == (*rgb.shape[:2], 1)
    assert np.abs(grey[..., 0] - expected).max() <= 1


@pytest.mark.parametrize("name", FILES)
def test_what_is_cut_or_changed_neither_crashes_nor_lingers(name: str, decode) -> None:
    content = FILES[name].data.tobytes()
    random = np.random.default_rng(0)
    for size in range(0, len(content) - 1, 1 + len(content) // 60):
        assert decode(content[:size]).ndim == 3
    for _ in range(100):
        damaged = bytearray(content)
        for place in random.integers(0, min(len(content), 400), 3):
            damaged[place] = random.integers(256)
        try:
            assert decode(bytes(damaged)).ndim == 3
        except hr.Error as error:  # noqa: PERF203
            assert any(word in str(error) for word in ("pixels", "compress")), error
    np.testing.assert_array_equal(decode(content), FILES[name].output)


@pytest.mark.parametrize("content", [b"", b"not a picture", b"\xff\xd8\xff", b"GIF89a"])
def test_what_is_no_picture_is_empty(content: bytes, decode, tmp_path: Path) -> None:
    assert decode(content).shape == (0, 0, 3)
    grey = decoder(tmp_path, pixel_format="Grayscale")
    assert grey(np.frombuffer(content, np.uint8)).shape == (0, 0, 1)


def test_kinds_of_png(decode) -> None:
    random = np.random.default_rng(1)
    rgba = random.integers(0, 256, (3, 5, 4))
    grey = random.integers(0, 256, (3, 5))
    np.testing.assert_array_equal(decode(png(rgba[..., :3], 2)), rgba[..., :3])
    np.testing.assert_array_equal(decode(png(rgba, 6)), rgba[..., :3])  # transparency is dropped
    np.testing.assert_array_equal(decode(png(grey, 0)), np.stack([grey] * 3, -1))
    np.testing.assert_array_equal(decode(png(grey * 257, 0, bits=16)), np.stack([grey] * 3, -1))
    other_gamma = chunk(b"gAMA", struct.pack(">I", 100000))
    np.testing.assert_array_equal(decode(png(rgba[..., :3], 2, parts=other_gamma)), rgba[..., :3])
    colors = random.integers(0, 256, (4, 3))
    numbers = random.integers(0, 4, (3, 5))
    palette = chunk(b"PLTE", colors.astype(np.uint8).tobytes())
    found = decode(png(numbers, 3, parts=palette))
    np.testing.assert_array_equal(found, colors[numbers])


def test_a_picture_that_is_too_large_is_one_sentence(decode) -> None:
    header = bytearray(png(np.zeros((1, 1)), 0))
    header[16:24] = struct.pack(">II", 1000000, 1000000)
    header[29:33] = struct.pack(">I", zlib.crc32(bytes(header[12:29])))
    with pytest.raises(hr.UnsupportedError) as error:
        decode(bytes(header))
    assert "ImageDecoder" in str(error.value)
    assert "at most 134217728 pixels, got one of 1000000 x 1000000" in str(error.value)


def test_what_is_no_list_of_bytes_is_named(tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidModelError, match="'pixel_format': expected RGB, BGR or Gray"):
        decoder(tmp_path, pixel_format="CMYK")(FILES["png"].data)


def test_a_decoded_picture_flows_into_compiled_code(tmp_path: Path) -> None:
    """Pixels, whose number the file tells, scaled and averaged."""
    nodes = [
        helper.make_node("ImageDecoder", ["file"], ["bytes"]),
        helper.make_node("Cast", ["bytes"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["floats"], ["planes"], perm=[2, 0, 1]),
        helper.make_node("ReduceMean", ["planes", "axes"], ["mean"], keepdims=0),
    ]
    axes = helper.make_tensor("axes", TensorProto.INT64, [2], [1, 2])
    file = helper.make_tensor_value_info("file", TensorProto.UINT8, ["n"])
    mean = helper.make_tensor_value_info("mean", TensorProto.FLOAT, [3])
    graph = helper.make_graph(nodes, "mean", [file], [mean], [axes])
    path = tmp_path / "mean.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)
    model = hr.load(path)
    for name in ("png", "jpeg", "bmp"):
        found = model(FILES[name].data)
        assert_close(found, FILES[name].output.mean((0, 1)))
