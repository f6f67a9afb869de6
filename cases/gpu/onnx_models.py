"""The cases' formulas as ONNX models."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper

from cases.gpu.programs import Case

ONNX_TYPES = {"f32": TensorProto.FLOAT, "bf16": TensorProto.BFLOAT16}


def nodes_of(case: Case) -> tuple[list, list[str], list]:
    """The case's formula as ONNX nodes, its outputs and its constants."""
    node = helper.make_node
    if case.formula == "mish":
        return (
            [
                node("Softplus", ["x0"], ["s"]),
                node("Tanh", ["s"], ["t"]),
                node("Mul", ["x0", "t"], ["y"]),
            ],
            ["y"],
            [],
        )
    if case.formula == "mish_both":
        one = helper.make_tensor("one", TensorProto.FLOAT, [], [1.0])
        return (
            [
                node("Softplus", ["x0"], ["s"]),
                node("Tanh", ["s"], ["t"]),
                node("Mul", ["t", "t"], ["tt"]),
                node("Sub", ["one", "tt"], ["d"]),
                node("Sigmoid", ["x0"], ["g"]),
                node("Mul", ["d", "g"], ["dg"]),
                node("Mul", ["x0", "dg"], ["xdg"]),
                node("Add", ["t", "xdg"], ["slope"]),
                node("Mul", ["x0", "t"], ["y"]),
                node("Mul", ["x1", "slope"], ["dx"]),
            ],
            ["y", "dx"],
            [one],
        )
    if case.formula == "shifts":
        shifts = [
            helper.make_tensor(f"c{i}", TensorProto.FLOAT, [], [float(i)])
            for i in range(len(case.inputs))
        ]
        adds = [node("Add", [f"x{i}", f"c{i}"], [f"y{i}"]) for i in range(len(case.inputs))]
        return adds, [f"y{i}" for i in range(len(case.inputs))], shifts
    if case.formula.startswith("sum_"):
        axes = {"sum_rows": [1], "sum_columns": [0], "sum_all": [0, 1]}[case.formula]
        constant = helper.make_tensor("axes", TensorProto.INT64, [len(axes)], axes)
        return [node("ReduceSum", ["x0", "axes"], ["y"], keepdims=0)], ["y"], [constant]
    if case.formula == "gradient":
        return (
            [
                node("Transpose", ["x0"], ["t"], perm=[1, 0]),
                node("MatMul", ["t", "x1"], ["y"]),
            ],
            ["y"],
            [],
        )
    if case.formula == "dense":
        return (
            [
                node("MatMul", ["x0", "x1"], ["p"]),
                node("Add", ["p", "x2"], ["s"]),
                node("Relu", ["s"], ["y"]),
            ],
            ["y"],
            [],
        )
    single = {
        "softmax": node("Softmax", ["x0"], ["y"], axis=-1),
        "layernorm": node("LayerNormalization", ["x0", "x1", "x2"], ["y"], axis=-1),
        "transpose": node("Transpose", ["x0"], ["y"], perm=[1, 0]),
        "conv": node("Conv", ["x0", "x1"], ["y"], pads=[1, 1, 1, 1]),
        "matmul": node("MatMul", ["x0", "x1"], ["y"]),
    }
    return [single[case.formula]], ["y"], []


def write_formula(case: Case, path: Path) -> None:
    nodes, outputs, constants = nodes_of(case)
    kind = ONNX_TYPES[case.dtype]
    graph = helper.make_graph(
        nodes,
        case.name,
        [helper.make_tensor_value_info(f"x{i}", kind, s) for i, s in enumerate(case.inputs)],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
