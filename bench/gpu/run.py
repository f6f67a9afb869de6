#!/usr/bin/env python3
"""Run a kit on this machine's GPU: results against float64, times against PyTorch and the bars.

Results of all cases are checked first, from host memory, each in a process of its own; then, with PyTorch here, times: CUDA
events around many calls while the queue is kept full, PyTorch and Headrace in turns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from cases.gpu import formulas
from cases.gpu.programs import CASES, SMALL_KERNEL_MICROSECONDS, Case
from runtime import Program, Runtime, RuntimeFailure

here = Path(__file__).resolve().parent
TOLERANCE = {"f32": 2e-6, "bf16": 6e-3}  # relative, over a whole result
NETWORK_TOLERANCE = 1e-4
CHECK_SECONDS = 120


def to_bits(values: np.ndarray) -> np.ndarray:
    """f32 to bf16, rounded to nearest even, as uint16."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bits(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def random_inputs(case: Case, seed: int) -> list[np.ndarray]:
    """In f32, representable in the case's type."""
    generator = np.random.default_rng(seed)
    values = [generator.standard_normal(shape, dtype=np.float32) for shape in case.inputs]
    return [from_bits(to_bits(x)) for x in values] if case.dtype == "bf16" else values


class Checks:
    """Results, one line a case."""

    def __init__(self, kit: Path) -> None:
        self.kit, self.runtime = kit, Runtime(kit / "libheadrace_runtime.so")
        self.failed: list[str] = []

    def open(self, case: Case) -> Program:
        return self.runtime.open(self.kit / f"{case.name}.hrpkg")

    def check(self, case: Case) -> None:
        try:
            error = self.error_of(case, self.open(case))
        except RuntimeFailure as failure:
            self.report(case.name, False, str(failure))
            return
        limit = NETWORK_TOLERANCE if case.network else TOLERANCE[case.dtype]
        self.report(case.name, error <= limit, f"relative error {error:.1e} (at most {limit:.0e})")

    def error_of(self, case: Case, program: Program) -> float:
        if case.network:
            values = [np.load(self.kit / f"{case.name}.input.npy")]
            expected = [np.load(self.kit / f"{case.name}.output.npy").astype(np.float64)]
            rows = slice(None)
        else:
            values = random_inputs(case, seed=len(case.name))
            rows = slice(None, None, case.row_step)
            doubles = [x.astype(np.float64) for x in values]
            expected = getattr(formulas, case.formula)(rows, *doubles)
            expected = expected if isinstance(expected, list) else [expected]
        given = [to_bits(x) for x in values] if case.dtype == "bf16" else values
        worst = 0.0
        for _ in range(3):  # one by one, recorded, replayed
            found = program.run(given, case.dtype)
            if case.dtype == "bf16":
                found = [from_bits(y) for y in found]
            for y, e in zip(found, expected):
                y = y if y.ndim == 0 or case.network else y[rows]
                error = formulas.relative_error(y.astype(np.float64), e)
                worst = error if not error <= worst else worst
        return worst

    def report(self, name: str, passed: bool, text: str) -> None:
        print(f"{'ok  ' if passed else 'FAIL'} {name:24} {text}", flush=True)
        if not passed:
            self.failed.append(name)


class Timings:
    """Times in microseconds, and what was asked of them."""

    def __init__(self, checks: Checks) -> None:
        import torch

        self.torch, self.checks = torch, checks
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        self.ours: dict[str, float] = {}

    def mean(self, call) -> float:
        """The mean of many calls, submitted while the device is kept busy with something else."""
        from device_time import measure

        measure(call, 5, 0)
        rough, submit = measure(call, 5, 0)
        # The queue holds about a thousand launches: what takes long to submit is called less often.
        calls = int(min(max(min(20_000 / rough, 8_000 / submit), 3), 300))
        return min(measure(call, calls, 1.5 * calls * submit)[0] for _ in range(5))

    def time(self, case: Case) -> None:
        torch, program = self.torch, self.checks.open(case)
        kind = {"f32": torch.float32, "bf16": torch.bfloat16}[case.dtype]
        inputs = [torch.randn(shape, device="cuda", dtype=kind) for shape in case.inputs]

        def described(tensors):
            return program.tensors([(x.data_ptr(), tuple(x.shape), case.dtype) for x in tensors])

        given = described(inputs)
        shapes = program.output_shapes(given, len(inputs))
        outputs = [torch.empty(s, device="cuda", dtype=kind) for s in shapes]
        taken = described(outputs)
        stream = torch.cuda.current_stream().cuda_stream
        ours = program.enqueuer(given, taken, stream)
        peer = self.peer(case)
        times = []
        for _ in range(2):  # in turns
            times.append((self.mean(ours), self.mean(lambda: peer(*inputs))))
        mine, theirs = (min(pair) for pair in zip(*times))
        self.ours[case.name] = mine
        steps = program.steps(given, len(inputs))
        self.judge(case, mine, theirs, steps)

    def peer(self, case: Case):
        import peers

        if case.network:
            module = peers.network(case.network)
            grad_off = self.torch.no_grad()

            def run(x):
                with grad_off:
                    return module(x)

            return run
        return peers.PEERS[case.formula]

    def judge(self, case: Case, mine: float, theirs: float, steps: list) -> None:
        text = f"{mine:9.1f} us, PyTorch {theirs:9.1f} us ({theirs / mine:5.2f}x)"
        bars = []
        if case.microseconds:
            bars.append((mine <= case.microseconds, f"at most {case.microseconds:g} us"))
        if case.speedup:
            bars.append((theirs / mine >= case.speedup, f"at least {case.speedup:g}x"))
        if case.beside and case.beside[0] in self.ours:
            other, factor = case.beside
            ratio = mine / self.ours[other]
            bars.append((ratio <= factor, f"{ratio:.2f} of {other}, at most {factor:g}"))
        if case.formula == "shifts":
            each = mine / len(steps)
            bars.append(
                (
                    each <= SMALL_KERNEL_MICROSECONDS,
                    f"{each:.2f} us each, at most {SMALL_KERNEL_MICROSECONDS:g}",
                )
            )
        spills = [name for name, notes, _ in steps if "spills" in notes]
        if spills:
            bars.append((False, f"expected no spills, got some in {', '.join(spills)}"))
        passed = all(good for good, _ in bars)
        asked = "; ".join(what for _, what in bars)
        self.checks.report(f"{case.name} (time)", passed, text + (f"  [{asked}]" if asked else ""))
        if len(steps) <= 40:
            for name, notes, microseconds in steps:
                print(f"       {microseconds:9.1f} us  {name[:60]}  {notes}")


def check_apart(case: Case) -> bool:
    """In a process of its own: a kernel that hangs or loses the device spoils nothing else."""
    command = [sys.executable, __file__, "--only-check", case.name]
    try:
        return subprocess.run(command, timeout=CHECK_SECONDS, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        print(f"FAIL {case.name:24} no result within {CHECK_SECONDS} s", flush=True)
        return False


def time_all(checks: Checks, cases: list[Case]) -> None:
    try:
        import torch

        if not torch.cuda.is_available():
            raise ImportError
    except ImportError:
        print("times: skipped, since there is no PyTorch for CUDA here to compare with")
        return
    timings = Timings(checks)
    for case in cases:
        timings.time(case)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="names of cases (default: all)")
    parser.add_argument("--no-times", action="store_true", help="check results only")
    parser.add_argument("--only-check", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    made = json.loads((here / "cases.json").read_text())
    chosen = [c for c in CASES if c.name in made and c.name in (arguments.cases or made)]
    checks = Checks(here)
    if arguments.only_check:
        for case in chosen:
            checks.check(case)
        return 1 if checks.failed else 0
    right = [case for case in chosen if check_apart(case)]
    checks.failed = [case.name for case in chosen if case not in right]
    if not arguments.no_times:
        time_all(checks, right)
    if checks.failed:
        print(f"{len(checks.failed)} failed: {', '.join(checks.failed)}")
        return 1
    print(f"all {len(chosen)} cases passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
