"""Compiling a model is a function of the model: every process ends with the same code."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

BIN = os.environ.get("HEADRACE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"
PROCESSES = 5


def save(path: Path, nodes, inputs, outputs, weights=()) -> Path:
    def values(shapes, kind=TensorProto.DOUBLE):
        return [helper.make_tensor_value_info(name, kind, shape) for name, shape in shapes.items()]

    graph = helper.make_graph(nodes, "g", values(inputs), values(outputs), [*weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def convolution_and_slice(folder: Path) -> Path:
    weights = [
        numpy_helper.from_array(np.ones((3, 5, 4, 2)), "w"),
        *(
            numpy_helper.from_array(np.array(numbers), name)
            for name, numbers in [
                ("starts", [4, 0]),
                ("ends", [5, 1]),
                ("axes", [0, 3]),
                ("steps", [1, 3]),
            ]
        ),
    ]
    nodes = [
        helper.make_node(
            "Conv", ["x", "w"], ["c"], strides=[1, 3], dilations=[1, 2], pads=[2, 0, 2, 0]
        ),
        helper.make_node("Slice", ["c", "starts", "ends", "axes", "steps"], ["y"]),
    ]
    return save(folder / "conv.onnx", nodes, {"x": [5, 5, 2, 11]}, {"y": [1, 3, 3, 1]}, weights)


def many_results(folder: Path) -> Path:
    nodes = [
        helper.make_node("Neg", ["a"], ["p"]),
        helper.make_node("Sub", ["a", "a"], ["q"]),
        helper.make_node("Add", ["a", "b"], ["r"]),
        helper.make_node("ReduceSum", ["r"], ["s"], keepdims=0),
        helper.make_node("Relu", ["r"], ["t"]),
    ]
    shape = ["n", 7]
    outputs = {"p": shape, "q": shape, "r": shape, "s": [], "t": shape}
    return save(folder / "many.onnx", nodes, {"a": shape, "b": shape}, outputs)


@pytest.mark.parametrize("make", [convolution_and_slice, many_results, lambda folder: DIGITS])
def test_every_process_makes_the_same_code(make, tmp_path):
    model = make(tmp_path)
    programs, objects = set(), set()
    for process in range(PROCESSES):
        cache = tmp_path / f"cache{process}"
        environment = {**os.environ, "HEADRACE_CACHE_DIR": str(cache)}

        def output(*arguments, environment=environment):
            done = subprocess.run(
                [BIN, *arguments], capture_output=True, env=environment, timeout=120
            )
            assert (done.returncode, done.stderr) == (0, b"")
            return done.stdout

        programs.add(output("explain", str(model), "--to=llvm"))
        output("run", str(model), "--random", "1")
        kept = sorted(cache.rglob("*.o"))
        assert kept
        objects.add(
            tuple((file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in kept)
        )
    assert len(programs) == 1
    assert len(objects) == 1
