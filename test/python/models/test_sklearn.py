"""Estimators of scikit-learn, as skl2onnx exports them, next to their own predictions and ONNX
Runtime's."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import headrace as hr
import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")

from onnx.helper import make_attribute  # noqa: E402
from skl2onnx.common.data_types import FloatTensorType, StringTensorType  # noqa: E402
from sklearn.cluster import KMeans  # noqa: E402
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.datasets import make_classification, make_regression  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.ensemble import (  # noqa: E402
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer  # noqa: E402
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.neural_network import MLPClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import (  # noqa: E402
    Binarizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM  # noqa: E402
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # noqa: E402

from cases.policy import assert_close

FEATURES = 6


def classes(count: int, names: bool = False) -> tuple[np.ndarray, np.ndarray]:
    x, y = make_classification(
        120, FEATURES, n_informative=4, n_classes=count, random_state=count, class_sep=0.7
    )
    labels = np.array([f"class {i}" for i in range(count)])
    return x.astype(np.float32), labels[y] if names else y


def numbers(targets: int = 1) -> tuple[np.ndarray, np.ndarray]:
    x, y = make_regression(120, FEATURES, n_targets=targets, noise=5, random_state=3)
    return x.astype(np.float32), y / 100


def attribute(key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
    """The exporter gives truth values as integers, which newer protocol buffers do not take."""
    if isinstance(value, list) and any(isinstance(each, bool | np.bool_) for each in value):
        value = [int(each) for each in value]
    return make_attribute(key, value, *args, **kwargs)


class Exported:
    """An estimator as a file, in Headrace and in ONNX Runtime."""

    def __init__(self, estimator: Any, folder: Path, types: Any = None, **options: Any) -> None:
        kind = types or [("x", FloatTensorType([None, FEATURES]))]
        options = {id(estimator): options} if options else None
        with warnings.catch_warnings(), mock.patch("onnx.helper.make_attribute", attribute):
            warnings.simplefilter("ignore")
            file = skl2onnx.to_onnx(estimator, initial_types=kind, options=options)
        path = folder / "model.onnx"
        path.write_bytes(file.SerializeToString())
        self.model = hr.load(path)
        self.peer = ort.InferenceSession(str(path))
        self.names = [name for name, _ in kind]

    def run(self, *inputs: np.ndarray) -> list[Any]:
        found = self.model(*inputs)
        return list(found) if isinstance(found, tuple) else [found]

    def run_peer(self, *inputs: np.ndarray) -> list[Any]:
        return self.peer.run(None, dict(zip(self.names, inputs, strict=True)))


def check_close(found: list[Any], expected: list[Any], tolerance: float = 1e-4) -> None:
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        if isinstance(theirs, list):
            assert [list(row) for row in mine] == [list(row) for row in theirs]
            mine, theirs = ([list(row.values()) for row in rows] for rows in (mine, theirs))
        if np.asarray(theirs).dtype.kind in "OUS":
            assert np.asarray(mine).tolist() == np.asarray(theirs).tolist()
        else:
            np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


CLASSIFIERS = {
    "decision tree": (lambda: DecisionTreeClassifier(max_depth=6, random_state=0), 2, False),
    "decision tree of names": (lambda: DecisionTreeClassifier(random_state=0), 3, True),
    "random forest": (lambda: RandomForestClassifier(8, random_state=0), 2, True),
    "random forest of three": (lambda: RandomForestClassifier(8, random_state=0), 3, False),
    "gradient boosting": (lambda: GradientBoostingClassifier(n_estimators=8), 2, False),
    "gradient boosting of three": (lambda: GradientBoostingClassifier(n_estimators=8), 3, True),
    "histogram boosting": (lambda: HistGradientBoostingClassifier(max_iter=8), 2, False),
    "histogram boosting of three": (lambda: HistGradientBoostingClassifier(max_iter=8), 3, False),
    "logistic regression": (lambda: LogisticRegression(max_iter=500), 2, True),
    "logistic regression of three": (lambda: LogisticRegression(max_iter=500), 3, False),
    "scaler and logistic regression": (
        lambda: make_pipeline(StandardScaler(), LogisticRegression()),
        2,
        False,
    ),
    "linear support vectors": (lambda: LinearSVC(), 3, False),
    "multilayer perceptron": (
        lambda: MLPClassifier((16, 8), max_iter=60, random_state=0),
        3,
        False,
    ),
    "naive Bayes": (lambda: GaussianNB(), 3, True),
    "nearest neighbours": (lambda: KNeighborsClassifier(3), 3, False),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_agree_with_scikit_learn_and_onnx_runtime(name: str, tmp_path: Path) -> None:
    make, count, names = CLASSIFIERS[name]
    x, y = classes(count, names)
    estimator = make().fit(x, y)
    is_linear = isinstance(estimator, LinearSVC)
    exported = Exported(estimator, tmp_path, **({} if is_linear else {"zipmap": False}))
    for rows in (x, x[:1], x[3:3]):
        labels, scores = exported.run(rows)
        if rows.size:
            assert labels.tolist() == estimator.predict(rows).tolist()
            decide = estimator.decision_function if is_linear else estimator.predict_proba
            np.testing.assert_allclose(scores, decide(rows), rtol=1e-3, atol=1e-4)
            check_close([labels, scores], exported.run_peer(rows))
        assert len(labels) == len(scores) == len(rows)


SUPPORT_VECTORS = {
    "linear": {"kernel": "linear"},
    "polynomial": {"kernel": "poly", "degree": 3, "coef0": 0.5},
    "rbf": {"kernel": "rbf"},
    "sigmoid": {"kernel": "sigmoid", "coef0": 0.1},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("kernel", SUPPORT_VECTORS)
def test_support_vector_classifiers_agree_with_probabilities(
    kernel: str, count: int, tmp_path: Path
) -> None:
    x, y = classes(count, names=count == 4)
    estimator = SVC(probability=True, random_state=0, **SUPPORT_VECTORS[kernel]).fit(x, y)
    exported = Exported(estimator, tmp_path, zipmap=False)
    labels, scores = exported.run(x)
    peer_labels, peer_scores = exported.run_peer(x)
    assert labels.tolist() == peer_labels.tolist() == estimator.predict(x).tolist()
    np.testing.assert_allclose(scores, peer_scores, atol=2e-4)
    np.testing.assert_allclose(scores, estimator.predict_proba(x), atol=3e-3)


@pytest.mark.filterwarnings("ignore")
def test_support_vector_classifiers_without_probabilities_have_scores(tmp_path: Path) -> None:
    for count in (2, 3):
        x, y = classes(count)
        exported = Exported(SVC().fit(x, y), tmp_path)
        check_close(exported.run(x), exported.run_peer(x))


REGRESSORS = {
    "decision tree": (lambda: DecisionTreeRegressor(random_state=0), 1),
    "decision tree of three": (lambda: DecisionTreeRegressor(max_depth=5, random_state=0), 3),
    "random forest": (lambda: RandomForestRegressor(8, random_state=0), 1),
    "gradient boosting": (lambda: GradientBoostingRegressor(n_estimators=8), 1),
    "histogram boosting": (lambda: HistGradientBoostingRegressor(max_iter=8), 1),
    "linear regression": (lambda: LinearRegression(), 1),
    "ridge of three": (lambda: Ridge(), 3),
    "support vectors": (lambda: SVR(), 1),
    "support vectors, polynomial": (lambda: SVR(kernel="poly"), 1),
    "one class": (lambda: OneClassSVM(), 1),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_agree_with_scikit_learn_and_onnx_runtime(name: str, tmp_path: Path) -> None:
    make, targets = REGRESSORS[name]
    x, y = numbers(targets)
    estimator = make().fit(x, y)
    exported = Exported(estimator, tmp_path)
    for rows in (x, x[:1], x[3:3]):
        found = exported.run(rows)
        if rows.size:
            expected = estimator.predict(rows).reshape(found[0].shape)
            np.testing.assert_allclose(found[0], expected, rtol=1e-3, atol=1e-4)
            check_close(found, exported.run_peer(rows))
        assert len(found[0]) == len(rows)


TRANSFORMERS = {
    "standard scaler": lambda: StandardScaler(),
    "scaler to a range": lambda: MinMaxScaler(),
    "normalizer, maximum": lambda: Normalizer("max"),
    "normalizer, absolute": lambda: Normalizer("l1"),
    "normalizer, squares": lambda: Normalizer("l2"),
    "binarizer": lambda: Binarizer(threshold=0.25),
    "principal components": lambda: PCA(3),
    "scaler and components": lambda: make_pipeline(StandardScaler(), PCA(2)),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers_agree_with_scikit_learn(name: str, tmp_path: Path) -> None:
    x, _ = numbers()
    x = np.abs(x) if "maximum" in name else x
    estimator = TRANSFORMERS[name]().fit(x)
    exported = Exported(estimator, tmp_path)
    for rows in (x, x[:1]):
        np.testing.assert_allclose(
            exported.run(rows)[0], estimator.transform(rows), rtol=1e-4, atol=1e-5
        )


@pytest.mark.filterwarnings("ignore")
def test_clusters_agree_with_scikit_learn(tmp_path: Path) -> None:
    x, _ = numbers()
    estimator = KMeans(4, n_init=2, random_state=0).fit(x)
    labels, distances = Exported(estimator, tmp_path).run(x)
    assert labels.tolist() == estimator.predict(x).tolist()
    np.testing.assert_allclose(distances, estimator.transform(x), rtol=1e-3, atol=1e-3)


def test_scores_are_dicts_by_default(tmp_path: Path) -> None:
    x, y = classes(3, names=True)
    exported = Exported(DecisionTreeClassifier(max_depth=3).fit(x, y), tmp_path)
    assert exported.model.outputs[1].element_type == "sequence(map(string, f32))"
    labels, scores = exported.run(x)
    assert [max(row, key=row.get) for row in scores] == labels.tolist()
    check_close([labels, scores], exported.run_peer(x))


@pytest.mark.filterwarnings("ignore")
def test_missing_values_take_the_side_that_training_chose(tmp_path: Path) -> None:
    x, y = classes(2)
    x[np.random.default_rng(0).random(x.shape) < 0.3] = np.nan
    estimator = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(x, y)
    exported = Exported(estimator, tmp_path, zipmap=False)
    labels, scores = exported.run(x)
    assert labels.tolist() == estimator.predict(x).tolist()
    np.testing.assert_allclose(scores, estimator.predict_proba(x), rtol=1e-3, atol=1e-4)


def test_imputers_fill_in_what_is_missing(tmp_path: Path) -> None:
    x, _ = numbers()
    x[np.random.default_rng(1).random(x.shape) < 0.3] = np.nan
    estimator = SimpleImputer(strategy="median").fit(x)
    assert_close(Exported(estimator, tmp_path).run(x)[0], estimator.transform(x))


COLOURS = np.array([["red", "s"], ["green", "m"], ["blue", "l"], ["red", "l"]], dtype=object)


@pytest.mark.parametrize("make", [OneHotEncoder, OrdinalEncoder])
def test_encoders_of_strings_know_categories_and_others(make: Any, tmp_path: Path) -> None:
    unknown = {"handle_unknown": "ignore"}
    if make is OrdinalEncoder:
        unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    estimator = make(**unknown).fit(COLOURS)
    exported = Exported(estimator, tmp_path, [("x", StringTensorType([None, 2]))])
    rows = np.array([["red", "m"], ["violet", "s"], ["blue", "huge"]], dtype=object)
    for given in (COLOURS, rows, rows[:1]):
        expected = estimator.transform(given)
        dense = expected.toarray() if hasattr(expected, "toarray") else expected
        np.testing.assert_array_equal(exported.run(given)[0], dense)


def test_columns_of_several_kinds_make_one_table(tmp_path: Path) -> None:
    x, y = classes(2)
    colours = np.resize(COLOURS[:, :1], (len(x), 1))
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(x, columns=[f"f{i}" for i in range(FEATURES)])
    frame["colour"] = colours[:, 0]
    columns = ColumnTransformer(
        [
            ("numbers", StandardScaler(), [f"f{i}" for i in range(FEATURES)]),
            ("colours", OneHotEncoder(handle_unknown="ignore"), ["colour"]),
        ]
    )
    estimator = make_pipeline(columns, LogisticRegression()).fit(frame, y)
    types = [(f"f{i}", FloatTensorType([None, 1])) for i in range(FEATURES)]
    types.append(("colour", StringTensorType([None, 1])))
    exported = Exported(estimator, tmp_path, types)
    inputs = [x[:, i : i + 1] for i in range(FEATURES)] + [colours]
    check_close(exported.run(*inputs), exported.run_peer(*inputs))
