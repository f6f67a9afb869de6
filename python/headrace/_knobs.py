"""Knobs: arguments of scheduling directives that are chosen later, and the spaces they span."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.errors import Error, InvalidArgumentError, TypeMismatchError

if TYPE_CHECKING:
    from headrace._model import Model

Point = dict[str, Any]


class Knob:
    """An argument of a scheduling directive with several values to choose from; made by
    `hr.knob`.
    """

    def __init__(self, values: Sequence[Any], name: str) -> None:
        self.values = tuple(values)
        self.name = name

    def __repr__(self) -> str:
        named = f" '{self.name}'" if self.name else ""
        return f"<headrace knob{named} of {', '.join(map(repr, self.values))}>"


def knob(values: Sequence[Any], name: str = "") -> Knob:
    """An argument of a scheduling directive that is one of `values`; a schedule itself takes the
    first.

    A knob without a name is named after the stage and the argument that it is given for. One knob
    may be given to several directives, which then have equal arguments. None as a value leaves out
    the directive.

    >>> s = hr.schedule(C)
    >>> io, ii = s[C].split("i", hr.knob([4, 6, 8], name="rows"))
    >>> s[C].parallel(hr.knob([io, None], name="shared"))
    """
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise TypeMismatchError(f"hr.knob: expected a list of values, got {values!r}")
    if not values:
        raise InvalidArgumentError("hr.knob: expected a value to choose from, got none")
    for i, value in enumerate(values):
        if any(same(value, other) for other in values[:i]):
            raise InvalidArgumentError(f"hr.knob: expected each value once, got {value!r} twice")
    return Knob(values, name)


class Space:
    """The points that the knobs of a schedule span; made by `Model.space` and `Schedule.space`.

    A point has a value for each knob, by name. Iteration yields the points with which every
    directive is legal.

    >>> s = hr.schedule(C)
    >>> io, ii = s[C].split("i", hr.knob([4, 6, 8], name="rows"))
    >>> s.space().sample(1, seed=0)
    [{'rows': 6}]
    """

    def __init__(self, knobs: Mapping[str, Knob], recipe_at: Callable[[Point], str]) -> None:
        self._knobs = dict(knobs)
        self._recipe_at = recipe_at

    @property
    def knobs(self) -> dict[str, tuple[Any, ...]]:
        """The values of every knob, by its name."""
        return {name: knob.values for name, knob in self._knobs.items()}

    @property
    def size(self) -> int:
        """The number of points, legal or not."""
        return math.prod(len(knob.values) for knob in self._knobs.values())

    def recipe(self, point: Mapping[str, Any]) -> str:
        """The recipe at a point. Raises an `Error` that names the point if a directive is
        illegal.
        """
        checked = self._checked(point)
        try:
            return self._recipe_at(checked)
        except Error as error:
            raise type(error)(f"{text_of(checked)}: {error}") from None

    def unsupported_reason(self, point: Mapping[str, Any]) -> str:
        """The reason if a directive is illegal at the point, else an empty text."""
        checked = self._checked(point)
        try:
            self._recipe_at(checked)
        except Error as error:
            return str(error)
        return ""

    def __iter__(self) -> Iterator[Point]:
        names = list(self._knobs)
        for values in itertools.product(*(knob.values for knob in self._knobs.values())):
            point = dict(zip(names, values))
            if not self.unsupported_reason(point):
                yield point

    def sample(self, count: int, seed: int = 0) -> list[Point]:
        """Different legal points by chance, the same for equal seeds: `count`, or all if there are
        fewer.
        """
        chooser, found, seen = random.Random(seed), [], set()
        while len(found) < count and len(seen) < self.size:
            place = tuple(chooser.randrange(len(knob.values)) for knob in self._knobs.values())
            if place in seen:
                continue
            seen.add(place)
            values = (knob.values[i] for knob, i in zip(self._knobs.values(), place))
            point = dict(zip(self._knobs, values))
            if not self.unsupported_reason(point):
                found.append(point)
        return found

    def __repr__(self) -> str:
        lines = [f"  {name}: {', '.join(map(repr, values))}" for name, values in self.knobs.items()]
        return "\n".join(["<headrace space", *lines]) + ">"

    def _checked(self, point: Mapping[str, Any]) -> Point:
        """The point with a value for each knob, in the order of the knobs."""
        names = ", ".join(f"'{name}'" for name in self._knobs)
        if not isinstance(point, Mapping):
            raise TypeMismatchError(
                f"point: expected a dict of values for {names}, got {type(point).__name__}"
            )
        for name in point:
            if name not in self._knobs:
                raise InvalidArgumentError(f"point: expected values for {names}, got '{name}'")
        checked = {}
        for name, knob in self._knobs.items():
            if name not in point:
                raise InvalidArgumentError(f"point: expected a value for '{name}', got none")
            checked[name] = value_of(knob, name, point[name])
        return checked


def value_of(knob: Knob, name: str, value: Any) -> Any:
    for known in knob.values:
        if same(known, value):
            return known
    known = ", ".join(map(repr, knob.values))
    raise InvalidArgumentError(f"knob '{name}': expected one of {known}, got {value!r}")


def same(a: Any, b: Any) -> bool:
    """Axes compare as objects: `==` of expressions is an expression."""
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return a is b or (type(a) is type(b) and isinstance(a, (int, str)) and a == b)


def text_of(point: Point) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in point.items())


class Knobs:
    """The knobs that a schedule's directives were given, each under a name."""

    def __init__(self) -> None:
        self.by_name: dict[str, Knob] = {}

    def add(self, given: Any, default: Any) -> None:
        """Adds the knobs in an argument; `default` names those without a name: all of them, or one
        by one.
        """
        if isinstance(given, (tuple, list)):
            defaults = default if isinstance(default, list) else [default] * len(given)
            for item, name in zip(given, defaults):
                self.add(item, name)
        if not isinstance(given, Knob) or given in self.by_name.values():
            return
        name = given.name or self._free(default)
        if name in self.by_name:
            raise InvalidArgumentError(
                f"knob '{name}': expected one knob of this name in a schedule, got two"
            )
        self.by_name[name] = given

    def first(self) -> Point:
        return {name: knob.values[0] for name, knob in self.by_name.items()}

    def resolved(self, given: Any, point: Point) -> Any:
        """The argument with the point's value for every knob in it."""
        if isinstance(given, Knob):
            return point[next(name for name, knob in self.by_name.items() if knob is given)]
        if isinstance(given, (tuple, list)):
            return [self.resolved(item, point) for item in given]
        return given

    def copy(self) -> Knobs:
        copied = Knobs()
        copied.by_name.update(self.by_name)
        return copied

    def _free(self, default: str) -> str:
        if default not in self.by_name:
            return default
        return next(
            name for i in itertools.count(2) if (name := f"{default}{i}") not in self.by_name
        )


class Tunable:
    """A program whose schedule has knobs: its space, and the program at a point."""

    def __init__(self, space: Space, compiled: Callable[[str], Model]) -> None:
        self.space = space
        self._compiled = compiled

    def at(self, point: Mapping[str, Any]) -> Model:
        return self._compiled(self.space.recipe(point))


def milliseconds_of(run: Callable[[], Any]) -> float:
    """The median time of a call, after one that compiles and one that warms the caches."""
    run()
    run()
    times: list[int] = []
    while len(times) < MIN_CALLS or (sum(times) < ENOUGH_NS and len(times) < MAX_CALLS):
        begin = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / 1e6


MIN_CALLS, MAX_CALLS, ENOUGH_NS = 3, 1000, 20_000_000
