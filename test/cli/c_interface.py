"""The runtime library as a C program sees it: include/headrace/headrace.h by ctypes."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

BIN = os.environ.get("HEADRACE_BIN")
TYPES = {"bool": 0, "i8": 1, "u8": 2, "i16": 3, "u16": 4, "i32": 5, "u32": 6, "i64": 7, "u64": 8}
TYPES |= {"f16": 9, "f32": 11, "f64": 12}
DTYPES = {
    code: np.dtype(name.replace("f", "float").replace("i", "int").replace("u", "uint"))
    for name, code in TYPES.items()
    if name != "bool"
} | {0: np.dtype(bool)}
CODES = {dtype: code for code, dtype in DTYPES.items()}


class CTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int32),
        ("type", ctypes.c_int32),
    )


class CSpec(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p),)  # as far as these tests read it


@functools.cache
def library() -> ctypes.CDLL:
    lib = ctypes.CDLL(str(Path(str(BIN)).resolve().parents[1] / "lib" / "libheadrace_runtime.so"))
    lib.headrace_last_error.restype = ctypes.c_char_p
    lib.headrace_program_input.restype = ctypes.POINTER(CSpec)
    lib.headrace_program_output.restype = ctypes.POINTER(CSpec)
    lib.headrace_program_input_count.restype = ctypes.c_size_t
    lib.headrace_program_output_count.restype = ctypes.c_size_t
    lib.headrace_result_output.restype = ctypes.POINTER(CTensor)
    return lib


class CError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(library().headrace_last_error().decode())
        self.status = status


def check(status: int) -> None:
    if status != 0:
        raise CError(status)


def tensor_of(array: np.ndarray, kept: list) -> CTensor:
    """The array as a C program passes it; `kept` keeps its memory alive."""
    array = np.ascontiguousarray(array).reshape(array.shape)
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    kept += [array, shape]
    return CTensor(array.ctypes.data, shape, array.ndim, CODES[array.dtype])


def array_of(tensor: CTensor) -> np.ndarray:
    shape = tuple(tensor.shape[i] for i in range(tensor.rank))
    dtype = DTYPES[tensor.type]
    size = int(np.prod(shape)) * dtype.itemsize
    content = ctypes.string_at(tensor.data, size) if size else b""
    return np.frombuffer(content, dtype).reshape(shape).copy()


class CProgram:
    """The only program of a package."""

    def __init__(self, path: Path) -> None:
        self.package, self.program = ctypes.c_void_p(), ctypes.c_void_p()
        check(library().headrace_package_open(str(path).encode(), ctypes.byref(self.package)))
        check(library().headrace_package_program(self.package, None, ctypes.byref(self.program)))

    def names(self, role: str) -> list[str]:
        count = getattr(library(), f"headrace_program_{role}_count")(self.program)
        get = getattr(library(), f"headrace_program_{role}")
        return [get(self.program, ctypes.c_size_t(i)).contents.name.decode() for i in range(count)]

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        kept: list = []
        inputs = [tensor_of(feeds[name], kept) for name in self.names("input")]
        result = ctypes.c_void_p()
        check(
            library().headrace_run_new(
                self.program,
                (CTensor * len(inputs))(*inputs),
                ctypes.c_size_t(len(inputs)),
                ctypes.byref(result),
            )
        )
        outputs = {
            name: array_of(library().headrace_result_output(result, ctypes.c_size_t(i)).contents)
            for i, name in enumerate(self.names("output"))
        }
        library().headrace_result_free(result)
        return outputs
