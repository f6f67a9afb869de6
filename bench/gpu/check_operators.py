#!/usr/bin/env python3
"""Run a kit's operators on this machine's GPU and compare them with the reference evaluation.

A program that loses the device or hangs costs itself alone: the others go on in another process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from runtime import Runtime, RuntimeFailure

here = Path(__file__).resolve().parent
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 5e-5}
SECONDS_WITHOUT_RESULT = 60


def numbers(array: np.ndarray, kind: str) -> np.ndarray:
    if kind == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array


def difference(
    found: np.ndarray, expected: np.ndarray, kind: str, allowed: float | None = None
) -> str:
    """The first difference, in a few words; empty if there is none. `allowed`: the tolerance."""
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    found, expected = numbers(found, kind), numbers(expected, kind)
    if found.dtype.kind != "f":
        wrong = int((found != expected).sum())
        return f"{wrong} of {found.size} differ" if wrong else ""
    tolerance = TOLERANCE.get(kind, 1e-9)
    if allowed is None or np.isinf(allowed):
        close = np.isclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    else:
        close = np.isclose(found, expected, rtol=0, atol=allowed, equal_nan=True)
    if close.all():
        return ""
    first = np.argwhere(~close)[0]
    place = tuple(int(i) for i in first)
    return f"{(~close).sum()} of {found.size} differ, at {place} {found[place]}, expected {expected[place]}"


def check(runtime: Runtime, folder: Path, entry: dict) -> str:
    arrays = np.load(folder / f"{entry['file']}.npz", allow_pickle=False)
    inputs = [arrays[f"in{i}"] for i in range(len(entry["inputs"]))]
    try:
        program = runtime.open(folder / f"{entry['file']}.hrpkg")
        for _ in range(3):  # one by one, recorded, replayed
            outputs = program.run_typed(inputs, entry["inputs"], entry["outputs"])
            allowed = entry.get("tolerances", [None] * len(outputs))
            for i, (found, kind) in enumerate(zip(outputs, entry["outputs"])):
                if wrong := difference(found, arrays[f"out{i}"], kind, allowed[i]):
                    return wrong
    except RuntimeFailure as failure:
        return str(failure)
    return ""


def serve() -> None:
    """Checks the operators numbered on standard input, a line of result for each."""
    folder = here / "operators"
    index = json.loads((folder / "index.json").read_text())
    runtime = Runtime(here / "libheadrace_runtime.so")
    for line in sys.stdin:
        print(json.dumps(check(runtime, folder, index[int(line)])), flush=True)


def main() -> int:
    folder = here / "operators"
    if not folder.exists():
        print("operators: none in this kit")
        return 0
    index = json.loads((folder / "index.json").read_text())
    failed, process = 0, None
    for number, entry in enumerate(index):
        if process is None:
            process = subprocess.Popen(
                [sys.executable, __file__, "--serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        wrong = ask(process, number)
        if wrong is None:
            wrong, process = "ended the process", None
        elif "CUDA_ERROR" in wrong:  # nothing works there any more
            process.kill()
            process = None
        if wrong:
            failed += 1
            print(f"FAIL {entry['case']}: {wrong}", flush=True)
    if process is not None:
        process.stdin.close()
        process.wait()
    print(f"operators: {len(index) - failed} of {len(index)} agree with the reference evaluation")
    return 1 if failed else 0


def ask(process: subprocess.Popen, number: int) -> str | None:
    import selectors

    try:
        process.stdin.write(f"{number}\n")
        process.stdin.flush()
    except BrokenPipeError:
        return None
    selector = selectors.DefaultSelector()
    selector.register(process.stdout, selectors.EVENT_READ)
    if not selector.select(SECONDS_WITHOUT_RESULT):
        process.kill()
        return None
    line = process.stdout.readline()
    return json.loads(line) if line else None


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        sys.exit(main())
