"""Times a matrix product under the recipes of docs/tutorial-schedules.md, one after the other.

    ./dev bench schedules [--size 1024] [--threads 1] [--seconds 2]

OpenBLAS, as NumPy brings it, is timed in the same run, in turns.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "tutorial-schedules.md"


def recipes() -> dict[str, str]:
    """The recipes of the page, by the titles of its steps."""
    text = PAGE.read_text()
    return dict(re.findall(r"^## (\d\. [^\n]+)\n.*?```recipe\n(.*?)```", text, re.M | re.S))


def product(size: int):
    import headrace as hr

    A = hr.placeholder((size, size), "f32", name="A")
    B = hr.placeholder((size, size), "f32", name="B")
    k = hr.axis(size, name="k")
    return hr.compute((size, size), lambda i, j: hr.sum(A[i, k] * B[k, j], axis=k), name="C")


def best_times(functions: dict, seconds: float) -> dict[str, float]:
    """The least time of each, called in turns so that all see the same machine."""
    best = dict.fromkeys(functions, float("inf"))
    end = time.perf_counter() + seconds * len(functions)
    while time.perf_counter() < end:
        for name, call in functions.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each recipe")
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = str(options.threads)

    import headrace as hr
    import numpy as np

    hr.set_threads(options.threads)
    random = np.random.default_rng(0)
    shape = (options.size, options.size)
    a, b = random.random(shape, "f4"), random.random(shape, "f4")
    expected = a @ b
    C = product(options.size)
    programs = {name: hr.compile(C, recipe=recipe) for name, recipe in recipes().items()}
    programs["the compiler's own choice"] = hr.compile(C, expansion="generated")
    for name, program in programs.items():
        np.testing.assert_allclose(program(a, b), expected, rtol=1e-4, err_msg=name)
    calls = {name: lambda program=program: program(a, b) for name, program in programs.items()}
    calls["OpenBLAS"] = lambda: a @ b
    times = best_times(calls, options.seconds)
    print(f"f32 product of {options.size} x {options.size}, threads: {options.threads}, best times")
    print(f"{'':42} {'ms':>9} {'GFLOP/s':>8} {'of OpenBLAS':>12}")
    for name, taken in times.items():
        rate = 2 * options.size**3 / taken / 1e9
        print(f"{name:42} {taken * 1e3:9.2f} {rate:8.1f} {times['OpenBLAS'] / taken:11.0%}")


if __name__ == "__main__":
    main()
