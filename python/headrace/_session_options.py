"""The options of sessions and runs, by onnxruntime's names."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from headrace import _core
from headrace.errors import InvalidArgumentError

PROVIDER = "CPUExecutionProvider"


class GraphOptimizationLevel(IntEnum):
    """How much onnxruntime optimizes; Headrace always optimizes everything."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(IntEnum):
    """Accepted; Headrace runs independent steps concurrently if that is faster, in either mode."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(IntEnum):
    """The order of steps, which Headrace chooses itself."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _ConfigEntries:
    """Free-form settings of onnxruntime: kept, and without effect."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._entries: dict[str, str] = {}

    def add(self, key: str, value: str) -> None:
        self._entries[key] = value
        warn_once(f"{self._owner} config entry '{key}'", "has no effect")

    def get(self, key: str) -> str:
        if key not in self._entries:
            raise InvalidArgumentError(
                f"{self._owner}: expected a config entry that was added, got '{key}'"
            )
        return self._entries[key]


@dataclass(slots=True, eq=False)
class SessionOptions:
    """Options of a session.

    `intra_op_num_threads` is the number of threads of the session's runs, 0 for as many as the
    process has. With `enable_profiling` the session writes a trace (see
    `InferenceSession.end_profiling`). Results are deterministic in any case. Other options, if
    they are not as they were, warn that they have no effect; those of logging and of several runs
    at once are accepted.
    """

    intra_op_num_threads: int = 0
    inter_op_num_threads: int = 0
    execution_mode: ExecutionMode = ExecutionMode.ORT_SEQUENTIAL
    execution_order: ExecutionOrder = ExecutionOrder.DEFAULT
    graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_ENABLE_ALL
    enable_profiling: bool = False
    profile_file_prefix: str = "headrace_profile"
    optimized_model_filepath: str = ""
    enable_cpu_mem_arena: bool = True
    enable_mem_pattern: bool = True
    enable_mem_reuse: bool = True
    use_deterministic_compute: bool = False
    use_per_session_threads: bool = True
    logid: str = ""
    log_severity_level: int = -1
    log_verbosity_level: int = 0
    _entries: _ConfigEntries = field(
        default_factory=lambda: _ConfigEntries("session"), init=False, repr=False
    )

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Store an entry, which has no effect; warns once."""
        self._entries.add(key, value)

    def get_session_config_entry(self, key: str) -> str:
        """The value of an entry that was added. Raises `InvalidArgumentError` for other keys."""
        return self._entries.get(key)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Accepted without effect, with a warning: the dimension stays dynamic."""
        warn_once(f"session free dimension override '{name}'", "has no effect: it stays dynamic")

    def add_free_dimension_override_by_denotation(self, name: str, size: int) -> None:
        """Accepted without effect, with a warning: the dimension stays dynamic."""
        self.add_free_dimension_override_by_name(name, size)

    def register_custom_ops_library(self, path: str) -> None:
        """Accepted without effect, with a warning: the library is not loaded."""
        warn_once(f"session custom operator library '{path}'", "is not loaded")


class RunOptions:
    """Options of one run. Setting `terminate`, from any thread, ends the run."""

    def __init__(self) -> None:
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
        self._stop = _core.StopFlag()
        self._entries = _ConfigEntries("run")

    @property
    def terminate(self) -> bool:
        """Whether runs with these options end, with a `TerminatedError`, or do not begin.

        A run ends between two steps, or inside a large one.
        """
        return self._stop.asked

    @terminate.setter
    def terminate(self, value: bool) -> None:
        self._stop.asked = bool(value)

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Store an entry, which has no effect; warns once."""
        self._entries.add(key, value)

    def get_run_config_entry(self, key: str) -> str:
        """The value of an entry that was added. Raises `InvalidArgumentError` for other keys."""
        return self._entries.get(key)


def stop_flag(options: Any) -> _core.StopFlag | None:
    """What ends a run with these options, which may be onnxruntime's own; None if nothing can."""
    if options is None or isinstance(options, RunOptions):
        return options and options._stop
    flag = _core.StopFlag()
    flag.asked = bool(getattr(options, "terminate", False))
    return flag


# What a session would do if the options were onnxruntime's defaults, which it always does.
_FIXED_OPTIONS = {
    "execution_order": (0, "Headrace orders steps itself"),
    "graph_optimization_level": (99, "Headrace always optimizes everything"),
    "optimized_model_filepath": ("", "no file is written; Model.ir shows the optimized program"),
    "enable_cpu_mem_arena": (True, "Headrace plans the memory of a run"),
    "enable_mem_pattern": (True, "Headrace plans the memory of a run"),
    "enable_mem_reuse": (True, "Headrace plans the memory of a run"),
}


def warn_of_unused_options(options: Any) -> None:
    """Once for each option that cannot be followed, of options that may be onnxruntime's own."""
    for name, (default, reason) in _FIXED_OPTIONS.items():
        value = getattr(options, name, default)
        if (value if isinstance(value, (str, bool)) else int(value)) != default:
            warn_once(f"session option '{name}'", f"has no effect: {reason}")


_warned: set[str] = set()


def warn_once(what: str, message: str) -> None:
    if what in _warned:
        return
    _warned.add(what)
    warnings.warn(f"{what} {message}", RuntimeWarning, stacklevel=_user_level())


def _user_level() -> int:
    """The stack level of the first caller outside of this package, as `warnings.warn` counts."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "headrace":
        frame, level = frame.f_back, level + 1
    return level


def provider_options(
    providers: Sequence[Any] | None, options: Sequence[Mapping[Any, Any]] | None
) -> dict[str, dict[str, str]]:
    """The options of each provider named; none are named for None. Sessions run on the CPU: warns
    if that is not among them."""
    if isinstance(providers, str) or not isinstance(providers, (Sequence, type(None))):
        raise InvalidArgumentError(f"session: expected providers as a list, got {providers!r}")
    if options is not None and len(options) != len(providers or ()):
        raise InvalidArgumentError(
            f"session: expected options for each of {len(providers or ())} providers, "
            f"got {len(options)}"
        )
    named: dict[str, dict[str, str]] = {}
    for item, given in zip(providers or (), options or [None] * len(providers or ())):
        name, own = _name_and_options(item)
        named.setdefault(name, {str(key): str(value) for key, value in (given or own).items()})
    if named and PROVIDER not in named:
        warnings.warn(
            f"session: expected {PROVIDER} among the providers, got {', '.join(named)}; "
            f"running on the CPU",
            RuntimeWarning,
            stacklevel=_user_level(),
        )
    for key in named.get(PROVIDER, ()):
        warn_once(f"{PROVIDER} option '{key}'", "has no effect")
    return named


def _name_and_options(item: Any) -> tuple[str, Mapping[Any, Any]]:
    match item:
        case str():
            return item, {}
        case (str() as name, Mapping() as options):
            return name, options
    raise InvalidArgumentError(
        f"session: expected providers as names or (name, options), got {item!r}"
    )


def get_available_providers() -> list[str]:
    """The providers that sessions can use: ["CPUExecutionProvider"]."""
    return [PROVIDER]


def get_all_providers() -> list[str]:
    """The known providers: ["CPUExecutionProvider"]."""
    return [PROVIDER]


def get_device() -> str:
    """The device of sessions: "CPU"."""
    return "CPU"


def set_default_logger_severity(level: int) -> None:
    """Accepted without effect: Headrace writes no log."""


def set_default_logger_verbosity(level: int) -> None:
    """Accepted without effect: Headrace writes no log."""
