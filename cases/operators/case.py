"""Small ONNX models for tests: one node, or a few, with inputs to run them on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

IR_VERSION = 8  # the oldest that carries all operator sets in use; every runtime reads it


@dataclass
class Case:
    name: str
    nodes: list[onnx.NodeProto]
    inputs: dict[str, np.ndarray]
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    outputs: tuple[str, ...] = ("y",)
    opset: int = 17
    free: dict[str, list[str | int | None]] = field(default_factory=dict)  # shapes with symbols

    def model(self) -> onnx.ModelProto:
        def info(name: str, value: np.ndarray) -> onnx.ValueInfoProto:
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            return helper.make_tensor_value_info(name, kind, self.free.get(name, value.shape))

        graph = helper.make_graph(
            self.nodes,
            self.name,
            [info(name, value) for name, value in self.inputs.items()],
            [helper.make_empty_tensor_value_info(name) for name in self.outputs],
            [numpy_helper.from_array(value, name) for name, value in self.constants.items()],
        )
        others = sorted({node.domain for node in self.nodes} - {""})
        opsets = [helper.make_opsetid("", self.opset)]
        opsets += [helper.make_opsetid(domain, 1) for domain in others]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)

    def save(self, folder: Path) -> Path:
        path = folder / "model.onnx"
        onnx.save(self.model(), path)
        return path


def node(op: str, inputs: str, outputs: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(
        op, inputs.split(","), outputs.split(","), name=f"{op}_{outputs}", **attributes
    )


def one(
    op: str,
    *inputs: np.ndarray | None,
    constants: tuple[int, ...] = (),
    results: int = 1,
    opset: int = 17,
    label: str = "",
    free: dict[int, list[str | int | None]] | None = None,
    **attributes: object,
) -> Case:
    """A model of one node. None is an omitted input; `constants` are inputs that are initializers."""
    names = ["" if value is None else f"x{i}" for i, value in enumerate(inputs)]
    outputs = ("y",) if results == 1 else tuple(f"y{i}" for i in range(results))
    given = {name: np.asarray(value) for name, value in zip(names, inputs) if value is not None}
    fixed = {f"x{i}" for i in constants}
    return Case(
        name="-".join(filter(None, [op, str(opset), label])),
        nodes=[helper.make_node(op, names, list(outputs), name=f"the_{op}", **attributes)],
        inputs={name: value for name, value in given.items() if name not in fixed},
        constants={name: value for name, value in given.items() if name in fixed},
        outputs=outputs,
        opset=opset,
        free={f"x{i}": shape for i, shape in (free or {}).items()},
    )


def normal(*shape: int, dtype: type = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def positive(*shape: int) -> np.ndarray:
    return np.abs(normal(*shape)) + np.float32(0.1)


def whole(*shape: int, low: int = -9, high: int = 10, dtype: type = np.int64) -> np.ndarray:
    return np.random.default_rng(1).integers(low, high, shape).astype(dtype)


def truth(*shape: int, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).random(shape) < 0.5


def ints(*values) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def f32(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)
