"""Mixtures of Gaussian distributions, by expectation and maximization."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from headrace.errors import InvalidArgumentError
from headrace.matrices._matrix import Matrix, evaluate, matrix
from headrace.sklearn._kmeans import KMeans


class GaussianMixture(DensityMixin, BaseEstimator):
    """`n_components` Gaussian distributions with full covariances."""

    def __init__(
        self,
        n_components: int = 1,
        *,
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> GaussianMixture:  # noqa: N803
        """Fits the distributions to the rows of `X`."""
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        if X.shape[0] < self.n_components:
            raise InvalidArgumentError(
                f"expected n_samples >= n_components, got n_components = {self.n_components}, "
                f"n_samples = {X.shape[0]}"
            )
        rows = matrix(X)
        start = KMeans(self.n_components, random_state=self.random_state).fit(X).labels_
        shares = np.eye(self.n_components)[start]
        self.converged_, bound = False, -np.inf
        for iteration in range(1, self.max_iter + 1):
            self.n_iter_ = iteration
            self._maximize(rows, matrix(shares))
            shares, logarithms = self._expect(rows)
            before, bound = bound, float(logarithms.mean())
            if abs(bound - before) < self.tol:
                self.converged_ = True
                break
        self.lower_bound_ = bound
        return self

    def _maximize(self, rows: Matrix, shares: Matrix) -> None:
        counts, sums = evaluate(shares.sum(axis=0), shares.T @ rows)
        counts = np.ravel(counts) + 10 * np.finfo(float).eps
        self.weights_ = counts / counts.sum()
        self.means_ = np.asarray(sums) / counts[:, None]
        centered = [rows - matrix(mean.reshape(1, -1)) for mean in self.means_]
        products = evaluate(*((shares[:, i] * part).T @ part for i, part in enumerate(centered)))
        covariances = [product / count for product, count in zip(products, counts, strict=True)]
        self.covariances_ = np.array(covariances) + self.reg_covar * np.eye(rows.shape[1])
        roots = [np.linalg.cholesky(each) for each in self.covariances_]
        self.precisions_cholesky_ = np.array([np.linalg.inv(root).T for root in roots])

    def _logarithms(self, rows: Matrix) -> np.ndarray:
        """Of the weighted density of each row in each distribution."""
        squares = [
            (((rows - matrix(mean.reshape(1, -1))) @ matrix(precision)) ** 2).sum(axis=1)
            for mean, precision in zip(self.means_, self.precisions_cholesky_, strict=True)
        ]
        distances = np.column_stack(evaluate(*squares))
        features = self.means_.shape[1]
        determinants = np.log(np.diagonal(self.precisions_cholesky_, axis1=1, axis2=2)).sum(axis=1)
        constants = determinants - 0.5 * features * np.log(2 * np.pi) + np.log(self.weights_)
        return constants - 0.5 * distances

    def _expect(self, rows: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """The share of each distribution in each row, and the logarithm of the row's density."""
        logarithms = self._logarithms(rows)
        largest = logarithms.max(axis=1, keepdims=True)
        total = largest + np.log(np.exp(logarithms - largest).sum(axis=1, keepdims=True))
        return np.exp(logarithms - total), total.ravel()

    def _checked(self, X: Any) -> Matrix:  # noqa: N803
        check_is_fitted(self)
        return matrix(validate_data(self, X, dtype=np.float64, reset=False))

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """The share of each distribution in each row."""
        return self._expect(self._checked(X))[0]

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The distribution with the largest share in each row."""
        return self._logarithms(self._checked(X)).argmax(axis=1)

    def score_samples(self, X: Any) -> np.ndarray:  # noqa: N803
        """The logarithm of the density at each row."""
        return self._expect(self._checked(X))[1]

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """The mean logarithm of the density."""
        return float(self.score_samples(X).mean())
