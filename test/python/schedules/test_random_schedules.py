"""Random points of the schedules of random kernels: each computes the same, or is rejected."""

from __future__ import annotations

import random

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close

TILES = {
    "rows": range(1, 9),
    "columns": [1, 4, 8, 16, 24, 32],
    "cells": [1, 3, 16, 64],
    "pack": [0, 1],
    "features": [0, 1],
    "prefetch": [0, 1, 4],
    "depth": [0, 1, 7, 16, 64],
    "order": [0, 1],
}


def product(draw: random.Random):
    """A matmul, a batch of them, or a convolution; alone or with a function of its result."""
    n, m, k = draw.randint(1, 40), draw.randint(2, 70), draw.randint(1, 90)
    kind = draw.choice(["matmul", "batch", "window"])
    epilogue = draw.random() < 0.3
    r = hr.axis(k, name="r")
    if kind == "batch":
        A = hr.placeholder((3, n, k), "f32", name="A")
        B = hr.placeholder((3, k, m), "f32", name="B")
        C = hr.compute((3, n, m), lambda b, i, j: hr.sum(A[b, i, r] * B[b, r, j], axis=r), name="C")
    elif kind == "window":
        s = hr.axis(3, name="s")
        A = hr.placeholder((n + 2, k), "f32", name="A")
        B = hr.placeholder((3, k, m), "f32", name="B")
        C = hr.compute((n, m), lambda i, j: hr.sum(A[i + s, r] * B[s, r, j], axis=[s, r]), name="C")
    else:
        A = hr.placeholder((n, k), "f32", name="A")
        B = hr.placeholder((k, m), "f32", name="B")
        C = hr.compute((n, m), lambda i, j: hr.sum(A[i, r] * B[r, j], axis=r), name="C")
    if not epilogue:
        return C, (A, B)
    D = hr.compute(C.shape, lambda *p: hr.max(C[p], 0.0) * 2.0, name="D")
    return D, (A, B)


def line(draw: random.Random) -> str:
    given = draw.sample(sorted(TILES), draw.randint(1, 5))
    return " ".join(["tiles", *(f"{name}={draw.choice(list(TILES[name]))}" for name in given)])


@pytest.mark.parametrize("seed", range(12))
def test_random_tiles_of_random_products(seed: int) -> None:
    draw = random.Random(seed)
    output, inputs = product(draw)
    arrays = [
        np.random.default_rng(seed).standard_normal(tensor.shape).astype("f4") for tensor in inputs
    ]
    plain = hr.compile(output, expansion="generated")
    expected = plain.reference(*arrays)
    (kernel,) = plain.explain()["kernels"]
    followed = 0
    for _ in range(4):
        text = line(draw)
        given = f"kernel {kernel['name']}:\n  {output.name}: {text}\n"
        model = hr.compile(output, expansion="generated", recipe=given)
        try:
            recipe = model.explain()["recipe"]
        except hr.InvalidArgumentError as error:
            reasons = [f"{name}: expected" for name in TILES] + ["expected plain", "expected rows"]
            assert any(reason in str(error) for reason in reasons), error
            continue
        followed += 1
        assert_close(model(*arrays), expected, what=text)
        again = hr.compile(output, expansion="generated", recipe=recipe)
        assert again.explain()["recipe"] == recipe
    assert followed or output.name == "D" or min(output.shape) < 4, "no line was followed"


def test_reductions_are_split_and_cells_walked_by_rows() -> None:
    A = hr.placeholder((24, 640), "f32", name="A")
    B = hr.placeholder((640, 96), "f32", name="B")
    r = hr.axis(640, name="r")
    C = hr.compute((24, 96), lambda i, j: hr.sum(A[i, r] * B[r, j], axis=r), name="C")
    a, b = (np.random.default_rng(0).standard_normal(t.shape).astype("f4") for t in (A, B))
    expected = a.astype("f8") @ b
    for text, step in [
        ("depth=128", "split r by 128 -> r.p r.s"),
        ("depth=100 pack=1", "split r by 100 -> r.p r.s"),
        ("depth=64 features=1 cells=2", "split r by 64 -> r.p r.s"),
        ("order=1 columns=16 rows=4", ""),
    ]:
        recipe = f"kernel C:\n  C: tiles {text}\n"
        model = hr.compile(C, expansion="generated", recipe=recipe)
        assert step in model.explain()["recipe"], text
        assert_close(model(a, b), expected, what=text)
    loops = hr.compile(
        C, expansion="generated", recipe="kernel C:\n  C: tiles order=1 columns=16 rows=4 cells=1\n"
    ).explain()["recipe"]
    (order,) = [step for step in loops.splitlines() if "reorder" in step]
    assert order.index("i.o") < order.index("j.o")


@pytest.mark.parametrize(
    "text, reason",
    [
        ("depth=640", r"depth: expected 0 \(all\), or less than the 640 terms"),
        ("depth=-1", "depth"),
        ("order=2", "order: expected 0 or 1"),
        ("order=1 pack=1", "order: expected 0, since panels that are copied are used by all rows"),
    ],
)
def test_parts_that_cannot_be_are_rejected(text: str, reason: str) -> None:
    A = hr.placeholder((24, 640), "f32", name="A")
    B = hr.placeholder((640, 96), "f32", name="B")
    r = hr.axis(640, name="r")
    C = hr.compute((24, 96), lambda i, j: hr.sum(A[i, r] * B[r, j], axis=r), name="C")
    with pytest.raises(hr.Error, match=reason):
        hr.compile(C, expansion="generated", recipe=f"kernel C:\n  C: tiles {text}\n").explain()


def test_a_split_reduction_needs_a_kernel_of_its_own() -> None:
    A = hr.placeholder((24, 64), "f32", name="A")
    B = hr.placeholder((64, 96), "f32", name="B")
    r = hr.axis(64, name="r")
    C = hr.compute((24, 96), lambda i, j: hr.sum(A[i, r] * B[r, j], axis=r), name="C")
    D = hr.compute((24, 96), lambda i, j: hr.max(C[i, j], 0.0), name="D")
    (kernel,) = hr.compile(D, expansion="generated").explain()["kernels"]
    recipe = f"kernel {kernel['name']}:\n  D: tiles depth=16\n"
    with pytest.raises(hr.Error, match="since other stages use each tile's result at once"):
        hr.compile(D, expansion="generated", recipe=recipe).explain()


def test_plain_loops_may_go_by_rows() -> None:
    """A reduction whose order of elements may matter is not computed in vectors, but row by row."""
    A = hr.placeholder((30, 40), "f32", name="A")
    r = hr.axis(40, name="r")
    longest = hr.reducer(lambda a, b: hr.select(abs(a) > abs(b), a, b), identity=0.0)
    C = hr.compute((30,), lambda i: longest(A[i, r], axis=r), name="C")
    a = np.random.default_rng(0).standard_normal((30, 40)).astype("f4")
    expected = a[np.arange(30), np.abs(a).argmax(1)]
    for text in ("plain cells=4", "rows vector=0"):
        model = hr.compile(C, recipe=f"kernel C:\n  C: {text}\n")
        assert_close(model(a), expected, what=text)
    with pytest.raises(hr.Error, match="vector: expected 0, since"):
        hr.compile(C, recipe="kernel C:\n  C: rows vector=8\n").explain()
