"""Guided optimization: steps on a program, with what each would change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from headrace import _core
from headrace._model import Model
from headrace.errors import InvalidArgumentError


def optimize(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    /,
    *,
    recipe: str = "",
    start: str = "auto",
    target: str = "cpu",
    grad: bool = False,
    wrt: Iterable[str] = (),
    **named_sizes: int,
) -> Optimizer:
    """Optimize a program by steps, forward and backward.

    Starts from the compiler's plan, from `recipe`, or with `start="unfused"` from each operator in
    a kernel of its own. With `grad`, the program and its gradient by `wrt` (see `grad`) are
    optimized together. See docs/optimize.md.

    >>> guided = hr.optimize(digits, batch=16)
    >>> guided.steps()[0]["legal"]
    True
    """
    if start not in ("auto", "unfused"):
        raise InvalidArgumentError(f"start: expected 'auto' or 'unfused', got {start!r}")
    values = model._sizes(sizes, named_sizes)
    core = _core.optimizer(model._core, target, recipe, values, list(wrt) if grad else None)
    if start == "unfused":
        core.begin_unfused()
    return Optimizer(core)


def blame(
    model: Model,
    first: str,
    second: str,
    sizes: Mapping[str, int] | None = None,
    /,
    *,
    seconds: float = 0,
    target: str = "cpu",
    **named_sizes: int,
) -> dict[str, Any]:
    """Divide the difference in time between two complete recipes among their lines.

    Times are predicted, or measured for `seconds` altogether. Returns a dict with `before_us`,
    `after_us`, `steps` (each with `step` and `added_us`, the most costly first), `left` (steps that
    were not possible alone, with the reason) and `unexplained_us`.
    """
    guided = optimize(model, sizes, recipe=first, target=target, **named_sizes)
    return json.loads(guided._core.blame(second, seconds))


def recipe_difference(recipe: str, other: str) -> str:
    """The lines that two complete recipes do not share: "- " before those of the first, "+ " before
    those of the second; empty if the recipes make the same program."""
    return _core.recipe_difference(recipe, other)


class Optimizer:
    """A program that is optimized by steps; made by `headrace.optimize`."""

    def __init__(self, core: _core.Optimizer) -> None:
        self._core = core

    @property
    def recipe(self) -> str:
        """The complete recipe of the program as it is, which `headrace.load` takes."""
        return self._core.recipe

    @property
    def figures(self) -> dict[str, Any]:
        """The program's `predicted_us`, `bytes`, `operations`, `kernels` and `peak_bytes`."""
        return json.loads(self._core.figures)

    @property
    def history(self) -> dict[str, Any]:
        """The `states` from the start on, with `step` and `figures` each, and the `position`."""
        return json.loads(self._core.history)

    def steps(self, verb: str = "") -> list[dict[str, Any]]:
        """Possible steps by the time that they save, the most first, then the others.

        Each is a dict: `step` as `apply` takes it, `verb`, `kernels` that it is about, `legal`,
        `why_not`, `saved_us`, the figures `after` it, `dropped` and `added` lines of the recipe.
        With `verb` ("fuse", "layout", ..., "schedule"), steps of one kind.
        """
        return json.loads(self._core.list(verb))

    def predict(self, step: str) -> dict[str, Any]:
        """What a step would change, as `steps` has it, and the complete `recipe` after it.

        The program stays as it is.
        """
        return json.loads(self._core.predict(step))

    def apply(self, step: str) -> dict[str, Any]:
        """Do a step, and return it as `steps` has it.

        The changed program is compiled and compared on random inputs first. Raises
        `InvalidArgumentError` with the reason if the step is not possible or changes a result.

        >>> guided = hr.optimize(digits, batch=16)
        >>> guided.apply("separate /features/features.1/Relu")["after"]["kernels"]
        9
        """
        return json.loads(self._core.apply(step))

    @property
    def saved(self) -> str:
        """The recipe with the steps that led to it as comments, for a file or for `replay`."""
        return self._core.saved("steps")

    def replay(self, saved: str) -> list[tuple[str, str]]:
        """Do the steps of a recipe that `saved` or `headrace optimize --save` wrote.

        Steps whose operators this program has by name are done as they are. In another program they
        are done wherever it has operators of equal structure; returns those that were not possible
        there, with the reasons.
        """
        return [*self._core.replay(saved)]

    def undo(self) -> bool:
        """Go back to the state before the last step; False if there is none."""
        return self._core.undo()

    def redo(self) -> bool:
        """Do the step again that was undone last; False if there is none."""
        return self._core.redo()

    def greedy(self, steps: int = 100, seconds: float = 1e9) -> Optimizer:
        """Do the step that saves most, again and again, until none saves time."""
        self._core.greedy(steps, seconds)
        return self

    def search(self, steps: int, seconds: float = 1e9, seed: int = 0) -> Optimizer:
        """Look for a better recipe by so many steps, which may cross worse ones."""
        self._core.search(steps, seconds, seed)
        return self

    def measure(self, seconds: float = 1.0) -> list[float]:
        """The median microseconds of a call in each state up to this one, timed in turns."""
        return [*self._core.measure(seconds)]
