"""Operators of domain ai.onnx.ml but forests, one at a time: every mode, and attributes that make no sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import headrace as hr
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402
from onnx_ml_node import NAN, f32, loader, map_type, peer  # noqa: E402

from cases.policy import assert_close


@pytest.fixture
def load(tmp_path: Path):
    return loader(tmp_path)


# Linear models and support vectors


@pytest.mark.parametrize("element", ["f32", "f64", "i64", "i32"])
def test_linear_models_take_every_type(load, element: str) -> None:
    model = load(
        "LinearRegressor",
        [element],
        ["f32"],
        coefficients=[1.0, 2.0, 3.0, 4.0],
        intercepts=[0.5, -0.5],
        targets=2,
    )
    x = np.array([[1, 2], [3, -4]]).astype(
        {"f32": "f4", "f64": "f8", "i64": "i8", "i32": "i4"}[element]
    )
    assert model(x).tolist() == [[5.5, 10.5], [-4.5, -7.5]]


def test_a_free_number_of_features_is_that_of_the_model(load) -> None:
    model = load("LinearRegressor", ["f32"], ["f32"], coefficients=[1.0, 2.0])
    assert model(f32([1, 2])).tolist() == [[5]]
    with pytest.raises(hr.Error, match="node .it. .*expected 2 features, got 1 x 3"):
        model(f32([1, 2, 3]))


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC"])
def test_one_linear_score_serves_two_classes(load, tmp_path: Path, post: str) -> None:
    model = load(
        "LinearClassifier",
        ["f32"],
        ["i64", "f32"],
        coefficients=[0.3],
        intercepts=[0.1],
        classlabels_ints=[7, 9],
        post_transform=post,
    )
    x = f32([-1], [1])
    for found, expected in zip(model(x), peer(tmp_path, x), strict=True):
        assert_close(found, expected)


@pytest.mark.parametrize(
    ("op", "attributes", "message"),
    [
        ("LinearRegressor", {"coefficients": [1.0, 2.0, 3.0]}, "expected 3 features, got .*2"),
        ("LinearRegressor", {"coefficients": [1.0], "targets": 0}, "'coefficients'"),
        ("LinearRegressor", {"coefficients": [1.0, 2.0], "intercepts": [1.0, 2.0]}, "'intercepts'"),
        ("SVMRegressor", {"coefficients": [1.0, 1.0], "rho": [0.0], "n_supports": 3}, "'coeff"),
        ("SVMRegressor", {"coefficients": [1.0, 1.0]}, "'rho'"),
        ("Scaler", {"offset": [1.0, 2.0, 3.0]}, "expected 3 features, got .*2"),
        ("Normalizer", {"norm": "L7"}, "'L7'"),
        ("Imputer", {}, "'imputed_value_floats' is missing"),
    ],
)
def test_models_that_do_not_fit_are_refused(load, op: str, attributes, message: str) -> None:
    with pytest.raises(hr.Error, match=rf"node 'it' \({op}\).*{message}"):
        load(op, ["f32"], ["f32"], features=2, **attributes)(f32([1, 2]))


def test_support_vectors_of_classes_are_counted(load) -> None:
    with pytest.raises(hr.Error, match="'vectors_per_class'.*got -1"):
        load(
            "SVMClassifier",
            ["f32"],
            ["i64", "f32"],
            coefficients=[1.0, 1.0],
            rho=[0.0],
            support_vectors=[1.0, 1.0],
            vectors_per_class=[3, -1],
            classlabels_ints=[0, 1],
        )(f32([1]))


# Features


def test_normalizers_leave_rows_without_length(load, tmp_path: Path) -> None:
    for norm in ("MAX", "L1", "L2"):
        model = load("Normalizer", ["f32"], ["f32"], norm=norm)
        x = f32([-3, 1], [2, 1], [0, 0])
        assert_close(model(x), peer(tmp_path, x)[0])


def test_imputers_replace_one_value_in_integers_and_floats(load) -> None:
    whole = load(
        "Imputer", ["i64"], ["i64"], imputed_value_int64s=[10, 20], replaced_value_int64=-1
    )
    assert whole(np.array([[-1, -1], [3, -1]])).tolist() == [[10, 20], [3, 20]]
    real = load("Imputer", ["f32"], ["f32"], imputed_value_floats=[5.0], replaced_value_float=NAN)
    assert real(f32([NAN, 1], [2, NAN])).tolist() == [[5, 1], [2, 5]]


def test_categories_become_ones_and_zeros(load) -> None:
    numbers = load("OneHotEncoder", ["f32"], ["f32"], rank=1, cats_int64s=[4, 0, 2])
    assert numbers(f32(2, 0, 9, NAN)).tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 0]]
    words = load("OneHotEncoder", ["string"], ["f32"], rank=1, cats_strings=["a", "b"])
    assert words(np.array(["b", "?"], dtype=object)).tolist() == [[0, 1], [0, 0]]


def test_unknown_categories_are_errors_where_they_must_be_known(load) -> None:
    numbers = load("OneHotEncoder", ["i64"], ["f32"], rank=1, cats_int64s=[4, 5], zeros=0)
    assert numbers(np.array([5])).tolist() == [[0, 1]]
    with pytest.raises(hr.Error, match="'it'"):
        numbers(np.array([6]))
    words = load("OneHotEncoder", ["string"], ["f32"], rank=1, cats_strings=["a"], zeros=0)
    with pytest.raises(hr.Error, match="'it'.*got '\\?'"):
        words(np.array(["?"], dtype=object))


def test_features_of_several_types_are_put_side_by_side(load) -> None:
    model = load("FeatureVectorizer", ["f32", "i64"], ["f32"], rows="n", inputdimensions=[2, 1])
    found = model(f32([1, 2], [3, 4]), np.array([[5], [6]]))
    assert found.tolist() == [[1, 2, 5], [3, 4, 6]]


def test_category_mappers_go_both_ways(load) -> None:
    lists = {"cats_strings": ["a", "b"], "cats_int64s": [5, 9]}
    to_numbers = load("CategoryMapper", ["string"], ["i64"], rank=1, default_int64=-7, **lists)
    assert to_numbers(np.array(["b", "z"], dtype=object)).tolist() == [9, -7]
    to_words = load("CategoryMapper", ["i64"], ["string"], rank=1, default_string="?", **lists)
    assert to_words(np.array([5, 6])).tolist() == ["a", "?"]


def test_the_first_version_of_label_encoders_counts_positions(load) -> None:
    model = load("LabelEncoder", ["string"], ["i64"], version=1, rank=1, classes_strings=["x", "y"])
    assert model(np.array(["y", "x", "?"], dtype=object)).tolist() == [1, 0, -1]


# Maps


def test_scores_and_labels_make_maps(load) -> None:
    sequence = helper.make_sequence_type_proto(map_type("i64", "f32"))
    model = load("ZipMap", ["f32"], [sequence], classlabels_int64s=[3, 5])
    assert model.outputs[0].element_type == "sequence(map(i64, f32))"
    assert model(f32([0.25, 0.75], [1, 0])) == [{3: 0.25, 5: 0.75}, {3: 1.0, 5: 0.0}]
    assert model(np.zeros((0, 2), np.float32)) == []
    with pytest.raises(hr.Error, match=r"node 'it' \(ZipMap\).*expected rows of 2"):
        model(f32([1, 2, 3]))


def test_maps_become_rows_of_a_vocabulary(load) -> None:
    words = load(
        "DictVectorizer", [map_type("string", "f32")], ["f32"], string_vocabulary=["a", "c", "b"]
    )
    assert words({"b": 2.5, "a": 1, "z": 9}).tolist() == [[1, 0, 2.5]]
    assert words({}).tolist() == [[0, 0, 0]]
    counts = load(
        "DictVectorizer", [map_type("i64", "string")], ["string"], int64_vocabulary=[1, 2]
    )
    assert counts({2: "two"}).tolist() == [["", "two"]]


def test_maps_are_cast_to_dense_and_sparse_rows(load) -> None:
    kind = [map_type("i64", "f32")]
    dense = load("CastMap", kind, ["i64"], cast_to="TO_INT64")
    assert dense({9: 2.0, 1: 3.7, 4: -1.0}).tolist() == [[3, -1, 2]]
    sparse = load("CastMap", kind, ["f32"], map_form="SPARSE", max_map=4)
    assert sparse({2: 1.5, 0: 7}).tolist() == [[7, 0, 1.5, 0]]
    with pytest.raises(hr.Error, match="keys from 0 to 3, got 4"):
        sparse({4: 1.0})
    texts = load("CastMap", [map_type("i64", "string")], ["f32"])
    assert texts({0: "1.5", 1: "-2"}).tolist() == [[1.5, -2]]
    with pytest.raises(hr.Error, match="expected numeric values, got 'three'"):
        texts({0: "three"})


@pytest.mark.parametrize("given", [[1], {"a": 1.0}, {1: "a"}, {1.5: 2.0}])
def test_inputs_that_are_no_such_maps_are_refused(load, given: Any) -> None:
    model = load("CastMap", [map_type("i64", "f32")], ["f32"])
    with pytest.raises(hr.Error, match="'x0"):
        model(given)
