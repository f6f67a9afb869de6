"""The shipped network, and small models written for the tests."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"

if importlib.util.find_spec("headrace") is None:
    collect_ignore_glob = ["*/test_*.py"]  # the package is not built


@pytest.fixture(scope="session")
def digits_path() -> Path:
    return DIGITS / "digits.onnx"


@pytest.fixture(scope="session")
def digits(digits_path: Path):
    import headrace as hr

    return hr.load(digits_path)


@pytest.fixture(scope="session")
def images() -> np.ndarray:
    return np.load(DIGITS / "held_back_images.npy", allow_pickle=False)


Write = Callable[..., Path]


@pytest.fixture
def write_model(tmp_path: Path) -> Write:
    """Writes a model: nodes as (operator, inputs, outputs[, attributes]), values as (name,
    type, shape)."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    def write(nodes, inputs, outputs, name: str = "model.onnx") -> Path:
        def info(value):
            return helper.make_tensor_value_info(value[0], getattr(TensorProto, value[1]), value[2])

        graph = helper.make_graph(
            [helper.make_node(*node[:3], **dict(*node[3:])) for node in nodes],
            "test",
            [info(value) for value in inputs],
            [info(value) for value in outputs],
        )
        opset = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=8)
        path = tmp_path / name
        onnx.save(model, str(path))
        return path

    return write


@pytest.fixture
def sum_and_difference_path(write_model: Write) -> Path:
    shape = ["n", 3]
    return write_model(
        [("Add", ["a", "b"], ["sum"]), ("Sub", ["a", "b"], ["difference"])],
        [("a", "FLOAT", shape), ("b", "FLOAT", shape)],
        [("sum", "FLOAT", shape), ("difference", "FLOAT", shape)],
    )


@pytest.fixture
def sum_and_difference(sum_and_difference_path: Path):
    import headrace as hr

    return hr.load(sum_and_difference_path)
