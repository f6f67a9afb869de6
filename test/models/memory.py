"""Measure what models take in memory, here and in ONNX Runtime: each in a process of its own.

    ./dev models memory [--filter PATTERN] [--write docs/onnx-results.md]

The exported networks run as large as they are published, at two sizes: a batch of one, and a larger one. The resident
set is taken at the end, the peak as the system has it. A package is made of each, for all levels of CPUs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import real_models
from pages import put_table

BEGIN, END = "<!-- table: ./dev models memory --write -->\n", "<!-- end of memory -->"
MODELS = ("resnet50", "mixer", "bert")


def mebibytes(what: str) -> int:
    found = re.search(what + r":\s*(\d+) kB", Path("/proc/self/status").read_text())
    return round(int(found[1]) / 1024)


def run_here(path: Path, feeds: list[real_models.Feeds]) -> tuple[int, int]:
    import headrace

    headrace.set_threads(1)
    model = headrace.load(path)
    for feed in feeds:
        model(**feed)
    return mebibytes("VmRSS"), mebibytes("VmHWM")


def run_peer(path: Path, feeds: list[real_models.Feeds]) -> tuple[int, int]:
    session = real_models.open_session(path, 1)
    for feed in feeds:
        session.run(None, feed)
    return mebibytes("VmRSS"), mebibytes("VmHWM")


def package(path: Path) -> int:
    import headrace

    headrace.write_package(path, path.with_suffix(".hrpkg"))
    return mebibytes("VmHWM")


def in_new_process(function, *arguments):
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as worker:
        return worker.submit(function, *arguments).result()


def export(name: str, folder: Path) -> tuple[Path, list[real_models.Feeds]]:
    case = next(
        c for c in real_models.exported_cases(small=False) if c.name == f"{name}/torchscript"
    )
    return case.make(folder), sorted(case.feeds()[:2], key=lambda f: len(next(iter(f.values()))))


def measure(name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path, feeds = in_new_process(export, name, Path(folder))
        small = [in_new_process(run, path, feeds[:1]) for run in (run_here, run_peer)]
        both = [in_new_process(run, path, feeds) for run in (run_here, run_peer)]
        packed = in_new_process(package, path)
        size = round(path.stat().st_size / 2**20)
    columns = [f"{here[k]} / {peer[k]}" for here, peer in (small, both) for k in range(2)]
    return f"| {name} | {size} | {' | '.join(columns)} | {packed} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--filter", default="", help="only models whose name this pattern finds")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into a page")
    arguments = parser.parse_args()
    lines = [
        "| model | weights | one size | peak | two sizes | peak | peak of packaging |",
        "|---|---|---|---|---|---|---|",
    ]
    print(*lines, sep="\n")
    for name in MODELS:
        if re.search(arguments.filter, name):
            lines.append(measure(name))
            print(lines[-1], flush=True)
    if arguments.write:
        put_table(arguments.write, BEGIN, END, lines)


if __name__ == "__main__":
    main()
