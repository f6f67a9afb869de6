"""Frames, functions called by name, and statistics in scripts."""

from __future__ import annotations

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close

stats = pytest.importorskip("scipy.stats")


def test_frames_are_dicts_of_columns() -> None:
    left = hr.script("G = F[2:3, ]; n = nrow(F)")(F={"name": ["a", None, "c"], "size": [1, 2, 3]})
    assert left["n"] == 3
    assert left["G"]["name"].tolist() == [None, "c"]
    assert left["G"]["size"].tolist() == [2, 3]
    assert left["G"]["size"].dtype == np.int64


def test_columns_of_a_frame_have_one_length() -> None:
    with pytest.raises(hr.errors.InvalidArgumentError, match="'F': expected columns of one length"):
        hr.script("n = nrow(F)")(F={"a": [1], "b": [1, 2]})


def test_one_hot_of_a_frame_feeds_a_regression() -> None:
    random = np.random.default_rng(0)
    colors = np.array(["red", "green", "blue"])[random.integers(0, 3, 200)]
    width = random.random(200)
    y = 2 * width + (colors == "red") * 3 + (colors == "blue") * -1
    left = hr.script("""
        [X, M] = transformencode(target=F, spec="{dummycode:[color]}")
        w = solve(t(X) %*% X, t(X) %*% y)
    """)(F={"color": colors, "width": width}, y=y)
    first = list(dict.fromkeys(colors))
    weights = {"red": 3, "green": 0, "blue": -1}
    np.testing.assert_allclose(left["w"].ravel(), [*(weights[c] for c in first), 2], atol=1e-9)


@pytest.mark.parametrize(
    ("text", "distribution"),
    [
        ('dist="normal", mean=1, sd=2', stats.norm(1, 2)),
        ('dist="exp", rate=3', stats.expon(scale=1 / 3)),
        ('dist="chisq", df=7', stats.chi2(7)),
        ('dist="t", df=2.5', stats.t(2.5)),
        ('dist="f", df1=3, df2=9', stats.f(3, 9)),
    ],
)
def test_distributions_against_scipy(text: str, distribution: object) -> None:
    run = hr.script(
        f"below = cdf(target=x, {text}); above = cdf(target=x, {text}, lower.tail=FALSE)"
        f"; at = icdf(target=p, {text})"
    )
    for x in (-8.0, -1.5, -0.01, 0.0, 0.3, 1.0, 2.7, 25.0, 400.0):
        left = run(x=x, p=0.3)
        assert left["below"] == pytest.approx(distribution.cdf(x), rel=1e-11, abs=1e-300)
        assert left["above"] == pytest.approx(distribution.sf(x), rel=1e-11, abs=1e-300)
    for p in (1e-9, 0.01, 0.4, 0.5, 0.9, 0.999999):
        expected = pytest.approx(distribution.ppf(p), rel=1e-9, abs=1e-12)
        assert run(x=0.0, p=p)["at"] == expected


def test_moments_against_scipy() -> None:
    x = np.random.default_rng(1).normal(2, 3, 50)
    left = hr.script("m = moment(x, 3); k = moment(x, 4); c = cov(x, y)")(x=x, y=x**2)
    assert left["m"] == pytest.approx(stats.moment(x, 3))
    assert left["k"] == pytest.approx(stats.moment(x, 4))
    assert left["c"] == pytest.approx(np.cov(x, x**2)[0, 1])


def test_endless_recursion_by_name_is_an_error() -> None:
    script = hr.script(
        "f = function(Double n) return (Double m) { m = as.scalar(eval('f', list(n + 1))) }\n"
        "y = f(0)"
    )
    with pytest.raises(hr.errors.Error, match="calls by name are nested more than"):
        script()


def test_unknown_functions_by_name_are_named() -> None:
    with pytest.raises(hr.errors.Error, match="unknown function 'nothing'"):
        hr.script("y = eval('nothing', 1)")()


SGD = """
    gradients = function(list[unknown] model, list[unknown] hyperparams, matrix[double] features,
                         matrix[double] labels) return (list[unknown] gradients) {
      W = as.matrix(model["W"])
      gradients = list(dW=t(features) %*% (features %*% W - labels) / nrow(features))
    }
    step = function(list[unknown] model, list[unknown] hyperparams, list[unknown] gradients)
        return (list[unknown] model) {
      W = as.matrix(model["W"]) - as.scalar(hyperparams["rate"]) * as.matrix(gradients["dW"])
      model = list(W=W)
    }
    model = paramserv(model=list(W=matrix(0, ncol(X), 1)), features=X, labels=y, upd="gradients",
        agg="step", epochs=epochs, batchsize=16, k=workers, freq="BATCH", hyperparams=list(rate=0.1))
    W = as.matrix(model["W"])
"""


@pytest.mark.parametrize("workers", [1, 3])
def test_paramserv_is_gradient_descent(workers: int) -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=(90, 4))
    y = x @ random.normal(size=(4, 1))
    w = np.zeros((4, 1))
    share = -(-90 // workers)
    for _ in range(5):
        for batch in range(-(-share // 16)):
            steps = []
            for begin in range(0, 90, share):
                rows = slice(begin + 16 * batch, min(begin + 16 * (batch + 1), begin + share, 90))
                if rows.start < rows.stop:
                    steps.append(x[rows].T @ (x[rows] @ w - y[rows]) / (rows.stop - rows.start))
            w = w - 0.1 * sum(steps)
    left = hr.script(SGD)(X=x, y=y, epochs=5, workers=workers)
    assert_close(left["W"], w)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x -> y", "expected '.'"),
        ("x x", "expected '->'"),
        ("x -> x.getClass()", "'getClass' is not a method that lambdas can call"),
        ("x -> System.exit(0)", "'System.exit' is not a function that lambdas can call"),
        ("x -> x.replaceAll('[', '')", "the regular expression"),
        ("x -> " + "(" * 500 + "x" + ")" * 500, "expected a shorter lambda"),
        ("x -> " + "x + " * 1000 + "x", "at most 2000 characters"),
    ],
)
def test_lambdas_reach_nothing_else(text: str, message: str) -> None:
    with pytest.raises(hr.errors.Error, match=message.replace("[", r"\[").replace(".", r"\.")):
        hr.script("y = toString(map(as.frame('a'), f))")(f=text)


def test_specifications_are_checked() -> None:
    run = hr.script("[X, M] = transformencode(target=as.frame('a'), spec=s)")
    for spec, message in (
        ("{ids:true, recode:1}", "expected a list for 'recode'"),
        ("{ids:true, recode:[0]}", "expected numbers of columns from 1"),
        ("{recode:[D]}", "the frame has no column 'D'"),
        ("{ids:true, hash:[1]}", "expected 'K'"),
        ("[" * 2000, "expected JSON"),
        ("{ids:true, udf:[1]}", "'udf' is understood but not executed yet"),
    ):
        with pytest.raises(hr.errors.Error, match=message):
            run(s=spec)
