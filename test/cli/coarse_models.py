"""Models and machines for tests of accelerators with intrinsics of their own, and the command line on them."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

BIN = os.environ.get("HEADRACE_BIN")
MACHINES = Path(__file__).resolve().parents[2] / "examples" / "accelerators"
VECTORS = ("VVAdd", "VVMul", "VVMax", "VVRelu", "VVTanh")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [BIN, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def good(*arguments: object) -> str:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def machine(
    folder: Path, rows: int, columns: int, element: str = "float32", vectors=VECTORS
) -> Path:
    operators = [{"name": "MVMul", "sizes": [rows, columns], "cost": rows / 2}]
    operators += [
        {"name": name, "sizes": [n], "cost": 1} for n in sorted({rows, columns}) for name in vectors
    ]
    path = folder / f"vector-{rows}x{columns}-{element}.json"
    text = {
        "name": path.stem,
        "element": element,
        "saturates": True,
        "accumulate": "float32",
        "chip_bytes": 1 << 22,
        "cost_per_byte": {"load": 0.0625, "store": 0.0625, "output": 0.0625},
        "operators": operators,
    }
    path.write_text(json.dumps(text))
    return path


def written(path: Path, nodes: list, inputs: dict, output: list, weights: dict) -> Path:
    """A model whose nodes have the names of their outputs."""
    for node in nodes:
        node.name = node.output[0]

    def value(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        nodes,
        "g",
        [value(name, shape) for name, shape in inputs.items()],
        [value(nodes[-1].output[0], output)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return path


def random_weights(**shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    source = np.random.default_rng(5)
    return {
        name: (source.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) + 1)).astype(np.float32)
        for name, shape in shapes.items()
    }


def classic(folder: Path) -> Path:
    """LeNet's first form in small: tanh, averages, padding, an open batch."""
    weights = random_weights(
        w1=(4, 1, 3, 3), b1=(4,), w2=(6, 4, 3, 3), b2=(6,), w3=(20, 24), b3=(20,), w4=(10, 20)
    )
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["conv1"], pads=[1, 1, 1, 1]),
        helper.make_node("Tanh", ["conv1"], ["tanh1"]),
        helper.make_node("AveragePool", ["tanh1"], ["pool1"], **pool),
        helper.make_node("Conv", ["pool1", "w2", "b2"], ["conv2"]),
        helper.make_node("Tanh", ["conv2"], ["tanh2"]),
        helper.make_node("AveragePool", ["tanh2"], ["pool2"], **pool),
        helper.make_node("Flatten", ["pool2"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w3", "b3"], ["dense1"], transB=1),
        helper.make_node("Tanh", ["dense1"], ["tanh3"]),
        helper.make_node("Gemm", ["tanh3", "w4"], ["y"], transB=1),
    ]
    inputs = {"x": ["batch", 1, 12, 12]}
    return written(folder / "classic.onnx", nodes, inputs, ["batch", 10], weights)


def interrupted(folder: Path) -> Path:
    """Two dense layers, and between them what has no form as a term."""
    weights = random_weights(w1=(30, 20), w2=(10, 30))
    nodes = [
        helper.make_node("Gemm", ["x", "w1"], ["first"], transB=1),
        helper.make_node("Erf", ["first"], ["middle"]),
        helper.make_node("Gemm", ["middle", "w2"], ["last"], transB=1),
        helper.make_node("Relu", ["last"], ["y"]),
    ]
    inputs = {"x": ["batch", 20]}
    return written(folder / "interrupted.onnx", nodes, inputs, ["batch", 10], weights)


@functools.cache
def exported(name: str, small: bool) -> bytes:
    maker = pytest.importorskip("bench.models.make")
    with tempfile.TemporaryDirectory() as folder:
        return maker.make(maker.MODELS[name], Path(folder), small=small).read_bytes()


def network(name: str, folder: Path, small: bool = True) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.onnx"
    path.write_bytes(exported(name, small))
    return path


def results(model: Path, folder: Path, *options: object) -> np.ndarray:
    good("run", model, "--random", 3, "--output", folder, *options)
    (path,) = folder.glob("*.npy")
    return np.load(path)


def report(model: Path, file: Path, *options: object) -> dict:
    limits = ["--max-seconds", 600]  # nodes end the search, on any machine alike
    return json.loads(good("rewrite", model, "--accelerator", file, "--json", *limits, *options))
