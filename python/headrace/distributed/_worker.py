"""What runs on the workers of a cluster: functions that are imported there, never sent."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]

#: The features of Linux's /proc/cpuinfo that the levels of x86-64 add, lowest level first.
_LEVELS = {
    "x86-64-v2": {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"},
    "x86-64-v3": {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"},
    "x86-64-v4": {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"},
}

#: The program that this process runs, by its key. A process serves one run after the other.
_loaded: dict[str, Any] = {}


def describe() -> tuple[str, str, str, bool]:
    """This node's name, its version of Headrace, its CPU level, and whether it asks for a token."""
    from ray._raylet import AuthenticationMode, get_authentication_mode

    from headrace import __version__

    asks = get_authentication_mode() == AuthenticationMode.TOKEN
    return platform.node(), __version__, _level(), asks


def _level() -> str:
    with open("/proc/cpuinfo") as file:
        flags = next((set(line.split()) for line in file if line.startswith("flags")), set())
    found = "x86-64-v2"
    for level, features in _LEVELS.items():
        if not features <= flags:
            break
        found = level
    return min(found, os.environ.get("HEADRACE_CPU_LEVEL") or found)


def run_rows(
    program: np.ndarray, key: str, level: str, feeds: Arrays, batch: int, is_fixed: bool
) -> tuple[Arrays, list[tuple[int, str]]]:
    """Runs the program on rows of its inputs, `batch` at a time, exactly as many if `is_fixed`.

    Returns the outputs by row, and the rows that the program rejects, each with the reason; their
    outputs are NaN, or 0 for types without it.
    """
    model = _program(program, key, level)
    rows = len(next(iter(feeds.values())))
    failed: list[tuple[int, str]] = []
    parts: list[tuple[int, int, Arrays]] = []
    for start in range(0, rows, batch):
        _run_span(model, feeds, start, min(start + batch, rows), batch * is_fixed, parts, failed)
    return _joined(model, parts, rows), failed


def run_batch(
    rows: Arrays, program: np.ndarray, key: str, names: Sequence[str], batch: int, is_fixed: bool
) -> Arrays:
    """Runs the program on a batch of a `ray.data.Dataset`, whose columns are the inputs by name."""
    given = dict(zip(names, rows.values())) if len(names) == 1 else {n: rows[n] for n in names}
    specs = {spec.name: spec for spec in _program(program, key, _level()).inputs}
    feeds = {
        name: np.ascontiguousarray(np.stack([*values]) if values.dtype == object else values,
                                   specs[name].dtype)
        for name, values in given.items()
    }  # fmt: skip
    return run_rows(program, key, _level(), feeds, batch, is_fixed)[0]


def run_whole(
    program: np.ndarray, key: str, level: str, feeds: Arrays
) -> tuple[Arrays, list[tuple[int, str]]]:
    """Runs the program once. An input that it rejects has no outputs, and a reason."""
    from headrace.errors import Error

    try:
        return _run(_program(program, key, level), feeds), []
    except Error as error:
        return {}, [(0, str(error))]


def _program(program: np.ndarray, key: str, level: str) -> Any:
    """The loaded program: its file is in memory, so that nothing stays behind if this process is killed."""
    if key not in _loaded:
        os.environ["HEADRACE_CPU_LEVEL"] = level
        os.environ["HEADRACE_THREADS"] = "1"  # tasks share the cores
        import headrace

        _loaded.clear()
        descriptor = os.memfd_create("headrace-program")
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(memoryview(program))
        is_package = program[:2].tobytes() == b"PK"  # a zip archive
        with tempfile.TemporaryDirectory(prefix="headrace-map-") as folder:
            named = Path(folder, "program.hrpkg" if is_package else "program.onnx")
            named.symlink_to(f"/proc/{os.getpid()}/fd/{descriptor}")
            _loaded[key] = headrace.load(named)
    return _loaded[key]


def _run(model: Any, feeds: Mapping[str, np.ndarray]) -> Arrays:
    results = model(**feeds)
    if len(model.outputs) == 1:
        results = (results,)
    return {spec.name: np.asarray(value) for spec, value in zip(model.outputs, results)}


def _run_span(
    model: Any,
    feeds: Arrays,
    start: int,
    stop: int,
    fixed: int,
    parts: list[tuple[int, int, Arrays]],
    failed: list[tuple[int, str]],
) -> None:
    """Runs some rows together, halves of them if the program rejects them, down to the single rows."""
    from headrace.errors import Error

    span = {name: values[start:stop] for name, values in feeds.items()}
    if fixed > stop - start:  # the program takes exactly that many rows: the last one is repeated
        span = {name: _repeated(values, fixed) for name, values in span.items()}
    try:
        outputs = _run(model, span)
    except Error as error:
        if stop - start == 1:
            failed.append((start, str(error)))
            return
        middle = (start + stop) // 2
        _run_span(model, feeds, start, middle, fixed, parts, failed)
        _run_span(model, feeds, middle, stop, fixed, parts, failed)
        return
    rows = max(fixed, stop - start)
    for name, values in outputs.items():
        if values.ndim == 0 or len(values) != rows:
            raise ValueError(
                f"output '{name}': expected a row for each of {rows} inputs, got the shape "
                f"{values.shape}; --whole (whole=True) runs the program once per file"
            )
    parts.append((start, stop, {name: values[: stop - start] for name, values in outputs.items()}))


def _repeated(values: np.ndarray, rows: int) -> np.ndarray:
    return np.concatenate([values, np.repeat(values[-1:], rows - len(values), axis=0)])


def _joined(model: Any, parts: Sequence[tuple[int, int, Arrays]], rows: int) -> Arrays:
    if not parts:  # every row was rejected
        return {}
    if len(parts) == 1 and parts[0][:2] == (0, rows):
        return parts[0][2]
    joined = {}
    for spec in model.outputs:
        shapes = {part[spec.name].shape[1:] for _, _, part in parts}
        if len(shapes) > 1:
            raise ValueError(
                f"output '{spec.name}': expected rows of one shape, got {sorted(shapes)}; --whole "
                "(whole=True) runs the program once per file"
            )
        first = parts[0][2][spec.name]
        result = missing_rows(rows, first)
        for start, stop, part in parts:
            result[start:stop] = part[spec.name]
        joined[spec.name] = result
    return joined


def missing_rows(rows: int, like: np.ndarray) -> np.ndarray:
    """Rows that have no result: NaN, or 0 for types without it."""
    empty: Callable[..., np.ndarray] = np.zeros
    result = empty((rows, *like.shape[1:]), like.dtype)
    if like.dtype.kind in "fc":
        result.fill(np.nan)
    return result
