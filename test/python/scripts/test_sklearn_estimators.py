"""Estimators of headrace.sklearn: scikit-learn's own checks, and its own estimators as peers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")

import headrace.sklearn as ours  # noqa: E402
import sklearn.cluster as cluster  # noqa: E402
import sklearn.decomposition as decomposition  # noqa: E402
import sklearn.linear_model as linear  # noqa: E402
import sklearn.mixture as mixture  # noqa: E402
import sklearn.svm as svm  # noqa: E402
from scipy.sparse import csr_matrix  # noqa: E402
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

ESTIMATORS = [
    ours.LinearRegression(),
    ours.Ridge(),
    ours.PCA(),
    ours.KMeans(n_clusters=3, random_state=0),
    ours.LogisticRegression(),
    ours.LinearSVC(),
    ours.GaussianMixture(random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_check_estimator(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(estimator)


X, Y = load_diabetes(return_X_y=True)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_least_squares(form: Any, intercept: bool) -> None:
    data = np.round(X * 20, 1)
    for mine, theirs in (
        (
            ours.LinearRegression(fit_intercept=intercept),
            linear.LinearRegression(fit_intercept=intercept),
        ),
        (ours.Ridge(0.7, fit_intercept=intercept), linear.Ridge(0.7, fit_intercept=intercept)),
    ):
        mine.fit(form(data), Y)
        theirs.fit(data, Y)
        np.testing.assert_allclose(mine.coef_, theirs.coef_, rtol=1e-6)
        assert mine.score(form(data), Y) == pytest.approx(theirs.score(data, Y), abs=1e-6)


def test_several_targets_and_weights() -> None:
    weights = np.linspace(0.5, 2, len(Y))
    both = np.column_stack([Y, X[:, 0] - Y])
    mine = ours.Ridge().fit(X, both, weights)
    theirs = linear.Ridge().fit(X, both, weights)
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X), rtol=1e-6)


def test_components() -> None:
    mine, theirs = ours.PCA(3, whiten=True).fit(X), decomposition.PCA(3, whiten=True).fit(X)
    np.testing.assert_allclose(mine.explained_variance_ratio_, theirs.explained_variance_ratio_)
    np.testing.assert_allclose(np.abs(mine.transform(X)), np.abs(theirs.transform(X)), atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_classifiers(form: Any) -> None:
    data, classes = load_breast_cancer(return_X_y=True)
    data = (data - data.mean(0)) / data.std(0)
    iris, kinds = load_iris(return_X_y=True)
    iris = iris - iris.mean(0)
    for x, y in ((data, classes), (iris, kinds)):
        mine = ours.LogisticRegression(tol=1e-8, max_iter=1000).fit(form(x), y)
        theirs = linear.LogisticRegression(tol=1e-8, max_iter=1000).fit(x, y)
        np.testing.assert_allclose(mine.predict_proba(form(x)), theirs.predict_proba(x), atol=1e-4)
        assert mine.score(form(x), y) == pytest.approx(theirs.score(x, y), abs=1e-6)
        mine = ours.LinearSVC(tol=1e-8).fit(form(x), y)
        theirs = svm.LinearSVC(tol=1e-9, max_iter=100_000).fit(x, y)
        np.testing.assert_allclose(
            mine.decision_function(form(x)), theirs.decision_function(x), atol=1e-2
        )


def test_clusters() -> None:
    iris, _ = load_iris(return_X_y=True)
    mine = ours.KMeans(3, n_init=5, random_state=0).fit(iris)
    theirs = cluster.KMeans(3, n_init=5, random_state=0).fit(iris)
    assert mine.inertia_ == pytest.approx(theirs.inertia_, rel=1e-3)
    assert mine.score(iris) == pytest.approx(-mine.inertia_)
    assert (mine.predict(iris) == mine.labels_).all()


def test_mixtures() -> None:
    iris, _ = load_iris(return_X_y=True)
    mine = ours.GaussianMixture(3, tol=1e-6, random_state=0).fit(iris)
    theirs = mixture.GaussianMixture(3, tol=1e-6, random_state=0).fit(iris)
    assert mine.score(iris) == pytest.approx(theirs.score(iris), rel=1e-2)
    assert mine.predict_proba(iris).sum() == pytest.approx(len(iris))
