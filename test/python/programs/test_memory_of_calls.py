"""Calls that always bring something new (arguments of scripts, sizes of split models) keep memory flat."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases import graph_text

STATUS = Path("/proc/self/statm")

pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="/proc is not mounted")


def resident() -> int:
    gc.collect()
    return int(STATUS.read_text().split()[1]) * 4096


def growth(call: Callable[[int], object], warm: int, calls: int) -> int:
    """Bytes that the process grew by, after as many calls as fill the caches."""
    for number in range(warm):
        call(number)
    before = resident()
    for number in range(warm, warm + calls):
        call(number)
    return resident() - before


def test_arguments_of_scripts_that_always_differ() -> None:
    """Each needs an interpreter; a kept one takes 20 KB, so 600 of them would be 12 MB."""
    script = hr.script("y = sum(X * $factor) + nrow(X)")
    x = np.ones((3, 4))

    def call(number: int) -> None:
        assert script.with_arguments(factor=number)(X=x)["y"] == 12 * number + 3

    assert growth(call, 200, 600) < 4 * 2**20


def test_sizes_of_split_models_that_always_differ(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    model = hr.load(
        graph_text.write(
            tmp_path / "model.onnx",
            "m (float[N] x, int64[1] a) => (float y) { e = Mul(x, x) y = ReduceSum<keepdims=0>(e, a) }",
        )
    )
    assert model.is_split
    axis = np.array([0])

    def call(number: int) -> None:
        size = 2 + number
        assert model(np.ones(size, np.float32), axis) == size

    assert growth(call, 1000, 4000) < 4 * 2**20
