"""Runs every case of the ONNX operators through the command line: for builds without the Python package.

    python test/python/operators/run_operators.py build/asan/bin/headrace

Importer, compiler and compiled kernels run in that program, whose sanitizers report by its exit status.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from cases.operators.case import Case
from cases.operators.compute import compute_cases
from cases.operators.movement import movement_cases


def failure_of(program: str, case: Case) -> str:
    """The failure; empty if compiled and reference results agree."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = [str(case.save(folder))]
        for input_name, value in case.inputs.items():
            file = folder / f"{input_name}.npy"
            np.save(file, value)
            given += ["--input", f"{input_name}=@{file}"]
        expected = str(folder / "expected")
        for rest in (
            ["--reference", "--output", expected],
            ["--expect", expected, "--rtol", "1e-2", "--atol", "1e-2"],
        ):
            done = subprocess.run([program, "run", *given, *rest], capture_output=True, text=True)
            if done.returncode != 0:
                return f"{case.name}: exit status {done.returncode}\n{done.stderr or done.stdout}"
    return ""


def main(program: str) -> int:
    cases = [*compute_cases(), *movement_cases()]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        failures = [
            text for text in pool.map(lambda case: failure_of(program, case), cases) if text
        ]
    print(*failures, sep="\n")
    print(f"{len(cases) - len(failures)} of {len(cases)} operators agree with the reference")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
