"""Schedules of kernels on the CPU as records: every legal one computes the same."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import headrace as hr
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

COMMAND = os.environ["HEADRACE_BIN"]
MODELS = ["lenet", "mlp", "softmax", "layernorm", "bert_layer"]


def kernels(path: Path, *options: str) -> list[dict]:
    every = [COMMAND, "explain", str(path), "--to", "schedule", "--json", *options]
    text = subprocess.run(every, check=True, capture_output=True, text=True).stdout
    return [node for node in json.loads(text)["nodes"] if node["kind"] == "kernel"]


def as_recipe(kernel: str, line: str) -> str:
    return f"kernel {kernel}:\n  {line}\n"


def inputs_of(model: hr.Model) -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    shapes = [[d if isinstance(d, int) else 3 for d in spec.shape] for spec in model.inputs]
    return [draw.standard_normal(shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("name", MODELS)
def test_every_alternative_computes_the_same(small_models: Path, name: str) -> None:
    path = small_models / f"{name}.onnx"
    model = hr.load(path)
    inputs = inputs_of(model)
    expected = np.asarray(model(*inputs))
    found = kernels(path)
    tried = 0
    every = bool(os.environ.get("HEADRACE_LARGE_TESTS"))
    for number, kernel in enumerate(found):
        lines = kernel["alternatives"]
        # In CI one of every kernel, another each time.
        for line in lines if every else lines[number % max(len(lines), 1) :][:1]:
            other = hr.load(path, recipe=as_recipe(kernel["id"], line))
            np.testing.assert_allclose(other(*inputs), expected, rtol=1e-4, atol=1e-5, err_msg=line)
            tried += 1
    assert tried >= len(found) // 2 and tried > 0


def test_a_line_says_as_much_as_it_gives(small_models: Path) -> None:
    path = small_models / "mlp.onnx"
    product = next(k for k in kernels(path) if "unroll" in k["recipe"])
    stage = product["recipe"].split(":")[0]
    model = hr.load(path, recipe=as_recipe(product["id"], f"{stage}: tiles rows=2"))
    recipe = next(k for k in model.explain()["kernels"] if k["recipe"])["recipe"]
    assert " by 2 " in recipe, recipe


def test_walks_have_a_schedule(tmp_path: Path) -> None:
    rows = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4096, 64])]
    sums = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 64])]
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["squares"]),
        helper.make_node("ReduceSum", ["squares", "axes"], ["y"]),
    ]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [0])
    graph = helper.make_graph(nodes, "sums", rows, sums, [axes])
    opsets = [helper.make_opsetid("", 17)]
    path = tmp_path / "sums.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    kernel = next(k for k in kernels(path) if ": walk rows=" in k["recipe"])
    line = kernel["recipe"].split("rows=")[0] + "rows=2 prefetch=0"
    model = hr.load(path, recipe=as_recipe(kernel["id"], line))
    assert any(line in k["recipe"] for k in model.explain()["kernels"])
    inputs = inputs_of(model)
    np.testing.assert_allclose(model(*inputs), (inputs[0] ** 2).sum(0, keepdims=True), rtol=1e-4)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("tiles rows=9999", "rows: expected at least 1, and a tile of at most"),
        ("tiles columns=0", "columns: expected 1 to"),
        ("tiles cells=0", "cells: expected at least 1"),
        ("tiles pack=2", "pack: expected 0 or 1"),
        ("tiles features=2", "features: expected 0 or 1"),
        ("points vector=8", "expected tiles, or plain"),
        ("walk rows=4", "expected tiles, or plain"),
        ("tiles width=4", "expected a parameter of 'tiles' (rows, columns, cells, pack, features)"),
        ("plain cells=x", "expected a number from 0 to"),
    ],
)
def test_what_is_not_legal_is_refused_with_the_reason(
    small_models: Path, line: str, reason: str
) -> None:
    path = small_models / "mlp.onnx"
    product = next(k for k in kernels(path) if "unroll" in k["recipe"])
    stage = product["recipe"].split(":")[0]
    with pytest.raises(hr.Error) as error:
        hr.load(path, recipe=as_recipe(product["id"], f"{stage}: {line}")).explain()
    assert reason in str(error.value), str(error.value)


def write_convolution(path: Path, channels: int, size: int, groups: int = 1) -> None:
    """Relu, a 3x3 convolution, and a sum of both."""
    draw = np.random.default_rng(0)
    weights = draw.standard_normal((channels, channels // groups, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Relu", ["x"], ["y"], name="relu"),
        helper.make_node("Conv", ["y", "w"], ["z"], name="conv", pads=[1, 1, 1, 1], group=groups),
        helper.make_node("Add", ["y", "z"], ["sum"], name="add"),
        helper.make_node("Tanh", ["sum"], ["out"], name="tanh"),
    ]
    shape = [1, channels, size, size]
    graph = helper.make_graph(
        nodes,
        "convolution",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, shape)],
        [onnx.numpy_helper.from_array(weights / weights[0].size, "w")],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


@pytest.mark.parametrize("size", [2, 5, 14])
@pytest.mark.parametrize("groups", [1, 64])
def test_padding_is_written_by_the_kernel_before_it_or_apart(
    tmp_path: Path, size: int, groups: int
) -> None:
    path = tmp_path / "model.onnx"
    write_convolution(path, channels=64, size=size, groups=groups)
    inside = hr.load(path)
    steps = inside.explain()["recipe"].splitlines()
    assert any(step.startswith("fuse conv/pad into relu") for step in steps), steps
    apart = hr.load(path, recipe="separate conv/pad\n")
    assert "kernel conv/pad:" in apart.explain()["recipe"].splitlines()
    inputs = inputs_of(inside)
    expected = inside.reference(*inputs)
    np.testing.assert_allclose(inside(*inputs), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(apart(*inputs), expected, rtol=1e-4, atol=1e-5)


def test_padding_goes_nowhere_but_to_what_is_padded(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    write_convolution(path, channels=16, size=5)
    with pytest.raises(hr.InvalidArgumentError, match="computed by another kernel"):
        hr.load(path, recipe="fuse conv/pad into tanh\n").explain()


def test_many_weights_are_read_once_for_all_rows(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    write_convolution(path, channels=1024, size=4)
    lines = [(k["id"], line) for k in kernels(path) for line in k["alternatives"]]
    name, other = next((name, line) for name, line in lines if "features=0" in line)
    by_features, by_rows = hr.load(path), hr.load(path, recipe=as_recipe(name, other))
    inputs = inputs_of(by_features)
    np.testing.assert_allclose(by_features(*inputs), by_rows(*inputs), rtol=1e-4, atol=1e-5)
