"""Estimators of scikit-learn, computed by Headrace: `hr.sklearn.LogisticRegression().fit(X, y)`.

They have scikit-learn's parameters and attributes, pass its `check_estimator`, and take its place in
pipelines and searches. Their matrices are lazy ones (`headrace.matrix`): dense or sparse, fused.
scikit-learn has to be installed.
"""

from headrace.sklearn._kmeans import KMeans
from headrace.sklearn._linear import LinearRegression, Ridge
from headrace.sklearn._logistic import LinearSVC, LogisticRegression
from headrace.sklearn._mixture import GaussianMixture
from headrace.sklearn._pca import PCA

__all__ = [
    "PCA",
    "GaussianMixture",
    "KMeans",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "Ridge",
]
