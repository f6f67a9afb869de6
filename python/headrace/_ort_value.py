"""Values as onnxruntime passes them on: arrays with an element type, which runs read and write."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace._arrays import NUMPY_NAMES, STORAGE, numpy_dtype
from headrace._node_arg import onnx_type
from headrace._values import ELEMENT_TYPES, inner
from headrace.errors import (
    InvalidArgumentError,
    ShapeMismatchError,
    TypeMismatchError,
    UnsupportedError,
)

# The numbers of TensorProto.DataType.
_ONNX_NUMBERS = {
    "f32": 1,
    "u8": 2,
    "i8": 3,
    "u16": 4,
    "i16": 5,
    "i32": 6,
    "i64": 7,
    "string": 8,
    "bool": 9,
    "f16": 10,
    "f64": 11,
    "u32": 12,
    "u64": 13,
    "bf16": 16,
    "f8e4m3fn": 17,
    "f8e4m3fnuz": 18,
    "f8e5m2": 19,
    "f8e5m2fnuz": 20,
    "u4": 21,
    "i4": 22,
    "f4e2m1": 23,
    "f8e8m0": 24,
    "u2": 25,
    "i2": 26,
}
_ELEMENT_TYPES_BY_NUMBER = {number: name for name, number in _ONNX_NUMBERS.items()}


class OrtValue:
    """A tensor in memory that runs may share, or another value that a run returned.

    >>> value = hr.OrtValue.ortvalue_from_numpy(images)
    >>> (logits,) = session.run_with_ort_values(["logits"], {"image": value})
    >>> logits.numpy().shape
    (16, 10)
    """

    def __init__(self, value: Any, element_type: str) -> None:
        self._value = value
        self._element_type = element_type  # by the compiler's names: "f32", "sequence(f32)"

    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: np.ndarray, /, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """Shares the array's memory if it is in C order."""
        require_cpu(device_type)
        array = np.asarray(numpy_obj)
        return cls(np.require(array, requirements="C"), element_type_of(array.dtype))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(
        cls, data: np.ndarray, /, onnx_element_type: int
    ) -> OrtValue:
        """The bytes of an array as elements of another type of that width, such as bfloat16."""
        element_type = element_type_of(onnx_element_type)
        return cls(data.view(numpy_dtype(element_type)), element_type)

    @classmethod
    def ortvalue_from_shape_and_type(
        cls, shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """A tensor of this shape whose elements are not set."""
        require_cpu(device_type)
        name = element_type_of(element_type)
        return cls(np.empty(tuple(shape), numpy_dtype(name)), name)

    def numpy(self) -> np.ndarray:
        """The tensor as an array that shares its memory."""
        if not self.is_tensor():
            raise UnsupportedError(f"OrtValue: expected a tensor, got {self.data_type()}")
        return self._value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype, copy=copy or None) if copy or dtype else self.numpy()

    def update_inplace(self, np_arr: np.ndarray) -> None:
        """Overwrites the elements with those of an array of the same shape and type."""
        array = np.asarray(np_arr)
        if array.shape != self.numpy().shape:
            raise ShapeMismatchError(
                f"OrtValue: expected an array of {list(self._value.shape)}, got {list(array.shape)}"
            )
        if array.dtype != self._value.dtype:
            raise TypeMismatchError(
                f"OrtValue: expected an array of {self._value.dtype}, got {array.dtype}"
            )
        np.copyto(self._value, array)

    def shape(self) -> list[int]:
        """The shape of a tensor."""
        return list(self.numpy().shape)

    def data_type(self) -> str:
        """The type as ONNX writes it: "tensor(float)"."""
        return onnx_type(self._element_type)

    def element_type(self) -> int:
        """The number of the element type in ONNX's TensorProto."""
        return _ONNX_NUMBERS[self._element_type]

    def tensor_size_in_bytes(self) -> int:
        """The bytes of a tensor's elements."""
        return self.numpy().nbytes

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self.numpy().ctypes.data

    def device_name(self) -> str:
        """The device of the memory: "cpu"."""
        return "cpu"

    def has_value(self) -> bool:
        """Whether an optional has a value; true for other types."""
        return self._value is not None

    def is_tensor(self) -> bool:
        """Whether the value is a numeric or string tensor."""
        return isinstance(self._value, np.ndarray)

    def is_sparse_tensor(self) -> bool:
        """False: there are no sparse tensors."""
        return False

    def is_tensor_sequence(self) -> bool:
        """Whether the value is a sequence of tensors."""
        element = inner(self._element_type, "sequence")
        return element is not None and inner(element, "map") is None


def element_type_of(given: Any) -> str:
    """The compiler's name of a type given as NumPy's, or as a number of ONNX's TensorProto."""
    if isinstance(given, (int, np.integer)):
        if given not in _ELEMENT_TYPES_BY_NUMBER:
            raise InvalidArgumentError(f"OrtValue: expected an ONNX element type, got {given}")
        return _ELEMENT_TYPES_BY_NUMBER[int(given)]
    dtype = np.dtype(given)
    name = ELEMENT_TYPES.get(dtype.name)
    if name is None:
        expected = ", ".join(NUMPY_NAMES[name] for name in NUMPY_NAMES if name not in STORAGE)
        raise TypeMismatchError(f"OrtValue: expected elements of {expected}, got {dtype}")
    return name


def require_cpu(device_type: str) -> None:
    if device_type.lower() != "cpu":
        raise UnsupportedError(f"session: expected memory of device 'cpu', got '{device_type}'")


def array_at(address: int, shape: Sequence[int], element_type: Any) -> np.ndarray:
    """The caller's memory as an array; it must outlive the array."""
    dtype = numpy_dtype(element_type_of(element_type))
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = (ctypes.c_byte * size).from_address(int(address))
    return np.frombuffer(memory, dtype).reshape(tuple(shape))
