"""Inputs and outputs of a session's runs that are chosen beforehand, as onnxruntime binds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace._ort_value import OrtValue, array_at, require_cpu
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from headrace._session import InferenceSession


class IOBinding:
    """Values for inputs and memory for outputs; made by `InferenceSession.io_binding`.

    >>> binding = session.io_binding()
    >>> binding.bind_cpu_input("image", images)
    >>> binding.bind_output("logits")
    >>> session.run_with_iobinding(binding)
    >>> (logits,) = binding.copy_outputs_to_cpu()
    """

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self.inputs: dict[str, Any] = {}
        self.outputs: dict[str, OrtValue | None] = {}  # None: a run makes the memory
        self._results: list[OrtValue] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Bind an array as an input."""
        self._bind_input(name, arr_on_cpu)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Bind a value as an input."""
        self._bind_input(name, ortvalue)

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: Any,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Bind memory of the caller as an input; it must live as long as the binding uses it."""
        require_cpu(device_type)
        self._bind_input(name, array_at(buffer_ptr, shape, element_type))

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Request an output, in memory of the caller if there is a `buffer_ptr`."""
        require_cpu(device_type)
        if buffer_ptr is None:
            self._bind_output(name, None)
        elif element_type is None or shape is None:
            raise InvalidArgumentError(
                f"output '{name}': expected element_type and shape for the memory at buffer_ptr"
            )
        else:
            array = array_at(buffer_ptr, shape, element_type)
            self._bind_output(name, OrtValue.ortvalue_from_numpy(array))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Request an output in the memory of a value."""
        self._bind_output(name, ortvalue)

    def synchronize_inputs(self) -> None:
        """Does nothing: inputs are in host memory."""

    def synchronize_outputs(self) -> None:
        """Does nothing: outputs are in host memory."""

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run, in the order in which they were bound."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[Any]:
        """Copies of the outputs of the last run."""
        return [
            np.copy(value._value) if value.is_tensor() else value._value for value in self._results
        ]

    def clear_binding_inputs(self) -> None:
        """Remove all inputs."""
        self.inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Remove all outputs."""
        self.outputs.clear()
        self._results.clear()

    def _bind_input(self, name: str, value: Any) -> None:
        interface = self._session._interface
        self._require(name, "inputs", [*interface.inputs, *interface.overridable])
        self.inputs[name] = value

    def _bind_output(self, name: str, value: OrtValue | None) -> None:
        self._require(name, "outputs", self._session._interface.outputs)
        if value is not None and not value.numpy().flags.writeable:
            raise InvalidArgumentError(f"output '{name}': expected memory that can be written")
        self.outputs[name] = value

    def _require(self, name: str, what: str, known: Sequence[Any]) -> None:
        names = [arg.name for arg in known]
        if name not in names:
            raise InvalidArgumentError(
                f"binding: expected {what} {', '.join(map(repr, names))}, got '{name}'"
            )
