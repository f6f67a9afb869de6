#!/usr/bin/env python3
"""Times the kernels that are planned by predicted time against those of fusing greedily, and their neighbours.

    ./dev bench fusion [NAME ...] [--neighbours] [--target cpu] [--threads 1] [--seconds 2]

The programs are the benchmark models, expressions of linear algebra, and parts of models and training
loops as users write them. Both plans, and with --neighbours every plan that differs from the chosen one
by one step of a recipe (an operator apart from its kernel, or in one that it was rejected), take turns
in one process; the least time of each counts. With one thread that is the CPU's time, which others
on the machine do not add to. A neighbour that is clearly faster is a plan that planning should have found.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.run import MODEL_NAMES
from bench.workload import from_name, random_feeds
from cases.fusion import EXPRESSIONS, PROGRAMS

GREEDY, PLANNED = "plan kernels greedily", "plan kernels by-time"
CLEAR = 1.02  # ratio from which on one of two plans is the better one
CALLS = 3  # of a plan in one turn


@dataclass
class Comparison:
    """Least seconds of a call, by the recipe that gives the plan."""

    name: str
    times: dict[str, float]
    is_same: bool  # whether both plans have the same kernels

    @property
    def gain(self) -> float:
        return self.times[GREEDY] / self.times[PLANNED]

    def faster_neighbours(self) -> dict[str, float]:
        """Those that are clearly faster than the plan, with how much."""
        best = self.times[PLANNED]
        return {
            recipe: best / taken
            for recipe, taken in self.times.items()
            if recipe not in (GREEDY, PLANNED) and best > CLEAR * taken
        }


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0


def neighbours(steps: list[str], refused: list[str]) -> Iterator[str]:
    """Recipes of one step that change a plan: what shares a kernel apart, what does not together."""
    for step in steps:
        if found := re.fullmatch(r"(?:fuse|merge) (\S+) into \S+", step):
            yield f"separate {found[1]}"
        elif found := re.fullmatch(r"walk (\S+) along \S+", step):
            yield f"walk {found[1]} along nothing"
    for step in refused:
        if re.match(r"(fuse|merge) ", step):
            yield step


def fusion_steps(recipe: str) -> list[str]:
    return [line for line in recipe.splitlines() if re.match(r"(fuse|merge|walk|kernel) ", line)]


def compare(name: str, path: Path, options: argparse.Namespace) -> Comparison:
    import headrace as hr

    feeds = list(random_feeds(path, 1).values())
    calls: dict[str, Callable[[], object]] = {}

    def add(recipe: str) -> hr.Model:
        model = hr.load(path, recipe=recipe, target=options.target)
        model(*feeds)
        calls[recipe] = lambda: model(*feeds)
        return model

    greedy, planned = add(GREEDY).explain(), add(PLANNED).explain()
    steps = fusion_steps(planned["recipe"])
    if options.neighbours:
        refused = [reason["step"] for reason in planned["why_not"]]
        for recipe in list(dict.fromkeys(neighbours(steps, refused)))[: options.most]:
            try:
                add(recipe)
            except hr.Error:  # the step cannot be followed: no such plan
                continue
    is_same = set(steps) == set(fusion_steps(greedy["recipe"]))
    times = take_turns(calls, options)
    # Which pages of memory a program happens to get makes some percent of its time.
    for _ in range(options.loads - 1):
        for recipe in calls:
            add(recipe)
        times = {recipe: min(times[recipe], t) for recipe, t in take_turns(calls, options).items()}
    return Comparison(name, times, is_same)


def take_turns(calls: dict[str, Callable], options: argparse.Namespace) -> dict[str, float]:
    clock = time.process_time if options.threads == 1 else time.perf_counter
    best = dict.fromkeys(calls, math.inf)
    end = time.perf_counter() + options.seconds * len(calls) / 2 / options.loads
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        rounds += 1
        for recipe, call in sorted(calls.items(), reverse=rounds % 2 == 0):
            for _ in range(CALLS):
                begin = clock()
                call()
                best[recipe] = min(best[recipe], clock() - begin)
    return best


def sources(folder: Path) -> dict[str, Callable[[], Path]]:
    """Every program by its name, made when it is asked for."""
    models = {name: lambda name=name: from_name(name, False, 1).path for name in MODEL_NAMES}
    texts = {
        program.name: lambda program=program: program.write(folder)
        for program in EXPRESSIONS + PROGRAMS
    }
    return models | texts


def show(comparison: Comparison) -> None:
    greedy, planned = (1e3 * comparison.times[plan] for plan in (GREEDY, PLANNED))
    note = "  same kernels" if comparison.is_same else ""
    tried = len(comparison.times) - 2
    neighbours = f"  {tried} neighbours" if tried else ""
    print(
        f"{comparison.name:22} greedy {greedy:9.3f} ms, planned {planned:9.3f} ms,"
        f" {comparison.gain:5.2f} x{note}{neighbours}",
        flush=True,
    )
    for recipe, gain in sorted(comparison.faster_neighbours().items(), key=lambda item: -item[1]):
        print(f"    {gain:5.2f} x with '{recipe}'", flush=True)


def summary(comparisons: list[Comparison]) -> str:
    def mean(some: list[Comparison]) -> str:
        return f"{geometric_mean([comparison.gain for comparison in some]):.3f}"

    own = {program.name for program in PROGRAMS}
    bar = [c for c in comparisons if c.name not in own]
    lines = [
        f"greedy time / planned time, geometric mean: {mean(bar)} over {len(bar)} models and"
        f" expressions, {mean(comparisons)} over all {len(comparisons)} programs",
        f"kernels differ in {sum(not c.is_same for c in comparisons)} of them",
    ]
    if any(len(c.times) > 2 for c in comparisons):
        beaten = [c.name for c in comparisons if c.faster_neighbours()]
        lines.append(
            f"a neighbour is more than {CLEAR - 1:.0%} faster in {len(beaten)}"
            + (f": {', '.join(beaten)}" if beaten else "")
        )
    return "\n".join(lines)


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all)")
    parser.add_argument("--neighbours", action="store_true", help="time neighbouring plans, too")
    parser.add_argument("--most", type=int, default=40, help="neighbours of a plan (default: 40)")
    parser.add_argument("--target", default="cpu", help="such as cpu:x86-64-v3 (default: cpu)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--loads", type=int, default=3, help="of each program (default: 3)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of two plans (default: 2)")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    import headrace as hr

    options = parse_arguments(arguments)
    with tempfile.TemporaryDirectory() as folder:
        known = sources(Path(folder))
        for name in options.names:
            if name not in known:
                print(f"expected one of {', '.join(known)}, got '{name}'", file=sys.stderr)
                return 2
        hr.set_threads(options.threads)
        comparisons = []
        for name in options.names or known:
            comparisons.append(compare(name, known[name](), options))
            show(comparisons[-1])
    print("\n" + summary(comparisons))
    return 0


if __name__ == "__main__":
    sys.exit(main())
