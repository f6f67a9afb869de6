"""The cost model sees schedules: what changes a kernel's time changes its prediction."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

COMMAND = os.environ.get("HEADRACE_BIN", "headrace")
DERIVED = {**os.environ, "HEADRACE_RATES": "derived"}


def explained(path: Path, *options: str) -> dict:
    command = [COMMAND, "explain", str(path), "--json", *options]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=DERIVED)
    return json.loads(done.stdout)


def saved(
    path: Path, kind: str, shapes: list[list[int]], weights: np.ndarray | None = None, **attributes
) -> Path:
    """A model of one operator, whose last input may be constant."""
    names = [f"x{i}" for i in range(len(shapes))]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in zip(names, shapes, strict=True)
    ]
    constants = [] if weights is None else [numpy_helper.from_array(weights, "w")]
    node = helper.make_node(kind, names + ["w"] * len(constants), ["y"], **attributes)
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], kind, inputs, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return path


def times_by_parameter(path: Path) -> dict[str, set[float]]:
    """Predicted times of the alternatives that differ from the proposed schedule in one parameter."""
    found: dict[str, set[float]] = {}
    for node in explained(path, "--to", "schedule", "--expansion", "generated")["nodes"]:
        proposed = node["predicted_us"]
        for line, time in zip(node["alternatives"], node["alternatives_us"], strict=True):
            if time is None or " tiles " not in line:
                continue
            for name, value in re.findall(r"(\w+)=(\d+)", line):
                found.setdefault(f"{name}={value}", set()).add(round(time / proposed, 6))
    return found


def changes(times: dict[str, set[float]], parameter: str) -> bool:
    """Whether the time depends on the parameter: its values have different sets of times."""
    sets = [frozenset(t) for name, t in times.items() if name.split("=")[0] == parameter]
    return len(set(sets)) > 1


def test_register_tiles_and_cells_change_the_prediction(tmp_path: Path) -> None:
    path = saved(tmp_path / "product.onnx", "MatMul", [[384, 384], [384, 384]])
    times = times_by_parameter(path)
    for parameter in ("rows", "columns", "cells", "features"):
        assert changes(times, parameter), (parameter, times)


def test_prefetching_of_weights_changes_the_prediction(tmp_path: Path) -> None:
    weights = np.ones((1024, 2048), np.float32)
    path = saved(tmp_path / "weights.onnx", "MatMul", [[64, 1024]], weights)
    assert changes(times_by_parameter(path), "prefetch")


def test_a_narrow_tile_is_predicted_slower(tmp_path: Path) -> None:
    path = saved(tmp_path / "product.onnx", "MatMul", [[384, 384], [384, 384]])
    (node,) = explained(path, "--to", "schedule", "--expansion", "generated")["nodes"][2:3]
    by_rows = {
        line: time
        for line, time in zip(node["alternatives"], node["alternatives_us"], strict=True)
        if " rows=1 " in line and time is not None
    }
    assert by_rows
    assert all(time > 1.5 * node["predicted_us"] for time in by_rows.values()), by_rows


def test_kernels_have_bounds_shares_and_times(tmp_path: Path) -> None:
    path = saved(tmp_path / "product.onnx", "MatMul", [[512, 512], [512, 512]])
    explanation = explained(path)
    assert re.search(r"derived, [0-9a-f]{16}$", explanation["rates"])
    (kernel,) = explanation["kernels"]
    assert kernel["predicted_us"] > 0
    assert set(kernel["shares"]) == {"memory", "cache", "arithmetic", "calls"}
    assert sum(kernel["shares"].values()) == pytest.approx(1)
    compulsory = 3 * 512 * 512 * 4
    bounds = [least for _, least in kernel["least_bytes"]]
    assert all(least >= compulsory for least in bounds)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] <= kernel["bytes_read"] + kernel["bytes_written"]


def test_a_bound_by_the_cache_exceeds_one_reading_of_a_large_product(tmp_path: Path) -> None:
    path = saved(tmp_path / "large.onnx", "MatMul", [[4096, 4096], [4096, 4096]])
    (kernel,) = explained(path, "--expansion", "generated")["kernels"]
    assert kernel["least_bytes"][0][1] > 3 * 4096 * 4096 * 4


def test_library_calls_are_predicted_by_their_work(tmp_path: Path) -> None:
    """Half the matrices of a batch take half the time; sorting takes longer than its data's way."""
    small, large = (
        explained(
            saved(tmp_path / f"{batch}.onnx", "MatMul", [[batch, 128, 128], [batch, 128, 128]]),
            "--expansion",
            "openblas",
        )["kernels"][0]["predicted_us"]
        for batch in (8, 16)
    )
    assert large / small == pytest.approx(2, rel=0.2)


def test_missed_optimizations_say_what_they_would_save(tmp_path: Path) -> None:
    path = saved(tmp_path / "product.onnx", "MatMul", [[64, 64], [64, 64]])
    reasons = explained(path)["why_not"]
    assert reasons
    for reason in reasons:
        if reason["step"].startswith("expand "):
            assert reason["saved_us"] < 0
