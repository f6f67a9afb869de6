"""Element types, and the way into the program for values that are not plain arrays."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError, TypeMismatchError, UnsupportedError

# The element types by the compiler's, NumPy's and ONNX's names.
NUMPY_NAMES = {
    "bool": "bool",
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "u16": "uint16",
    "i32": "int32",
    "u32": "uint32",
    "i64": "int64",
    "u64": "uint64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz",
    "f4e2m1": "float4_e2m1fn",
    "i4": "int4",
    "u4": "uint4",
    "i2": "int2",
    "u2": "uint2",
    "f8e8m0": "float8_e8m0fnu",
}
ONNX_NAMES = {
    **NUMPY_NAMES,
    "f32": "float",
    "f64": "double",
    "f8e4m3fn": "float8e4m3fn",
    "f8e4m3fnuz": "float8e4m3fnuz",
    "f8e5m2": "float8e5m2",
    "f8e5m2fnuz": "float8e5m2fnuz",
    "f4e2m1": "float4e2m1",
    "f8e8m0": "float8e8m0",
}
# The numbers in memory of types that NumPy knows by the package ml_dtypes only.
STORAGE = {
    "bf16": np.uint16,
    "f8e4m3fn": np.uint8,
    "f8e4m3fnuz": np.uint8,
    "f8e5m2": np.uint8,
    "f8e5m2fnuz": np.uint8,
    "f4e2m1": np.uint8,
    "i4": np.int8,
    "u4": np.uint8,
    "i2": np.int8,
    "u2": np.uint8,
    "f8e8m0": np.uint8,
}

SMALL_INTEGERS = ("i4", "u4", "i2", "u2")
SMALL_INTEGER_NAMES = tuple(NUMPY_NAMES[name] for name in SMALL_INTEGERS)


def numpy_dtype(element_type: str) -> np.dtype[Any]:
    """The NumPy type of "f32", "i64", ...; bf16 and narrower types need the package ml_dtypes."""
    name = NUMPY_NAMES[element_type]
    if element_type not in STORAGE:
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise UnsupportedError(
            f"element type {element_type}: expected the package ml_dtypes to be installed, got none"
        ) from None
    if not hasattr(ml_dtypes, name):
        raise UnsupportedError(
            f"element type {element_type}: expected a version of ml_dtypes that has {name}, "
            f"got {ml_dtypes.__version__}"
        )
    return np.dtype(getattr(ml_dtypes, name))


def to_storage(array: np.ndarray, element_type: str) -> np.ndarray:
    """The numbers in memory; integers of 4 and 2 bits are bytes of that value."""
    if element_type in SMALL_INTEGERS:
        return array.astype(STORAGE[element_type])
    return array.view(STORAGE[element_type]) if element_type in STORAGE else array


def to_input(value: Any, name: str, element_type: str) -> Any:
    """An array in C order that holds the value in exactly the input's element type.

    Arrays are never converted from one element type to another; Python's own numbers and lists,
    which have no such type, are. Types that NumPy itself lacks come as the numbers in memory.
    """
    if is_torch(value):
        return from_torch(value, name, element_type)
    expected = numpy_dtype(element_type)
    if isinstance(value, (bool, int, float, list, tuple)):
        array = from_numbers(value, name, expected)
    else:
        array = from_array(value, name, expected)
    array = np.require(array, requirements=["C", "A"])
    return to_storage(array, element_type)


def from_output(array: np.ndarray, element_type: str) -> np.ndarray:
    if element_type in SMALL_INTEGERS:
        return array.astype(numpy_dtype(element_type))
    return array.view(numpy_dtype(element_type)) if element_type in STORAGE else array


def is_torch(value: Any) -> bool:
    return any(base.__module__.partition(".")[0] == "torch" for base in type(value).__mro__)


def from_torch(value: Any, name: str, element_type: str) -> Any:
    if value.device.type != "cpu":
        raise InvalidArgumentError(
            f"input '{name}': expected a tensor in host memory, got one on device '{value.device}'"
        )
    found = str(value.dtype).removeprefix("torch.")
    if found != NUMPY_NAMES[element_type]:
        raise_type_mismatch(name, NUMPY_NAMES[element_type], found)
    dense = value.detach().to_dense().contiguous()
    # Which DLPack does not carry.
    return dense.view(sys.modules["torch"].uint8) if element_type.startswith("f8") else dense


def from_array(value: Any, name: str, expected: np.dtype[Any]) -> np.ndarray:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise TypeMismatchError(
            f"input '{name}': expected an array of {expected}, got {type(value).__name__} ({error})"
        ) from error
    if array.dtype == object:
        raise_type_mismatch(name, str(expected), described_objects(value, array))
    if array.dtype.newbyteorder("=") != expected:
        raise_type_mismatch(name, str(expected), str(array.dtype))
    return array.astype(expected, copy=False)


def described_objects(value: Any, array: np.ndarray) -> str:
    """ "an object array of ndarray", where the value is an array itself."""
    if not isinstance(value, np.ndarray):
        return type(value).__name__
    kinds = list(dict.fromkeys(type(item).__name__ for item in array.flat))
    return f"an object array of {', '.join(kinds[:3])}" if kinds else "an empty object array"


def from_numbers(value: Any, name: str, expected: np.dtype[Any]) -> np.ndarray:
    try:
        found = np.asarray(value)
    except ValueError as error:
        raise InvalidArgumentError(
            f"input '{name}': expected lists of equal length at each level, got {error}"
        ) from error
    except OverflowError as error:
        raise InvalidArgumentError(f"input '{name}': expected {expected}, got {error}") from error
    if found.size and not keeps_meaning(found, expected):
        raise_type_mismatch(name, str(expected), f"numbers of type {found.dtype}")
    with np.errstate(all="ignore"):
        array = found.astype(expected)
    is_small = expected.name in SMALL_INTEGER_NAMES
    kept = array.astype(np.int8) if is_small else array
    if found.size and (expected.kind in "iu" or is_small) and not np.array_equal(kept, found):
        raise InvalidArgumentError(
            f"input '{name}': expected numbers in the range of {expected}, "
            f"got {found.min()} to {found.max()}"
        )
    return array


def keeps_meaning(found: np.ndarray, expected: np.dtype[Any]) -> bool:
    """Whether Python's numbers of one kind may stand for the element type expected."""
    kind = found.dtype.kind
    if expected.kind == "b":
        return kind == "b"
    if expected.kind in "iu" or expected.name in SMALL_INTEGER_NAMES:
        return kind in "iu"
    return kind in "iuf"  # f16, f32, f64, and bf16, which has a kind of its own


def raise_type_mismatch(name: str, expected: str, found: str) -> None:
    raise TypeMismatchError(f"input '{name}': expected {expected}, got {found}")
