"""Scripts from Python: values in and out, errors, what is kept between calls."""

from __future__ import annotations

import pathlib

import headrace as hr
import numpy as np
import pytest


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
        np.testing.assert_allclose(found, np.asarray(given).T @ np.asarray(given))


def test_a_vector_is_a_column() -> None:
    assert hr.script("n = nrow(x); m = ncol(x)")(x=np.ones(5))["n"] == 5


def test_sparse_matrices_stay_sparse() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.random(50, 40, 0.1, "csr", random_state=1)
    left = hr.script("Y = X * 2; v = X %*% w; s = sum(X)")(X=x, w=np.ones(40))
    assert sparse.issparse(left["Y"])
    np.testing.assert_allclose(left["Y"].toarray(), x.toarray() * 2)
    np.testing.assert_allclose(left["v"].ravel(), x @ np.ones(40))
    assert left["s"] == pytest.approx(x.sum())
    columns = hr.script("Y = X * 1")(X=x.tocsc())["Y"]
    np.testing.assert_allclose(columns.toarray(), x.toarray())


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
        (hr.UnsupportedError, "[a, b] = eigen(X)", {"X": np.ones((2, 2))}, "script:1:"),
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
