"""Transposes fused with operands that are in other orders, or lack dimensions, are exact."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
hr = pytest.importorskip("headrace")

from onnx import TensorProto, helper  # noqa: E402


def added(shape: tuple[int, ...], order: tuple[int, ...], others: list[tuple[int, ...]]) -> bytes:
    """A model: an image in another order, with one operand after the other added, then ReLU."""
    shapes = {"x": shape} | {f"o{i}": other for i, other in enumerate(others)}
    nodes = [helper.make_node("Transpose", ["x"], ["s0"], perm=order)]
    for i in range(len(others)):
        nodes.append(helper.make_node("Add", [f"s{i}", f"o{i}"], [f"s{i + 1}"]))
    nodes.append(helper.make_node("Relu", [f"s{len(others)}"], ["y"]))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "graph",
        [info(name, TensorProto.FLOAT, size) for name, size in shapes.items()],
        [info("y", TensorProto.FLOAT, None)],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (1, 2, 0)], ids=str)
@pytest.mark.parametrize("shape", [(1, 33, 40), (3, 16, 16), (17, 18, 31), (2, 64, 100)], ids=str)
def test_values(shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    a, b, c = (shape[dim] for dim in order)
    for others in ([(b, 1)], [(c,)], [(a, b, c)], [(1,), (a, 1, 1)], [(b, 1), (a, b, c)]):
        feeds = {f"o{i}": random.standard_normal(s, np.float32) for i, s in enumerate(others)}
        feeds["x"] = random.standard_normal(shape, np.float32)
        expected = feeds["x"].transpose(order)
        for i in range(len(others)):
            expected = expected + feeds[f"o{i}"]
        found = np.asarray(hr.load(added(shape, order, others))(**feeds))
        np.testing.assert_array_equal(found, np.maximum(expected, 0))
