"""The interface of onnxruntime, for code written against it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace._arrays import ONNX_NAMES
from headrace._model import InMemory, load
from headrace._specs import TensorSpec
from headrace._threads import set_threads
from headrace._values import inner
from headrace.errors import InvalidArgumentError

PROVIDER = "CPUExecutionProvider"


@dataclass
class SessionOptions:
    """Options by onnxruntime's names; only `intra_op_num_threads` has an effect (0: default)."""

    intra_op_num_threads: int = 0
    inter_op_num_threads: int = 0


@dataclass(frozen=True)
class ModelMetadata:
    """Notes of the writer of a model's file."""

    custom_metadata_map: dict[str, str]


class NodeArg:
    """An input or output as onnxruntime describes it."""

    def __init__(self, spec: TensorSpec) -> None:
        self.name = spec.name
        self.shape = list(spec.shape or ())
        self.type = onnx_type(spec.element_type)

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


class InferenceSession:
    """Stands in for onnxruntime.InferenceSession.

    >>> session = hr.InferenceSession("digits.onnx")
    >>> (logits,) = session.run(None, {"image": images})
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | InMemory,
        sess_options: Any = None,
        providers: Sequence[Any] | None = None,
        provider_options: Any = None,
        **kwargs: Any,
    ) -> None:
        warn_of_other_providers(providers)
        use_threads_of(sess_options)
        self._model = load(path_or_bytes)

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: Any = None,
    ) -> list[np.ndarray]:
        """The outputs named, in that order; all of them for None."""
        known = [spec.name for spec in self._model.outputs]
        for name in output_names or ():
            if name not in known:
                raise InvalidArgumentError(
                    f"model '{self._model.name}': expected outputs "
                    f"{', '.join(map(repr, known))}, got '{name}'"
                )
        outputs = self._model.run_dict(input_feed)
        return [outputs[name] for name in output_names or known]

    def get_inputs(self) -> list[NodeArg]:
        return [NodeArg(spec) for spec in self._model.inputs]

    def get_outputs(self) -> list[NodeArg]:
        return [NodeArg(spec) for spec in self._model.outputs]

    def get_modelmeta(self) -> ModelMetadata:
        return ModelMetadata(self._model.metadata)

    def get_providers(self) -> list[str]:
        return [PROVIDER]


def warn_of_other_providers(providers: Sequence[Any] | None) -> None:
    names = [item if isinstance(item, str) else item[0] for item in providers or ()]
    if names and PROVIDER not in names:
        warnings.warn(
            f"session: expected {PROVIDER} among the providers, got {', '.join(names)}; "
            f"running on the CPU",
            RuntimeWarning,
            stacklevel=3,
        )


def use_threads_of(options: Any) -> None:
    count = getattr(options, "intra_op_num_threads", 0)
    if not count:
        return
    try:
        set_threads(count)
    except InvalidArgumentError as error:
        warnings.warn(f"session: {error}", RuntimeWarning, stacklevel=3)
