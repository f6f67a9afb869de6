"""Models of one operator of domain ai.onnx.ml."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import headrace as hr
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

DOMAIN = "ai.onnx.ml"
TYPES = {
    "f32": TensorProto.FLOAT,
    "f64": TensorProto.DOUBLE,
    "i64": TensorProto.INT64,
    "i32": TensorProto.INT32,
    "string": TensorProto.STRING,
}
NAN = float("nan")


def tensor_type(name: str) -> Any:
    return helper.make_tensor_type_proto(TYPES[name], None)


def map_type(key: str, value: str) -> Any:
    return helper.make_map_type_proto(TYPES[key], tensor_type(value))


def loader(folder: Path) -> Callable[..., hr.Model]:
    """A function that loads a model of one node, whose name is 'it'."""

    def load(
        op: str,
        inputs: list[Any],
        outputs: list[Any],
        version: int = 3,
        rank: int = 2,
        rows: str | None = None,
        features: int | None = None,
        **attributes: Any,
    ) -> hr.Model:
        names = [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(len(outputs))]
        attributes = {name: value for name, value in attributes.items() if value is not None}
        node = helper.make_node(op, *names, name="it", domain=DOMAIN, **attributes)

        def value(name: str, type_: Any, open_rank: bool) -> Any:
            if not isinstance(type_, str):
                return helper.make_value_info(name, type_)
            shape = None if open_rank else [*[rows] * (rank - 1), features]
            return helper.make_tensor_value_info(name, TYPES[type_], shape)

        graph = helper.make_graph(
            [node],
            "m",
            [value(n, t, False) for n, t in zip(names[0], inputs, strict=True)],
            [value(n, t, True) for n, t in zip(names[1], outputs, strict=True)],
        )
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, version)]
        path = folder / "model.onnx"
        path.write_bytes(
            helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
        )
        return hr.load(path)

    return load


def peer(folder: Path, *inputs: np.ndarray) -> list[Any]:
    """Results of ONNX Runtime for the model that was loaded last."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(folder / "model.onnx"))
    return session.run(None, {f"x{i}": x for i, x in enumerate(inputs)})


def f32(*rows: Any) -> np.ndarray:
    return np.array(rows, dtype=np.float32)
