"""Tuning: schedules of kernels, or points of a schedule's knobs, are measured and the best kept."""

from __future__ import annotations

import json
import math
import os
import random
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from headrace import _core
from headrace._background import sizes_of_values
from headrace._knobs import Point, Space, same
from headrace._model import Model
from headrace.errors import Error, InvalidArgumentError

Progress = Callable[[int, int, float, float, str], None]


def tune(
    model: Model,
    /,
    *args: Any,
    trials: int = 64,
    budget: float = math.inf,
    target: str = "cpu",
    log: str | os.PathLike[str] = "",
    resume: bool = False,
    seed: int = 0,
    results: str = "auto",
    progress: Progress | None = None,
    **named: Any,
) -> dict[str, Any]:
    """Tune a model's kernels, or the knobs of a program of tensor expressions.

    Dynamic dimensions take the values of a mapping (`hr.tune(model, {"batch": 8})` or
    `batch=8`), or those of the inputs of a call (`hr.tune(model, image)`). Each kernel has `trials`
    schedules measured, alone and in a process of its own, within `budget` seconds; the winners are
    confirmed inside the whole model. Programs that are compiled from then on use them. Returns the
    report: `kernels` with `name`, `default_us`, `ratio`, `schedule` and `kept`, `model_ratio`, and
    more (docs/tuning.md).

    If the schedule of `model` has knobs (`headrace.knob`), they are tuned instead: points of their
    space are compiled and timed in this process, on the given inputs. The report has `point`,
    `recipe`, `milliseconds`, `default_milliseconds` and `trials`.

    `log`: the file that each trial is added to; with `resume`, trials in it count.
    `results`: "auto" keeps winners in the user's cache, a path in that file, "never" nowhere.
    `progress`: called with the trial, how many there are, how many times faster the kernels are so
    far, the seconds left and the kernel's name.

    >>> report = hr.tune(digits, batch=16, trials=8, results="never")
    >>> report["kernels"][0]["ratio"] <= 1
    True
    """
    if trials < 1:
        raise InvalidArgumentError(f"trials: expected 1 or more, got {trials}")
    if model._tunable is not None:
        return tune_knobs(model, args, named, trials, budget, seed)
    sizes = sizes_of(model, args, named)
    settings = _core.Settings(target=target, tuning=os.fspath(results))
    text = _core.tune(
        model._core,
        settings,
        sizes,
        trials,
        min(budget, 1e9),
        seed,
        os.fspath(log),
        resume,
        progress,
    )
    return json.loads(text)


def sizes_of(model: Model, args: tuple[Any, ...], named: Mapping[str, Any]) -> list[int | None]:
    """A value for each dynamic dimension: given, or those of the inputs of a call."""
    if len(args) == 1 and isinstance(args[0], Mapping):
        sizes = model._sizes(args[0], named)
    elif not args and all(name in model.symbols for name in named):
        sizes = model._sizes(None, named)
    else:
        sizes = sizes_of_values(model, model._arrange(args, named))
    for name, size in zip(model.symbols, sizes):
        if size is None:
            raise InvalidArgumentError(
                f"model '{model.name}': expected a value of the dynamic dimension '{name}', "
                f"got none"
            )
    return sizes


def tune_knobs(
    model: Model,
    args: tuple[Any, ...],
    named: Mapping[str, Any],
    trials: int,
    budget: float,
    seed: int,
) -> dict[str, Any]:
    """Evolution over the points of the space, from the first values of all knobs."""
    space, chooser = model.space(), random.Random(seed)
    first = {name: values[0] for name, values in space.knobs.items()}
    measured: list[tuple[float, Point]] = []
    log: list[dict[str, Any]] = []
    seen: list[Point] = []
    end = time.monotonic() + budget

    def measure(point: Point) -> None:
        seen.append(point)
        entry: dict[str, Any] = {"point": point}
        try:
            entry["milliseconds"] = model.time(point, *args, **named)
            measured.append((entry["milliseconds"], point))
            measured.sort(key=lambda each: each[0])
        except Error as error:
            entry["failure"] = str(error)
        log.append(entry)

    measure(first)
    while len(log) < min(trials, space.size) and time.monotonic() < end:
        parents = [point for _, point in measured[:4]]
        point = next_point(space, parents, seen, chooser)
        if point is None:
            break
        measure(point)
    if not measured:
        raise InvalidArgumentError(f"model '{model.name}': {log[0]['failure']}")
    best, default = confirm(model, measured[0][1], first, args, named)
    point = measured[0][1] if best < default else first
    return {
        "point": point,
        "recipe": space.recipe(point),
        "milliseconds": min(best, default),
        "default_milliseconds": default,
        "trials": log,
    }


def next_point(
    space: Space, parents: list[Point], seen: list[Point], chooser: random.Random
) -> Point | None:
    """A legal point that was not tried: a good one with a knob or two changed, or any."""

    def is_seen(point: Point) -> bool:
        return any(all(same(point[name], old[name]) for name in point) for old in seen)

    for attempt in range(200):
        if parents and chooser.random() < 0.7 and attempt < 100:
            point = dict(chooser.choice(parents))
            for _ in range(chooser.randint(1, 2)):
                name = chooser.choice([*space.knobs])
                point[name] = chooser.choice(space.knobs[name])
        else:
            point = {name: chooser.choice(values) for name, values in space.knobs.items()}
        if not is_seen(point) and not space.unsupported_reason(point):
            return point
    return next((point for point in space if not is_seen(point)), None)


def confirm(
    model: Model, best: Point, first: Point, args: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[float, float]:
    """The milliseconds of both points, in turns."""
    turns = [
        (model.time(best, *args, **named), model.time(first, *args, **named)) for _ in range(3)
    ]
    return statistics.median(turn[0] for turn in turns), statistics.median(
        turn[1] for turn in turns
    )
