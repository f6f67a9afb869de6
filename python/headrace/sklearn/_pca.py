"""Principal components, by the covariance of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from headrace.errors import InvalidArgumentError
from headrace.matrices._matrix import evaluate, matrix


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The directions of largest variance."""

    def __init__(self, n_components: int | None = None, *, whiten: bool = False) -> None:
        self.n_components = n_components
        self.whiten = whiten

    def fit(self, X: Any, y: Any = None) -> PCA:  # noqa: N803
        """Finds the components of the rows of `X`."""
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        rows, cols = X.shape
        count = min(rows, cols) if self.n_components is None else int(self.n_components)
        if not 1 <= count <= min(rows, cols):
            raise InvalidArgumentError(
                f"n_components: expected 1 to {min(rows, cols)}, got {self.n_components}"
            )
        means = X.mean(axis=0)
        centered = matrix(X) - matrix(means.reshape(1, -1))
        (products,) = evaluate(centered.T @ centered)
        values, vectors = np.linalg.eigh(products / (rows - 1))
        values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1].T
        # The element of largest magnitude is positive.
        largest = np.abs(vectors).argmax(axis=1)
        vectors = vectors * np.where(vectors[np.arange(cols), largest] < 0, -1, 1)[:, None]
        self.mean_, self.n_components_, self.n_samples_ = means, count, rows
        self.components_ = vectors[:count].copy()
        self.explained_variance_ = values[:count].copy()
        total = values.sum()
        self.explained_variance_ratio_ = self.explained_variance_ / (total if total > 0 else 1)
        self.singular_values_ = np.sqrt(self.explained_variance_ * (rows - 1))
        self._n_features_out = count
        return self

    def transform(self, X: Any) -> np.ndarray:  # noqa: N803
        """The rows of `X` in the components."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores = (matrix(X) - matrix(self.mean_.reshape(1, -1))) @ self.components_.T
        if self.whiten:
            scores = scores / matrix(self._scales())
        return np.array(scores)

    def inverse_transform(self, X: Any) -> np.ndarray:  # noqa: N803
        """The rows whose scores these are, as far as the components tell."""
        check_is_fitted(self)
        scores = np.asarray(X, np.float64) * (self._scales() if self.whiten else 1)
        return np.array(matrix(scores) @ self.components_ + matrix(self.mean_.reshape(1, -1)))

    def _scales(self) -> np.ndarray:
        variances = self.explained_variance_.reshape(1, -1)
        return np.sqrt(np.maximum(variances, np.finfo(float).tiny))
