"""Writes the first block of EfficientNet-B0 (MBConv) with random weights: python examples/mbconv/make.py [FILE]

A depthwise convolution, a gate by means over the image (squeeze and excitation), and a projection to half the
channels, with batch normalization as exporters write it. Needs the packages numpy and onnx.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS, SQUEEZED, OUTPUTS, SIZE = 32, 8, 16, 224


class Block:
    """Nodes and weights; every method adds a node and returns its value."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(0)

    def weight(self, name: str, *shape: int, mean: float = 0.0, spread: float = 0.2) -> str:
        values = mean + spread * self.random.standard_normal(shape)
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def node(self, kind: str, name: str, *operands: str, **attributes: object) -> str:
        self.nodes.append(
            helper.make_node(kind, operands, [f"{name}.out"], name=name, **attributes)
        )
        return f"{name}.out"

    def conv(
        self, name: str, x: str, inputs: int, outputs: int, size: int = 1, group: int = 1
    ) -> str:
        filters = self.weight(f"{name}.weight", outputs, inputs // group, size, size)
        edge = (size - 1) // 2
        return self.node(
            "Conv", name, x, filters, kernel_shape=[size] * 2, group=group, pads=[edge] * 4
        )

    def norm(self, name: str, x: str, channels: int) -> str:
        parts = [
            self.weight(f"{name}.scale", channels, mean=1.0, spread=0.1),
            self.weight(f"{name}.bias", channels),
            self.weight(f"{name}.mean", channels),
            self.weight(f"{name}.variance", channels, mean=1.0, spread=0.05),
        ]
        return self.node("BatchNormalization", name, x, *parts)

    def silu(self, name: str, x: str) -> str:
        return self.node("Mul", f"{name}/mul", x, self.node("Sigmoid", f"{name}/sigmoid", x))

    def gate(self, name: str, x: str) -> str:
        mean = self.node("ReduceMean", f"{name}/mean", x, axes=[2, 3], keepdims=1)
        small = self.silu(f"{name}/silu", self.conv(f"{name}/reduce", mean, CHANNELS, SQUEEZED))
        wide = self.node(
            "Sigmoid", f"{name}/sigmoid", self.conv(f"{name}/expand", small, SQUEEZED, CHANNELS)
        )
        return self.node("Mul", f"{name}/mul", x, wide)


def model() -> onnx.ModelProto:
    block = Block()
    x = block.conv("depthwise/conv", "image", CHANNELS, CHANNELS, size=3, group=CHANNELS)
    x = block.silu("depthwise/silu", block.norm("depthwise/norm", x, CHANNELS))
    x = block.gate("gate", x)
    y = block.norm("project/norm", block.conv("project/conv", x, CHANNELS, OUTPUTS), OUTPUTS)
    image = helper.make_tensor_value_info(
        "image", TensorProto.FLOAT, ["batch", CHANNELS, SIZE, SIZE]
    )
    output = helper.make_tensor_value_info(y, TensorProto.FLOAT, ["batch", OUTPUTS, SIZE, SIZE])
    graph = helper.make_graph(block.nodes, "mbconv", [image], [output], block.weights)
    result = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    result.ir_version = 8
    onnx.checker.check_model(result, full_check=True)
    return result


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "mbconv.onnx")
    onnx.save(model(), path)
    print(f"wrote {path}")
