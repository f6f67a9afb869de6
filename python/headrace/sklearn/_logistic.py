"""Linear classifiers: logistic regression and the support vector machine, in their primal form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from headrace.matrices._matrix import Matrix, evaluate, matrix

#: Gives the loss and its gradient by the scores: lazy matrices.
Loss = Callable[[Matrix], tuple[Matrix, Matrix]]


class _LinearClassifier(ClassifierMixin, BaseEstimator):
    """Scores of rows that are linear in the features; minimized by L-BFGS."""

    C: float
    tol: float
    max_iter: int
    fit_intercept: bool
    penalizes_intercept = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _targets(self, encoded: np.ndarray, count: int) -> np.ndarray:
        raise NotImplementedError

    def _loss(self, targets: Matrix) -> Loss:
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
        """Fits the coefficients to rows of `X` and their classes `y`."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        self.classes_, encoded = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"this classifier needs samples of at least 2 classes, got one class: {self.classes_[0]!r}"
            )
        targets = self._targets(encoded, len(self.classes_))
        features, outputs = X.shape[1], targets.shape[1]
        x, loss = matrix(X), self._loss(matrix(targets))
        kept = features + (1 if self.penalizes_intercept and self.fit_intercept else 0)

        def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
            weights = flat.reshape(features + 1, outputs)
            scores = x @ matrix(weights[:-1]) + matrix(weights[-1:])
            total, slope = loss(scores)
            parts = evaluate(total, x.T @ slope, slope.sum(axis=0))
            gradient = np.vstack([np.asarray(parts[1]), np.asarray(parts[2])]) * self.C
            gradient[:kept] += weights[:kept]
            if not self.fit_intercept:
                gradient[-1] = 0
            penalty = 0.5 * float((weights[:kept] ** 2).sum())
            return self.C * float(parts[0]) + penalty, gradient.ravel()

        start = np.zeros((features + 1) * outputs)
        # The data's mean loss decides when to stop, as it does in scikit-learn.
        scale = self.C * X.shape[0]
        found = minimize(
            lambda flat: tuple(part / scale for part in value(flat)),
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 64 * np.finfo(float).eps},
        )
        weights = found.x.reshape(features + 1, outputs)
        self.coef_, self.n_iter_ = weights[:-1].T.copy(), found.nit
        self.intercept_ = weights[-1] if self.fit_intercept else np.zeros(outputs)
        return self

    def decision_function(self, X: Any) -> np.ndarray:  # noqa: N803
        """The scores of rows: one column for each class, or one number for two classes."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores = np.array(matrix(X) @ matrix(self.coef_.T) + matrix(self.intercept_.reshape(1, -1)))
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The class of largest score for each row."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]


class LogisticRegression(_LinearClassifier):
    """Logistic regression, multinomial for several classes; the penalty is `1 / C`."""

    def __init__(
        self,
        *,
        C: float = 1.0,  # noqa: N803
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 100,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _targets(self, encoded: np.ndarray, count: int) -> np.ndarray:
        return np.eye(count)[encoded] if count > 2 else encoded.reshape(-1, 1).astype(float)

    def _loss(self, targets: Matrix) -> Loss:
        def binary(scores: Matrix) -> tuple[Matrix, Matrix]:
            # log(1 + exp(s)) without overflow
            softened = np.log1p(np.exp(-np.abs(scores))) + np.maximum(scores, 0.0)
            return (softened - targets * scores).sum(), 1 / (1 + np.exp(-scores)) - targets

        def several(scores: Matrix) -> tuple[Matrix, Matrix]:
            shifted = scores - scores.max(axis=1)
            powers = np.exp(shifted)
            sums = powers.sum(axis=1)
            return (np.log(sums) - (targets * shifted).sum(axis=1)).sum(), powers / sums - targets

        return binary if targets.shape[1] == 1 else several

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """The probability of each class for each row."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """Logarithms of the probabilities."""
        return np.log(self.predict_proba(X))


class LinearSVC(_LinearClassifier):
    """The linear support vector machine with squared hinge loss, one class against the others."""

    penalizes_intercept = True

    def __init__(
        self,
        *,
        C: float = 1.0,  # noqa: N803
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _targets(self, encoded: np.ndarray, count: int) -> np.ndarray:
        signs = 2.0 * np.eye(count)[encoded] - 1
        return signs if count > 2 else signs[:, 1:]

    def _loss(self, targets: Matrix) -> Loss:
        def hinge(scores: Matrix) -> tuple[Matrix, Matrix]:
            missing = np.maximum(1 - targets * scores, 0.0)
            return (missing * missing).sum(), -2 * targets * missing

        return hinge
