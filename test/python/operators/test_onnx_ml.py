"""Operators of domain ai.onnx.ml, one at a time: every mode, and attributes that make no sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import headrace as hr
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

DOMAIN = "ai.onnx.ml"
TYPES = {
    "f32": TensorProto.FLOAT,
    "f64": TensorProto.DOUBLE,
    "i64": TensorProto.INT64,
    "i32": TensorProto.INT32,
    "string": TensorProto.STRING,
}
NAN = float("nan")


def tensor_type(name: str) -> Any:
    return helper.make_tensor_type_proto(TYPES[name], None)


def map_type(key: str, value: str) -> Any:
    return helper.make_map_type_proto(TYPES[key], tensor_type(value))


@pytest.fixture
def load(tmp_path: Path):
    """A model of one node, whose name is 'it'."""

    def make(
        op: str,
        inputs: list[Any],
        outputs: list[Any],
        version: int = 3,
        rank: int = 2,
        rows: str | None = None,
        features: int | None = None,
        **attributes: Any,
    ) -> hr.Model:
        names = [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(len(outputs))]
        attributes = {name: value for name, value in attributes.items() if value is not None}
        node = helper.make_node(op, *names, name="it", domain=DOMAIN, **attributes)

        def value(name: str, type_: Any, open_rank: bool) -> Any:
            if not isinstance(type_, str):
                return helper.make_value_info(name, type_)
            shape = None if open_rank else [*[rows] * (rank - 1), features]
            return helper.make_tensor_value_info(name, TYPES[type_], shape)

        graph = helper.make_graph(
            [node],
            "m",
            [value(n, t, False) for n, t in zip(names[0], inputs, strict=True)],
            [value(n, t, True) for n, t in zip(names[1], outputs, strict=True)],
        )
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, version)]
        path = tmp_path / "model.onnx"
        path.write_bytes(
            helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
        )
        return hr.load(path)

    return make


def peer(tmp_path: Path, *inputs: np.ndarray) -> list[Any]:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    return session.run(None, {f"x{i}": x for i, x in enumerate(inputs)})


def f32(*rows: Any) -> np.ndarray:
    return np.array(rows, dtype=np.float32)


# Trees

STUMP = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [1, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
}
REGRESSION = STUMP | {
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [10.0, 20.0],
    "n_targets": 1,
}
EDGES = f32([0, -np.inf], [0, 0.25], [0, 0.5], [0, 0.75], [0, np.inf], [0, NAN])


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize(
    ("mode", "holds"),
    [
        ("LEQ", lambda x: x <= 0.5),
        ("LT", lambda x: x < 0.5),
        ("GTE", lambda x: x >= 0.5),
        ("GT", lambda x: x > 0.5),
        ("EQ", lambda x: x == 0.5),
        ("NEQ", lambda x: x != 0.5),
    ],
)
def test_every_comparison_decides_at_its_edges(load, mode: str, holds: Any, missing: int) -> None:
    changed = {
        "nodes_modes": [f"BRANCH_{mode}", "LEAF", "LEAF"],
        "nodes_missing_value_tracks_true": [missing, 0, 0],
    }
    model = load("TreeEnsembleRegressor", ["f32"], ["f32"], **(REGRESSION | changed))
    x = EDGES[:, 1]
    expected = np.where(holds(x) | (np.isnan(x) & bool(missing)), 10, 20)
    assert model(EDGES)[:, 0].tolist() == expected.tolist()


def chains(depths: list[int], mode: str) -> dict[str, Any]:
    """Trees of which each node has a leaf on one side, in turns; a depth of 0 is a leaf alone."""
    nodes: dict[str, list[Any]] = {name: [] for name in STUMP}
    weights: dict[str, list[Any]] = {"treeids": [], "nodeids": [], "weights": []}
    for tree, depth in enumerate(depths):
        for i in range(2 * depth + 1):
            is_leaf = i % 2 == 1 or i == 2 * depth
            ways = [i + 1, i + 2] if i % 4 == 0 else [i + 2, i + 1]
            threshold = (1 if i % 4 else -1) * (2.0 - i / (depth + 1))
            row = (tree, i, (i // 2) % 3, threshold, mode, *ways)
            if is_leaf:
                row = (tree, i, 0, 0.0, "LEAF", 0, 0)
                weights["treeids"].append(tree)
                weights["nodeids"].append(i)
                weights["weights"].append(float(100 * tree + i))
            for name, each in zip(STUMP, row, strict=True):
                nodes[name].append(each)
    targets = {f"target_{name}": each for name, each in weights.items()}
    return nodes | targets | {"target_ids": [0] * len(weights["treeids"]), "n_targets": 1}


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize("mode", ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"])
def test_rows_of_any_number_walk_trees_of_any_depth(
    load, tmp_path: Path, mode: str, missing: int
) -> None:
    trees = chains([0, 3, 40, 1], f"BRANCH_{mode}")
    if missing:
        trees["nodes_missing_value_tracks_true"] = [1 - i % 2 for i in trees["nodes_nodeids"]]
    model = load("TreeEnsembleRegressor", ["f32"], ["f32"], **trees)
    x = np.random.default_rng(0).choice(f32(-np.inf, -2, -0.5, 0, 0.5, 2, np.inf, NAN), (33, 3))
    expected = peer(tmp_path, x)[0]
    for count in (0, 1, 7, 9, 33):
        assert model(x[:count]).tolist() == expected[:count].tolist()


def random_forest(seed: int, mode: str | None) -> tuple[dict[str, Any], int]:
    """Trees of depths 0 to 60, most nodes with a leaf on one side; modes of all kinds where none is given."""
    rng = np.random.default_rng(seed)
    modes = ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"] if mode is None else [mode]
    nodes: dict[str, list[Any]] = {name: [] for name in STUMP}
    weights: list[tuple[int, int, int, float]] = []
    targets = int(rng.integers(1, 4))
    for tree in range(int(rng.integers(1, 24))):
        deepest = int(rng.choice([0, 1, 3, 8, 60]))
        open_, count = [(0, 0, deepest)], 1
        while open_:
            node, depth, most = open_.pop()
            threshold = float(rng.integers(-4, 5)) / 2
            row = (tree, node, int(rng.integers(0, 3)), threshold, f"BRANCH_{rng.choice(modes)}")
            if depth >= most:
                row = (*row[:4], "LEAF", 0, 0)
                weights += [(tree, node, t, float(rng.integers(-9, 9))) for t in range(targets)]
            else:
                row = (*row, count, count + 1)
                sides = [most, most if rng.random() < 0.03 else 0]
                rng.shuffle(sides)
                open_ += [(count + i, depth + 1, most) for i, most in enumerate(sides)]
                count += 2
            for name, each in zip(STUMP, row, strict=True):
                nodes[name].append(each)
    for i, name in enumerate(("treeids", "nodeids", "ids", "weights")):
        nodes[f"target_{name}"] = [each[i] for each in weights]
    return nodes, targets


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("mode", ["LEQ", "GT", None])
@pytest.mark.parametrize("seed", range(3))
def test_random_forests_give_what_the_peer_and_the_reference_do(
    load, tmp_path: Path, seed: int, mode: str | None, missing: bool
) -> None:
    trees, targets = random_forest(seed, mode)
    rng = np.random.default_rng(seed)
    if missing:
        count = len(trees["nodes_treeids"])
        trees["nodes_missing_value_tracks_true"] = rng.integers(0, 2, count).tolist()
    aggregate = str(rng.choice(["SUM", "AVERAGE", "MIN", "MAX"]))
    model = load(
        "TreeEnsembleRegressor",
        ["f32"],
        ["f32"],
        **trees,
        n_targets=targets,
        aggregate_function=aggregate,
    )
    x = rng.choice(f32(-np.inf, -2, -0.5, 0, 0.5, 1, np.inf, NAN), (50, 3))
    expected = peer(tmp_path, x)[0]
    for rows in (50, 1, 17):
        np.testing.assert_allclose(model(x[:rows]), expected[:rows], rtol=1e-6)
    np.testing.assert_allclose(model.reference(x), expected, rtol=1e-6)


def test_features_and_nodes_too_many_for_a_word_are_walked(load, tmp_path: Path) -> None:
    """One node asks for feature 2^20; another tree has 2^13 nodes."""
    trees = chains([4096, 2], "BRANCH_LEQ")
    trees["nodes_featureids"] = [0] * len(trees["nodes_treeids"])
    trees["nodes_featureids"][-5] = 2**20
    model = load("TreeEnsembleRegressor", ["f32"], ["f32"], **trees)
    x = np.random.default_rng(0).standard_normal((3, 2**20 + 1)).astype(np.float32)
    assert model(x).tolist() == peer(tmp_path, x)[0].tolist()


def test_an_only_leaf_is_reached_whatever_the_features_are(load) -> None:
    model = load("TreeEnsembleRegressor", ["f32"], ["f32"], **chains([0, 0], "BRANCH_LEQ"))
    assert model(f32([NAN, np.inf], [0, -np.inf])).tolist() == [[100.0], [100.0]]


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("base", [None, [1.0, 2.0]])
def test_leaves_of_trees_are_combined(load, tmp_path: Path, aggregate: str, base: Any) -> None:
    two = {name: values * 2 for name, values in STUMP.items()}
    two |= {"nodes_treeids": [3, 3, 3, 8, 8, 8], "nodes_values": [0.5, 0, 0, -1.0, 0, 0]}
    weights = {
        "target_treeids": [3, 3, 8, 8, 8],
        "target_nodeids": [1, 2, 1, 2, 2],
        "target_ids": [0, 1, 1, 0, 1],
        "target_weights": [1.0, -2.0, 3.0, -4.0, 5.5],
        "n_targets": 2,
        "aggregate_function": aggregate,
    }
    if base:
        weights["base_values"] = base
    model = load("TreeEnsembleRegressor", ["f32"], ["f32"], **two, **weights)
    np.testing.assert_allclose(model(EDGES), peer(tmp_path, EDGES)[0], rtol=1e-6)


@pytest.mark.parametrize("post", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])
def test_scores_of_classes_are_transformed(load, tmp_path: Path, post: str) -> None:
    model = load(
        "TreeEnsembleClassifier",
        ["f32"],
        ["i64", "f32"],
        **STUMP,
        class_treeids=[0] * 6,
        class_nodeids=[1, 1, 1, 2, 2, 2],
        class_ids=[0, 1, 2, 0, 1, 2],
        class_weights=[0.2, 0.3, 0.5, 0.8, 0.1, 0.1],
        classlabels_int64s=[7, 8, 9],
        post_transform=post,
    )
    labels, scores = model(EDGES)
    expected = peer(tmp_path, EDGES)
    assert labels.tolist() == expected[0].tolist()
    np.testing.assert_allclose(scores, expected[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("weights", [[0.3, 0.8], [-0.3, 0.8]])
@pytest.mark.parametrize("post", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize("names", [False, True])
def test_one_score_serves_two_classes(load, tmp_path: Path, weights, post, names) -> None:
    labels = {"classlabels_strings": ["no", "yes"]} if names else {"classlabels_int64s": [4, 6]}
    model = load(
        "TreeEnsembleClassifier",
        ["f32"],
        ["string" if names else "i64", "f32"],
        **STUMP,
        class_treeids=[0, 0],
        class_nodeids=[1, 2],
        class_ids=[0, 0],
        class_weights=weights,
        post_transform=post,
        **labels,
    )
    assert model.staged == names
    found, expected = model(EDGES), peer(tmp_path, EDGES)
    assert found[0].tolist() == expected[0].tolist()
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)


def test_thresholds_in_double_precision_are_not_rounded(load) -> None:
    near = 0.1 + 1e-12
    as_tensors = {
        "nodes_values_as_tensor": numpy_helper.from_array(np.array([near, 0, 0])),
        "target_weights_as_tensor": numpy_helper.from_array(np.array([10.0, 20.0])),
    }
    rest = {k: v for k, v in REGRESSION.items() if k not in ("nodes_values", "target_weights")}
    model = load("TreeEnsembleRegressor", ["f64"], ["f32"], **rest, **as_tensors)
    x = np.array([[0, 0.1], [0, near], [0, near + 1e-12]])
    assert model(x)[:, 0].tolist() == [10, 10, 20]


def indexed(**changes: Any) -> dict[str, Any]:
    plain = {
        "n_targets": 1,
        "tree_roots": [0],
        "nodes_featureids": [0],
        "nodes_modes": np.array([6], np.uint8),
        "nodes_splits": np.array([0], np.float32),
        "nodes_truenodeids": [0],
        "nodes_falsenodeids": [1],
        "nodes_trueleafs": [1],
        "nodes_falseleafs": [1],
        "leaf_targetids": [0, 0],
        "leaf_weights": np.array([1, 2], np.float32),
        "membership_values": np.array([3, 1, 7, 8, 20, NAN], np.float32),
    } | changes
    return {
        name: numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        for name, value in plain.items()
        if value is not None
    }


def test_sets_are_searched_for_members(load) -> None:
    model = load("TreeEnsemble", ["f32"], ["f32"], version=5, **indexed())
    x = f32([0], [1], [2], [3], [4], [7], [8], [9], [20], [21], [NAN], [-np.inf])
    members = [1, 3, 7, 8, 20]
    assert model(x)[:, 0].tolist() == [1 if v in members else 2 for v in x[:, 0].tolist()]


def test_nodes_and_trees_may_be_shared(load) -> None:
    """Both ways of a node lead to the next one, and two roots are the same."""
    model = load(
        "TreeEnsemble",
        ["f32"],
        ["f32"],
        version=5,
        **indexed(
            tree_roots=[0, 2, 0],
            nodes_featureids=[0, 0, 0],
            nodes_modes=np.array([0, 6, 0], np.uint8),
            nodes_splits=np.array([5, 0, 2], np.float32),
            nodes_truenodeids=[1, 2, 0],
            nodes_falsenodeids=[2, 2, 1],
            nodes_trueleafs=[0, 0, 1],
            nodes_falseleafs=[0, 0, 1],
            nodes_missing_value_tracks_true=[1, 0, 0],
        ),
    )
    x = f32([0], [2], [3], [7], [NAN])
    assert model(x)[:, 0].tolist() == [3, 3, 6, 6, 6]
    assert model.reference(x)[:, 0].tolist() == [3, 3, 6, 6, 6]


def test_chains_of_decisions_are_walked_to_their_end(load) -> None:
    depth = 150
    model = load(
        "TreeEnsemble",
        ["f32"],
        ["f32"],
        version=5,
        **indexed(
            nodes_featureids=[0] * depth,
            nodes_modes=np.zeros(depth, np.uint8),
            nodes_splits=np.arange(depth, dtype=np.float32),
            nodes_truenodeids=list(range(depth)),
            nodes_falsenodeids=[*range(1, depth), depth],
            nodes_trueleafs=[1] * depth,
            nodes_falseleafs=[0] * (depth - 1) + [1],
            leaf_targetids=[0] * (depth + 1),
            leaf_weights=np.arange(depth + 1, dtype=np.float32),
            membership_values=None,
        ),
    )
    x = f32([-1], [0], [0.5], [70], [149], [200])
    assert model(x)[:, 0].tolist() == [0, 0, 1, 70, 149, 150]


HOSTILE = {
    "lengths that differ": ({"nodes_modes": ["BRANCH_LEQ", "LEAF"]}, "'nodes_modes': expected 3"),
    "a mode that is none": ({"nodes_modes": ["MAYBE", "LEAF", "LEAF"]}, "BRANCH_LEQ.*'MAYBE'"),
    "a child outside": ({"nodes_truenodeids": [9, 0, 0]}, "a node of tree 0, found 9"),
    "a cycle": (
        {"nodes_modes": ["BRANCH_LEQ", "BRANCH_LT", "LEAF"], "nodes_falsenodeids": [2, 1, 0]},
        "cycle",
    ),
    "a tree without a root": ({"nodes_truenodeids": [0, 0, 0]}, "cycle"),
    "a node twice": ({"nodes_nodeids": [0, 1, 1]}, "one node 1 in tree 0"),
    "a negative feature": ({"nodes_featureids": [-1, 0, 0]}, "'nodes_featureids'.*-1"),
    "a feature that rows lack": (
        {"nodes_featureids": [5, 0, 0]},
        "expected 6 features or more, found 2",
    ),
    "weights of nowhere": ({"target_nodeids": [1, 7]}, "'target_nodeids'.*found 7"),
    "weights that differ in number": ({"target_weights": [1.0]}, "'target_weights': expected 2"),
    "a target outside": ({"target_ids": [0, 1]}, "targets from 0 to 0, found 1"),
    "no targets": ({"n_targets": 0}, "1 target or more"),
    "targets without number": ({"n_targets": 2**62}, "at most 2.27 weights"),
    "base values that differ in number": ({"base_values": [1.0, 2.0]}, "'base_values': expected 1"),
    "no nodes": ({"nodes_treeids": None}, "expected nodes, found none"),
    "an unknown aggregate": ({"aggregate_function": "MEDIAN"}, "'MEDIAN'"),
    "an unknown transform": ({"post_transform": "SQUARE"}, "'SQUARE'"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_attributes_that_make_no_trees_are_refused(load, what: str) -> None:
    changes, message = HOSTILE[what]
    with pytest.raises(hr.Error, match=rf"node 'it' \(TreeEnsembleRegressor\).*{message}"):
        load("TreeEnsembleRegressor", ["f32"], ["f32"], features=2, **(REGRESSION | changes))(EDGES)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes_truenodeids": [2]}, "'nodes_truenodeids'.*found 2"),
        ({"tree_roots": [1]}, "'tree_roots'.*found 1"),
        ({"nodes_modes": np.array([9], np.uint8), "membership_values": None}, "_modes'.*found 9"),
        ({"nodes_trueleafs": [0]}, "cycle"),
        ({"membership_values": None}, "expected 1 sets"),
        ({"aggregate_function": 7}, "'aggregate_function'"),
    ],
)
def test_trees_by_position_are_checked(load, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(hr.Error, match=rf"node 'it' \(TreeEnsemble\).*{message}"):
        load("TreeEnsemble", ["f32"], ["f32"], version=5, **indexed(**changes))(f32([1]))


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
    with pytest.raises(hr.Error, match="x0_dim1 of 2"):
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
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("op", "attributes", "message"),
    [
        ("LinearRegressor", {"coefficients": [1.0, 2.0, 3.0]}, "expected 3 features, found .*2"),
        ("LinearRegressor", {"coefficients": [1.0], "targets": 0}, "'coefficients'"),
        ("LinearRegressor", {"coefficients": [1.0, 2.0], "intercepts": [1.0, 2.0]}, "'intercepts'"),
        ("SVMRegressor", {"coefficients": [1.0, 1.0], "rho": [0.0], "n_supports": 3}, "'coeff"),
        ("SVMRegressor", {"coefficients": [1.0, 1.0]}, "'rho'"),
        ("Scaler", {"offset": [1.0, 2.0, 3.0]}, "expected 3 features, found .*2"),
        ("Normalizer", {"norm": "L7"}, "'L7'"),
        ("Imputer", {}, "'imputed_value_floats' is missing"),
    ],
)
def test_models_that_do_not_fit_are_refused(load, op: str, attributes, message: str) -> None:
    with pytest.raises(hr.Error, match=rf"node 'it' \({op}\).*{message}"):
        load(op, ["f32"], ["f32"], features=2, **attributes)(f32([1, 2]))


def test_support_vectors_of_classes_are_counted(load) -> None:
    with pytest.raises(hr.Error, match="'vectors_per_class'.*found -1"):
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
        np.testing.assert_allclose(model(x), peer(tmp_path, x)[0], rtol=1e-6)


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
    with pytest.raises(hr.Error, match="'it'.*found '\\?'"):
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
    with pytest.raises(hr.Error, match="keys from 0 to 3, found 4"):
        sparse({4: 1.0})
    texts = load("CastMap", [map_type("i64", "string")], ["f32"])
    assert texts({0: "1.5", 1: "-2"}).tolist() == [[1.5, -2]]
    with pytest.raises(hr.Error, match="expected numbers as values, found 'three'"):
        texts({0: "three"})


@pytest.mark.parametrize("given", [[1], {"a": 1.0}, {1: "a"}, {1.5: 2.0}])
def test_inputs_that_are_no_such_maps_are_refused(load, given: Any) -> None:
    model = load("CastMap", [map_type("i64", "f32")], ["f32"])
    with pytest.raises(hr.Error, match="'x0"):
        model(given)
