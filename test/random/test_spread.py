"""The checker of random graphs allows what rounding explains where a function is steep, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

pytest.importorskip("headrace")
pytest.importorskip("onnxruntime")
from check import Comparison, engine_for  # noqa: E402

from cases.graphs.values import Program

F32 = np.dtype(np.float32)


def program(operators: list[str], x: np.ndarray) -> Program:
    """One function of another of the input, whose numbers may be anything."""
    names = ["x", *(f"v{i}" for i in range(len(operators)))]
    nodes = [helper.make_node(op, [names[i]], [names[i + 1]]) for i, op in enumerate(operators)]
    graph = helper.make_graph(
        nodes,
        "steep",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, None)],
    )
    return Program(
        seed=0,
        model=helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
        feeds={"x": x},
        tolerances={"x": 0.0, **dict.fromkeys(names[1:], 64.0)},
        special=set(names),
        types=dict.fromkeys(names, F32),
        shapes=dict.fromkeys(names, x.shape),
    )


def verdict(tmp_path: Path, made: Program, found: list[float]) -> str:
    path = tmp_path / "model.onnx"
    onnx.save(made.model, path)
    reference = engine_for(path).reference(made.feeds)
    (name,) = reference
    return Comparison(made, reference).difference({name: np.array(found, F32)}, reference)


def test_a_pole_that_rounding_reaches_gives_any_large_number(tmp_path: Path) -> None:
    """pi / 2 in f32 is beyond the pole, in double before it."""
    made = program(["Atan", "Tan"], np.array([np.inf, 1.0, 0.25], F32))
    beyond = float(np.tan(np.float64(np.float32(np.pi / 2))))
    assert not verdict(tmp_path, made, [beyond, 1.0, 0.25])
    assert "at (1,)" in verdict(tmp_path, made, [beyond, 1.001, 0.25])
    assert "at (2,) nan" in verdict(tmp_path, made, [beyond, 1.0, np.nan])


def test_a_function_is_right_at_the_number_it_is_given(tmp_path: Path) -> None:
    """An input is exact, however steep the function is."""
    x = np.array([np.pi / 2], F32)
    right = float(np.tan(x.astype(np.float64))[0])
    made = program(["Tan"], x)
    assert not verdict(tmp_path, made, [right])
    assert "1 of 1 differ" in verdict(tmp_path, made, [-right])
    assert "1 of 1 differ" in verdict(tmp_path, made, [right * 1.01])
