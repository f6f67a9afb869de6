"""Rows of tables that are joined, products of rows with each other, and elements picked of them: as recommendation
models have them."""

from __future__ import annotations

import headrace
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

TYPES = {np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE, np.int32: TensorProto.INT32}


@pytest.fixture
def load(tmp_path):
    def loaded(proto, **options):
        onnx.save(proto, tmp_path / "model.onnx")
        return headrace.load(tmp_path / "model.onnx", **options)

    return loaded


def model_of(nodes, inputs, output, constants) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(output[0], output[1], None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def interactions(tables: int, width: int, kind, batch):
    """A model of `tables` tables and one dense row, joined, multiplied with each other and with the lower triangle of
    that joined with the dense row; and the same in NumPy."""
    random = np.random.default_rng(7)
    rows = [random.standard_normal((11 + i, width)).astype(kind) for i in range(tables)]
    constants = {f"table{i}": each for i, each in enumerate(rows)} | {"one": np.array([1])}
    nodes = [helper.make_node("Unsqueeze", ["dense", "one"], ["row"])]
    for i in range(tables):
        constants[f"column{i}"] = np.array(i)
        nodes += [
            helper.make_node("Gather", ["picks", f"column{i}"], [f"picks{i}"], axis=1),
            helper.make_node("Gather", [f"table{i}", f"picks{i}"], [f"picked{i}"]),
            helper.make_node("Unsqueeze", [f"picked{i}", "one"], [f"row{i}"]),
        ]
    nodes.append(
        helper.make_node("Concat", ["row", *(f"row{i}" for i in range(tables))], ["all"], axis=1)
    )
    nodes.append(helper.make_node("Transpose", ["all"], ["turned"], perm=[0, 2, 1]))
    nodes.append(helper.make_node("MatMul", ["all", "turned"], ["products"]))
    n = tables + 1
    lower = np.tril_indices(n, -1)
    constants["pairs"] = lower[0] * n + lower[1]
    nodes += [
        helper.make_node("Flatten", ["products"], ["flat"]),
        helper.make_node("Gather", ["flat", "pairs"], ["picked"], axis=1),
        helper.make_node("Concat", ["dense", "picked"], ["result"], axis=1),
    ]
    inputs = [
        ("dense", TYPES[kind], [batch, width]),
        ("picks", TensorProto.INT64, [batch, tables]),
    ]
    output = ("result", TYPES[kind])

    def expected(dense, picks):
        together = np.stack([dense, *(r[picks[:, i]] for i, r in enumerate(rows))], axis=1)
        products = together @ together.transpose(0, 2, 1)
        return np.concatenate([dense, products[(slice(None), *lower)]], axis=1)

    return model_of(nodes, inputs, output, constants), expected


def compare(model, expected, width: int, tables: int, kind, batch: int) -> None:
    random = np.random.default_rng(batch)
    dense = random.standard_normal((batch, width)).astype(kind)
    picks = random.integers(-11, 11, (batch, tables))
    found, wanted = np.asarray(model(dense=dense, picks=picks)), expected(dense, picks)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-4 if kind == np.float32 else 1e-10, atol=1e-4)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("target", "specialize"), [("cpu", "never"), ("cpu:x86-64-v3", "always")])
@pytest.mark.parametrize(
    ("tables", "width"), [(26, 64), (4, 8), (7, 19), (12, 5), (2, 3), (31, 33)]
)
def test_interactions_of_any_size(load, tables, width, kind, target, specialize):
    model, expected = interactions(tables, width, kind, "batch")
    loaded = load(model, target=target, specialize=specialize)
    for batch in (1, 2, 0, 37, 128):
        compare(loaded, expected, width, tables, kind, batch)


@pytest.mark.parametrize(
    "numbers",
    [
        [0, 1, 2, 3, 10, 11, 12, 13],  # runs
        [5, 6, 7, 8, 9, 10, -3, -2, -1],  # also from the end
        [3, 3, 3, 3, 4, 5, 6, 7],  # one element again and again
        [15, 14, 13, 12],  # backwards
        list(range(16)),
        [7],
    ],
)
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32])
def test_runs_of_elements(load, numbers, kind):
    nodes = [
        helper.make_node("Gather", ["x", "numbers"], ["picked"], axis=2),
        helper.make_node("Concat", ["picked", "x"], ["y"], axis=2),
    ]
    model = load(
        model_of(
            nodes,
            [("x", TYPES[kind], ["n", 3, 16])],
            ("y", TYPES[kind]),
            {"numbers": np.array(numbers)},
        )
    )
    for n in (1, 2, 300):
        x = np.arange(n * 48).reshape(n, 3, 16).astype(kind)
        expected = np.concatenate([x[:, :, numbers], x], axis=2)
        np.testing.assert_array_equal(np.asarray(model(x=x)), expected)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32])
def test_joins_of_what_is_picked_along_any_axis(load, axis, kind):
    """Rows whose length does not fill vectors, and whole matrices of a table; also gathered twice, or read by others."""
    random = np.random.default_rng(3)
    table = (100 * random.standard_normal((9, 70, 27))).astype(kind)
    nodes = [
        helper.make_node("Gather", ["table", "i"], ["a"]),
        helper.make_node("Gather", ["table", "j"], ["b"]),
        helper.make_node("Concat", ["a", "x", "b", "b"], ["y"], axis=axis),
    ]
    model = load(
        model_of(
            nodes,
            [(n, TensorProto.INT64, ["n"]) for n in "ij"] + [("x", TYPES[kind], ["n", 70, 27])],
            ("y", TYPES[kind]),
            {"table": table},
        )
    )
    for n in (1, 2, 41):
        i, j = random.integers(0, 9, (2, n))
        x = table[(i + j) % 9]
        expected = np.concatenate([table[i], x, table[j], table[j]], axis=axis)
        np.testing.assert_array_equal(np.asarray(model(i=i, j=j, x=x)), expected)


@pytest.mark.parametrize(
    ("m", "n", "k"), [(27, 27, 64), (9, 40, 24), (64, 96, 32), (5, 7, 3), (6, 70, 130)]
)
@pytest.mark.parametrize("follow", [False, True])
def test_products_of_rows(load, m, n, k, follow):
    """Both operands lie along the reduced dimension."""
    nodes = [
        helper.make_node("Transpose", ["b"], ["turned"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["a", "turned"], ["c"]),
    ]
    if follow:
        nodes.append(helper.make_node("Relu", ["c"], ["d"]))
    shapes = {"a": ["batch", 3, m, k], "b": ["batch", 3, n, k]}
    inputs = [(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    model = load(model_of(nodes, inputs, ("d" if follow else "c", TensorProto.FLOAT), {}))
    random = np.random.default_rng(1)
    for batch in (0, 1, 2, 6):
        a = random.standard_normal((batch, 3, m, k)).astype(np.float32)
        b = random.standard_normal((batch, 3, n, k)).astype(np.float32)
        expected = a @ b.transpose(0, 1, 3, 2)
        expected = np.maximum(expected, 0) if follow else expected
        np.testing.assert_allclose(np.asarray(model(a=a, b=b)), expected, rtol=1e-3, atol=1e-4)
