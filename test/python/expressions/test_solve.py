"""hr.solve: linear systems against NumPy."""

from __future__ import annotations

import os
import subprocess
import sys

import headrace as hr
import numpy as np
import pytest

FACTORIZATIONS = ["lu", "cholesky"]


def parts(numbers: np.ndarray) -> np.ndarray:
    return np.stack([numbers.real, numbers.imag], axis=-1)


def positive(rng: np.random.Generator, shape: tuple[int, ...], n: int) -> np.ndarray:
    g = rng.standard_normal((*shape, n, n)) + 1j * rng.standard_normal((*shape, n, n))
    return g @ g.conj().swapaxes(-1, -2) + np.eye(n)


def program(
    *, complex: bool, positive_definite: bool, dtype: str = "f64", recipe: str = "", rank=3
):
    sizes = hr.var("b c n r")[: rank - 2] if rank < 4 else hr.var("b c")
    n, r = hr.var("n r")
    lead = tuple(sizes) if isinstance(sizes, tuple) else (sizes,)
    last = (2,) if complex else ()
    a = hr.placeholder((*lead, n, n, *last), dtype, name="A")
    b = hr.placeholder((*lead, n, r, *last), dtype, name="B")
    x = hr.solve(a, b, complex=complex, positive_definite=positive_definite, name="x")
    return hr.compile(x, recipe=recipe)


@pytest.mark.parametrize("factorization", FACTORIZATIONS)
@pytest.mark.parametrize(("batch", "n", "r"), [(1, 1, 1), (7, 4, 12), (300, 3, 1), (2, 33, 5)])
def test_complex_systems_have_the_solution_that_numpy_finds(
    factorization: str, batch: int, n: int, r: int
) -> None:
    rng = np.random.default_rng(n)
    a = positive(rng, (batch,), n)
    b = rng.standard_normal((batch, n, r)) + 1j * rng.standard_normal((batch, n, r))
    f = program(complex=True, positive_definite=True, recipe=f"expand x as {factorization}\n")
    expected = parts(np.linalg.solve(a, b))
    assert np.allclose(f(parts(a), parts(b)), expected, rtol=1e-10, atol=1e-12)
    assert np.allclose(f.reference(parts(a), parts(b)), expected, rtol=1e-10, atol=1e-12)
    kinds = [kernel["kind"] for kernel in f.explain(b=batch, n=n, r=r)["kernels"]]
    assert kinds == [f"openblas.{factorization}.f64"]


@pytest.mark.parametrize(("dtype", "tolerance"), [("f32", 1e-4), ("f64", 1e-10)])
def test_real_systems_of_any_regular_matrix(dtype: str, tolerance: float) -> None:
    rng = np.random.default_rng(0)
    a = (rng.standard_normal((5, 6, 6)) + 3 * np.eye(6)).astype(hr_type := f"float{dtype[1:]}")
    b = rng.standard_normal((5, 6, 2)).astype(hr_type)
    x = program(complex=False, positive_definite=False, dtype=dtype)(a, b)
    assert x.dtype == hr_type and np.allclose(a @ x, b, atol=tolerance)


def test_two_leading_dimensions_and_only_the_lower_triangle() -> None:
    rng = np.random.default_rng(1)
    a = positive(rng, (2, 3), 4)
    b = rng.standard_normal((2, 3, 4, 5)) + 0j
    lower = parts(np.tril(a) + np.triu(np.full_like(a, np.nan), 1))
    f = program(complex=True, positive_definite=True, rank=4, recipe="expand x as cholesky\n")
    expected = parts(np.linalg.solve(a, b))
    assert np.allclose(f(lower, parts(b)), expected)
    assert np.allclose(f.reference(lower, parts(b)), expected)


def test_systems_stand_between_other_stages() -> None:
    n = 3
    a = hr.placeholder((2, n, n), "f64", name="A")
    b = hr.placeholder((2, n, 1), "f64", name="B")
    shifted = hr.compute((2, n, n), lambda t, i, j: a[t, i, j] + hr.select(i == j, 4.0, 0.0))
    x = hr.solve(shifted, b, name="x")
    doubled = hr.compute((2, n), lambda t, i: 2 * x[t, i, 0], name="doubled")
    rng = np.random.default_rng(2)
    left, right = rng.standard_normal((2, n, n)), rng.standard_normal((2, n, 1))
    expected = 2 * np.linalg.solve(left + 4 * np.eye(n), right)[..., 0]
    assert np.allclose(hr.compile(doubled)(left, right), expected)


def test_no_systems_have_no_solution() -> None:
    f = program(complex=False, positive_definite=False)
    assert f(np.zeros((0, 3, 3)), np.zeros((0, 3, 2))).shape == (0, 3, 2)


def test_matrices_that_cannot_be_factorized_are_named() -> None:
    a = np.stack([np.eye(3), np.ones((3, 3)), np.eye(3)])
    b = np.ones((3, 3, 1))
    f = program(complex=False, positive_definite=False)
    with pytest.raises(hr.InvalidArgumentError, match="'x': expected regular matrices, number 1"):
        f(a, b)
    with pytest.raises(hr.InvalidArgumentError, match="number 1 is singular"):
        f.reference(a, b)
    f = program(complex=False, positive_definite=True, recipe="expand x as cholesky\n")
    with pytest.raises(
        hr.InvalidArgumentError, match="expected positive definite matrices, number 0"
    ):
        f(-a, b)


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        ((3, 4), (3, 1), {}, "expected square matrices"),
        ((3, 3), (4, 1), {}, "expected right-hand sides with the matrices"),
        ((3, 3), (3,), {}, "of one rank, at least 2"),
        ((3, 3, 3), (3, 3, 3), {"complex": True}, "a last dimension of 2"),
        ((2, 3, 3), (4, 3, 1), {}, "leading dimensions"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    a: tuple, b: tuple, options: dict, message: str
) -> None:
    left, right = hr.placeholder(a, "f64", name="A"), hr.placeholder(b, "f64", name="B")
    with pytest.raises(hr.Error, match=f"stage 'x': .*{message}"):
        hr.compile(hr.solve(left, right, name="x", **options))


def test_other_types_are_refused() -> None:
    left = hr.placeholder((3, 3), "f16", name="A")
    with pytest.raises(hr.Error, match="f32 or f64, got 'f16'"):
        hr.compile(hr.solve(left, left, name="x"))
    with pytest.raises(hr.TypeMismatchError, match=r"hr\.solve: expected tensors"):
        hr.solve(left, 3.0)  # type: ignore[arg-type]


def test_cholesky_is_no_choice_for_any_matrix() -> None:
    with pytest.raises(hr.Error, match="lu"):
        f = program(complex=False, positive_definite=False, recipe="expand x as cholesky\n")
        f(np.ones((1, 1, 1)), np.ones((1, 1, 1)))


def test_there_is_no_gradient() -> None:
    f = program(complex=False, positive_definite=False)
    with pytest.raises(hr.Error, match="'x'"):
        hr.vjp(f)


def test_a_machine_without_openblas_is_told_what_to_install() -> None:
    code = """
import headrace as hr, numpy as np
a = hr.placeholder((2, 3, 3), "f64", name="A")
try:
    hr.compile(hr.solve(a, a, name="x"))(np.ones((2, 3, 3)))
except hr.UnsupportedError as error:
    assert "install libopenblas0-pthread" in str(error), error
    print("told")
"""
    environment = {**os.environ, "HEADRACE_OPENBLAS": ""}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert run.stdout == "told\n", run.stderr
