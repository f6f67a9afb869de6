"""Tells how good the cost model is: how far its predictions are off, and how often it chooses well.

    ./dev bench choices --log FILE
    ./dev bench choices [--models MODEL ...] [--threads 1] [--seconds 1] [--rounds 3]

Predictions are judged by the median of their errors, the share that is within a factor of 2, and the worst
kernels among those that take 1% of their model. Every product and convolution of the models is timed as generated code and as a library's routine, with
what each needs around it. Where the two differ by more than a tenth, the compiler should have taken
the faster one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.run import MODEL_NAMES
from bench.workload import ROOT, from_file, from_name

LIBRARY = "openblas"
CLEAR = 1.1  # ratio from which on one of two times is the better one
CLOSE = 2.0  # factor within which a prediction still serves
NOISE = 0.05  # share of the time up to which a measured change may be none
LARGE = 0.01  # share of a model's time from which on a kernel's prediction matters by itself


@dataclass
class Kernel:
    name: str
    operators: frozenset[str]
    time_us: float
    predicted_us: float | None
    is_library: bool


@dataclass
class Choice:
    """Operators that one expansion or the other computes together, and their time under each."""

    operators: frozenset[str]
    generated_us: float
    library_us: float
    took_library: bool

    @property
    def is_clear(self) -> bool:
        return max(self.generated_us, self.library_us) > CLEAR * min(
            self.generated_us, self.library_us
        )

    @property
    def is_right(self) -> bool:
        return self.took_library == (self.library_us < self.generated_us)


def profile(path: Path, expansion: str, options: argparse.Namespace) -> list[Kernel]:
    headrace = os.environ.get("HEADRACE_BIN", str(ROOT / "build/release/bin/headrace"))
    command = [headrace, "bench", str(path), "--profile", "--json", "--expansion", expansion]
    command += ["--seconds", str(options.seconds), "--rounds", "1"]
    command += ["--threads", str(options.threads)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return [
        Kernel(
            kernel["name"],
            frozenset(kernel["operators"]),
            kernel["time_us"],
            kernel["predicted_us"],
            kernel["routine"].startswith(LIBRARY + "."),
        )
        for kernel in json.loads(done.stdout)["kernels"]
    ]


def best_profile(path: Path, expansion: str, options: argparse.Namespace) -> list[Kernel]:
    """The least time of each kernel over some rounds: others may use the machine meanwhile."""
    rounds = [profile(path, expansion, options) for _ in range(options.rounds)]
    for same in zip(*rounds, strict=True):
        same[0].time_us = min(kernel.time_us for kernel in same)
    return rounds[0]


def groups(profiles: Iterable[list[Kernel]]) -> list[frozenset[str]]:
    """Operators that share a kernel in any of the profiles, directly or through others."""
    found: list[set[str]] = []
    for kernels in profiles:
        for kernel in kernels:
            touching = [group for group in found if group & kernel.operators]
            found = [group for group in found if not group & kernel.operators]
            found.append(set(kernel.operators).union(*touching))
    return [frozenset(group) for group in found]


def choices(generated: list[Kernel], library: list[Kernel], chosen: list[Kernel]) -> list[Choice]:
    """One for each group of operators that a library can compute a part of."""
    found = []
    for group in groups([generated, library, chosen]):
        mine = {
            name: [kernel for kernel in kernels if kernel.operators & group]
            for name, kernels in (("g", generated), ("l", library), ("c", chosen))
        }
        if any(kernel.is_library for kernel in mine["l"]):
            took = any(kernel.is_library for kernel in mine["c"])
            times = {name: sum(k.time_us for k in kernels) for name, kernels in mine.items()}
            found.append(Choice(group, times["g"], times["l"], took))
    return found


def errors(kernels: Iterable[Kernel]) -> list[float]:
    """How far predictions are off, as shares of the times; less than a microsecond is the clock."""
    return [
        abs(kernel.predicted_us - kernel.time_us) / kernel.time_us
        for kernel in kernels
        if kernel.predicted_us is not None and kernel.time_us >= 1
    ]


@dataclass
class Accuracy:
    """How good the predictions of some kernels are."""

    median: float
    close: float  # the share within CLOSE
    kernels: int

    def __str__(self) -> str:
        return (
            f"predictions off by {self.median:4.0%} in the median of {self.kernels:3} kernels,"
            f" {self.close:4.0%} within a factor of {CLOSE:g}"
        )


def factor(kernel: Kernel) -> float:
    """How many times the larger of prediction and time is the smaller one."""
    assert kernel.predicted_us is not None
    low, high = sorted((kernel.predicted_us, kernel.time_us))
    return high / low if low > 0 else float("inf")


def predicted(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Kernels whose predictions can be judged: less than a microsecond is the clock."""
    return [k for k in kernels if k.predicted_us is not None and k.time_us >= 1]


def accuracy(kernels: list[Kernel]) -> Accuracy:
    judged = predicted(kernels)
    close = sum(factor(kernel) <= CLOSE for kernel in judged)
    return Accuracy(
        statistics.median(errors(judged) or [0.0]), close / max(len(judged), 1), len(judged)
    )


def worst(kernels: list[Kernel], count: int) -> list[Kernel]:
    """Kernels of a model that take at least LARGE of its time, the worst prediction first."""
    total = sum(kernel.time_us for kernel in kernels)
    large = [kernel for kernel in predicted(kernels) if kernel.time_us >= LARGE * total]
    return sorted(large, key=factor, reverse=True)[:count]


@dataclass
class MeasuredStep:
    """A step that `headrace optimize --measure` timed: microseconds before and after it."""

    predicted: tuple[float, float]
    measured: tuple[float, float]

    @property
    def is_clear(self) -> bool:
        return abs(self.measured[1] - self.measured[0]) > NOISE * self.measured[0]

    @property
    def has_right_sign(self) -> bool:
        saved = [before - after for before, after in (self.predicted, self.measured)]
        return saved[0] * saved[1] > 0

    @property
    def is_close(self) -> bool:
        low, high = sorted(abs(a - b) for a, b in (self.predicted, self.measured))
        return self.has_right_sign and high <= CLOSE * low


def read_steps(lines: Iterable[str]) -> list[MeasuredStep]:
    """The log of measured steps, a line of JSON each; lines that are cut off are left out."""
    steps = []
    for line in lines:
        try:
            entry = json.loads(line)
            steps.append(MeasuredStep(tuple(entry["predicted_us"]), tuple(entry["measured_us"])))
        except (ValueError, KeyError, TypeError):
            continue
    return steps


def steps_text(steps: list[MeasuredStep]) -> str:
    clear = [step for step in steps if step.is_clear]
    right = sum(step.has_right_sign for step in clear)
    close = sum(step.is_close for step in clear)
    return (
        f"{len(steps)} measured steps, {len(clear)} beyond {NOISE:.0%} of the time: of {right} the"
        f" sign was predicted, of {close} the change within a factor of {CLOSE:g}"
    )


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", metavar="MODEL", default=list(MODEL_NAMES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each profile (default: 1)")
    parser.add_argument("--rounds", type=int, default=3, help="profiles of each (default: 3)")
    parser.add_argument("--worst", type=int, default=5, help="kernels to show (default: 5)")
    parser.add_argument(
        "--log",
        type=Path,
        metavar="FILE",
        help="only judge the steps that `headrace optimize --measure` logged"
        " (measured-steps.jsonl in the cache)",
    )
    parser.add_argument("--verbose", action="store_true", help="show every choice and kernel")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    if options.log:
        print(steps_text(read_steps(options.log.read_text().splitlines())))
        return 0
    all_choices: list[Choice] = []
    all_kernels: list[tuple[str, Kernel]] = []
    all_worst: list[tuple[str, Kernel]] = []
    for model in options.models:
        is_file = Path(model).suffix == ".onnx"
        work = from_file(Path(model), 1) if is_file else from_name(model, False, 1)
        chosen = best_profile(work.path, "auto", options)
        generated = best_profile(work.path, "generated", options)
        library = best_profile(work.path, LIBRARY, options)
        own = choices(generated, library, chosen)
        all_choices += own
        all_kernels += [(work.name, kernel) for kernel in chosen]
        all_worst += [(work.name, kernel) for kernel in worst(chosen, options.worst)]
        clear = [choice for choice in own if choice.is_clear]
        right = sum(choice.is_right for choice in clear)
        print(
            f"{work.name:14} {accuracy(chosen)}; {right} of {len(clear)} clear choices right",
            flush=True,
        )
        if options.verbose:
            for kernel in chosen:
                print(
                    f"    {kernel.name[-40:]:40} {kernel.time_us:10.1f} us,"
                    f" predicted {kernel.predicted_us or 0:10.1f}"
                )
            for choice in own:
                mark = "" if not choice.is_clear else "right" if choice.is_right else "WRONG"
                print(
                    f"    {sorted(choice.operators)[0][-40:]:40} generated {choice.generated_us:9.1f}"
                    f" library {choice.library_us:9.1f} took"
                    f" {'library' if choice.took_library else 'generated'} {mark}"
                )
    clear = [choice for choice in all_choices if choice.is_clear]
    right = sum(choice.is_right for choice in clear)
    share = f" ({right / len(clear):.0%})" if clear else ""
    print(
        f"\nall: {accuracy([kernel for _, kernel in all_kernels])};"
        f" {right} of {len(clear)}{share} clear choices right"
    )
    print(f"\nworst predictions of kernels that take {LARGE:.0%} of their model:")
    for model, kernel in sorted(all_worst, key=lambda each: factor(each[1]), reverse=True)[
        : options.worst
    ]:
        print(
            f"    {model:14} {kernel.name[-40:]:40} {kernel.time_us:10.1f} us,"
            f" predicted {kernel.predicted_us:10.1f} ({factor(kernel):.1f}x)"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
