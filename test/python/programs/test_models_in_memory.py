"""Models that are given as the bytes of a file, or as an object that has them."""

from __future__ import annotations

import headrace as hr
import numpy as np
import pytest

from cases import graph_text

onnx = pytest.importorskip("onnx")

TEXT = """m (float[n,2] x, float[2] b) => (float[n,2] y) <float[2] b = {1, 2}> { y = Add(x, b) }"""
X = np.array([[1, -2], [3, 0.5]], np.float32)


@pytest.fixture
def proto():
    return graph_text.parse(TEXT)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_are_a_model(proto, kind) -> None:
    model = hr.load(kind(proto.SerializeToString()))
    assert model.symbols == ("n",)
    np.testing.assert_array_equal(model(X), X + [1, 2])


def test_a_proto_is_a_model(proto) -> None:
    np.testing.assert_array_equal(hr.load(proto)(X), X + [1, 2])


def test_bytes_may_change_afterwards(proto) -> None:
    data = bytearray(proto.SerializeToString())
    model = hr.load(data)
    data[:] = bytes(len(data))
    np.testing.assert_array_equal(model(X), X + [1, 2])
    np.testing.assert_array_equal(model(X, b=X[0]), X + X[0])  # loaded once more


def test_a_model_in_stages_comes_from_bytes() -> None:
    proto = graph_text.parse("m (float[n] x) => (int64[1,k] y) { y = NonZero(x) }")
    model = hr.load(proto)
    assert model.is_split
    np.testing.assert_array_equal(model(np.array([0, 3, 0, 1], np.float32)), [[1, 3]])


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "got an empty file"),
        (b"model.onnx", "expected an ONNX model, got data in another format"),
        (b"PK\x03\x04", "got a zip archive"),
    ],
)
def test_bytes_that_are_no_model(data: bytes, message: str) -> None:
    with pytest.raises(hr.InvalidFileError, match=message):
        hr.load(data)


def test_external_data_needs_a_file(proto) -> None:
    weight = proto.graph.initializer[0]
    weight.ClearField("float_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="w.bin")
    with pytest.raises(hr.UnsupportedError, match="'w.bin': expected a model in a file"):
        hr.load(proto)


def test_a_model_in_memory_has_no_program_to_choose(proto) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="'first' from, got a model in memory"):
        hr.load(proto, program="first")
