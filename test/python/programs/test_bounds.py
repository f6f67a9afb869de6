"""Bounds on what a small file can ask of the compiler: memory while folding, time per node."""

import subprocess
import sys

import headrace
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from cases.policy import assert_close


def model(nodes, shape, outputs, initializers=()):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in initializers],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def load(tmp_path):
    def loaded(proto):
        onnx.save(proto, tmp_path / "model.onnx")
        return headrace.load(tmp_path / "model.onnx")

    return loaded


def chain(step, length, shape, initializers=()):
    """A graph of `length` times the nodes that `step` makes of a number, an input and an output."""
    nodes, last = [], "x"
    for i in range(length):
        nodes += step(i, last, f"v{i}")
        last = f"v{i}"
    return model(nodes, shape, [last], initializers)


def test_a_few_bytes_do_not_fold_to_gigabytes(tmp_path):
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["c"]),
        helper.make_node("ReduceSum", ["c"], ["r"]),
        helper.make_node("Add", ["r", "x"], ["y"]),
    ]
    size = np.array([1 << 29], np.int64)
    path = tmp_path / "bomb.onnx"
    onnx.save(model(nodes, [1], ["y"], [("s", size)]), path)
    # In a process of its own, because the peak is the process's.
    script = (
        "import sys, resource, headrace, numpy as np\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "headrace.load(sys.argv[1]).explain()\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kilobytes = int(done.stdout.splitlines()[-1])
    assert kilobytes < 512 << 10


def test_functions_of_weights_fold_whatever_their_number(load):
    weight = np.full((64, 64), 0.5, np.float32)
    folded = chain(
        lambda i, x, y: [helper.make_node("Mul", ["w" if i == 0 else x, "w"], [y])],
        8,
        [1],
        [("w", weight)],
    )
    folded.graph.node.append(helper.make_node("Add", ["v7", "x"], ["y"]))
    folded.graph.output[0].name = "y"
    compiled = load(folded)
    assert [kernel["operators"] for kernel in compiled.explain()["kernels"]] == [["Add_y"]]


def test_a_kernel_has_some_hundred_operators_at_most(load):
    long = chain(lambda i, x, y: [helper.make_node(["Neg", "Relu"][i % 2], [x], [y])], 1000, [2, 3])
    compiled = load(long)
    kernels = compiled.explain()["kernels"]
    assert all(len(kernel["operators"]) <= 128 for kernel in kernels)
    x = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
    np.testing.assert_array_equal(compiled(x), np.zeros_like(x))


def test_values_read_twice_at_each_step_do_not_double_the_work(load):
    """These took time exponential in the number of nodes, so that an end is the assertion."""
    residual = chain(
        lambda i, x, y: [
            helper.make_node("Tanh", [x], [y + "r"]),
            helper.make_node("Add", [x, y + "r"], [y]),
        ],
        100,
        [8, 8],
    )
    rows = chain(
        lambda i, x, y: [
            helper.make_node("ReduceMean", [x], [y + "s"], axes=[1]),
            helper.make_node("Sub", [x, y + "s"], [y]),
        ],
        40,
        [100, 8],
    )
    x = np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32)
    expected = x.astype(np.float64)
    for _ in range(100):
        expected = expected + np.tanh(expected)
    assert_close(load(residual)(x), expected, tolerance=1e-4)
    rowwise = np.random.default_rng(2).standard_normal((100, 8)).astype(np.float32)
    centered = rowwise - rowwise.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(load(rows)(rowwise), centered, atol=1e-5)


def test_results_beyond_the_machine_name_themselves(load):
    """Nothing of that size is touched: a system that promises the memory would end the process."""
    size = ("s", np.array([1, 1 << 40], np.int64))
    node = helper.make_node("Expand", ["x", "s"], ["y"], name="wide")
    with pytest.raises(
        headrace.Error, match="output 'y': needs 4.4 TB for a tensor of 1x1099511627776"
    ):
        load(model([node], [1], ["y"], [size]))(np.ones(1, np.float32))


def test_temporaries_beyond_the_machine_name_their_node(load):
    nodes = [
        helper.make_node("Expand", ["x", "s"], ["e"]),
        helper.make_node("Transpose", ["e"], ["t"], perm=[1, 0]),
        helper.make_node("MatMul", ["t", "e"], ["m"], name="square"),
        helper.make_node("ReduceSum", ["m"], ["y"]),
    ]
    size = ("s", np.array([1, 1 << 20], np.int64))
    with pytest.raises(headrace.Error, match="intermediate results.*'square'"):
        load(model(nodes, [1], ["y"], [size]))(np.ones(1, np.float32))


def test_messages_quote_a_part_of_long_text(load):
    equation = "i" * 100_000 + "...->i"
    node = helper.make_node("Einsum", ["x"], ["y"], equation=equation, name="n" * 100_000)
    with pytest.raises(headrace.Error) as raised:
        load(model([node], [1], ["y"]))
    assert len(str(raised.value)) < 1000


def test_concatenations_of_very_many_are_put_together_in_parts(load):
    """In one kernel this took a minute."""
    nodes = [helper.make_node("Mul", ["x", f"w{i}"], [f"v{i}"]) for i in range(150)]
    nodes.append(helper.make_node("Concat", [f"v{i}" for i in range(150)], ["y"], axis=0))
    weights = [(f"w{i}", np.float32(i)) for i in range(150)]
    x = np.arange(3, dtype=np.float32)
    found = load(model(nodes, [3], ["y"], weights))(x)
    np.testing.assert_array_equal(found, np.concatenate([x * i for i in range(150)]))


def test_chains_of_products_are_walked_whatever_their_length(tmp_path):
    """The axes of all products together have more points than 64 bits count."""
    weights = [(f"w{i}", np.eye(32, dtype=np.float32)[::-1].copy()) for i in range(14)]
    products = chain(
        lambda i, x, y: [helper.make_node("MatMul", [x, f"w{i}"], [y], name=f"p{i}")],
        14,
        ["rows", 32],
        weights,
    )
    onnx.save(products, tmp_path / "model.onnx")
    lines = [f"expand p{i} as generated" for i in range(14)]
    lines += [f"fuse p{i} into p0" for i in range(13, 0, -1)]
    walked = headrace.load(tmp_path / "model.onnx", recipe="\n".join([*lines, "walk p13 along d0"]))
    x = np.arange(96, dtype=np.float32).reshape(3, 32)
    np.testing.assert_array_equal(walked(x), x)
    assert [kernel["kind"] for kernel in walked.explain()["kernels"]] == ["walk"]
