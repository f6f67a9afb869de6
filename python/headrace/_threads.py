"""The number of threads that the programs of a process run on."""

from __future__ import annotations

import operator

from headrace import _core
from headrace.errors import InvalidArgumentError


def get_threads() -> int:
    """How many threads run a program: what `set_threads` chose, else HEADRACE_THREADS, else as many
    as this process may use cores.
    """
    return _core.threads()


def set_threads(count: int) -> None:
    """Choose the number of threads, for calls that begin from here on.

    A model or session may have a number of its own (`load`, `SessionOptions`).

    >>> hr.set_threads(2)
    """
    count = operator.index(count)
    if count < 1:
        raise InvalidArgumentError(f"threads: expected 1 or more, got {count}")
    _core.set_threads(count)
