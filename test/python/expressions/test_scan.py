"""Recurrences in expressions: results, shapes, what a step may read, and their errors."""

from __future__ import annotations

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close

SHAPES = [(7, 5), (1, 1), (2, 3), (33, 17), (0, 4), (4, 0)]


def table(shape, seed=0, dtype="f4"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def matrix(name="A", dtype="f32"):
    n, m = hr.var("n m")
    return n, m, hr.placeholder((n, m), dtype, name=name)


def check(model, expected, *arrays, **bounds):
    assert_close(model(*arrays), expected, **bounds)
    assert_close(model.reference(*arrays), expected, **bounds)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_cumulative_product(shape):
    n, m, A = matrix()
    f = hr.compile(hr.scan((n, m), lambda P, t, j: P[t - 1, j] * A[t, j], initial=1.0, name="P"))
    a = table(shape)
    check(f, np.cumprod(a, axis=0, dtype="f8"), a)


@pytest.mark.parametrize("shape", SHAPES)
def test_steps_read_neighbours_of_the_last_step(shape):
    n, m, A = matrix()
    S = hr.scan((n, m), lambda S, t, j: hr.select(j > 0, S[t - 1, j - 1], 0.0) + A[t, j], name="S")
    a = table(shape)
    expected = np.zeros(shape)
    for t in range(shape[0]):
        expected[t] = a[t]
        if t:
            expected[t, 1:] += expected[t - 1, :-1]
    check(hr.compile(S), expected, a)


@pytest.mark.parametrize("shape", [(7, 5), (3, 1), (1, 6)])
def test_steps_reduce_over_the_last_step(shape):
    n, m, A = matrix()
    W, k = hr.placeholder((m, m), "f32", name="W"), hr.axis(m, name="k")
    B = hr.placeholder((m,), "f32", name="B")
    H = hr.scan(
        (n, m),
        lambda H, t, j: hr.tanh(hr.sum(H[t - 1, k] * W[k, j], axis=k) + A[t, j]),
        initial=lambda j: 0.5 - B[j],
        name="H",
    )
    a, w, b = table(shape), table((shape[1], shape[1]), 1), table(shape[1:], 2)
    expected, last = np.zeros(shape), 0.5 - b.astype("f8")
    for t in range(shape[0]):
        expected[t] = last = np.tanh(last @ w + a[t])
    check(hr.compile(H), expected, a, w, b)


def test_steps_read_several_steps_back():
    n, m, A = matrix(dtype="f64")
    F = hr.scan(
        (n, m),
        lambda F, t, j: F[t - 1, j] + F[t - 3, j] * A[t, j],
        initial=1.0,
        dtype="f64",
        name="F",
    )
    a = table((9, 4), dtype="f8")
    padded = np.ones((12, 4))
    for t in range(9):
        padded[t + 3] = padded[t + 2] + padded[t] * a[t]
    check(hr.compile(F), padded[3:], a)


def test_the_first_dimension_may_be_the_only_one():
    n = hr.var("n")
    X = hr.placeholder((n,), "i64", name="X")
    S = hr.scan((n,), lambda S, t: S[t - 1] * 2 + X[t], initial=3, dtype="i64", name="S")
    f = hr.compile(S)
    x, expected, last = np.arange(6), [], 3
    for value in x:
        expected.append(last := last * 2 + value)
    assert f(x).tolist() == f.reference(x).tolist() == expected


def test_steps_that_read_no_tensor():
    n, m, A = matrix()
    F = hr.scan((n,), lambda F, t: F[t - 1] + F[t - 2] + t, initial=0, dtype="i64", name="F")
    D = hr.compute((n, m), lambda i, j: A[i, j] + F[i], name="D")
    last = [0, 0]
    for t in range(6):
        last.append(last[-1] + last[-2] + t)
    assert_close(hr.compile(D)(np.zeros((6, 2), "f4"))[:, 0], np.array(last[2:], "f4"))


def test_inputs_of_a_step_may_be_read_at_other_places():
    """A value that does not depend on earlier steps is computed before, under the conditions around it."""
    n, m, A = matrix()
    S = hr.scan(
        (n, m),
        lambda S, t, j: hr.select(t > 0, A[t - 1, j] + S[t - 1, m - 1 - j], A[t, 0] * 2),
        name="S",
    )
    a = table((5, 4))
    expected = np.zeros((5, 4))
    expected[0] = a[0, 0] * 2
    for t in range(1, 5):
        expected[t] = a[t - 1] + expected[t - 1, ::-1]
    check(hr.compile(S), expected, a)


def smith_waterman(n, m):
    """Best local alignments by antidiagonals: cell (i, j) is element (i + j, j) of D."""
    A = hr.placeholder((n,), "i32", name="A")
    B = hr.placeholder((m,), "i32", name="B")

    def step(D, d, j):
        inside = hr.all(d - j >= 0, d - j < n)
        match = hr.select(inside, hr.select(A[d - j] == B[j], 3, -2), 0)
        corner = hr.select(j > 0, D[d - 2, j - 1], 0) + match
        gap = hr.max(D[d - 1, j], hr.select(j > 0, D[d - 1, j - 1], 0)) - 1
        return hr.select(inside, hr.max(hr.max(corner, gap), 0), 0)

    D = hr.scan((n + m - 1, m), step, initial=0, dtype="i32", name="D")
    return hr.compute((n, m), lambda i, j: D[i + j, j], name="H")


@pytest.mark.parametrize("sizes", [(6, 9), (9, 6), (1, 5), (5, 1), (23, 23)])
def test_alignments_of_two_sequences(sizes):
    f = hr.compile(smith_waterman(*hr.var("n m", min=1)))
    random = np.random.default_rng(1)
    a, b = (random.integers(0, 4, size).astype("i4") for size in sizes)
    expected = np.zeros((sizes[0] + 1, sizes[1] + 1), int)
    for i in range(1, sizes[0] + 1):
        for j in range(1, sizes[1] + 1):
            corner = expected[i - 1, j - 1] + (3 if a[i - 1] == b[j - 1] else -2)
            gap = max(expected[i - 1, j], expected[i, j - 1]) - 1
            expected[i, j] = max(corner, gap, 0)
    assert f(a, b).tolist() == f.reference(a, b).tolist() == expected[1:, 1:].tolist()


@pytest.mark.parametrize("seed", range(12))
def test_random_recurrences(seed):
    """Linear recurrences of chosen depth and shifts, against loops of NumPy."""
    random = np.random.default_rng(seed)
    steps, width = (int(v) for v in random.integers(1, 12, 2))
    terms = [
        (int(random.integers(1, 5)), int(random.integers(-2, 3)), float(random.uniform(-1, 1)))
        for _ in range(random.integers(1, 4))
    ]
    n, m, A = matrix(dtype="f64")

    def step(S, t, j):
        value = A[t, j]
        for back, shift, factor in terms:
            inside = hr.all(j + shift >= 0, j + shift < m)
            value = value + factor * hr.select(inside, S[t - back, j + shift], 0.5)
        return value

    f = hr.compile(hr.scan((n, m), step, initial=lambda j: j * 0.25, dtype="f64", name="S"))
    a = table((steps, width), seed, "f8")
    rows = {t: np.arange(width) * 0.25 for t in range(-4, 0)}
    for t in range(steps):
        rows[t] = a[t].copy()
        for back, shift, factor in terms:
            for j in range(width):
                inside = 0 <= j + shift < width
                rows[t][j] += factor * (rows[t - back][j + shift] if inside else 0.5)
    check(f, np.array([rows[t] for t in range(steps)]), a)


def test_recurrences_are_parts_of_programs():
    n, m, A = matrix()
    B = hr.compute((n, m), lambda i, j: hr.abs(A[i, j]) + 0.5, name="B")
    P = hr.scan((n, m), lambda P, t, j: P[t - 1, j] * B[t, j], initial=1.0, name="P")
    r = hr.axis(m, name="r")
    f = hr.compile([hr.compute((n,), lambda i: hr.sum(P[i, r], axis=r), name="S"), P])
    a = table((6, 5))
    expected = np.cumprod(np.abs(a) + 0.5, axis=0)
    total, whole = f(a)
    assert_close(total, expected.sum(1))
    assert_close(whole, expected)


@pytest.mark.parametrize(
    "step, message",
    [
        (lambda S, t, j: S[t, j], r"S\[t, j\] reads a step: expected the step's index t less 1 to"),
        (lambda S, t, j: S[t + 1, j], "expected the step's index t less 1 to 8"),
        (lambda S, t, j: S[t - 9, j], "expected the step's index t less 1 to 8"),
        (lambda S, t, j: S[j, j], "expected the step's index t less 1 to 8"),
        (lambda S, t, j: S[t - 1, j - 1], r"reads positions -1 to m - 2 of dimension 0"),
        (lambda S, t, j: S[t - 1], "expected 2 indices, got 1"),
        (lambda S, t: S[t - 1, 0], r"expected a function of 3 parameters, .* got 2"),
        (lambda S, t, j: S[t - 1, j] > 0.0, "expected steps of type f32, got .* of type bool"),
    ],
)
def test_steps_that_cannot_be_are_rejected(step, message):
    n, m, A = matrix()
    with pytest.raises(hr.Error, match=message):
        S = hr.scan((n, m), step, name="S")
        hr.compile(hr.compute((n, m), lambda i, j: S[i, j] + A[i, j], name="T"))(table((2, 2)))


def test_a_recurrence_has_no_gradient():
    n, m, A = matrix()
    P = hr.scan((n, m), lambda P, t, j: P[t - 1, j] * A[t, j], initial=1.0, name="P")
    i, j = hr.axis(n, name="i"), hr.axis(m, name="j")
    loss = hr.compile(hr.compute((), lambda: hr.sum(P[i, j], axis=[i, j]), name="loss"))
    with pytest.raises(hr.Error, match="'P'"):
        hr.grad(loss, wrt="A")(table((3, 2)))
