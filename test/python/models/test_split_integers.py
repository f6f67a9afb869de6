"""Quantized models that are split into several programs compute in integers, as one program does."""

from __future__ import annotations

import headrace as hr
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

rng = np.random.default_rng(3)
WEIGHTS = {
    "w": rng.integers(-127, 128, (8, 4, 3, 3)).astype(np.int8),
    "b": rng.integers(-900, 900, 8).astype(np.int32),
    "s": np.float32(0.05),
    "z": np.uint8(117),
    "sw": np.float32(0.01),
    "zw": np.int8(0),
    "sb": np.float32(np.float32(0.05) * np.float32(0.01)),
    "zb": np.int32(0),
}


def node(kind: str, inputs: list[str], output: str, **attributes) -> onnx.NodeProto:
    return helper.make_node(kind, inputs, [output], name=output, **attributes)


def quantized_layers() -> list[onnx.NodeProto]:
    return [
        node("QuantizeLinear", ["x", "s", "z"], "xq"),
        node("DequantizeLinear", ["xq", "s", "z"], "xf"),
        node("DequantizeLinear", ["w", "sw", "zw"], "wf"),
        node("DequantizeLinear", ["b", "sb", "zb"], "bf"),
        node("Conv", ["xf", "wf", "bf"], "conv", pads=[1, 1, 1, 1]),
        node("Relu", ["conv"], "relu"),
        node("QuantizeLinear", ["relu", "s", "z"], "yq"),
        node("DequantizeLinear", ["yq", "s", "z"], "y"),
    ]


def model(nodes: list[onnx.NodeProto], outputs: dict[str, int]) -> bytes:
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "quantized",
        [info("x", TensorProto.FLOAT, [1, 4, "h", 6]), info("on", TensorProto.BOOL, [])],
        [info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in WEIGHTS.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    return made.SerializeToString()


def operators(compiled: hr.Model) -> set[str]:
    return {name for kernel in compiled.explain()["kernels"] for name in kernel["operators"]}


def feeds(height: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_normal((1, 4, height, 6)).astype(np.float32) * 4, np.array(True)


@pytest.mark.parametrize("height", [7, 12])
def test_values_that_depend_on_data_leave_integers(height: int) -> None:
    whole = hr.load(model(quantized_layers(), {"y": TensorProto.FLOAT}))
    staged = hr.load(
        model(
            [*quantized_layers(), node("NonZero", ["y"], "positions")],
            {"y": TensorProto.FLOAT, "positions": TensorProto.INT64},
        )
    )
    assert staged.is_split and not whole.is_split
    x, on = feeds(height)
    expected = whole(x, on)
    found, positions = staged(x, on)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(positions, np.nonzero(expected))
    # The sums of integers, whose scale is applied after them.
    assert "conv/scale" in operators(staged)


def test_graphs_inside_of_nodes_are_integers_with_constants_from_around() -> None:
    info = helper.make_tensor_value_info
    then = helper.make_graph(quantized_layers(), "then", [], [info("y", TensorProto.FLOAT, None)])
    other = helper.make_graph(
        [node("Identity", ["x"], "same")], "other", [], [info("same", TensorProto.FLOAT, None)]
    )
    staged = hr.load(
        model(
            [node("If", ["on"], "z1", then_branch=then, else_branch=other)],
            {"z1": TensorProto.FLOAT},
        )
    )
    whole = hr.load(model(quantized_layers(), {"y": TensorProto.FLOAT}))
    x, on = feeds(5)
    np.testing.assert_array_equal(staged(x, on), whole(x, on))
    assert "conv/scale" in operators(staged)
    np.testing.assert_array_equal(staged(x, np.array(False)), x)
