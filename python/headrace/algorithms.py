"""The functions of scripts as functions of Python: `hr.algorithms.kmeans(X, k=5)`.

A function is looked up as a script looks it up: `kmeans.dml` or `builtin/kmeans.dml` in the
directories of `headrace.algorithms.path` and of HEADRACE_SCRIPT_PATH. Its parameters are those of
the script, its results lazy matrices.
"""

from __future__ import annotations

import inspect
import os
import pathlib
from typing import Any, NamedTuple

from headrace import _core
from headrace.errors import InvalidArgumentError
from headrace.matrices._graph import Node
from headrace.matrices._matrix import Matrix, _operand, given_value

#: Directories with files NAME.dml of functions, searched before those of HEADRACE_SCRIPT_PATH.
path: list[str | os.PathLike[str]] = []

_MATRIX = "Matrix"


def _folders() -> list[str]:
    return [os.fspath(folder) for folder in path]


def _environment_folders() -> list[str]:
    return [part for part in os.environ.get("HEADRACE_SCRIPT_PATH", "").split(":") if part]


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    function = _find(name)
    if function is None:
        searched = ", ".join([*_folders(), *_environment_folders()]) or "no directory"
        raise AttributeError(
            f"no script defines '{name}' (searched {searched}); headrace.algorithms.path and "
            "HEADRACE_SCRIPT_PATH name directories of scripts"
        )
    return function


def __dir__() -> list[str]:
    names: set[str] = set()
    for folder in [*_folders(), *_environment_folders()]:
        for place in (pathlib.Path(folder), pathlib.Path(folder) / "builtin"):
            names.update(file.stem for file in place.glob("*.dml"))
    return sorted(names)


def _find(name: str) -> Any:
    found = _core.function_signature(name, _folders())
    if found is None:
        return None
    inputs, outputs, text = found
    return _made(name, inputs, outputs, text)


def _made(name: str, inputs: Any, outputs: Any, text: str) -> Any:
    names = [parameter for parameter, _, _ in inputs]
    Results: Any = NamedTuple(  # noqa: UP014
        f"{name}_results", [(output, Any) for output, _ in outputs]
    )

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"{name}() takes {len(names)} arguments, got {len(args)}")
        given = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key not in names:
                raise TypeError(f"{name}() has no parameter '{key}'; it has {', '.join(names)}")
            if key in given:
                raise TypeError(f"{name}() got two values for '{key}'")
            given[key] = value
        missing = [
            parameter for parameter, _, other in inputs if other is None and parameter not in given
        ]
        if missing:
            raise TypeError(f"{name}() expects a value for {', '.join(missing)}")
        operands = [(key, _argument(key, value)) for key, value in given.items()]
        node = Node(name, operands, len(outputs), keeps=True, path=tuple(_folders()))
        results = [
            Matrix((node, i), None if kind.startswith((_MATRIX, "Frame", "List")) else ())
            for i, (_, kind) in enumerate(outputs)
        ]
        return results[0] if len(results) == 1 else Results(*results)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = _header(text)
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                parameter,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if other is None else _Default(other),
            )
            for parameter, _, other in inputs
        ]
        if _defaults_come_last(inputs)
        else [inspect.Parameter("arguments", inspect.Parameter.VAR_KEYWORD)]
    )
    return call


class _Default:
    """A default of a script, shown as the script writes it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _defaults_come_last(inputs: Any) -> bool:
    given = [other is not None for _, _, other in inputs]
    return given == sorted(given)


def _argument(name: str, value: Any) -> Any:
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        return (given_value(value), 0)
    if isinstance(value, Matrix):
        return value._ref
    if hasattr(value, "columns") or isinstance(value, dict):
        return (given_value(value), 0)
    operand, _, _ = _operand(value)
    if operand is None:
        raise InvalidArgumentError(f"'{name}': expected a matrix or a scalar, got None")
    return operand


def _header(text: str) -> str:
    """The comment that explains the function: after the license, before the code."""
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("#"):
            blocks[-1].append(line.lstrip("#").removeprefix(" ").rstrip())
        elif blocks[-1]:
            blocks.append([])
        elif line.strip() and not line.startswith(("source", "setwd")):
            break
    told = [block for block in blocks if block and "Licensed to the" not in " ".join(block)]
    return "\n".join(told[0]).strip("-\n ") if told else ""
