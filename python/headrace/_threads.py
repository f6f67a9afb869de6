"""The number of threads, which all programs of a process share."""

from __future__ import annotations

import operator
import os

from headrace import _core
from headrace.errors import InvalidArgumentError

_VARIABLE = "HEADRACE_THREADS"


def get_threads() -> int:
    """How many threads run kernels: HEADRACE_THREADS, or the cores this process may use.

    Starts them if nothing has run yet.
    """
    return _core.threads()


def set_threads(count: int) -> None:
    """Choose the number of threads, before the first program runs.

    The threads are started once per process: later calls may only confirm the number.

    >>> hr.set_threads(2)
    """
    count = operator.index(count)
    if count < 1:
        raise InvalidArgumentError(f"threads: expected 1 or more, got {count}")
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = str(count)
    try:
        found = _core.threads()
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before
    if found != count:
        raise InvalidArgumentError(
            f"threads: expected set_threads({count}) before the first program runs, "
            f"found {found} threads running"
        )
