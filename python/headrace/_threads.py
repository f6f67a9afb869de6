"""The number of threads that the programs of a process run on."""

from __future__ import annotations

import operator

from headrace import _core
from headrace.errors import InvalidArgumentError


def get_threads() -> int:
    """The number of threads that run a program: the last `set_threads`, else HEADRACE_THREADS, else
    the number of cores that this process may use.
    """
    return _core.threads()


def set_threads(count: int) -> None:
    """Set the number of threads, for calls that begin from now on.

    A model or session may have a separate number (`load`, `SessionOptions`).

    >>> hr.set_threads(2)
    """
    count = operator.index(count)
    if count < 1:
        raise InvalidArgumentError(f"threads: expected 1 or more, got {count}")
    _core.set_threads(count)
