"""What a model's file says about its inputs and outputs and about itself, as onnxruntime has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace import _core
from headrace._arrays import ONNX_NAMES
from headrace._specs import TensorSpec
from headrace._values import inner


@dataclass(frozen=True)
class ModelMetadata:
    """What the writer of a model's file says about it; empty for a package."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]


class NodeArg:
    """An input or output. A dimension is a number, the name of a dynamic one, or None."""

    def __init__(self, name: str, element_type: str, shape: Sequence[int | str | None]) -> None:
        self.name = name
        self.shape = list(shape)
        self.type = onnx_type(element_type)

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"


def onnx_type(element_type: str) -> str:
    """ "seq(tensor(float))" of "sequence(f32)"."""
    for outer, name in (("sequence", "seq"), ("optional", "optional")):
        if (element := inner(element_type, outer)) is not None:
            return f"{name}({onnx_type(element)})"
    if (pair := inner(element_type, "map")) is not None:
        key, value = pair.split(", ")
        return f"map({ONNX_NAMES.get(key, key)},{onnx_type(value)})"
    return f"tensor({ONNX_NAMES.get(element_type, element_type)})"


class Interface(NamedTuple):
    inputs: list[NodeArg]
    outputs: list[NodeArg]
    overridable: list[NodeArg]  # inputs that have a value of their own


def interface_of(core: _core.Model) -> Interface:
    """As the file declares it, and more where the compiler knows it; a package has what it knows."""
    declared = [{spec[0]: spec for spec in specs} for specs in core.declared]
    names = {
        size
        for _, _, shape in declared[0].values()
        for size in shape or ()
        if isinstance(size, str)
    }
    if not any(declared):  # no file: all names are the program's own
        names = {*core.symbols}
    known = [TensorSpec(*spec) for spec in (*core.inputs, *core.outputs)]
    inputs, outputs = known[: len(core.inputs)], known[len(core.inputs) :]
    return Interface(
        [_arg(spec, declared[0].get(spec.name), names) for spec in inputs],
        [_arg(spec, declared[1].get(spec.name), names) for spec in outputs],
        [_arg(TensorSpec(*spec), spec, names) for spec in declared[2].values()],
    )


def _arg(spec: TensorSpec, declared: Any, names: set[str]) -> NodeArg:
    found = spec.shape or ()
    written = declared[2] if declared and declared[2] is not None else [""] * len(found)
    shape = [_size(*sizes, names) for sizes in zip(written, found, strict=False)]
    return NodeArg(spec.name, spec.element_type, shape)


def _size(written: int | str, found: int | str, names: set[str]) -> int | str | None:
    if isinstance(found, int):
        return found
    return written or (found if found in names else None) or None
