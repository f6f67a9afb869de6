"""One random program three ways: compiled, by the reference evaluation, and by ONNX Runtime."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from engines import Command, Engine, Package, Refused
from values import MANTISSA, Program, epsilon

DOUBLE = np.dtype(np.float64)
# Where ONNX Runtime differs from the standard: operators, when (a function of the result's type and of
# whether the program has empty tensors), and the reason.
RUNTIME_DIFFERS = [
    (
        {"Gelu", "HardSwish"},
        lambda dtype, empty: dtype == DOUBLE,
        "the constants of its formula are rounded to single precision",
    ),
    (
        {"GroupNormalization"},
        lambda dtype, empty: dtype == DOUBLE,
        "statistics of doubles are taken in single precision, which 'stash_type' allows and we exceed",
    ),
    (
        {"ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceProd"},
        lambda dtype, empty: empty,
        "without keepdims the result of an empty tensor keeps the reduced dimension",
    ),
]


@dataclass
class Verdict:
    """`kind`: same, refused (the compiler says that it cannot), wrong, or runtime (ORT differs)."""

    kind: str
    message: str = ""


def plain(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if array.dtype in MANTISSA else array


def difference(found: np.ndarray, expected: np.ndarray, error: float, special: bool) -> str:
    """What differs, in a few words; empty where nothing does. `error` is in units of rounding."""
    if found.dtype != expected.dtype:
        return f"type {found.dtype}, expected {expected.dtype}"
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    a, b = plain(found), plain(expected)
    if found.dtype not in MANTISSA:
        same = a == b
    else:
        unit = epsilon(found.dtype)
        with np.errstate(all="ignore"):
            allowed = 4 * error * unit + (64 * unit * np.abs(b) if special and error else 0)
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= allowed)
            if special and error:
                # Beyond the largest number, or just below it: either may be rounded to.
                top = float(ml_dtypes.finfo(found.dtype).max) * (1 - 64 * unit)
                same |= (np.abs(a) >= top) & (np.abs(b) >= top) & (np.sign(a) == np.sign(b))
    if same.all():
        return ""
    place = tuple(int(i) for i in np.argwhere(~same)[0])
    return (
        f"{int((~same).sum())} of {same.size} differ, at {place} {found[place]}, expected "
        f"{expected[place]} (rounding errors allowed: {error:.3g})"
    )


def compare(program: Program, found: dict, expected: dict) -> str:
    for name, value in found.items():
        wrong = difference(
            value, expected[name], program.tolerances.get(name, 0.0), name in program.special
        )
        if wrong:
            return f"output {name}: {wrong}"
    return ""


def by_runtime(model: onnx.ModelProto, feeds: dict) -> dict[str, np.ndarray] | None:
    """None where ONNX Runtime has no kernel for these types, or refuses the model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        names = [output.name for output in model.graph.output]
        return dict(zip(names, session.run(names, feeds)))
    except Exception:  # noqa: BLE001
        return None


def runtime_differs(program: Program) -> bool:
    """Whether ONNX Runtime is known to compute something else for a node of the program."""
    empty = any(x.size == 0 for x in program.feeds.values()) or any(
        0 in tensor.dims for tensor in program.model.graph.initializer
    )
    return any(
        node.op_type in operators and when(program.types.get(node.output[0]), empty)
        for node in program.model.graph.node
        for operators, when, _ in RUNTIME_DIFFERS
    )


def engine_for(path: Path) -> Engine:
    """The command that HEADRACE_RANDOM_COMMAND names, else the Python package."""
    command = os.environ.get("HEADRACE_RANDOM_COMMAND")
    return Command(command, path) if command else Package(path)


def check(program: Program) -> Verdict:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(program.model, path)
        try:
            engine = engine_for(path)
            compiled = engine.compiled(program.feeds)
        except Refused as error:
            return Verdict("refused", str(error))
        except Exception as error:  # noqa: BLE001
            return Verdict("wrong", f"{type(error).__name__}: {error}")
        try:
            reference = engine.reference(program.feeds)
        except Exception as error:  # noqa: BLE001
            return Verdict("wrong", f"reference: {type(error).__name__}: {error}")
    if wrong := compare(program, compiled, reference):
        return Verdict("wrong", f"compiled against reference: {wrong}")
    runtime = by_runtime(program.model, program.feeds)
    if runtime is None:
        return Verdict("same", "without ONNX Runtime")
    if wrong := compare(program, compiled, runtime):
        if not runtime_differs(program):
            return Verdict("wrong", f"compiled against ONNX Runtime: {wrong}")
    return Verdict("same")
