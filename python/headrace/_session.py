"""The interface of onnxruntime, for code written against it."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headrace._arrays import NUMPY_NAMES, STORAGE
from headrace._io_binding import IOBinding
from headrace._load import InMemory, load
from headrace._model import Model
from headrace._node_arg import ModelMetadata, NodeArg, interface_of, onnx_type
from headrace._ort_value import OrtValue
from headrace._session_options import (
    PROVIDER,
    SessionOptions,
    provider_options,
    stop_flag,
    warn_of_unused_options,
    warn_once,
)
from headrace._specs import TensorSpec
from headrace._trace import Trace
from headrace.errors import (
    Error,
    InternalError,
    InvalidArgumentError,
    ShapeMismatchError,
    TypeMismatchError,
    UnsupportedError,
)

# What onnxruntime has as the version of a model whose file names none.
NO_VERSION = 2**63 - 1


class InferenceSession:
    """A drop-in replacement for onnxruntime.InferenceSession (docs/sessions.md).

    >>> session = hr.InferenceSession("examples/digits/digits.onnx")
    >>> (logits,) = session.run(None, {"image": images})
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | InMemory,
        sess_options: Any = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        self._options = sess_options if sess_options is not None else SessionOptions()
        warn_of_unused_options(self._options)
        for name in kwargs:
            warn_once(f"session argument '{name}'", "has no effect")
        self.set_providers(providers, provider_options)
        self._trace = None
        if self._options.enable_profiling:
            self._trace = Trace(self._options.profile_file_prefix)
            self._write_trace = weakref.finalize(self, self._trace.write)
        begin = time.perf_counter_ns()
        is_file = isinstance(path_or_bytes, (str, os.PathLike))
        self._model_path = os.fspath(path_or_bytes) if is_file else None
        self._model = load(path_or_bytes, threads=self._options.intra_op_num_threads)
        if not isinstance(self._model, Model):
            raise UnsupportedError(
                f"session: expected a model, got the script '{self._model_path}', "
                f"which headrace.load takes"
            )
        self._interface = interface_of(self._model._core)
        if self._trace:
            taken = (time.perf_counter_ns() - begin) / 1000
            self._trace.add("Session", "model_loading", begin, taken)

    # Runs

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: Any = None,
    ) -> list[Any]:
        """Run the model; returns the named outputs in that order, or all of them for None.

        Values that only other outputs need are not computed if the model is split.
        """
        names = self._names(output_names)
        outputs = self._outputs(names, input_feed, run_options)
        return [outputs[name] for name in names]

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: Any = None,
    ) -> list[OrtValue]:
        """Like `run`, with values of class `OrtValue`."""
        names = self._names(output_names)
        outputs = self._outputs(names, input_dict_ort_values, run_options)
        return [self._ort_value(name, outputs[name]) for name in names]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: Any = None,
    ) -> None:
        """Run in a thread, which calls `callback(outputs, user_data, "")`, or `callback([],
        user_data, message)` after an error.
        """
        names = self._names(output_names)

        def work() -> None:
            outputs: list[Any] = []
            message = "the run raised an exception, which the thread reports"
            try:
                outputs, message = self.run(names, input_feed, run_options), ""
            except (Error, InternalError) as error:
                message = str(error)
            finally:  # the caller waits for the callback whatever happened
                callback(outputs, user_data, message)

        threading.Thread(target=work, name="headrace.run_async").start()

    def io_binding(self) -> IOBinding:
        """A new binding of inputs and outputs, for `run_with_iobinding`."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        """Run on the bound inputs, and write to the memory bound for outputs."""
        if iobinding._session is not self:
            raise InvalidArgumentError(
                "session: expected a binding that its io_binding() made, got another session's"
            )
        if not iobinding.outputs:
            raise InvalidArgumentError("binding: expected an output that is bound, got none")
        memory = {
            name: value.numpy() for name, value in iobinding.outputs.items() if value is not None
        }
        outputs = self._outputs([*iobinding.outputs], iobinding.inputs, run_options, memory)
        iobinding._results = [
            value if value is not None else self._ort_value(name, outputs[name])
            for name, value in iobinding.outputs.items()
        ]

    # What it is

    def get_inputs(self) -> list[NodeArg]:
        """The declared inputs."""
        return list(self._interface.inputs)

    def get_outputs(self) -> list[NodeArg]:
        """The declared outputs."""
        return list(self._interface.outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The inputs that may be omitted, because the model has default values for them."""
        return list(self._interface.overridable)

    def get_modelmeta(self) -> ModelMetadata:
        """The metadata of the model's file."""
        notes = self._model._core.notes
        if notes["version"] is None:
            notes["version"] = NO_VERSION
        return ModelMetadata(**notes, custom_metadata_map=self._model.metadata)

    def get_session_options(self) -> Any:
        """The options that the session was made with."""
        return self._options

    def get_providers(self) -> list[str]:
        """The providers that are used: ["CPUExecutionProvider"]."""
        return [PROVIDER]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of each provider, which are empty."""
        return {PROVIDER: {}}

    def set_providers(
        self,
        providers: Sequence[Any] | None = None,
        provider_options_: Sequence[Mapping[Any, Any]] | None = None,
    ) -> None:
        """Accepted; the session runs on the CPU, and warns if that is not among the providers."""
        provider_options(providers, provider_options_)

    def enable_fallback(self) -> None:
        """Accepted without effect: there is no other provider to fall back to."""

    def disable_fallback(self) -> None:
        """Accepted without effect: there is no other provider to fall back to."""

    # Traces

    def end_profiling(self) -> str:
        """Write the trace of all runs so far, with an event for each step of each run, and return
        the path of the file, which chrome://tracing and Perfetto show. Returns "" if
        `SessionOptions.enable_profiling` was not set, or if the trace was written before.
        """
        if self._trace is None:
            return ""
        self._trace = None
        return self._write_trace() or ""

    def get_profiling_start_time_ns(self) -> int:
        """The start time of the trace, by the clock of `time.monotonic_ns`."""
        return self._trace.start_monotonic if self._trace else 0

    def _names(self, given: Sequence[str] | None) -> list[str]:
        known = [arg.name for arg in self._interface.outputs]
        for name in given or ():
            if name not in known:
                raise InvalidArgumentError(
                    f"model '{self._model.name}': expected outputs "
                    f"{', '.join(map(repr, known))}, got '{name}'"
                )
        return list(given or known)

    def _outputs(
        self,
        names: Sequence[str],
        feed: Mapping[str, Any],
        options: Any,
        memory: Mapping[str, np.ndarray] = {},
    ) -> dict[str, Any]:
        """The outputs named, and maybe others; those that have memory are written there."""
        plain = {k: v._value if isinstance(v, OrtValue) else v for k, v in feed.items()}
        model, values = self._model._bind((), plain)
        specs, stop = model.outputs, stop_flag(options)
        for spec in specs:
            if spec.name in memory:
                check_type(spec, memory[spec.name])
        if trace := self._trace:  # another thread may end it meanwhile
            begin = time.perf_counter_ns()
            results, steps = model._run_profiled(values, stop)
            trace.add_run(begin, steps)
        elif model.is_split:
            results = model._run_values(values, [spec.name in names for spec in specs], stop)
        elif memory and can_write_directly(specs, memory, values):
            return dict(
                zip(
                    [spec.name for spec in specs],
                    model._run_into(values, [memory.get(spec.name) for spec in specs], stop),
                )
            )
        else:
            results = model._run(values, stop)
        outputs = {spec.name: value for spec, value in zip(specs, results)}
        for name, array in memory.items():
            copy_into(array, outputs[name], name)
        return outputs

    def _ort_value(self, name: str, value: Any) -> OrtValue:
        (spec,) = (spec for spec in self._model.outputs if spec.name == name)
        return OrtValue(value, spec.element_type)


def check_type(spec: TensorSpec, array: np.ndarray) -> None:
    if spec.element_type not in NUMPY_NAMES:
        raise TypeMismatchError(
            f"output '{spec.name}': expected no memory, which a run makes for "
            f"{onnx_type(spec.element_type)}, got an array of {array.dtype}"
        )
    if array.dtype != spec.dtype:
        raise TypeMismatchError(
            f"output '{spec.name}': expected memory for {spec.dtype}, got {array.dtype}"
        )


def can_write_directly(
    specs: Sequence[TensorSpec], memory: Mapping[str, np.ndarray], values: Sequence[Any]
) -> bool:
    """Whether a run may write to this memory while it reads the inputs."""
    arrays = memory.values()
    return (
        all(array.flags.aligned and array.flags.c_contiguous for array in arrays)
        and all(spec.element_type not in STORAGE for spec in specs)
        and all(
            isinstance(value, np.ndarray)
            and not any(np.may_share_memory(value, array) for array in arrays)
            for value in values
        )
    )


def copy_into(array: np.ndarray, value: np.ndarray, name: str) -> None:
    if array.shape != value.shape:
        raise ShapeMismatchError(
            f"output '{name}': expected memory for {list(value.shape)}, got {list(array.shape)}"
        )
    np.copyto(array, value)
