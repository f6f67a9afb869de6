"""Products, linear systems and factorizations of scripts, against NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close

MACHINES = Path(__file__).resolve().parents[2] / "machines"
MODES = ["never", "always"]


def run(text: str, compile: str = "never", **variables):
    return hr.script(text, compile=compile)(**variables)


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def positive_definite(n: int) -> np.ndarray:
    a = random(n, n)
    return a @ a.T + n * np.eye(n)


def child(code: str, **environment: str) -> str:
    """The output of a fresh process."""
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


# --- Products

SIZES = [
    (1, 1, 1),
    (3, 4, 5),
    (1, 7, 300),
    (300, 7, 1),
    (1, 5000, 1),
    (300, 280, 130),
    (20, 9001, 30),
]


@pytest.mark.parametrize("compile", MODES)
@pytest.mark.parametrize("m, k, n", SIZES)
def test_products_with_transposes(m: int, k: int, n: int, compile: str) -> None:
    a, b = random(m, k), random(k, n, seed=1)
    at, bt = a.T.copy(), b.T.copy()
    text = "p = A %*% B; q = t(At) %*% B; r = A %*% t(Bt); s = t(At) %*% t(Bt)"
    left = run(text, compile, A=a, B=b, At=at, Bt=bt)
    for name in "pqrs":
        np.testing.assert_allclose(left[name], a @ b, rtol=1e-12, atol=1e-11 * k)


@pytest.mark.parametrize("compile", MODES)
@pytest.mark.parametrize("rows, cols", [(2, 1), (1, 2), (5, 3), (30, 9000), (40, 300), (700, 270)])
def test_a_matrix_times_its_transpose_is_symmetric(rows: int, cols: int, compile: str) -> None:
    x = random(rows, cols)
    left = run("outer = X %*% t(X); inner = t(Y) %*% Y", compile, X=x, Y=x.T.copy())
    for found, expected in ((left["outer"], x @ x.T), (left["inner"], x @ x.T)):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-10)
        if compile == "never":
            np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("compile", MODES)
@pytest.mark.parametrize("m, k, n", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)])
def test_products_without_cells(m: int, k: int, n: int, compile: str) -> None:
    y = run("y = A %*% B", compile, A=np.ones((m, k)), B=np.ones((k, n)))["y"]
    np.testing.assert_array_equal(y, np.zeros((m, n)))


@pytest.mark.parametrize("compile", MODES)
@pytest.mark.parametrize("k, n", [(3, 1), (3, 40), (300, 300)])
def test_products_of_nan_and_infinity(k: int, n: int, compile: str) -> None:
    a, b = random(50, k), random(k, n, seed=1)
    a[1, 0], a[2, 0], b[0, 0] = np.nan, np.inf, 0
    with np.errstate(invalid="ignore"):
        expected = a @ b
    assert_close(run("y = A %*% B", compile, A=a, B=b)["y"], expected, tolerance=1e-10)


KINDS = "import headrace, sys; print(*(k['kind'] for k in headrace.load(sys.argv[1]).explain()['kernels']))"


@pytest.mark.parametrize("length, library", [(64, False), (1024, True)])
def test_attention_is_given_to_the_library_where_its_scores_leave_the_caches(
    write_model, length: int, library: bool
) -> None:
    """On a machine with slow memory: the rates are pinned, in a process of its own."""
    shape = [2, 4, length, 32]
    path = write_model(
        [
            ("Transpose", ["k"], ["kt"], {"perm": [0, 1, 3, 2]}),
            ("MatMul", ["q", "kt"], ["s"]),
            ("Softmax", ["s"], ["w"], {"axis": -1}),
            ("MatMul", ["w", "v"], ["y"]),
        ],
        [(name, "FLOAT", shape) for name in "qkv"],
        [("y", "FLOAT", shape)],
    )
    environment = {**os.environ, "HEADRACE_RATES": str(MACHINES / "slow-memory.json")}
    command = [sys.executable, "-c", KINDS, str(path)]
    kinds = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert (kinds.split() == ["openblas.attention"]) == library, kinds
    model = hr.load(path, expansion="openblas" if library else "generated")
    q, k, v = (random(*shape, seed=i).astype(np.float32) for i in range(3))
    scores = q @ k.swapaxes(2, 3)
    weights = np.exp(scores - scores.max(-1, keepdims=True), dtype=np.float64)
    expected = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(model(q, k, v), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "m, k, n, lacks",
    [("m", "k", "n", True), (300, 300, "n", True), (300, "k", 300, True), ("m", 300, 300, False)],
)
def test_doubles_are_given_to_the_library_where_generated_code_lacks_sizes(
    write_model, m, k, n, lacks: bool
) -> None:
    model = hr.load(
        write_model(
            [("MatMul", ["a", "b"], ["c"])],
            [("a", "DOUBLE", [m, k]), ("b", "DOUBLE", [k, n])],
            [("c", "DOUBLE", [m, n])],
        )
    )
    kinds = [kernel["kind"] for kernel in model.explain()["kernels"]]
    assert kinds == ["openblas.dgemm"] or not lacks, kinds  # if it lacks nothing, the costs decide
    a, b = random(300, 300), random(300, 300, seed=1)
    np.testing.assert_allclose(model(a, b), a @ b, rtol=1e-12, atol=1e-11)


def test_scripts_compile_products_of_any_size_once() -> None:
    script = hr.script("y = exp(A %*% B)", compile="always")
    a, b = random(300, 310) / 50, random(310, 320, seed=1) / 50
    assert_close(script(A=a, B=b)["y"], np.exp(a @ b), tolerance=1e-12)
    assert script.statistics["compilations"] == 1
    assert_close(script(A=a[:290], B=b)["y"], np.exp(a[:290] @ b), tolerance=1e-12)
    assert script.statistics["compilations"] == 0


# --- Systems and factorizations


@pytest.mark.parametrize("n", [0, 1, 2, 50, 500])
@pytest.mark.parametrize("columns", [1, 3, 200])
def test_solve(n: int, columns: int) -> None:
    a, b = random(n, n) + 2 * np.eye(n), random(n, columns, seed=1)
    y = run("y = solve(A, b)", A=a, b=b)["y"]
    np.testing.assert_allclose(y, np.linalg.solve(a, b), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n", [0, 1, 2, 50, 500])
def test_inverse_cholesky_and_determinant(n: int) -> None:
    a = positive_definite(n) / max(n, 1)
    left = run("i = inv(A); c = cholesky(A); d = det(A)", A=a)
    np.testing.assert_allclose(left["i"], np.linalg.inv(a), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(left["c"], np.linalg.cholesky(a), rtol=1e-9, atol=1e-11)
    assert_close(left["d"], np.linalg.det(a), tolerance=1e-9)


@pytest.mark.parametrize("n", [0, 1, 2, 30, 300])
def test_eigen(n: int) -> None:
    a = random(n, n)
    a = a + a.T
    left = run("[w, V] = eigen(A)", A=a)
    values, vectors = np.linalg.eigh(a)
    np.testing.assert_allclose(left["w"].ravel(), values, atol=1e-10)
    found = left["V"]
    np.testing.assert_allclose(found @ np.diag(left["w"].ravel()) @ found.T, a, atol=1e-9)
    if n > 0:
        assert (found[np.abs(found).argmax(0), np.arange(n)] > 0).all()
        np.testing.assert_allclose(np.abs((found * vectors).sum(0)), 1, atol=1e-6)


@pytest.mark.parametrize(
    "m, n", [(0, 0), (0, 2), (2, 0), (1, 1), (6, 4), (4, 6), (300, 40), (40, 300)]
)
def test_svd(m: int, n: int) -> None:
    a = random(m, n)
    left = run("[U, S, V] = svd(A)", A=a)
    np.testing.assert_allclose(
        np.diag(left["S"]), np.linalg.svd(a, compute_uv=False) if m and n else [], atol=1e-11
    )
    np.testing.assert_allclose(left["U"] @ left["S"] @ left["V"].T, a, atol=1e-11)
    p = min(m, n)
    assert (left["U"].shape, left["V"].shape) == ((m, p), (n, p))


@pytest.mark.parametrize("n", [0, 1, 2, 40, 300])
def test_lu(n: int) -> None:
    a = random(n, n)
    left = run("[P, L, U] = lu(A)", A=a)
    np.testing.assert_allclose(left["P"] @ a, left["L"] @ left["U"], atol=1e-11)
    np.testing.assert_array_equal(np.triu(left["L"], 1), np.zeros((n, n)))
    np.testing.assert_array_equal(np.diag(left["L"]), np.ones(n))
    np.testing.assert_array_equal(np.tril(left["U"], -1), np.zeros((n, n)))


REFLECT = """
  Q = diag(matrix(1, nrow(A), 1))
  for (j in seq(min(nrow(A), ncol(A)), 1, -1)) {
    h = H[, j]
    Q = Q - h %*% (t(h) %*% Q) / as.scalar(h[j, 1])
  }
"""


@pytest.mark.parametrize("m, n", [(1, 1), (2, 2), (5, 3), (3, 5), (60, 60), (300, 20)])
def test_qr_gives_reflectors_and_the_triangle(m: int, n: int) -> None:
    a = random(m, n)
    left = run("[H, R] = qr(A)" + REFLECT, A=a)
    np.testing.assert_allclose(left["Q"] @ left["R"], a, atol=1e-12)
    np.testing.assert_allclose(left["Q"].T @ left["Q"], np.eye(m), atol=1e-12)
    np.testing.assert_array_equal(np.tril(left["R"], -1), np.zeros((m, n)))
    expected = np.linalg.qr(a, mode="r")
    np.testing.assert_allclose(np.abs(left["R"][: min(m, n)]), np.abs(expected), atol=1e-12)


def test_one_of_several_results() -> None:
    a = np.diag([3.0, 1, 2])
    np.testing.assert_array_equal(run("w = eigen(A)", A=a)["w"].ravel(), [1, 2, 3])
    assert run("x = sum(eigen(A)) + 1", A=a)["x"] == 7
    # Some of them; into parts of matrices; of sizes that only the run can tell.
    left = run("[P, L] = lu(A)\nX = matrix(0, 3, 2)\n[X[, 2], V] = eigen(A)", A=a)
    np.testing.assert_array_equal(left["X"][:, 1], [1, 2, 3])
    left = run(
        "B = removeEmpty(target=A, margin='rows')\n[U, S, V] = svd(B)\nn = ncol(U)", A=a[:, :2]
    )
    assert left["n"] == 2


@pytest.mark.parametrize(
    "text, a, message",
    [
        ("y = solve(A, matrix(1, 2, 1))", np.ones((2, 2)), "solve: the matrix is singular"),
        ("y = inv(A)", np.zeros((200, 200)), "inv: the matrix is singular"),
        ("y = cholesky(A)", -np.eye(2), "cholesky: the matrix is not positive definite"),
        ("y = cholesky(A)", np.full((2, 2), np.nan), "cholesky: the matrix is not positive"),
        ("y = cholesky(A)", np.ones((2, 3)), "cholesky: expected a square matrix, got 2 x 3"),
        ("y = det(A)", np.ones((2, 3)), "det: expected a square matrix, got 2 x 3"),
        ("[P, L, U] = lu(A)", np.ones((2, 3)), "lu: expected a square matrix, got 2 x 3"),
        ("y = eigen(A)", np.ones((2, 3)), "eigen: expected a square matrix, got 2 x 3"),
        (
            "y = eigen(A)",
            np.array([[1, 2.0], [3, 4]]),
            "eigen: expected a symmetric matrix, got 3",
        ),
        ("y = eigen(A)", np.full((2, 2), np.inf), "eigen: expected finite values, got Inf"),
        ("y = svd(A)", np.full((2, 3), np.nan), "svd: expected finite values, got NaN"),
        ("y = qr(A)", np.full((2, 3), np.nan), "qr: expected finite values, got NaN"),
        ("y = solve(A, matrix(1, 3, 1))", np.eye(2), "solve: expected as many rows on both sides"),
        (
            "[a, b] = rcm(A, A)",
            np.eye(2),
            "several results of 'rcm' are understood but not executed",
        ),
        ("y = eigen(3)", np.eye(2), "eigen expects a matrix, got"),
    ],
)
def test_refusals_name_the_function(text: str, a: np.ndarray, message: str) -> None:
    with pytest.raises(hr.errors.Error, match=message):
        run(text, A=a)


def test_nan_and_infinity_go_through_solve() -> None:
    a = np.array([[1.0, 2], [3, 4]])
    for bad in (np.nan, np.inf):
        y = run("y = solve(A, b)", A=a, b=np.array([[bad], [1.0]]))["y"]
        assert not np.isfinite(y).any()
    a[0, 1] = np.nan
    assert np.isnan(run("y = solve(A, b)", A=a, b=np.ones((2, 1)))["y"]).any()


def test_callers_arrays_are_not_written_to() -> None:
    a = positive_definite(150)
    before = a.copy()
    run("y = solve(A, A); i = inv(A); c = cholesky(A); [w, V] = eigen(A); [U, S, W] = svd(A)", A=a)
    np.testing.assert_array_equal(a, before)


# --- Threads, forks, machines without the library

EVERYTHING = """
    import headrace as hr, numpy as np, hashlib, os
    rng = np.random.default_rng(0)
    A, X = rng.standard_normal((300, 300)), rng.standard_normal((20000, 40))
    script = hr.script('''
      p = A %*% A; g = t(X) %*% X; v = t(X) %*% X[, 1]; s = solve(A, A %*% A); i = inv(A)
      c = cholesky(g); [w, V] = eigen(g); [U, S, W] = svd(A); [H, R] = qr(A); d = det(A)
    ''', compile=MODE)
    def digest():
        left = script(A=A, X=X)
        text = b"".join(np.ascontiguousarray(left[name]).tobytes() for name in "pgvsicwVUSWHRd")
        return hashlib.sha256(text).hexdigest()
"""


@pytest.mark.parametrize("compile", MODES)
def test_results_do_not_depend_on_the_number_of_threads(compile: str) -> None:
    code = EVERYTHING.replace("MODE", repr(compile)) + "    print(digest())"
    digests = {child(code, HEADRACE_THREADS=str(threads)) for threads in (1, 2, 7)}
    assert len(digests) == 1


def test_a_forked_child_computes_the_same() -> None:
    code = (
        EVERYTHING.replace("MODE", "'never'")
        + """
    first = digest()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if digest() == first else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert digest() == first
    """
    )
    child(code, HEADRACE_THREADS="3")


@pytest.mark.parametrize("where", ["", "/nowhere/libopenblas.so.0"])
def test_without_openblas_products_work_and_factorizations_name_what_to_install(where: str) -> None:
    out = child(
        """
        import headrace as hr, numpy as np
        a, b = np.random.default_rng(0).random((2, 40, 30))
        text = "p = A %*% t(B); q = t(A) %*% B; r = A %*% B[1:30, 1]; s = t(A) %*% A"
        for compile in ("never", "always"):
            left = hr.script(text, compile=compile)(A=a, B=b)
            np.testing.assert_allclose(left["p"], a @ b.T, rtol=1e-12)
            np.testing.assert_allclose(left["q"], a.T @ b, rtol=1e-12)
            np.testing.assert_allclose(left["r"], a @ b[:30, :1], rtol=1e-12)
            np.testing.assert_allclose(left["s"], a.T @ a, rtol=1e-12)
        empty = hr.script("y = A %*% B", compile="never")(A=np.ones((2, 0)), B=np.ones((0, 3)))
        np.testing.assert_array_equal(empty["y"], np.zeros((2, 3)))
        for text in ("solve(A, A)", "inv(A)", "cholesky(A)", "det(A)", "eigen(A)", "svd(A)",
                     "lu(A)", "qr(A)"):
            try:
                hr.script("y = " + text)(A=np.eye(2))
            except hr.errors.UnsupportedError as error:
                assert "install libopenblas0-pthread" in str(error), error
            else:
                raise AssertionError(text)
        print("done")
        """,
        HEADRACE_OPENBLAS=where,
    )
    assert out == "done\n"


@pytest.mark.parametrize("kind, routine", [("FLOAT", "sgemm"), ("DOUBLE", "dgemm")])
def test_packages_call_the_library(write_model, tmp_path, kind: str, routine: str) -> None:
    model = write_model(
        [("MatMul", ["a", "b"], ["c"])],
        [("a", kind, ["n", 70, 50]), ("b", kind, [50, 60])],
        [("c", kind, ["n", 70, 60])],
    )
    path = tmp_path / "product.hrpkg"
    hr.write_package(model, path, processors=["native"], expansion="openblas")
    dtype = np.float32 if kind == "FLOAT" else np.float64
    a, b = random(3, 70, 50).astype(dtype), random(50, 60, seed=1).astype(dtype)
    tolerance = 1e-4 if kind == "FLOAT" else 1e-12
    np.testing.assert_allclose(hr.load(path)(a, b), a @ b, rtol=tolerance, atol=tolerance)
    out = child(
        f"""
        import headrace as hr, numpy as np
        try:
            hr.load({os.fspath(path)!r})(np.ones((3, 70, 50), {dtype.__name__!r}), np.ones((50, 60), {dtype.__name__!r}))
        except hr.errors.UnsupportedError as error:
            print(error)
        """,
        HEADRACE_OPENBLAS="",
    )
    assert f"'openblas.{routine}', which this machine lacks: install libopenblas0-pthread" in out
