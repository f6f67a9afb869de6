#!/usr/bin/env python3
"""Random ONNX graphs, compiled and compared with the reference evaluation, with themselves rewritten, and with
ONNX Runtime.

    python test/random/run.py --count 2000 --seed 0 --jobs 2

Every program runs in a child process, so that a crash costs one seed and is reported as that seed's.
Failing programs are made small and saved as .onnx with their inputs next to them (--save).
With --command a built command computes them instead of the Python package: build/asan/bin/headrace, say.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import selectors
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

SECONDS_FOR_ONE = 300  # far more than one takes, on a machine with other work, too


@dataclass
class Child:
    """A process that checks the seeds it is told, a line of verdict for each."""

    process: subprocess.Popen
    seed: int | None = None
    seconds_before: float = 0.0  # of the processor, when the current seed began
    seconds_seen: float = -1.0  # when it was last looked at

    def seconds(self) -> float:
        """How long it has had the processor."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def begin(self, seed: int) -> None:
        self.seed, self.seconds_before, self.seconds_seen = seed, self.seconds(), -1.0

    def hangs(self) -> bool:
        """Whether it computes for too long, or has waited since it was last looked at. A process that other work keeps
        from running does neither."""
        before, self.seconds_seen = self.seconds_seen, self.seconds()
        return (
            self.seconds_seen == before or self.seconds_seen - self.seconds_before > SECONDS_FOR_ONE
        )


@dataclass
class Outcome:
    kinds: collections.Counter = field(default_factory=collections.Counter)
    failures: dict[int, str] = field(default_factory=dict)
    refusals: collections.Counter = field(default_factory=collections.Counter)
    # How many programs ONNX Runtime ran and in which types, and why it did not run the others.
    runtime: collections.Counter = field(default_factory=collections.Counter)
    runtime_refusals: dict[int, str] = field(default_factory=dict)


def start_child(command: list[str], keeps_kernels: bool) -> Child:
    # One thread each: the jobs share the cores.
    environment = {**os.environ, "HEADRACE_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if not keeps_kernels:
        environment["HEADRACE_CACHE_DIR"] = ""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    return Child(process)


def serve(thorough_every: int) -> None:
    from check import check

    from cases.graphs.onnx_graphs import generate

    for line in sys.stdin:
        seed = int(line)
        verdict = check(generate(seed), thorough_every > 0 and seed % thorough_every == 0)
        print(json.dumps(dataclasses.astuple(verdict)), flush=True)


def serving(thorough_every: int = 1) -> list[str]:
    """The command of a child. One seed in `thorough_every` is also verified kernel by kernel and compared with itself
    rewritten."""
    return [sys.executable, __file__, "--serve", "--thorough", str(thorough_every)]


def run_seeds(seeds, jobs: int, command: list[str], keeps_kernels: bool = False) -> Outcome:
    """Keeping kernels in the cache pays where the same seeds come again."""
    outcome, waiting = Outcome(), iter(seeds)
    selector = selectors.DefaultSelector()

    def give_next(child: Child) -> None:
        seed = next(waiting, None)
        if seed is None:
            child.process.stdin.close()
            child.process.wait()
            return
        child.begin(seed)
        selector.register(child.process.stdout, selectors.EVENT_READ, child)
        child.process.stdin.write(f"{child.seed}\n")
        child.process.stdin.flush()

    def note(seed: int, kind: str, message: str, runtime: str = "", said: str = "") -> None:
        outcome.kinds[kind] += 1
        if runtime:
            outcome.runtime[runtime] += 1
        if runtime == "refused":
            outcome.runtime_refusals[seed] = said
        if (done := outcome.kinds.total()) % 500 == 0:
            print(f"{done} programs, {len(outcome.failures)} of them wrong", flush=True)
        if kind == "wrong":
            outcome.failures[seed] = message
            print(f"seed {seed}: {message}", flush=True)
        elif message:
            outcome.refusals[message.split(": ", 2)[-1]] += 1

    for _ in range(jobs):
        give_next(start_child(command, keeps_kernels))
    while selector.get_map():
        ready = selector.select(SECONDS_FOR_ONE)
        waited_for = [key.data for key in selector.get_map().values()] if not ready else []
        hung = [child for child in waited_for if child.hangs()]
        for child in [key.data for key, _ in ready] + hung:
            selector.unregister(child.process.stdout)
            line = "" if hung else child.process.stdout.readline()
            if line:
                note(child.seed, *json.loads(line))
                give_next(child)
                continue
            child.process.kill()
            status = child.process.wait()
            note(child.seed, "wrong", "takes too long" if hung else f"ended the process ({status})")
            give_next(start_child(command, keeps_kernels))
    return outcome


def fails_in_child(program) -> bool:
    """Whether the program fails, found in a process that may crash or hang."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS_FOR_ONE)
        os.environ["HEADRACE_THREADS"] = "1"
        from check import check

        os._exit(1 if check(program).kind == "wrong" else 0)
    return os.waitpid(child, 0)[1] != 0


def save_small(seed: int, folder: Path) -> Path:
    import numpy as np
    import onnx
    from shrink import shrink

    from cases.graphs.onnx_graphs import generate

    small = shrink(generate(seed), fails_in_child)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed{seed}.onnx"
    onnx.save(small.model, path)
    np.savez(
        path.with_suffix(".npz"),
        **{name: np.asarray(x, np.float64) for name, x in small.feeds.items()},
    )
    return path


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--save", type=Path, default=Path("build/random-failures"))
    parser.add_argument("--no-shrink", action="store_true", help="report failing seeds as they are")
    parser.add_argument("--command", help="a headrace command to compute them with")
    parser.add_argument(
        "--thorough",
        type=int,
        default=1,
        metavar="N",
        help="verify one in N kernel by kernel, and rewrite it; 0: none",
    )
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.thorough)
        return 0
    if options.command:
        os.environ["HEADRACE_RANDOM_COMMAND"] = os.path.abspath(options.command)
    seeds = range(options.seed, options.seed + options.count)
    outcome = run_seeds(seeds, options.jobs, serving(options.thorough))
    if not options.no_shrink:
        for seed in list(outcome.failures)[:20]:
            path = save_small(seed, options.save)
            print(f"seed {seed}: saved {path}")
            import onnx

            print(onnx.printer.to_text(onnx.load(path)))
    print(dict(outcome.kinds))
    for reason, count in outcome.refusals.most_common(12):
        print(f"refused {count} times: {reason}")
    print("ONNX Runtime:", dict(outcome.runtime))
    for seed, reason in outcome.runtime_refusals.items():
        print(f"ONNX Runtime refused seed {seed}: {reason}")
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
