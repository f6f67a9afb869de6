"""Run real models beside ONNX Runtime and OpenVINO and tell of each: does it run, does it agree, how fast is it.

    ./dev models [--filter PATTERN] [--threads 1 2] [--full] [--write docs/onnx.md]

Times are taken in turns; the table has them as the other's over Headrace's, so above 1 is faster here. What OpenVINO,
which may be missing, does not take has no number.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import real_models
from pages import put_table

PEERS = ("ONNX Runtime", "OpenVINO")
BEGIN, END = "<!-- table: ./dev models --write -->\n", "<!-- end of models -->"


def ratios(
    ours: Callable, others: list[Callable], feeds: real_models.Feeds, rounds: int = 15
) -> list[float]:
    """The median time of each of the others over ours."""
    runs = [ours, *others]
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for run, list_of_times in zip(runs, times):
            start = time.perf_counter()
            run(feeds)
            list_of_times.append(time.perf_counter() - start)
    medians = [statistics.median(each) for each in times]
    return [median / medians[0] for median in medians[1:]]


def listed(full: bool) -> list[real_models.Case]:
    return real_models.wheel_cases() + real_models.exported_cases(small=not full)


def examine(name: str, folder: str, full: bool, threads: int) -> tuple[str, list[str]]:
    """What the model did, and the ratios of times at the last size. Runs in a process of its own for each number of
    threads, which cannot be another one later."""
    import headrace

    headrace.set_threads(threads)
    case = next(case for case in listed(full) if case.name == name)
    if case.missing:
        return case.missing, []
    path = case.make(Path(folder))
    if case.quantized and real_models.has_infinite_scale(path):
        return "the quantizer's scales are infinite", []
    session = real_models.open_session(path, threads)
    worst = 0.0
    try:
        model = headrace.load(path)
        for feeds in case.feeds():
            expected = session.run(None, feeds)
            for ours, theirs in zip(real_models.as_list(model(**feeds)), expected):
                wrong = real_models.disagreement(np.asarray(ours), theirs, None, case.quantized)
                if wrong:
                    return f"differs: {wrong}", []
                if theirs.dtype.kind == "f" and theirs.size:
                    scale = max(real_models.root_mean_square(theirs), 1e-3)
                    worst = max(worst, real_models.root_mean_square(ours - theirs) / scale)
    except headrace.Error as error:
        return f"refused: {' '.join(str(error).split())[:120]}", []
    others = [lambda f: session.run(None, f)]
    if openvino := real_models.open_openvino(path, threads, feeds):
        others.append(openvino)
    found = ratios(lambda f: model(**f), others, feeds)
    staged = ", in stages" if model.staged else ""
    return f"agrees{staged}, {worst:.0e}", [f"{each:.2f}" for each in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--filter", default="", help="only models whose name this pattern finds")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--full", action="store_true", help="exported models as large as published")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into a page")
    arguments = parser.parse_args()
    counts = [f"{n} thread{'s' if n > 1 else ''}" for n in arguments.threads]
    heads = " | ".join(f"{count}: {peer}" for count in counts for peer in PEERS)
    lines = [f"| model | result | {heads} |", "|---|---|" + "---|" * len(counts) * len(PEERS)]
    print(*lines, sep="\n")
    names = [c.name for c in listed(arguments.full) if re.search(arguments.filter, c.name)]
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        workers = [
            stack.enter_context(ProcessPoolExecutor(1, mp_context=context))
            for _ in arguments.threads
        ]
        for name in names:
            results = [
                worker.submit(examine, name, folder, arguments.full, threads).result()
                for worker, threads in zip(workers, arguments.threads)
            ]
            padded = [[*found, *[""] * len(PEERS)][: len(PEERS)] for _, found in results]
            cells = " | ".join(cell for found in padded for cell in found)
            lines.append(f"| {name} | {results[0][0]} | {cells} |")
            print(lines[-1], flush=True)
    if arguments.write:
        put_table(arguments.write, BEGIN, END, lines)


if __name__ == "__main__":
    main()
