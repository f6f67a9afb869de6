"""Run real models next to ONNX Runtime and OpenVINO and tell of each: does it run, does it agree, how fast is it.

    ./dev models [--filter PATTERN] [--threads 1 2] [--full] [--write docs/onnx-results.md]

With --filter, --write leaves the rows of other models as they are. Each system has turns of many calls, and its fastest
call of all turns counts; the table has the other's time over Headrace's, so above 1 is faster here. What OpenVINO,
which may be missing, does not take has no number.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import re
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import real_models
from pages import put_table

PEERS = ("ONNX Runtime", "OpenVINO")
TURNS, SECONDS = 20, 0.04  # of each system, for each model
BEGIN, END = "<!-- table: ./dev models --write -->\n", "<!-- end of models -->"


def fastest_of_turn(run: Callable, feeds: real_models.Feeds, seconds: float) -> float:
    """The time of the fastest call. Before them come a pause, in which the threads of the system before stop spinning
    (on the cores that this one needs), and a call that brings the weights back into the caches."""
    time.sleep(0.005)
    run(feeds)
    fastest, end = float("inf"), time.perf_counter() + seconds
    while (start := time.perf_counter()) < end or fastest == float("inf"):
        run(feeds)
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def ratios(
    ours: Callable, others: list[Callable], feeds: real_models.Feeds, turns: int, seconds: float
) -> list[float]:
    """The time of each of the others over ours: the fastest call of all turns, which other work on the machine did not
    hold up."""
    runs = [ours, *others]
    fastest = [float("inf")] * len(runs)
    for _ in range(turns):
        for i, run in enumerate(runs):
            fastest[i] = min(fastest[i], fastest_of_turn(run, feeds, seconds))
    return [each / fastest[0] for each in fastest[1:]]


def listed(full: bool) -> list[real_models.Case]:
    return real_models.wheel_cases() + real_models.exported_cases(small=not full)


def examine(name: str, folder: str, full: bool, threads: int) -> tuple[str, list[str]]:
    """The model's outcome, and the ratios of times at the last size. Each number of threads has a process of its own, in
    which it is the only one."""
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
        # Specialized for these shapes, like OpenVINO's model.
        model = headrace.load(path, specialize="always")
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
    found = ratios(lambda f: model(**f), others, feeds, TURNS, SECONDS)
    staged = ", split" if model.is_split else ""
    return f"agrees{staged}, {worst:.0e}", [f"{each:.2f}" for each in found]


def among_others(page: Path, lines: list[str]) -> list[str]:
    """The lines of a table, with the page's own rows of models that are not among them."""
    old = page.read_text().partition(BEGIN)[2].partition(END)[0].splitlines()
    if old[:2] != lines[:2]:
        return lines
    rows = {line.split("|")[1]: line for line in lines[2:]}
    kept = [rows.pop(line.split("|")[1], line) for line in old[2:]]
    return [*lines[:2], *kept, *rows.values()]


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
        put_table(arguments.write, BEGIN, END, among_others(arguments.write, lines))


if __name__ == "__main__":
    main()
