"""Run real models beside ONNX Runtime and tell of each: does it run, does it agree, how fast is it.

    ./dev models [--filter PATTERN] [--threads 1 2] [--full] [--write docs/onnx.md]

Times are taken in turns; the table has them as ONNX Runtime's over Headrace's, so above 1 is faster here.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import real_models

BEGIN, END = "<!-- table: ./dev models --write -->\n", "<!-- end of models -->"


def ratio(ours, theirs, feeds: real_models.Feeds, rounds: int = 15) -> float:
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for run, list_of_times in zip((ours, theirs), times):
            start = time.perf_counter()
            run(feeds)
            list_of_times.append(time.perf_counter() - start)
    return statistics.median(times[1]) / statistics.median(times[0])


def examine(case: real_models.Case, folder: Path, threads: list[int]) -> tuple[str, list[str]]:
    """What it did, and the ratio of times for each number of threads, at the last size."""
    import headrace

    if case.missing:
        return case.missing, [""] * len(threads)
    try:
        path = case.make(folder)
        if case.quantized and real_models.has_infinite_scale(path):
            return "the quantizer's scales are infinite", [""] * len(threads)
        model, session = headrace.load(path), real_models.open_session(path)
        worst = 0.0
        for feeds in case.feeds():
            expected = session.run(None, feeds)
            for ours, theirs in zip(real_models.as_list(model(**feeds)), expected):
                wrong = real_models.disagreement(np.asarray(ours), theirs, None, case.quantized)
                if wrong:
                    return f"differs: {wrong}", [""] * len(threads)
                if theirs.dtype.kind == "f" and theirs.size:
                    scale = max(real_models.root_mean_square(theirs), 1e-3)
                    worst = max(worst, real_models.root_mean_square(ours - theirs) / scale)
    except headrace.Error as error:
        return f"refused: {' '.join(str(error).split())[:120]}", [""] * len(threads)
    ratios = []
    for count in threads:
        headrace.set_threads(count)
        session = real_models.open_session(path, count)
        found = ratio(lambda f: model(**f), lambda f, session=session: session.run(None, f), feeds)
        ratios.append(f"{found:.2f}")
    staged = ", in stages" if model.staged else ""
    return f"agrees{staged}, {worst:.0e}", ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--filter", default="", help="only models whose name this pattern finds")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--full", action="store_true", help="exported models as large as published")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into a page")
    arguments = parser.parse_args()
    heads = " | ".join(f"{n} thread{'s' if n > 1 else ''}" for n in arguments.threads)
    lines = [f"| model | result | {heads} |", "|---|---|" + "---|" * len(arguments.threads)]
    print(*lines, sep="\n")
    cases = real_models.wheel_cases() + real_models.exported_cases(small=not arguments.full)
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            if re.search(arguments.filter, case.name):
                told, ratios = examine(case, Path(folder), arguments.threads)
                lines.append(f"| {case.name} | {told} | {' | '.join(ratios)} |")
                print(lines[-1], flush=True)
    if arguments.write:
        before, begin, rest = arguments.write.read_text().partition(BEGIN)
        _, end, after = rest.partition(END)
        arguments.write.write_text(before + begin + "\n".join(lines) + "\n" + end + after)


if __name__ == "__main__":
    main()
