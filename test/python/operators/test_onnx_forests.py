"""Forests of ai.onnx.ml: every comparison, aggregate and transform, and attributes that make no trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import headrace as hr
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import numpy_helper  # noqa: E402
from onnx_ml_node import NAN, f32, loader, peer  # noqa: E402

from cases.policy import assert_close


@pytest.fixture
def load(tmp_path: Path):
    return loader(tmp_path)


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
        assert_close(model(x[:rows]), expected[:rows])
    assert_close(model.reference(x), expected)


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
    assert_close(model(EDGES), peer(tmp_path, EDGES)[0])


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
    assert model.is_split == names
    found, expected = model(EDGES), peer(tmp_path, EDGES)
    assert found[0].tolist() == expected[0].tolist()
    assert_close(found[1], expected[1])


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
    "an unknown mode": ({"nodes_modes": ["MAYBE", "LEAF", "LEAF"]}, "BRANCH_LEQ.*'MAYBE'"),
    "a child outside": ({"nodes_truenodeids": [9, 0, 0]}, "a node of tree 0, got 9"),
    "a cycle": (
        {"nodes_modes": ["BRANCH_LEQ", "BRANCH_LT", "LEAF"], "nodes_falsenodeids": [2, 1, 0]},
        "cycle",
    ),
    "a tree without a root": ({"nodes_truenodeids": [0, 0, 0]}, "cycle"),
    "a node twice": ({"nodes_nodeids": [0, 1, 1]}, "one node 1 in tree 0"),
    "a negative feature": ({"nodes_featureids": [-1, 0, 0]}, "'nodes_featureids'.*-1"),
    "a feature that rows lack": (
        {"nodes_featureids": [5, 0, 0]},
        "expected 6 features or more, got 2",
    ),
    "weights of nowhere": ({"target_nodeids": [1, 7]}, "'target_nodeids'.*got 7"),
    "weights that differ in number": ({"target_weights": [1.0]}, "'target_weights': expected 2"),
    "a target outside": ({"target_ids": [0, 1]}, "targets from 0 to 0, got 1"),
    "no targets": ({"n_targets": 0}, "1 target or more"),
    "targets without number": ({"n_targets": 2**62}, "at most 2.27 weights"),
    "base values that differ in number": ({"base_values": [1.0, 2.0]}, "'base_values': expected 1"),
    "no nodes": ({"nodes_treeids": None}, "expected nodes, got none"),
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
        ({"nodes_truenodeids": [2]}, "'nodes_truenodeids'.*got 2"),
        ({"tree_roots": [1]}, "'tree_roots'.*got 1"),
        ({"nodes_modes": np.array([9], np.uint8), "membership_values": None}, "_modes'.*got 9"),
        ({"nodes_trueleafs": [0]}, "cycle"),
        ({"membership_values": None}, "expected 1 sets"),
        ({"aggregate_function": 7}, "'aggregate_function'"),
    ],
)
def test_trees_by_position_are_checked(load, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(hr.Error, match=rf"node 'it' \(TreeEnsemble\).*{message}"):
        load("TreeEnsemble", ["f32"], ["f32"], version=5, **indexed(**changes))(f32([1]))
