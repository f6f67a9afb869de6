"""One random program four ways: compiled, by the reference evaluation, rewritten and compiled, and by ONNX
Runtime."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx import helper
from spread import Spread, spreads

from cases.graphs.values import MANTISSA, Program, epsilon
from engines import Command, Engine, Package, Refused
from rewrite import rewrite
from runtime import Answer, by_runtime, is_fit_for_single

DOUBLE = np.dtype(np.float64)


@dataclass
class Difference:
    """Where ONNX Runtime differs from the standard, or from what others make of it."""

    operators: set[str]
    when: Callable[[Program, onnx.NodeProto], bool]
    # True: its results have the rounding of f32. False: they say nothing.
    is_coarse: bool = False


RUNTIME_DIFFERS = [
    # The constants of its formula are rounded to f32.
    Difference({"Gelu", "HardSwish"}, lambda p, node: type_of(p, node) == DOUBLE, is_coarse=True),
    # Statistics of doubles are taken in f32, which 'stash_type' allows and we exceed.
    Difference({"GroupNormalization"}, lambda p, node: type_of(p, node) == DOUBLE, is_coarse=True),
    # The result of an empty tensor keeps the reduced dimensions, or has their old sizes.
    Difference(
        {
            "ReduceSum",
            "ReduceMean",
            "ReduceL1",
            "ReduceL2",
            "ReduceSumSquare",
            "ReduceLogSum",
            "ReduceProd",
        },
        lambda p, node: 0 in p.shapes[node.input[0]],
    ),
    Difference({"ReduceSum"}, lambda p, node: 0 in p.shapes[node.output[0]]),
    # Products of no terms are not written in every case.
    Difference({"MatMul"}, lambda p, node: p.shapes[node.input[0]][-1] == 0),
    # A product of no terms is the third operand as it is, not beta times it.
    Difference(
        {"Gemm"},
        lambda p, node: p.shapes[node.input[0]][0 if attribute(node, "transA", 0) else 1] == 0,
    ),
    # Dilated windows need no padding: it takes less than none, and begins beyond the first element.
    Difference(
        {"AveragePool", "LpPool"},
        lambda p, node: (
            attribute(node, "auto_pad", b"").startswith(b"SAME")
            and any(
                map(int.__gt__, attribute(node, "strides", []), attribute(node, "kernel_shape", []))
            )
        ),
    ),
    # A NaN among the elements gives NaN or not, depending on its place; a window of which every
    # element is -inf has the lowest finite number as its maximum.
    Difference({"MaxPool", "ReduceMax", "ReduceMin"}, lambda p, node: node.input[0] in p.special),
]


def type_of(program: Program, node: onnx.NodeProto) -> np.dtype | None:
    return program.types.get(node.output[0])


def attribute(node: onnx.NodeProto, name: str, otherwise):
    found = [helper.get_attribute_value(a) for a in node.attribute if a.name == name]
    return found[0] if found else otherwise


@dataclass
class CheckResult:
    """`kind`: same, refused (the compiler says that it cannot) or wrong."""

    kind: str
    message: str = ""
    # ONNX Runtime's outcome: see Answer.
    runtime: str = ""
    runtime_message: str = ""


def plain(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if array.dtype in MANTISSA else array


def difference(
    found: np.ndarray,
    expected: np.ndarray,
    error: float,
    special: bool,
    unit: float = 0.0,
    spread: Spread | None = None,
) -> str:
    """The first difference, in a few words; empty if there is none. `error` counts units of
    rounding: of the type, or `unit` where that is coarser. What is in the `spread` is right, too."""
    if found.dtype != expected.dtype:
        return f"type {found.dtype}, expected {expected.dtype}"
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    a, b = plain(found), plain(expected)
    if found.dtype not in MANTISSA:
        same = a == b
    else:
        unit = max(epsilon(found.dtype), unit)
        with np.errstate(all="ignore"):
            allowed = 4 * error * unit + (64 * unit * np.abs(b) if special and error else 0)
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= allowed)
            if special and error:
                # Beyond the largest number, or just below it: either may be rounded to.
                top = float(ml_dtypes.finfo(found.dtype).max) * (1 - 64 * unit)
                same |= (np.abs(a) >= top) & (np.abs(b) >= top) & (np.sign(a) == np.sign(b))
            if spread is not None:
                same |= spread.holds(a)
    if same.all():
        return ""
    place = tuple(int(i) for i in np.argwhere(~same)[0])
    return (
        f"{int((~same).sum())} of {same.size} differ, at {place} {found[place]}, expected "
        f"{expected[place]} (rounding errors allowed: {error:.3g})"
    )


class Comparison:
    """Compares a program's results with others that should be equal except for rounding. The effect
    of rounding on steep functions is computed only if results differ, which few do."""

    def __init__(self, program: Program, reference: dict[str, np.ndarray]) -> None:
        self.program, self.reference = program, reference
        self.spreads: dict[str, Spread] | None = None

    def difference(self, found: dict, expected: dict, unit: float = 0.0) -> str:
        for name, value in found.items():
            if name not in expected:
                continue
            wrong = self.of_output(name, value, expected[name], unit)
            if wrong:
                return f"output {name}: {wrong}"
        return ""

    def of_output(self, name: str, found: np.ndarray, expected: np.ndarray, unit: float) -> str:
        error, special = self.program.tolerances.get(name, 0.0), name in self.program.special
        wrong = difference(found, expected, error, special, unit)
        if not wrong or not special or not error:
            return wrong
        if self.spreads is None:
            self.spreads = spreads(self.program, engine_for, self.reference)
        return difference(found, expected, error, special, unit, self.spreads[name])


def depending(program: Program, nodes: list[onnx.NodeProto]) -> set[str]:
    """The values that these nodes have a part in."""
    found = {name for node in nodes for name in node.output}
    for node in program.model.graph.node:
        if found & set(node.input):
            found |= set(node.output)
    return found


def known_differences(program: Program) -> tuple[list[onnx.NodeProto], bool]:
    """The nodes whose results say nothing, and whether those of others are coarse."""
    silent, is_coarse = [], False
    for node in program.model.graph.node:
        for known in RUNTIME_DIFFERS:
            if node.op_type not in known.operators or not known.when(program, node):
                continue
            if known.is_coarse and is_fit_for_single(program):
                is_coarse = True
            else:
                silent.append(node)
    return silent, is_coarse


def compare_with_runtime(comparison: Comparison, found: dict, answer: Answer) -> str:
    program = comparison.program
    silent, is_coarse = known_differences(program)
    unit = max(answer.unit, epsilon(np.dtype(np.float32)) if is_coarse else 0.0)
    without = depending(program, silent)
    expected = {name: x for name, x in answer.results.items() if name not in without}
    return comparison.difference(found, expected, unit)


def engine_for(path: Path) -> Engine:
    """The command that HEADRACE_RANDOM_COMMAND names, else the Python package."""
    command = os.environ.get("HEADRACE_RANDOM_COMMAND")
    return Command(command, path) if command else Package(path)


def check(program: Program, thorough: bool = True) -> CheckResult:
    """If `thorough`, every kernel is within the numeric policy, and an equivalent model gives the same results."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(program.model, path)
        try:
            engine = engine_for(path)
            compiled = engine.compiled(program.feeds)
        except Refused as error:
            return CheckResult("refused", str(error))
        except Exception as error:
            return CheckResult("wrong", f"{type(error).__name__}: {error}")
        try:
            reference = engine.reference(program.feeds)
        except Exception as error:
            return CheckResult("wrong", f"reference: {type(error).__name__}: {error}")
    comparison = Comparison(program, reference)
    if wrong := comparison.difference(compiled, reference):
        return CheckResult("wrong", f"compiled against reference: {wrong}")
    if thorough and isinstance(engine, Package) and (wrong := engine.violation(program.feeds)):
        return CheckResult("wrong", f"beyond the numeric policy: {wrong}")
    if thorough and (wrong := difference_when_rewritten(comparison, compiled)):
        return CheckResult("wrong", wrong)
    answer = by_runtime(program)
    if answer.results is not None and (wrong := compare_with_runtime(comparison, compiled, answer)):
        return CheckResult("wrong", f"compiled against ONNX Runtime: {wrong}", answer.kind)
    if answer.kind == "refused" and known_differences(program)[0]:
        answer.kind = "limited"  # what follows a result of the wrong shape does not fit together
    return CheckResult("same", "", answer.kind, answer.message)


def difference_when_rewritten(comparison: Comparison, compiled: dict) -> str:
    changed, how = rewrite(comparison.program)
    if not how:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(changed.model, path)
        try:
            again = engine_for(path).compiled(changed.feeds)
        except Refused:
            return ""  # a size that is computed at run time, say
        except Exception as error:
            return f"rewritten by {how}: {type(error).__name__}: {error}"
    wrong = comparison.difference({name: again[name] for name in compiled}, compiled)
    return f"rewritten by {how}: {wrong}" if wrong else ""
