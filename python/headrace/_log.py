"""Logs of the compiler, and the logarithm, which has the same name."""

from __future__ import annotations

from typing import Any, overload

from headrace import _core, _functions
from headrace._expressions import Expr
from headrace.errors import InvalidArgumentError


@overload
def log(value: str, on: bool = True) -> None: ...
@overload
def log(value: Any) -> Expr: ...
def log(value: Any, on: bool = True) -> Expr | None:
    """The natural logarithm of a value; of `"compile"`, switches the log of compilations on or off.

    The log has one line on standard error for each version of a program that is compiled, kept,
    replaced or dropped, with its sizes, the cause and the time.

    >>> hr.log("compile")
    """
    if not isinstance(value, str):
        return _functions.log(value)
    if value != "compile":
        raise InvalidArgumentError(f"log: expected 'compile' or a value, got '{value}'")
    _core.log_compilations(bool(on))
    return None
