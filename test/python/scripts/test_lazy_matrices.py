"""Lazy matrices give NumPy's results, and errors name the line that wrote the operation."""

from __future__ import annotations

import re
from pathlib import Path

import headrace as hr
import numpy as np
import pytest

RANDOM = np.random.default_rng(7)
A = RANDOM.normal(size=(6, 4))
B = RANDOM.normal(size=(6, 4))
ROW, COLUMN = RANDOM.normal(size=(1, 4)), RANDOM.normal(size=(6, 1))

#: The same expression over lazy matrices and over arrays.
EXPRESSIONS = {
    "operators": lambda a, b, r, c: (a + b) * 2 - a / (b * b + 1) + -a,
    "reflected": lambda a, b, r, c: 1 - 2 / (3 + a * a) + 2.5**a,
    "rows and columns": lambda a, b, r, c: (a - r) * c + r * a,
    "outer": lambda a, b, r, c: r * c + c * r,
    "floor and remainder": lambda a, b, r, c: (a // 0.3) + (a % 0.7) + (2 % (b * b + 1)),
    "product": lambda a, b, r, c: a.T @ (c * (b @ r.T)),
    "comparison": lambda a, b, r, c: (a < b) | ~(a >= 0.5) & (b != a),
    "sums": lambda a, b, r, c: (
        a.sum() + 0 * r + (a * b).sum(axis=0, keepdims=True)
        if isinstance(a, np.ndarray)
        else a.sum() + 0 * r + (a * b).sum(axis=0)
    ),
    "slices": lambda a, b, r, c: a[1:4, -3:] @ b[:3, 1:].T + a[2, 3],
    "functions": lambda a, b, r, c: np.exp(a) + np.sqrt(np.abs(b)) * np.tanh(a) - np.square(b),
    "small": lambda a, b, r, c: np.log1p(1e-12 * (1 + a * a)) * 1e12 + np.expm1(1e-12 * b) * 1e12,
    "logarithms": lambda a, b, r, c: np.log2(1 + a * a) + np.log10(1 + b * b) + np.exp2(a),
    "inverse functions": lambda a, b, r, c: np.arctan(a) + np.arcsin(np.tanh(b)) + np.sign(a),
    "where": lambda a, b, r, c: np.where(a > b, a, 0.0) + np.where(a > 0, 1.0, b),
    "extremes": lambda a, b, r, c: np.maximum(a, b) - np.minimum(a, 0.2) + np.clip(b, -0.5, 0.5),
    "solve": lambda a, b, r, c: np.linalg.solve(a.T @ a + np.eye(4), a.T @ c),
    "inverse": lambda a, b, r, c: np.linalg.inv(a.T @ a) @ r.T,
    "concatenate": lambda a, b, r, c: np.concatenate([a, r, b]) @ np.hstack([r.T, r.T]),
    "reshape": lambda a, b, r, c: a.reshape(4, 6) @ b.reshape(-1, 4),
    "spread": lambda a, b, r, c: a.std() + b.var() * r,
    "mean": lambda a, b, r, c: a - a.mean() + np.mean(b) * c,
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_are_numpys(name: str) -> None:
    expression = EXPRESSIONS[name]
    lazy = expression(*map(hr.matrix, (A, B, ROW, COLUMN)))
    assert isinstance(lazy, hr.Matrix)
    expected = expression(A, B, ROW, COLUMN)
    assert lazy.shape == expected.shape
    result = lazy.compute()
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", "sum mean prod min max std argmax argmin".split())
def test_reductions(name: str, axis: int) -> None:
    tied = np.round(A)
    result = getattr(hr.matrix(tied), name)(axis=axis).compute()
    np.testing.assert_allclose(result.ravel(), getattr(tied, name)(axis=axis), atol=1e-14)


def test_arrays_on_the_left() -> None:
    lazy = hr.matrix(A)
    for made in (B + lazy, B * lazy, B.T @ lazy, np.float64(2) * lazy, np.add(B, lazy)):
        assert isinstance(made, hr.Matrix)
    np.testing.assert_allclose((B.T @ lazy).compute(), B.T @ A)


def test_nothing_is_computed_before_it_is_needed() -> None:
    singular = np.linalg.inv(hr.matrix(np.zeros((3, 3)))) + 1
    assert "not computed" in repr(singular)
    with pytest.raises(hr.Error, match="singular"):
        singular.compute()


def test_errors_name_the_line() -> None:
    with pytest.raises(hr.ShapeMismatchError, match="6 x 4 and 6 x 4"):
        hr.matrix(A) @ hr.matrix(B)
    lazy = np.linalg.inv(hr.matrix(np.zeros((3, 3))))
    with pytest.raises(hr.Error, match=re.escape(Path(__file__).name) + r":\d+: inv: "):
        (lazy * 2).compute()


def test_results_are_kept_and_start_later_programs() -> None:
    shared = hr.matrix(A) @ ROW.T
    first = shared.compute()
    assert shared.compute() is not None
    assert not first.flags.writeable
    np.testing.assert_allclose((shared * 2).compute(), 2 * first)


def test_several_results_are_one_program() -> None:
    lazy = hr.matrix(A)
    total, columns = hr.evaluate(lazy.sum(), lazy.sum(axis=0))
    assert total == pytest.approx(A.sum())
    np.testing.assert_allclose(columns, A.sum(axis=0, keepdims=True))


def test_loops_of_python_reuse_the_program() -> None:
    from headrace.matrices._graph import _programs

    x, y = hr.matrix(A), hr.matrix(A @ np.arange(4.0))
    weights, counts = hr.matrix(np.zeros((4, 1))), []
    for step in range(30):
        weights = weights - (0.01 + step * 1e-4) * (x.T @ (x @ weights - y))
        weights.compute()
        counts.append(len(_programs._entries))
    assert counts[2:] == [counts[-1]] * 28
    assert float(((x @ weights - y) ** 2).sum()) < float((y**2).sum())


def test_types() -> None:
    single = hr.matrix(A.astype(np.float32))
    assert (single * 2).compute().dtype == np.float32
    assert (single * hr.matrix(A)).compute().dtype == np.float64
    assert (single > 0).compute().dtype == np.bool_
    assert (single > 0).astype(np.float64).compute().dtype == np.float64
    with pytest.raises(hr.TypeMismatchError, match="int8"):
        single.astype(np.int8)


def test_masks_and_assignment() -> None:
    lazy = hr.matrix(A)
    np.testing.assert_array_equal(lazy[lazy[:, 0] > 0].compute(), A[A[:, 0] > 0])
    np.testing.assert_array_equal(lazy[:, A[0] > 0].compute(), A[:, A[0] > 0])
    before, expected = lazy * 1, A.copy()
    lazy[1:3, :2] = 5.0
    lazy[0] = ROW
    expected[1:3, :2] = 5.0
    expected[0] = ROW
    np.testing.assert_array_equal(lazy.compute(), expected)
    np.testing.assert_array_equal(before.compute(), A)
    with pytest.raises(hr.TypeMismatchError, match="mask"):
        lazy[np.array([0, 1])]
    with pytest.raises(hr.InvalidArgumentError, match="step"):
        lazy[::2]


def test_empty_matrices() -> None:
    lazy = hr.matrix(np.zeros((0, 3)))
    assert lazy.sum(axis=0).compute().tolist() == [[0, 0, 0]]
    assert (lazy.T @ lazy).compute().tolist() == np.zeros((3, 3)).tolist()
    assert hr.matrix(A)[2:2].compute().shape == (0, 4)


def test_scalars() -> None:
    total = hr.matrix(A).sum()
    assert total.shape == ()
    assert float(total) == pytest.approx(A.sum())
    assert (total > 1e9).compute() is False
    assert bool(total < 1e9)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(hr.matrix(A) > 0)


def test_sparse_matrices_stay_sparse() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.random(200, 90, 0.02, format="csr", random_state=3) + sparse.eye(
        200, 90, format="csr"
    )
    lazy = hr.matrix(x)
    # Rows without a cell are 0 / 0.
    for made in (lazy * 3, lazy.T, lazy.T @ lazy, lazy / lazy.sum(axis=0), lazy[10:50, 3:]):
        assert sparse.issparse(made.compute())
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(
            np.asarray(lazy / lazy.sum(axis=1)), x.toarray() / x.toarray().sum(1, keepdims=True)
        )
    np.testing.assert_allclose(lazy.to_scipy().toarray(), x.toarray())


def test_tables_in_and_out() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1, 2], "b": [3.5, 4.5]})
    assert hr.matrix(table).sum(axis=0).compute().tolist() == [[3, 8]]
    assert (hr.matrix(table) * 2).to_pandas(["a", "b"])["b"].tolist() == [7, 9]


def test_arrow_in_and_out() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": [1, 2], "b": [3.5, 4.5]})
    assert hr.matrix(table).sum(axis=0).compute().tolist() == [[3, 8]]
    assert (hr.matrix(table) * 2).to_arrow().column("c2").to_pylist() == [7, 9]


def test_tables_in_files(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet, feather = (pytest.importorskip(f"pyarrow.{name}") for name in ("parquet", "feather"))
    table = pyarrow.table({"a": [1.0, 2.0], "b": [3.5, 4.5]})
    parquet.write_table(table, tmp_path / "x.parquet")
    feather.write_feather(table, tmp_path / "x.arrow")
    for name in ("x.parquet", "x.arrow"):
        assert hr.read(tmp_path / name).sum(axis=0).compute().tolist() == [[3, 8]]
    (tmp_path / "y.parquet").write_bytes(b"no table")
    with pytest.raises(hr.IoError, match=r"y\.parquet: cannot read the table"):
        hr.read(tmp_path / "y.parquet")
    with pytest.raises(hr.InvalidArgumentError, match="no options, got header"):
        hr.read(tmp_path / "x.parquet", header=True)


def test_files_are_read_once(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    np.savetxt(path, A, delimiter=",")
    lazy = hr.read(path)
    doubled = (lazy * 2).compute()
    path.unlink()
    assert lazy.shape == A.shape
    np.testing.assert_allclose(doubled, 2 * A)
    with pytest.raises(hr.IoError, match=r"test_lazy_matrices\.py:\d+: .*missing"):
        hr.read(tmp_path / "missing.csv").compute()


def test_explain() -> None:
    lazy = hr.matrix(A)
    text = (lazy.T @ (lazy @ ROW.T)).explain()
    assert "%*%" in text
    assert "6 x 4" in text
    assert "kernel" in (np.exp(lazy) * 2 + lazy).explain("runtime")
    with pytest.raises(hr.InvalidArgumentError, match="expected hops or runtime"):
        lazy.explain("all")


def test_functions_of_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scaled.dml").write_text(
        "# Multiplies a matrix.\n#\n# X  the matrix\n\n"
        "m_scaled = function(Matrix[Double] X, Double by = 2) return (Matrix[Double] Y, Double s) {\n"
        "  Y = X * by\n  s = sum(Y)\n}\n"
    )
    monkeypatch.setattr(hr.algorithms, "path", [tmp_path])
    scaled = hr.algorithms.scaled
    assert scaled.__doc__.startswith("Multiplies a matrix.")
    assert "scaled" in dir(hr.algorithms)
    left = scaled(hr.matrix(A) + 1, by=3)
    assert left.s.shape == ()
    np.testing.assert_allclose((left.Y + 1).compute(), (A + 1) * 3 + 1)
    assert float(left.s) == pytest.approx(((A + 1) * 3).sum())
    np.testing.assert_allclose(scaled(A).Y.compute(), A * 2)
    for call, message in (
        (lambda: scaled(), "expects a value for X"),
        (lambda: scaled(A, 2, 3), "takes 2 arguments"),
        (lambda: scaled(A, factor=3), "no parameter 'factor'"),
        (lambda: scaled(A, X=A), "two values for 'X'"),
    ):
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(AttributeError, match=re.escape(str(tmp_path))):
        hr.algorithms.unknown  # noqa: B018


def test_scripts_take_positions_and_name_results() -> None:
    fit = hr.script("G = t(X) %*% X\nw = solve(G, t(X) %*% y)", inputs=["X", "y"], results=["w"])
    left = fit(A, hr.matrix(A) @ np.arange(4.0))
    assert list(left) == ["w"]
    np.testing.assert_allclose(left.w.ravel(), np.arange(4.0), atol=1e-12)
    with pytest.raises(AttributeError, match="leaves no variable 'G'"):
        left.G  # noqa: B018
    with pytest.raises(hr.InvalidArgumentError, match="at most 2 positional"):
        fit(A, A, A)
    with pytest.raises(hr.InvalidArgumentError, match="given twice"):
        fit(A, X=A)
