"""Scripts from Python: values in and out, errors, what is kept between calls."""

from __future__ import annotations

import pathlib

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close


def test_scalars_and_matrices_come_and_go() -> None:
    script = hr.script("Y = X * a; n = nrow(Y); s = sum(Y); b = s > 3; t = 'sum ' + n")
    left = script(X=np.arange(6.0).reshape(3, 2), a=2)
    np.testing.assert_array_equal(left["Y"], np.arange(6.0).reshape(3, 2) * 2)
    assert (left["n"], left["s"], left["b"], left["t"]) == (3, 30.0, True, "sum 3")
    assert type(left["n"]) is int
    assert {"X", "Y", "a", "b", "n", "s", "t"} <= set(left)
    with pytest.raises(KeyError):
        left["missing"]


@pytest.mark.parametrize("compile", ["auto", "always", "never"])
def test_element_types_and_layouts_are_taken(compile) -> None:
    script = hr.script("Y = t(X) %*% X", compile=compile)
    x = np.arange(12).reshape(3, 4)
    for given in (x, x.astype(np.float32), np.asfortranarray(x, np.float64), x.tolist(), x[::-1]):
        found = script(X=given)["Y"]
        assert_close(found, np.asarray(given).T @ np.asarray(given))


def test_a_vector_is_a_column() -> None:
    assert hr.script("n = nrow(x); m = ncol(x)")(x=np.ones(5))["n"] == 5


@pytest.mark.parametrize("compile", ["auto", "always", "never"])
def test_a_matrix_of_one_cell_beside_a_column(compile) -> None:
    script = hr.script(
        "P = C / S; Q = max(S, C); R = rbind(C, S); K = ifelse(C > S, C, S)", compile=compile
    )
    column, one = np.arange(4.0).reshape(4, 1), np.array([[2.0]])
    left = script(C=column, S=one)
    np.testing.assert_array_equal(left["P"], column / one)
    np.testing.assert_array_equal(left["Q"], np.maximum(one, column))
    np.testing.assert_array_equal(left["R"], np.vstack([column, one]))
    np.testing.assert_array_equal(left["K"], np.maximum(column, one))


def test_sparse_matrices_stay_sparse() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.random(50, 40, 0.1, "csr", random_state=1)
    left = hr.script("Y = X * 2; v = X %*% w; s = sum(X)")(X=x, w=np.ones(40))
    assert sparse.issparse(left["Y"])
    assert_close(left["Y"].toarray(), x.toarray() * 2)
    assert_close(left["v"].ravel(), x @ np.ones(40))
    assert left["s"] == pytest.approx(x.sum())
    columns = hr.script("Y = X * 1")(X=x.tocsc())["Y"]
    assert_close(columns.toarray(), x.toarray())


@pytest.mark.parametrize("compile", ["auto", "always", "never"])
def test_rows_and_columns_repeated_over_a_sparse_matrix(compile) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.random(30, 7, 0.2, "csr", random_state=1)
    row, column = (
        sparse.random(1, 7, 0.3, "csr", random_state=2),
        sparse.random(30, 1, 0.3, "csr", random_state=3),
    )
    w = np.arange(7.0).reshape(1, 7)
    script = hr.script(
        "P = X * (row + 1); Q = X * (matrix(2, 1, 1) %*% w); R = X * (X %*% t(w)); s = sum(X * exp(row) * (column + 2))",
        compile=compile,
    )
    left = script(X=x, row=row, column=column, w=w)
    x, row, column = x.toarray(), row.toarray(), column.toarray()
    assert_close(left["P"].toarray(), x * (row + 1))
    assert_close(left["Q"].toarray(), x * (2 * w))
    assert_close(left["R"].toarray(), x * (x @ w.T))
    assert left["s"] == pytest.approx((x * np.exp(row) * (column + 2)).sum())


@pytest.mark.parametrize("compile", ["never", "always"])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_column_is_bound_to_a_matrix_of_any_size(compile, rows) -> None:
    """The product of a matrix without rows has neither rows nor columns."""
    fit = hr.script(
        "v = X %*% t(X); w = cbind(v, matrix(1, nrow(X), 1)); u = rbind(v, matrix(2, 1, nrow(X)))",
        compile=compile,
    )
    for x in (np.arange(rows * 31.0).reshape(rows, 31) / 50, np.zeros((rows, 31))):
        left = fit(X=x)
        assert_close(left["w"], np.hstack([x @ x.T, np.ones((rows, 1))]))
        assert_close(left["u"], np.vstack([x @ x.T, np.full((1, rows), 2.0)]))


def test_tensors_of_pytorch_and_dlpack() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float64).reshape(2, 3)
    found = hr.script("Y = X + 1")(X=x)["Y"]
    np.testing.assert_array_equal(torch.from_dlpack(found).numpy(), x.numpy() + 1)


def test_the_callers_arrays_are_not_written_to() -> None:
    x = np.ones((3, 3))
    left = hr.script("X[1, 1] = 7; Y = X")(X=x)
    assert x[0, 0] == 1
    assert left["X"][0, 0] == 7


def test_arguments(tmp_path: pathlib.Path) -> None:
    assert hr.script("x = $a + 1; y = ifdef($b, 5)", arguments={"a": 2})()["x"] == 3
    path = tmp_path / "doubled.dml"
    path.write_text("Y = 2 * X")
    np.testing.assert_array_equal(hr.script(path)(X=np.eye(2))["Y"], 2 * np.eye(2))


def test_functions_of_the_script_path(tmp_path: pathlib.Path) -> None:
    (tmp_path / "twice.dml").write_text(
        "m_twice = function(Matrix[Double] A, Double k = 2) return (Matrix[Double] B) { B = A * k }"
    )
    script = hr.script("B = twice(A = X); C = twice(X, k = 5)", script_path=[tmp_path])
    left = script(X=np.ones((2, 2)))
    assert left["B"].sum() == 8
    assert left["C"].sum() == 20


def test_plans_are_kept_between_calls() -> None:
    script = hr.script("Y = X * 2 + 1", compile="always")
    script(X=np.ones((300, 3)))
    assert script.statistics["compilations"] == 1
    script(X=np.ones((400, 3)))
    assert script.statistics["compilations"] == 0
    assert script.statistics["cache_hits"] == 1


def test_output_of_print(capsys) -> None:
    hr.script("print('x = ' + sum(X))")(X=np.ones((2, 2)))
    assert capsys.readouterr().out == "x = 4.0\n"


@pytest.mark.parametrize(
    ("error", "text", "variables", "message"),
    [
        (hr.InvalidScriptError, "x = (1 + ", {}, "script:1:"),
        (hr.InvalidScriptError, "y = X + 1", {}, "'X'"),
        (hr.ShapeMismatchError, "Y = X + t(X)", {"X": np.ones((2, 3))}, "2 x 3 and 3 x 2"),
        (hr.UnsupportedError, "[a, b] = rcm(X, X)", {"X": np.ones((2, 2))}, "script:1:"),
        (hr.InvalidArgumentError, "stop('enough')", {}, "enough"),
        (hr.TypeMismatchError, "Y = X", {"X": np.array(["a"])}, "variable 'X'"),
        (hr.InvalidArgumentError, "Y = X", {"X": np.ones((2, 2, 2))}, "rank 3"),
    ],
)
def test_errors_are_typed(error, text, variables, message) -> None:
    with pytest.raises(error, match=message):
        hr.script(text)(**variables)


def test_a_setting_that_is_none() -> None:
    with pytest.raises(hr.InvalidArgumentError, match="auto, always or never"):
        hr.script("x = 1", compile="sometimes")


# --- Cells that are not stored ------------------------------------------------------------------


def both_formats(text: str, compile: str, **values) -> tuple[np.ndarray, np.ndarray]:
    """The variable y, from dense matrices and from S as a sparse one."""
    sparse = pytest.importorskip("scipy.sparse")
    script = hr.script(text, compile=compile)
    dense = script(**values)["y"]
    found = script(**{**values, "S": sparse.csr_matrix(values["S"])})["y"]
    return np.asarray(dense), found.toarray() if sparse.issparse(found) else np.asarray(found)


@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize(
    "text",
    [
        "y = S * k",
        "y = S / k",
        "y = k * S * 2",
        "y = sum(S * k)",
        "y = abs(S * k) + 1",
        "y = S * D",
        "y = sum(S * D)",
        "y = S * c",
        "y = S * (U %*% t(V))",
        "y = S * log(U %*% t(V))",
        "y = sum(S * log(U %*% t(V)))",
        "y = sum(S * exp(U %*% t(V)) * k)",
        "y = S %*% V",
        "y = t(S) %*% U",
        "y = t(U) %*% S",
        "y = S %*% t(S)",
    ],
)
@pytest.mark.parametrize("special", [2.0, np.nan, np.inf, 0.0])
def test_cells_that_are_not_stored_are_zeros_in_every_respect(text, special, compile) -> None:
    random = np.random.default_rng(3)
    s = np.where(random.random((6, 9)) < 0.2, random.random((6, 9)) + 0.5, 0)
    u, v = random.random((6, 2)) + 0.5, random.random((9, 2)) + 0.5
    d, c = random.random((6, 9)), random.random((6, 1))
    # Cells where S stores nothing.
    row, col = np.argwhere(s == 0)[7]
    d[row, col] = c[row] = u[row, 0] = v[col, 1] = special
    dense, found = both_formats(text, compile, S=s, D=d, c=c, U=u, V=v, k=special)
    assert_close(found, dense, tolerance=1e-12, what=text)


def test_what_is_known_to_be_finite_is_computed_at_stored_cells_alone() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    # A million rows and columns: there is no such dense matrix.
    s = sparse.csr_matrix(([2.0, 3.0], ([5, 999_999], [7, 0])), shape=(1_000_000, 1_000_000))
    u = np.full((1_000_000, 2), 0.5)
    left = hr.script("y = sum(S * log(U %*% t(U) + 1e-15)); Z = S * (U %*% t(U)) * k")(
        S=s, U=u, k=4.0
    )
    assert left["y"] == pytest.approx(5 * np.log(0.5))
    assert left["Z"].sum() == pytest.approx(10)


# --- Types ---------------------------------------------------------------------------------------


def test_a_result_declared_integer_keeps_its_fraction() -> None:
    text = """
      pick = function(matrix[double] x, integer k) return (integer res) {
        found = FALSE
        if (nrow(x) > 1) { res = as.scalar(x[k, 1]); found = TRUE }
        if (!found) res = -1
      }
      y = pick(x, 2)
    """
    assert hr.script(text)(x=[[0.25], [0.75]])["y"] == 0.75


@pytest.mark.parametrize(
    ("body", "declared", "found"),
    [("z = sum(x)", "Integer", "Double"), ("z = nrow(x) > 1", "Double", "Boolean")],
)
def test_a_result_that_is_not_what_it_is_declared_is_refused(body, declared, found) -> None:
    text = f"f = function(matrix[double] x) return ({declared} z) {{ {body} }}\ny = f(x)"
    with pytest.raises(hr.errors.TypeMismatchError, match=f"'z' of 'f' is declared .*{found}"):
        hr.script(text)(x=[[1.0]])


def test_integers_are_exact_when_compiled_too() -> None:
    text = "y = a * a + b; same = b == b + 1; z = sum(X) * 2"
    left = hr.script(text, compile="always")(a=94906267, b=9007199254740993, X=np.ones((3, 3)))
    assert left["y"] == 94906267**2 + 9007199254740993
    assert left["same"] is False


# --- Bounds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y = matrix(1, rows=n, cols=n)", "script:1:5: matrix of 1000000000000 x 1000000000000: .*at most"),
        ("y = rand(rows=n, cols=n)", "script:1:5: rand of 1000000000000 x 1000000000000: .*at most"),
        ("y = rand(rows=n, cols=2, sparsity=0.1)", "rand: expected at most 2.31 rows and columns, got 1000000000000 x 2"),
        ("y = seq(1, n * 10)", "script:1:5: seq of 10000000000000 x 1: .*at most"),
        ("y = table(matrix(n, 2, 1), matrix(1, 2, 1))", "table: expected numbers from 1 to 2.31, got 1.0E12 and 1.0"),
        ("y = table(seq(1, 2), seq(1, 2), n, n)", "table: expected at most 2.31 rows and columns, got 1000000000000 x"),
        ("y = table(n)", "script:1:5: 'table' needs its argument 'b'"),
        ("y = sample(5, 10)", "script:1:5: sample: expected 1 to 5 numbers to draw, got 10"),
        ("y = sample(n, 1)", "sample: expected a range of 1 to 2147483647 numbers, got 1000000000000"),
        ("y = sample(5, -1, TRUE)", "sample: expected 1 or more numbers to draw, got -1"),
        ('write(n, "")', "script:1:1: write: expected a file's name, got \"\""),
        ('y = read("")', "script:1:5: read: expected a file's name, got \"\""),
        ("y = 9223372036854775807 + k", "9223372036854775807 . 1: expected a result that fits a 64-bit integer"),
    ],
)  # fmt: skip
def test_what_no_machine_can_do_is_refused_by_name_and_place(text: str, message: str) -> None:
    with pytest.raises(hr.errors.Error, match=message):
        hr.script(text)(n=10**12, k=1)


def test_deep_recursion_and_nesting_are_refused() -> None:
    deep = "if (n > 0) {" * 150 + "z = f(n + 1)" + "}" * 150
    text = f"f = function(integer n) return (integer z) {{ z = 0\n {deep} }}\ny = f(1)"
    with pytest.raises(hr.errors.Error, match="nested more than"):
        hr.script(text)()
    for text in ("y = " + "(" * 10_000 + "1" + ")" * 10_000, "y = " + "-" * 10_000 + "1"):
        with pytest.raises(hr.errors.Error, match="nested more than|operators in a chain"):
            hr.script(text)()


def test_messages_do_not_repeat_names_at_length() -> None:
    for text in (
        "y = " + "x" * 1_000_000,
        'stop("' + "x" * 1_000_000 + '")',
        'y = 1 * "' + "x" * 1_000_000 + '"',
    ):
        with pytest.raises(hr.errors.Error) as caught:
            hr.script(text)()
        assert len(str(caught.value)) < 2_000


def test_long_blocks_are_planned_in_parts() -> None:
    count = 5_000
    lines = [f"x{i} = x{i - 1} + {i}" for i in range(1, count)]
    script = hr.script("x0 = 0\n" + "\n".join(lines), compile="never")
    left = script()
    assert left[f"x{count - 1}"] == count * (count - 1) // 2
    assert left["x700"] == 700 * 701 // 2
    assert script.statistics["plans"] == 5
