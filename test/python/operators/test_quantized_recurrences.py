"""com.microsoft.DynamicQuantizeLSTM against ONNX Runtime and the reference: int8 matmuls, summed exactly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import headrace as hr
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

F32 = TensorProto.FLOAT
FEATURES = 6


def layer(
    folder: Path, hidden: int, *, directions=1, dtype=np.int8, zero=0, columns=False, lengths=False
) -> Path:
    """A layer with open batch and steps; scales and zero points for each direction, or each of its columns."""
    random = np.random.default_rng(hidden)
    info = np.iinfo(dtype)
    low, high = info.min, info.max + 1
    many = (directions, 4 * hidden) if columns else (directions,)
    scales = (0.02 / np.sqrt(hidden) * random.uniform(0.5, 1.5, many)).astype(np.float32)
    constants = {
        "w": random.integers(low, high, (directions, FEATURES, 4 * hidden)).astype(dtype),
        "r": random.integers(low, high, (directions, hidden, 4 * hidden)).astype(dtype),
        "b": random.normal(size=(directions, 8 * hidden)).astype(np.float32),
        "scales": scales,
        "zeros": np.full(many, zero, dtype),
    }
    names = ["x", "w", "r", "b", "lengths" if lengths else "", "h", "c", ""]
    names += ["scales", "zeros", "scales", "zeros"]
    direction = "bidirectional" if directions == 2 else "forward"
    node = helper.make_node(
        "DynamicQuantizeLSTM", names, ["y", "last", "cell"], domain="com.microsoft",
        hidden_size=hidden, direction=direction,
    )  # fmt: skip
    inputs = [
        helper.make_tensor_value_info("x", F32, ["steps", "batch", FEATURES]),
        helper.make_tensor_value_info("h", F32, [directions, "batch", hidden]),
        helper.make_tensor_value_info("c", F32, [directions, "batch", hidden]),
    ]
    if lengths:
        inputs.append(helper.make_tensor_value_info("lengths", TensorProto.INT32, ["batch"]))
    outputs = [helper.make_tensor_value_info(name, F32, None) for name in ("y", "last", "cell")]
    stored = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph([node], "layer", inputs, outputs, stored)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    path = folder / "layer.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def feeds_of(hidden: int, steps: int, batch: int, directions=1, lengths=False) -> dict:
    random = np.random.default_rng(steps)
    feeds = {
        "x": random.normal(size=(steps, batch, FEATURES)),
        "h": random.uniform(-0.5, 0.5, (directions, batch, hidden)),
        "c": random.normal(size=(directions, batch, hidden)),
    }
    feeds = {name: array.astype(np.float32) for name, array in feeds.items()}
    if lengths:
        feeds["lengths"] = random.integers(1, steps + 1, batch).astype(np.int32)
    return feeds


def runtime_results(path: Path, feeds: dict) -> list[np.ndarray]:
    """Of one thread: several divide a batch, and each rounds by the range of its own part."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def check_same(found, expected) -> None:
    """A number close to a half may be rounded the other way, which moves some results by a step of a byte."""
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        if theirs.size:
            difference = np.abs(np.asarray(ours) - theirs)
            assert np.median(difference) < 1e-6
            assert difference.max() < 2e-2


# Hidden sizes that fill vectors, that leave tiles over, and that have no four terms next to each other.
@pytest.mark.parametrize(("hidden", "batch"), [(4, 1), (16, 3), (20, 9), (64, 8), (5, 2), (7, 1)])
@pytest.mark.parametrize("target", ["cpu", "cpu:x86-64-v3", "cpu:x86-64-v2"])
@pytest.mark.parametrize("specialize", ["always", "never"])
def test_every_size(tmp_path, hidden, batch, target, specialize):
    path = layer(tmp_path, hidden)
    model = hr.load(path, target=target, specialize=specialize)
    for steps in (5, 1):
        feeds = feeds_of(hidden, steps, batch)
        found = model(**feeds)
        check_same(found, runtime_results(path, feeds))
        check_same(found, model.reference(**feeds))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("zero", ["none", "middle", "other"])
@pytest.mark.parametrize("columns", [False, True])
def test_zero_points(tmp_path, dtype, zero, columns):
    middle = 128 if dtype == np.uint8 else 0
    point = {"none": 0, "middle": middle, "other": middle - 9}[zero]
    path = layer(tmp_path, 8, dtype=dtype, zero=point, columns=columns)
    feeds = feeds_of(8, 4, 3)
    model = hr.load(path)
    found = model(**feeds)
    check_same(found, model.reference(**feeds))
    if zero == "middle":  # ONNX Runtime takes no other with several columns
        check_same(found, runtime_results(path, feeds))


@pytest.mark.parametrize("lengths", [False, True])
def test_both_directions(tmp_path, lengths):
    path = layer(tmp_path, 32, directions=2, columns=True, lengths=lengths)
    feeds = feeds_of(32, 7, 5, directions=2, lengths=lengths)
    model = hr.load(path)
    found = model(**feeds)
    check_same(found, model.reference(**feeds))
    if not lengths:  # by which ONNX Runtime rounds less of the batch
        check_same(found, runtime_results(path, feeds))


def test_threads_change_nothing(tmp_path):
    path = layer(tmp_path, 64, directions=2)
    feeds = tmp_path / "feeds.npz"
    np.savez(feeds, **feeds_of(64, 20, 8, directions=2))
    program = (
        "import sys, headrace as hr, numpy as np; "
        "y = hr.load(sys.argv[1], specialize='always')(**np.load(sys.argv[2])); "
        "np.savez(sys.argv[3], *y)"
    )
    results = []
    for threads in "123":
        out = tmp_path / f"{threads}.npz"
        subprocess.run(
            [sys.executable, "-c", program, path, feeds, out],
            env={**os.environ, "HEADRACE_THREADS": threads},
            check=True,
        )
        results.append(np.load(out))
    for other in results[1:]:
        assert other.files == results[0].files
        assert all(np.array_equal(other[name], results[0][name]) for name in other.files)


def test_nothing_to_compute(tmp_path):
    model = hr.load(layer(tmp_path, 8))
    y, last, cell = model(**feeds_of(8, 3, 0))
    assert y.shape == (3, 1, 0, 8)
    assert last.shape == cell.shape == (1, 0, 8)
