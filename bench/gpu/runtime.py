"""The runtime library through its interface in C (include/headrace/headrace.h), by ctypes alone."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

TYPES = {"f32": 11, "bf16": 10, "i64": 7}
# By NumPy's names.
TYPES |= {
    name: number
    for number, name in enumerate(
        ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
        + ("float16", "bfloat16", "float32", "float64")
    )
}


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int32),
        ("type", ctypes.c_int32),
    ]


class Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("dim_texts", ctypes.c_void_p),
        ("rank", ctypes.c_int32),
        ("type", ctypes.c_int32),
    ]


class Step(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("notes", ctypes.c_char_p),
        ("microseconds", ctypes.c_double),
    ]


class RuntimeFailure(Exception):
    """A failed call, with the library's message."""


class Runtime:
    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))
        self.library.headrace_last_error.restype = ctypes.c_char_p
        self.library.headrace_program_output.restype = ctypes.POINTER(Spec)
        self.library.headrace_package_program_at.restype = ctypes.c_void_p

    def call(self, name: str, *arguments) -> None:
        if getattr(self.library, name)(*arguments) != 0:
            raise RuntimeFailure(self.library.headrace_last_error().decode())

    def open(self, path: Path) -> Program:
        package = ctypes.c_void_p()
        self.call("headrace_package_open", str(path).encode(), ctypes.byref(package))
        handle = self.library.headrace_package_program_at(package, ctypes.c_size_t(0))
        return Program(self, ctypes.c_void_p(handle))


class Program:
    """The only program of a package."""

    def __init__(self, runtime: Runtime, handle: ctypes.c_void_p) -> None:
        self.runtime, self.handle = runtime, handle

    def output_shapes(self, inputs, count: int) -> list[tuple[int, ...]]:
        """For inputs from `tensors`."""
        library, shapes = self.runtime.library, []
        for i in range(library.headrace_program_output_count(self.handle)):
            output = ctypes.c_size_t(i)
            rank = library.headrace_program_output(self.handle, output).contents.rank
            shape = (ctypes.c_int64 * max(1, rank))()
            self.runtime.call(
                "headrace_output_shape",
                self.handle,
                inputs,
                ctypes.c_size_t(count),
                output,
                shape,
            )
            shapes.append(tuple(shape[:rank]))
        return shapes

    def tensors(self, arrays: list[tuple[int, tuple[int, ...], str]]):
        """Arrays given by address, shape and type; kept alive by the caller."""
        result = (Tensor * max(1, len(arrays)))()
        for slot, (address, shape, dtype) in zip(result, arrays):
            slot.data, slot.rank, slot.type = address, len(shape), TYPES[dtype]
            slot.shape = (ctypes.c_int64 * max(1, len(shape)))(*shape)
        return result

    def run(self, inputs: list[np.ndarray], dtype: str) -> list[np.ndarray]:
        """From host memory to host memory; bf16 as uint16."""
        name = {"f32": "float32", "bf16": "bfloat16"}[dtype]
        count = self.runtime.library.headrace_program_output_count(self.handle)
        return self.run_typed(inputs, [name] * len(inputs), [name] * count)

    def run_typed(
        self, inputs: list[np.ndarray], given_types: list[str], types: list[str]
    ) -> list[np.ndarray]:
        """The same with NumPy's names of types; those of bfloat16 are bits."""
        inputs = [np.require(x, requirements="C") for x in inputs]

        def described(arrays, names):
            return self.tensors([(x.ctypes.data, x.shape, n) for x, n in zip(arrays, names)])

        given = described(inputs, given_types)
        shapes = self.output_shapes(given, len(inputs))
        kinds = ["uint16" if name == "bfloat16" else name for name in types]
        outputs = [np.full(shape, 77, kind) for shape, kind in zip(shapes, kinds)]
        self.runtime.call(
            "headrace_run",
            self.handle,
            given,
            ctypes.c_size_t(len(inputs)),
            described(outputs, types),
            ctypes.c_size_t(len(outputs)),
        )
        return outputs

    def enqueuer(self, inputs, outputs, stream: int):
        """A function that puts the program into the stream, on tensors from `tensors`."""
        enqueue = self.runtime.library.headrace_enqueue
        counts = ctypes.c_size_t(len(inputs)), ctypes.c_size_t(len(outputs))
        stream_handle = ctypes.c_void_p(stream)

        def go() -> None:
            if enqueue(self.handle, inputs, counts[0], outputs, counts[1], stream_handle) != 0:
                raise RuntimeFailure(self.runtime.library.headrace_last_error().decode())

        return go

    def steps(self, inputs, count: int) -> list[tuple[str, str, float]]:
        """Name, notes and microseconds of each step."""
        steps = (Step * 1024)()
        number = ctypes.c_size_t()
        for _ in range(2):  # the first brings clocks and caches up
            self.runtime.call(
                "headrace_time_steps",
                self.handle,
                inputs,
                ctypes.c_size_t(count),
                steps,
                ctypes.c_size_t(1024),
                ctypes.byref(number),
            )
        return [(s.name.decode(), s.notes.decode(), s.microseconds) for s in steps[: number.value]]
