#!/usr/bin/env python3
"""Write a softmax and a layer normalization of 512 rows of 512 numbers as ONNX files.

    python examples/optimize/rows.py softmax.onnx norm.onnx

docs/optimize.md does steps on the first and replays them on the second. Needs onnx.
"""

from __future__ import annotations

import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROWS, COLUMNS = 512, 512


def model(node: onnx.NodeProto, weights: list[onnx.TensorProto]) -> onnx.ModelProto:
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, COLUMNS]) for name in "xy"
    )
    graph = helper.make_graph([node], node.name, [x], [y], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    onnx.checker.check_model(made, full_check=True)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("softmax")
    parser.add_argument("norm")
    options = parser.parse_args()
    onnx.save(model(helper.make_node("Softmax", ["x"], ["y"], name="softmax"), []), options.softmax)
    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(random.uniform(0.5, 1.5, COLUMNS).astype(np.float32), name)
        for name in ("scale", "bias")
    ]
    node = helper.make_node("LayerNormalization", ["x", "scale", "bias"], ["y"], name="norm")
    onnx.save(model(node, weights), options.norm)


if __name__ == "__main__":
    main()
