#!/usr/bin/env python3
"""Random PyTorch modules, compiled and compared with eager mode: results, gradients, changed inputs and buffers,
strides and shared memory.

    python test/random/torch_run.py --count 2000 --seed 0 --jobs 2

Every module runs in a child process, so that a crash costs one seed and is reported as that seed's.
Failing modules are made small and saved as Python files (--save).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from run import SECONDS_FOR_ONE, run_seeds

COMMAND = [sys.executable, __file__, "--serve"]


def serve() -> None:
    import torch
    from torch_check import check
    from torch_modules import generate

    torch.set_num_threads(1)
    for line in sys.stdin:
        verdict = check(generate(int(line)))
        print(json.dumps(dataclasses.astuple(verdict)), flush=True)


# A failing module is made small


def smaller_ones(program) -> Iterator:
    from torch_modules import needed, runs

    for output in program.outputs if len(program.outputs) > 1 else ():
        yield needed(replace(program, outputs=(output,)))
    for i in reversed(range(len(program.lines))):
        lines, gone = [], set()
        for j, line in enumerate(program.lines):
            if j == i or any(re.search(rf"\b{name}\b", line) for name in gone):
                gone |= set(re.findall(r"^(v\d+) =", line))
            else:
                lines.append(line)
        outputs = [name for name in program.outputs if name not in gone]
        made = [line.split(" ")[0] for line in lines if re.match(r"v\d+ =", line)]
        candidate = replace(program, lines=tuple(lines), outputs=tuple(outputs or made[-1:]))
        if candidate.outputs and runs(candidate) is not None:
            yield needed(candidate)


def shrink(program, fails: Callable):
    while True:
        smaller = next((each for each in smaller_ones(program) if fails(each)), None)
        if smaller is None:
            return program
        program = smaller


def fails_in_child(program) -> bool:
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS_FOR_ONE)
        from torch_check import check

        os._exit(1 if check(program).kind == "wrong" else 0)
    return os.waitpid(child, 0)[1] != 0


def save_small(seed: int, folder: Path, shrinks: bool) -> Path:
    import torch
    from torch_modules import generate

    torch.set_num_threads(1)
    program = generate(seed)
    if shrinks:
        program = shrink(program, fails_in_child)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"torch-seed{seed}.py"
    path.write_text(program.source())
    return path


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--save", type=Path, default=Path("build/random-failures"))
    parser.add_argument("--no-shrink", action="store_true", help="save failing modules as they are")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    seeds = range(options.seed, options.seed + options.count)
    outcome = run_seeds(seeds, options.jobs, COMMAND)
    for seed in list(outcome.failures)[:20]:
        path = save_small(seed, options.save, not options.no_shrink)
        print(f"seed {seed}: saved {path}\n{path.read_text()}")
    print(dict(outcome.kinds))
    for reason, count in outcome.refusals.most_common(12):
        print(f"left to PyTorch {count} times: {reason}")
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
