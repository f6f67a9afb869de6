"""Calls that always bring something new (arguments of scripts, sizes of split models) keep memory flat."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cases import graph_text

#: Prints the bytes that a process grew by in later calls, after as many as fill the caches.
GROWTH = """
import gc
import numpy as np
import headrace as hr

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096

def growth(call, warm, calls):
    for number in range(warm):
        call(number)
    before = resident()
    for number in range(warm, warm + calls):
        call(number)
    print(resident() - before)
"""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="/proc is not mounted"
)


def growth(code: str, *arguments: str) -> int:
    """Of a process of its own, in which the machine is not measured meanwhile."""
    found = subprocess.run(
        [sys.executable, "-c", GROWTH + code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HEADRACE_RATES": "derived"},
    )
    return int(found.stdout)


def test_arguments_of_scripts_that_always_differ() -> None:
    """Each needs an interpreter; one takes 20 KB or more."""
    assert (
        growth("""
script, x = hr.script("y = sum(X * $factor) + nrow(X)"), np.ones((3, 4))

def call(number):
    assert script.with_arguments(factor=number)(X=x)["y"] == 12 * number + 3

growth(call, 200, 1000)
""")
        < 4 * 2**20
    )


def test_sizes_of_split_models_that_always_differ(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    path = graph_text.write(
        tmp_path / "model.onnx",
        "m (float[N] x, int64[1] a) => (float y) { e = Mul(x, x) y = ReduceSum<keepdims=0>(e, a) }",
    )
    assert (
        growth(
            """
import sys
model, axis = hr.load(sys.argv[1], specialize="never"), np.array([0])
assert model.is_split

def call(number):
    size = 2 + number % 5000
    assert model(np.ones(size, np.float32), axis) == size

growth(call, 5000, 10000)
""",
            str(path),
        )
        < 4 * 2**20
    )
