#!/usr/bin/env python3
"""Write the first MBConv block of EfficientNet-B0 as an ONNX file, with weights from a fixed seed.

    python examples/optimize/mbconv.py mbconv.onnx --batch 8 --pixels 224

docs/optimize.md works through it. Needs onnx.
"""

from __future__ import annotations

import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS, SQUEEZED, OUTPUTS = 32, 8, 16


class Block:
    """Nodes and weights of a graph; methods add nodes and return the name of their result."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, values: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def add(self, kind: str, name: str, *inputs: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def conv(
        self, name: str, x: str, outputs: int, inputs: int, kernel: int, **attributes: object
    ) -> str:
        shape = (outputs, inputs, kernel, kernel)
        scale = 1 / np.sqrt(inputs * kernel * kernel)
        weight = self.weight(name + ".weight", self.random.standard_normal(shape) * scale)
        pad = kernel // 2
        return self.add("Conv", name, x, weight, pads=[pad] * 4, **attributes)

    def norm(self, name: str, x: str, channels: int) -> str:
        values = self.random.uniform(0.5, 1.5, (4, channels))
        names = [self.weight(f"{name}.{i}", row) for i, row in enumerate(values)]
        return self.add("BatchNormalization", name, x, *names)

    def silu(self, name: str, x: str) -> str:
        return self.add("Mul", name, x, self.add("Sigmoid", name + "/sigmoid", x))


def mbconv(batch: int, pixels: int) -> onnx.ModelProto:
    block = Block()
    x = block.conv("depthwise", "x", CHANNELS, 1, 3, group=CHANNELS)
    x = block.silu("silu", block.norm("norm", x, CHANNELS))
    squeezed = block.add("GlobalAveragePool", "pool", x)
    squeezed = block.silu("squeeze/silu", block.conv("squeeze", squeezed, SQUEEZED, CHANNELS, 1))
    excited = block.add(
        "Sigmoid", "excite/sigmoid", block.conv("excite", squeezed, CHANNELS, SQUEEZED, 1)
    )
    x = block.conv("project", block.add("Mul", "scale", x, excited), OUTPUTS, CHANNELS, 1)
    y = block.norm("project/norm", x, OUTPUTS)
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, CHANNELS, pixels, pixels])
    result = helper.make_tensor_value_info(y, TensorProto.FLOAT, [batch, OUTPUTS, pixels, pixels])
    graph = helper.make_graph(block.nodes, "mbconv", [image], [result], block.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--pixels", type=int, default=224)
    options = parser.parse_args()
    onnx.save(mbconv(options.batch, options.pixels), options.output)


if __name__ == "__main__":
    main()
