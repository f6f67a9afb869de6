"""Errors that only data can show: indices that do not exist, integers divided by 0. An error names
the node, the value, its position and the allowed range; the model can be called again."""

from __future__ import annotations

import os
import subprocess

import headrace as hr
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from cases import graph_text  # noqa: E402

TABLE = np.arange(30, dtype=np.float32).reshape(10, 3)
TYPES = {
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "float32": TensorProto.FLOAT,
}


@pytest.fixture
def save(tmp_path):
    def write(nodes, inputs, outputs, constants=()):
        def infos(values):
            return [
                helper.make_tensor_value_info(name, TYPES[kind], shape)
                for name, kind, shape in values
            ]

        graph = helper.make_graph(
            nodes,
            "test",
            infos(inputs),
            infos(outputs),
            [onnx.numpy_helper.from_array(array, name) for name, array in constants],
        )
        opset = [helper.make_opsetid("", 17)]
        path = tmp_path / "model.onnx"
        onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), str(path))
        return path

    return write


def gather(axis=0, name="embed"):
    return helper.make_node("Gather", ["table", "i"], ["y"], name=name, axis=axis)


@pytest.fixture
def embedding_path(save):
    return save(
        [gather()],
        [("i", "int64", ["n", "m"])],
        [("y", "float32", None)],
        [("table", TABLE)],
    )


def test_index_is_named(embedding_path):
    model = hr.load(embedding_path)
    good = np.array([[0, 9], [-1, -10]])
    np.testing.assert_array_equal(model(good), TABLE[good])
    for value in [10, -11, 2**62, -(2**63), 2**63 - 1]:
        bad = np.array([[0, 9, 1], [3, value, 99]])
        expected = rf"^node 'embed' \(Gather\): index {value} at \[1, 1\] is outside \[-10, 10\)$"
        with pytest.raises(hr.OutOfRangeError, match=expected):
            model(bad)
        with pytest.raises(hr.OutOfRangeError, match=expected):
            model.reference(bad)
    np.testing.assert_array_equal(model(good), TABLE[good])


def test_session_and_command_line(embedding_path):
    session = hr.InferenceSession(embedding_path)
    with pytest.raises(hr.OutOfRangeError, match="index 77"):
        session.run(None, {"i": np.full((2, 2), 77)})
    done = subprocess.run(
        [os.environ.get("HEADRACE_BIN", "headrace"), "run", str(embedding_path)]
        + ["--input", "i=2x2xi64=1,2,3,50"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "node 'embed' (Gather): index 50 at [1, 1] is outside [-10, 10)" in done.stderr


def test_empty_and_open_sizes(save):
    path = save(
        [gather(axis=1, name="pick")],
        [("table", "float32", ["rows", "cols"]), ("i", "int32", ["n"])],
        [("y", "float32", None)],
    )
    model = hr.load(path)
    table = np.arange(12, dtype=np.float32).reshape(2, 6)
    for indices in ([], [5], [0, -6, 5]):
        i = np.array(indices, dtype=np.int32)
        np.testing.assert_array_equal(model(table, i), table[:, i])
    for columns in (1, 6, 7):
        with pytest.raises(
            hr.OutOfRangeError, match=rf"index 7 at \[2\] is outside \[-{columns}, "
        ):
            model(np.zeros((2, columns), np.float32), np.array([0, -1, 7, 8], np.int32))


def test_first_position_of_many(save):
    path = save(
        [gather()],
        [("table", "float32", ["rows"]), ("i", "int64", ["n"])],
        [("y", "float32", None)],
    )
    model = hr.load(path)
    table = np.arange(1000, dtype=np.float32)
    rng = np.random.default_rng(0)
    indices = rng.integers(-1000, 1000, 300_000)
    np.testing.assert_array_equal(model(table, indices), table[indices])
    for first in (0, 150_001, 299_999):
        bad = indices.copy()
        bad[first:][rng.random(300_000 - first) < 0.01] = 1000
        bad[first] = -1001
        expected = rf"index -1001 at \[{first}\] is outside \[-1000, 1000\)"
        with pytest.raises(hr.OutOfRangeError, match=expected):
            model(table, bad)


def test_indices_that_are_computed(save):
    """One of a pair of nodes is named, the one whose indices are wrong."""
    path = save(
        [
            helper.make_node("Add", ["i", "one"], ["j"], name="next"),
            helper.make_node("Gather", ["table", "j"], ["row"], name="first"),
            helper.make_node("Gather", ["table", "i"], ["old"], name="second"),
            helper.make_node("Add", ["row", "old"], ["y"]),
        ],
        [("i", "int64", ["n"])],
        [("y", "float32", None), ("j", "int64", None)],
        [("table", TABLE), ("one", np.array(1))],
    )
    model = hr.load(path)
    i = np.array([0, 8, -10])
    y, j = model(i)
    np.testing.assert_array_equal(y, TABLE[i + 1] + TABLE[i])
    np.testing.assert_array_equal(j, i + 1)
    with pytest.raises(hr.OutOfRangeError, match=r"'first' \(Gather\): index 10 at \[0\]"):
        model(np.array([9]))
    with pytest.raises(hr.OutOfRangeError, match=r"'second' \(Gather\): index -11 at \[1\]"):
        model(np.array([0, -11]))


def test_known_indices_cost_nothing(save):
    positions = np.arange(10)
    path = save(
        [helper.make_node("Gather", ["table", "i"], ["y"], name="embed")],
        [("table", "float32", [10, "n"])],
        [("y", "float32", None)],
        [("i", positions)],
    )
    assert "hr.check" not in hr.load(path).ir("import")
    path = save(
        [helper.make_node("Gather", ["table", "i"], ["y"], name="embed")],
        [("table", "float32", [9, "n"])],
        [("y", "float32", None)],
        [("i", positions)],
    )
    with pytest.raises(hr.Error, match=r"node 'embed' \(Gather\): .*index 9"):
        hr.load(path)


def divided(save, op, kind, **attributes):
    nodes = [helper.make_node(op, ["a", "b"], ["y"], name="halve", **attributes)]
    return save(nodes, [("a", kind, ["n"]), ("b", kind, ["n"])], [("y", kind, None)])


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize(("op", "attributes"), [("Div", {}), ("Mod", {}), ("Mod", {"fmod": 1})])
def test_division_of_integers(save, op, kind, attributes):
    model = hr.load(divided(save, op, kind, **attributes))
    least = np.iinfo(kind).min
    # One element, some, and enough for vectors and what is left of them.
    for count in (1, 3, 67):
        a = np.resize(np.array([least, least, -7, 7, -1, 0, least + 1], kind), count)
        b = np.resize(np.array([-1, least, 2, -2, -1, -1, 3], kind), count)
        exact = [int(x) for x in a], [int(x) for x in b]
        if op == "Div":
            wide = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(*exact)]
        elif attributes:
            wide = [abs(x) % abs(y) * (-1 if x < 0 else 1) for x, y in zip(*exact)]
        else:
            wide = [x % y for x, y in zip(*exact)]
        bits = np.iinfo(kind).bits
        expected = np.array([(w - least) % 2**bits + least for w in wide], kind)
        np.testing.assert_array_equal(model(a, b), expected)
        b[-1] = 0
        with pytest.raises(
            hr.DivisionByZeroError,
            match=rf"^node 'halve' \({op}\): integers divided by 0 at \[{count - 1}\]$",
        ):
            model(a, b)
        with pytest.raises(ZeroDivisionError):
            model.reference(a, b)


def test_division_of_floats_is_that_of_the_standard(save):
    model = hr.load(divided(save, "Div", "float32"))
    a, zero = np.array([1, -1, 0], np.float32), np.zeros(3, np.float32)
    np.testing.assert_array_equal(model(a, zero), np.array([np.inf, -np.inf, np.nan], np.float32))


def test_constant_divisors(save):
    node = helper.make_node("Div", ["a", "b"], ["y"], name="halve")
    io = [("a", "int32", ["n"])], [("y", "int32", None)]
    assert "hr.check" not in hr.load(save([node], *io, [("b", np.int32(3))])).ir("import")
    with pytest.raises(
        hr.DivisionByZeroError, match=r"node 'halve' \(Div\): integers divided by 0"
    ):
        hr.load(save([node], *io, [("b", np.int32(0))]))


def test_packages(embedding_path, tmp_path):
    package = tmp_path / "embed.hrpkg"
    hr.write_package(embedding_path, package, processors=["native"])
    model = hr.load(package)
    good = np.array([[1, 2]])
    with pytest.raises(hr.OutOfRangeError, match=r"node 'embed' \(Gather\): index 10 at \[0, 1\]"):
        model(np.array([[1, 10]]))
    np.testing.assert_array_equal(model(good), TABLE[good])


def test_gradients(save):
    path = save(
        [gather(), helper.make_node("ReduceSum", ["y"], ["z"], keepdims=0)],
        [("table", "float32", [10, 3]), ("i", "int64", ["n"])],
        [("z", "float32", [])],
    )
    f = hr.value_and_grad(hr.load(path), wrt="table")
    value, slope = f(TABLE, np.array([1, 1, -1]))
    expected = np.zeros_like(TABLE)
    expected[1], expected[9] = 2, 1
    np.testing.assert_array_equal(slope, expected)
    assert value == TABLE[[1, 1, -1]].sum()
    value, slope = f(TABLE, np.array([], np.int64))
    assert value == 0 and not slope.any()
    with pytest.raises(hr.OutOfRangeError, match=r"node 'embed' \(Gather\): index 10 at \[2\]"):
        f(TABLE, np.array([1, 1, 10]))


class TestExpressions:
    n, m = hr.var("n m")
    T = hr.placeholder((n, 3), name="T")
    J = hr.placeholder((m,), "i64", name="J")

    def expect(self, stage, message, *inputs):
        f = hr.compile(stage)
        with pytest.raises(hr.OutOfRangeError, match=message):
            f(*inputs)
        with pytest.raises(hr.OutOfRangeError, match=message):
            f.reference(*inputs)

    def test_plain_index(self):
        picked = hr.compute((self.m, 3), lambda i, j: self.T[self.J[i], j], name="P")
        text = r"^stage 'P': T\[J\[i0?\], .*\]: index {} at \[1\] is outside \[0, 10\)$"
        self.expect(picked, text.format(10), TABLE, np.array([9, 10, -1]))
        self.expect(picked, text.format(-1), TABLE, np.array([9, -1, 99]))

    def test_computed_index(self):
        picked = hr.compute((self.m, 3), lambda i, j: self.T[2 * self.J[i] + 1, j], name="P")
        f = hr.compile(picked)
        np.testing.assert_array_equal(f(TABLE, np.array([4, 0])), TABLE[[9, 1]])
        self.expect(picked, r"index 11 at \[1\] is outside \[0, 10\)", TABLE, np.array([4, 5]))

    def test_index_of_an_index(self):
        picked = hr.compute((self.m, 3), lambda i, j: self.T[self.J[self.J[i]], j], name="P")
        f = hr.compile(picked)
        j = np.array([2, 0, 1])
        np.testing.assert_array_equal(f(TABLE, j), TABLE[j[j]])
        self.expect(
            picked, r"J\[J\[.*index 3 at \[1\] is outside \[0, 3\)", TABLE, np.array([2, 3, 1])
        )

    def test_conditions_guard(self):
        def value(i, j):
            known = hr.all(self.J[i] >= 0, self.J[i] < self.n)
            return hr.select(known, self.T[self.J[i], j], -1.0)

        f = hr.compile(hr.compute((self.m, 3), value, name="P"))
        j = np.array([3, -5, 10, 9])
        expected = np.where(((j >= 0) & (j < 10))[:, None], TABLE[np.clip(j, 0, 9)], -1)
        np.testing.assert_array_equal(f(TABLE, j), expected)
        half = hr.compute(
            (self.m, 3),
            lambda i, j: hr.select(self.J[i] >= 0, self.T[self.J[i], j], -1.0),
            name="P",
        )
        self.expect(half, r"index 10 at \[2\] is outside \[0, 10\)", TABLE, j)

    def test_reduction_and_gradient(self):
        r = hr.axis(self.m)
        bag = hr.compute((), lambda: hr.sum(self.T[self.J[r], 1], axis=r), name="bag")
        f = hr.value_and_grad(hr.compile(bag), wrt="T")
        value, slope = f(TABLE, np.array([1, 1, 4]))
        assert value == TABLE[[1, 1, 4], 1].sum()
        assert slope[1, 1] == 2 and slope[4, 1] == 1 and slope.sum() == 3
        with pytest.raises(hr.OutOfRangeError, match=r"index 10 at \[1\]"):
            f(TABLE, np.array([1, 10, 4]))


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_powers_of_integers_divide_by_nothing(save, kind):
    model = hr.load(divided(save, "Pow", kind))
    for count in (6, 67):
        a = np.resize(np.array([2, -1, 1, 0, -1, 3], kind), count)
        b = np.resize(np.array([-1, -1, -5, -1, -2, 3], kind), count)
        np.testing.assert_array_equal(model(a, b), np.resize([0, -1, 1, 0, 1, 27], count))


@pytest.mark.parametrize("batch", ["2", "N"])
def test_lengths_of_recurrent_layers_are_as_many_as_sequences(tmp_path, batch: str) -> None:
    text = (
        f"m (float[5,{batch},3] x, float[1,12,3] w, float[1,12,4] r, int32[L] lengths) => (float y)"
        "{ y = GRU<hidden_size=4>(x, w, r, , lengths) }"
    )
    model = hr.load(graph_text.write(tmp_path / "model.onnx", text, opset=14))
    x, w, r = (np.ones(shape, np.float32) for shape in ((5, 2, 3), (1, 12, 3), (1, 12, 4)))
    assert model(x, w, r, np.array([5, 3], np.int32)).shape == (5, 1, 2, 4)
    for count in (1, 3):
        with pytest.raises(hr.Error, match="L|lengths"):
            model(x, w, r, np.full(count, 5, np.int32))
