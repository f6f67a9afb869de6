"""Least squares, plain and with a penalty, by the normal equations."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from headrace.matrices._matrix import Matrix, evaluate, matrix


class _Linear(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """One pass over the data gives all products of columns; the rest is of the features' size."""

    fit_intercept: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _penalty(self) -> float:
        return 0.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:  # noqa: N803
        """Fits the coefficients to rows of `X` and the targets `y`."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", multi_output=True, y_numeric=True, dtype=np.float64
        )
        weights = np.ones(X.shape[0])
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        x, targets = matrix(X), np.asarray(y, np.float64).reshape(X.shape[0], -1)
        weighted = x if sample_weight is None else matrix(weights) * x
        both = matrix(weights.reshape(-1, 1) * targets)
        gram, moments, sums = (
            np.asarray(part) for part in evaluate(x.T @ weighted, x.T @ both, weighted.sum(axis=0))
        )
        gram, count = _dense(gram), weights.sum()
        means, target_means = np.zeros(X.shape[1]), np.zeros(targets.shape[1])
        if self.fit_intercept:
            means = np.ravel(sums) / count
            target_means = weights @ targets / count
            gram = gram - count * np.outer(means, means)
            moments = moments - count * np.outer(means, target_means)
        coefficients = _solved(gram + self._penalty() * np.eye(X.shape[1]), moments)
        intercept = target_means - means @ coefficients
        single = np.ndim(y) == 1
        self.coef_ = coefficients[:, 0] if single else coefficients.T
        self.intercept_ = (
            (float(intercept[0]) if single else intercept) if self.fit_intercept else 0.0
        )
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The targets that the coefficients give for rows of `X`."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        result = np.asarray(matrix(X) @ np.atleast_2d(self.coef_).T + _row(self.intercept_))
        return result.ravel() if self.coef_.ndim == 1 else result.copy()


class LinearRegression(_Linear):
    """Ordinary least squares."""

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept


class Ridge(_Linear):
    """Least squares with `alpha` times the squared coefficients as a penalty."""

    def __init__(self, alpha: float = 1.0, *, fit_intercept: bool = True) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept

    def _penalty(self) -> float:
        return float(self.alpha)


def _dense(x: Any) -> np.ndarray:
    return np.asarray(x.toarray() if hasattr(x, "toarray") else x)


def _row(values: Any) -> Matrix:
    return matrix(np.reshape(np.asarray(values, np.float64), (1, -1)))


def _solved(gram: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """The solution of least norm, refined once."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > values.max(initial=0) * max(gram.shape) * np.finfo(float).eps
    inverse = np.where(kept, 1 / np.where(kept, values, 1), 0)[:, None]

    def apply(right: np.ndarray) -> np.ndarray:
        return vectors @ (inverse * (vectors.T @ right))

    solution = apply(moments)
    return solution + apply(moments - gram @ solution)
