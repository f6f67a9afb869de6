"""The phases of the compiler."""

from __future__ import annotations

from typing import NamedTuple

from headrace import _core


class Phase(NamedTuple):
    """A phase of the compiler, and what holds after it."""

    name: str
    summary: str


def phases(target: str = "cpu", *, gradient: bool = False) -> list[Phase]:
    """The compiler's phases for a target in order; `Model.ir` takes their names.

    With `gradient`, the phases of differentiation, which come before these.
    """
    return [Phase(*phase) for phase in _core.phases(target, gradient)]
