"""Arrays as inputs and outputs, and who owns their memory."""

from __future__ import annotations

import array
import gc
import weakref

import headrace as hr
import numpy as np
import pytest

ONNX_TYPES = {
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "FLOAT16": "float16",
    "BOOL": "bool",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
}


@pytest.fixture
def identity(write_model):
    """A model that returns its input, of the ONNX type named."""

    def make(onnx_type: str, shape=("n",)) -> hr.Model:
        shape = list(shape)
        nodes = [("Identity", ["x"], ["y"])]
        return hr.load(write_model(nodes, [("x", onnx_type, shape)], [("y", onnx_type, shape)]))

    return make


@pytest.mark.parametrize(("onnx_type", "numpy_type"), ONNX_TYPES.items())
def test_every_element_type_passes_unchanged(identity, onnx_type, numpy_type):
    model = identity(onnx_type)
    x = np.array([0, 1, 1, 0, 1], dtype=numpy_type)
    y = model(x)
    assert model.inputs[0].dtype == y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)


def test_bfloat16(identity):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([0.5, -3, 1e30], dtype=ml_dtypes.bfloat16)
    model = identity("BFLOAT16")
    assert model(x).dtype == model.inputs[0].dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(model(x), x)
    np.testing.assert_array_equal(model([0.5, -3]), x[:2])
    with pytest.raises(hr.TypeMismatchError, match="'x': expected bfloat16, got uint16"):
        model(x.view(np.uint16))


def test_output_is_never_the_input(identity):
    x = np.ones(8, np.float32)
    model = identity("FLOAT")
    for y in (model(x), model.reference(x)):
        assert y.flags.writeable and not np.shares_memory(x, y)


def test_outputs_share_memory_through_dlpack(digits, images):
    logits = digits(images)
    shared = np.from_dlpack(logits)
    assert shared.ctypes.data == logits.ctypes.data
    assert logits.ctypes.data % 64 == 0
    logits[0, 0] = 42
    assert shared[0, 0] == 42


def test_outputs_outlive_the_model(digits_path, images):
    model = hr.load(digits_path)
    logits = model(images)
    kept = logits.copy()
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None
    np.testing.assert_array_equal(logits, kept)


def test_inputs_are_released_after_the_call(digits, images):
    class Watched(np.ndarray):
        pass

    x = images.copy().view(Watched)
    alive = weakref.ref(x)
    digits(x)
    del x
    gc.collect()
    assert alive() is None


def unaligned(x: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)


@pytest.mark.parametrize(
    "strange",
    [
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: x[::-1][::-1],
        lambda x: x.astype(">f4"),
        unaligned,
        lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -1)), -1, 0),
    ],
    ids=["fortran", "strided", "reversed twice", "big endian", "unaligned", "transposed"],
)
def test_other_layouts(digits, images, strange):
    np.testing.assert_array_equal(digits(strange(images)), digits(images))


def test_read_only_input(digits, images):
    frozen = images.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(digits(frozen), digits(images))


def test_python_numbers(identity):
    floats = identity("FLOAT")
    np.testing.assert_array_equal(floats([1, 2.5]), np.array([1, 2.5], np.float32))
    np.testing.assert_array_equal(floats(array.array("f", [3])), np.array([3], np.float32))
    assert floats([]).shape == (0,)
    np.testing.assert_array_equal(identity("INT8")((1, -2)), np.array([1, -2], np.int8))
    scalar = identity("FLOAT", shape=())
    assert scalar(3.5).shape == ()
    assert scalar(3.5) == scalar(np.float32(3.5)) == 3.5


def test_lists_for_a_network(digits, images):
    np.testing.assert_array_equal(digits(images[:2].tolist()), digits(images[:2]))


@pytest.mark.parametrize(
    ("onnx_type", "value", "message"),
    [
        ("FLOAT", np.zeros(2), "'x': expected float32, got float64"),
        ("FLOAT", np.zeros(2, np.int32), "'x': expected float32, got int32"),
        ("DOUBLE", np.zeros(2, np.float32), "'x': expected float64, got float32"),
        ("INT64", [1.5], "'x': expected int64, got numbers of type float64"),
        ("BOOL", [1], "'x': expected bool, got numbers of type int64"),
        ("FLOAT", ["one"], "'x': expected float32, got numbers of type <U3"),
        ("FLOAT", "one", "'x': expected float32, got <U3"),
        ("FLOAT", object(), "'x': expected float32, got object"),
    ],
)
def test_no_silent_conversion(identity, onnx_type, value, message):
    with pytest.raises(hr.TypeMismatchError, match=message) as caught:
        identity(onnx_type)(value)
    assert isinstance(caught.value, TypeError)


def test_numbers_out_of_range(identity):
    with pytest.raises(hr.InvalidArgumentError, match="range of int8, got 1 to 300"):
        identity("INT8")([1, 300])
    with pytest.raises(hr.InvalidArgumentError, match="'x'.*equal length"):
        identity("FLOAT")([[1, 2], [3]])


def test_torch_tensors(digits, images):
    torch = pytest.importorskip("torch")
    expected = digits(images)
    tensor = torch.from_numpy(images)
    for x in (
        tensor,
        tensor.clone().requires_grad_(),
        torch.nn.Parameter(tensor),
        tensor.to(memory_format=torch.channels_last),
        tensor.flip(0).flip(0),
    ):
        np.testing.assert_array_equal(digits(x), expected)
    logits = digits(tensor)
    assert torch.from_dlpack(logits).data_ptr() == logits.ctypes.data
    with pytest.raises(hr.TypeMismatchError, match="'image': expected float32, got float64"):
        digits(tensor.double())
    with pytest.raises(hr.InvalidArgumentError, match="host memory.*'meta'"):
        digits(tensor.to("meta"))


def test_torch_bfloat16(identity):
    torch = pytest.importorskip("torch")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = torch.tensor([0.5, -3, 7], dtype=torch.bfloat16)
    expected = np.array([0.5, -3, 7], dtype=ml_dtypes.bfloat16)
    np.testing.assert_array_equal(identity("BFLOAT16")(x), expected)
    np.testing.assert_array_equal(identity("BFLOAT16")(x[::2]), expected[::2])
