"""Models as ONNX Runtime's optimizer and quantizer leave them: full of operators of its own domain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from cases.operators.case import Case, node, normal

headrace = pytest.importorskip("headrace")
LEVELS = onnxruntime.GraphOptimizationLevel
WIDTH, HEADS, LENGTH = 16, 2, 6


def layer_nodes(constants: dict[str, np.ndarray]) -> list[onnx.NodeProto]:
    """A transformer's layer in single steps, as exporters write it."""

    def weight(name: str, *shape: int, scale: float = 0.3) -> None:
        constants[name] = normal(*shape, seed=len(constants)) * np.float32(scale)

    for name in "qkvo":
        weight(f"w{name}", WIDTH, WIDTH)
        weight(f"b{name}", WIDTH)
    weight("w1", WIDTH, 4 * WIDTH)
    weight("b1", 4 * WIDTH)
    weight("w2", 4 * WIDTH, WIDTH)
    weight("b2", WIDTH)
    for name in ("g1", "h1", "g2", "h2"):
        weight(name, WIDTH, scale=1.0)
    constants["apart"] = np.array([0, 0, HEADS, WIDTH // HEADS])
    constants["together"] = np.array([0, 0, WIDTH])
    constants["depth"] = np.float32(np.sqrt(WIDTH // HEADS))
    constants |= {"root2": np.float32(np.sqrt(2)), "one": np.float32(1), "half": np.float32(0.5)}
    nodes = []
    for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [
            node("MatMul", f"x,w{name}", f"{name}0"),
            node("Add", f"b{name},{name}0", f"{name}1"),
            node("Reshape", f"{name}1,apart", f"{name}2"),
            node("Transpose", f"{name}2", f"{name}3", perm=order),
        ]
    nodes += [
        node("MatMul", "q3,k3", "s0"),
        node("Div", "s0,depth", "s1"),
        node("Add", "s1,mask", "s2"),
        node("Softmax", "s2", "s3", axis=-1),
        node("MatMul", "s3,v3", "c0"),
        node("Transpose", "c0", "c1", perm=[0, 2, 1, 3]),
        node("Reshape", "c1,together", "c2"),
        node("MatMul", "c2,wo", "c3"),
        node("Add", "bo,c3", "c4"),
        node("Add", "c4,x", "r1"),
        node("LayerNormalization", "r1,g1,h1", "n1", axis=-1),
        node("MatMul", "n1,w1", "m0"),
        node("Add", "b1,m0", "m1"),
        node("Div", "m1,root2", "e0"),
        node("Erf", "e0", "e1"),
        node("Add", "e1,one", "e2"),
        node("Mul", "m1,e2", "e3"),
        node("Mul", "e3,half", "m2"),
        node("MatMul", "m2,w2", "m3"),
        node("Add", "b2,m3", "m4"),
        node("Add", "m4,n1", "r2"),
        node("LayerNormalization", "r2,g2,h2", "y", axis=-1),
    ]
    return nodes


def layer() -> Case:
    constants: dict[str, np.ndarray] = {}
    nodes = layer_nodes(constants)
    mask = np.where(np.arange(LENGTH) < 4, 0, -1e4).astype(np.float32).reshape(1, 1, 1, LENGTH)
    return Case("layer", nodes, {"x": normal(2, LENGTH, WIDTH), "mask": mask}, constants)


def image_network() -> Case:
    constants = {
        "f1": normal(8, 3, 3, 3) * np.float32(0.3),
        "b1": normal(8),
        "f2": normal(8, 8, 3, 3, seed=1) * np.float32(0.2),
        "w": normal(8, 5, seed=2),
        "b": normal(5, seed=3),
    }
    same = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        node("Conv", "x,f1,b1", "c1", **same),
        node("Relu", "c1", "r1"),
        node("Conv", "r1,f2", "c2", **same),
        node("Add", "c2,r1", "s"),
        node("Relu", "s", "r2"),
        node("GlobalAveragePool", "r2", "g"),
        node("Flatten", "g", "f"),
        node("Gemm", "f,w,b", "y"),
    ]
    return Case("image", nodes, {"x": normal(2, 3, 9, 7)}, constants)


def optimized(path: Path) -> Path:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = LEVELS.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path.with_name("optimized.onnx"))
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return path.with_name("optimized.onnx")


def runtime(path: Path, inputs: dict[str, np.ndarray]) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = LEVELS.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options).run(None, inputs)[0]


def domains(path: Path) -> set[str]:
    return {node.op_type for node in onnx.load(path).graph.node if node.domain == "com.microsoft"}


@pytest.mark.parametrize(
    ("case", "fused"),
    [(layer(), "SkipLayerNormalization"), (image_network(), "FusedConv")],
    ids=["layer", "image"],
)
def test_optimized_models_give_the_same_results(case: Case, fused: str, tmp_path: Path) -> None:
    path = case.save(tmp_path)
    better = optimized(path)
    assert fused in domains(better)
    expected = runtime(path, case.inputs)
    found = headrace.load(better)(*case.inputs.values())
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


class Samples:
    """The samples that the quantizer measures ranges with."""

    def __init__(self, inputs: dict[str, np.ndarray]):
        self.left = [inputs]

    def get_next(self) -> dict[str, np.ndarray] | None:
        return self.left.pop() if self.left else None


@pytest.mark.parametrize("case", [layer(), image_network()], ids=["layer", "image"])
def test_quantized_models_give_the_same_results(case: Case, tmp_path: Path) -> None:
    quantization = pytest.importorskip("onnxruntime.quantization")
    path, narrow = case.save(tmp_path), tmp_path / "quantized.onnx"
    quantization.quantize_static(
        path, narrow, Samples(case.inputs), quant_format=quantization.QuantFormat.QOperator
    )
    expected = runtime(narrow, case.inputs)
    found = headrace.load(narrow)(*case.inputs.values())
    # One step of a quantized number, where sums in another order round a half the other way.
    step = np.ptp(expected) / 128
    np.testing.assert_allclose(found, expected, atol=2 * step)


def test_a_subgraph_is_written_where_its_node_stands(tmp_path: Path) -> None:
    """Scores are halved by the graph and a value around the node, whose name the graph uses again."""
    q = normal(1, 2, 3, 4)
    score = helper.make_tensor_value_info("s", 1, None)
    changed = helper.make_tensor_value_info("half", 1, None)
    body = helper.make_graph(
        [helper.make_node("Mul", ["s", "factor"], ["half"])], "body", [score], [changed]
    )
    attention = helper.make_node(
        "FlexAttention", ["q", "q", "q"], ["a"], domain="ai.onnx.preview", score_mod=body
    )
    nodes = [attention, helper.make_node("Neg", ["a"], ["half"])]
    graph = helper.make_graph(
        nodes,
        "outer",
        [helper.make_tensor_value_info("q", 1, list(q.shape))],
        [helper.make_tensor_value_info("half", 1, None)],
        [numpy_helper.from_array(np.float32(0.5), "factor")],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.preview", 1)]
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets), path)
    scores = np.exp(q @ q.swapaxes(2, 3) / 2 * 0.5)
    expected = -(scores / scores.sum(-1, keepdims=True)) @ q
    np.testing.assert_allclose(headrace.load(path)(q), expected, rtol=1e-4, atol=1e-5)
