"""Clusters around means: Lloyd's iteration from starts chosen by k-means++."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from headrace.errors import InvalidArgumentError
from headrace.matrices._matrix import Matrix, evaluate, matrix


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """`n_clusters` means so that the rows are near to one of them."""

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> KMeans:  # noqa: N803
        """Finds the means of the rows of `X`."""
        X = validate_data(self, X, dtype=np.float64)
        if X.shape[0] < self.n_clusters:
            raise InvalidArgumentError(
                f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}"
            )
        random = check_random_state(self.random_state)
        shift = X.mean(axis=0)
        rows = matrix(X) - matrix(shift.reshape(1, -1))
        rows.compute()
        norms = (rows * rows).sum(axis=1)
        tolerance = self.tol * X.var(axis=0).mean()
        best: tuple[float, np.ndarray, np.ndarray, int] | None = None
        for _ in range(self.n_init):
            centers = _starts(rows, norms, self.n_clusters, random)
            found = _lloyd(rows, norms, centers, self.max_iter, tolerance)
            if best is None or found[0] < best[0]:
                best = found
        assert best is not None
        self.inertia_, self.cluster_centers_, self.labels_, self.n_iter_ = best
        self.cluster_centers_ = self.cluster_centers_ + shift
        self._n_features_out = self.n_clusters
        return self

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The number of the nearest mean for each row."""
        return np.asarray(self.transform(X)).argmin(axis=1).astype(np.int32)

    def transform(self, X: Any) -> np.ndarray:  # noqa: N803
        """The distance of each row to each mean."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        rows, centers = matrix(X), self.cluster_centers_
        squares = _distances(rows, (rows * rows).sum(axis=1), centers)
        return np.array(np.sqrt(np.maximum(squares, 0.0)))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """Minus the sum of squared distances to the nearest mean."""
        return -float((self.transform(X).min(axis=1) ** 2).sum())


def _distances(rows: Matrix, norms: Matrix, centers: np.ndarray) -> Matrix:
    """Squared distances of rows to centers."""
    squares = matrix((centers**2).sum(axis=1).reshape(1, -1))
    return norms - 2.0 * (rows @ matrix(centers.T)) + squares


def _starts(rows: Matrix, norms: Matrix, count: int, random: Any) -> np.ndarray:
    """Rows of which each is drawn by its squared distance to those before (k-means++)."""
    data = np.asarray(rows)
    chosen = [int(random.randint(data.shape[0]))]
    nearest = np.full(data.shape[0], np.inf)
    while len(chosen) < count:
        squares = np.asarray(_distances(rows, norms, data[chosen[-1:]])).ravel()
        nearest = np.minimum(nearest, np.maximum(squares, 0))
        total = nearest.sum()
        share = nearest / total if total > 0 else None
        chosen.append(int(random.choice(data.shape[0], p=share)))
    return data[chosen]


def _lloyd(
    rows: Matrix, norms: Matrix, centers: np.ndarray, limit: int, tolerance: float
) -> tuple[float, np.ndarray, np.ndarray, int]:
    labels = np.zeros(rows.shape[0], np.int32)
    inertia, done = 0.0, 0
    for done in range(1, limit + 1):  # noqa: B007
        squares = _distances(rows, norms, centers)
        nearest = squares.min(axis=1)
        members = (squares <= nearest).astype(np.float64)
        members = members / members.sum(axis=1)  # rows between two means count half for each
        sums, counts, total, first = evaluate(
            members.T @ rows, members.sum(axis=0), nearest.sum(), squares.argmin(axis=1)
        )
        inertia, labels = max(float(total), 0.0), first.ravel().astype(np.int32)
        counts = np.asarray(counts).reshape(-1, 1)
        moved = np.where(counts > 0, np.asarray(sums) / np.where(counts > 0, counts, 1), centers)
        step = ((moved - centers) ** 2).sum()
        if step <= tolerance:
            break
        centers = moved
    return inertia, centers, labels, done
