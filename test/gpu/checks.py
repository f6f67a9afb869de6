#!/usr/bin/env python3
"""Runs the tests of this directory on a machine with a GPU, with or without pytest.

    python3 checks.py [FILE...] [-k PART_OF_A_NAME]

A test is a function `test_...` of a file `test_*.py`, or one with `@cases(...)` for each of those.
Each file runs in a process of its own, which goes on in another one behind a test that ends it.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SECONDS = 90  # that a test may take


def cases(*values: Any) -> Callable[[Any], Any]:
    """The test is called with each value."""

    def mark(function: Any) -> Any:
        function.cases = values
        try:
            import pytest
        except ImportError:
            return function
        argument = function.__code__.co_varnames[0]
        return pytest.mark.parametrize(argument, values)(function)

    return mark


def tests_of(file: str) -> list[tuple[str, Callable[[], Any]]]:
    module = importlib.import_module(file)
    found = []
    for name, function in list(vars(module).items()):
        if not name.startswith("test_"):
            continue
        for value in getattr(function, "cases", [None]):
            given = () if value is None else (value,)
            label = f"{name}[{value}]" if given else name
            found.append((label, lambda function=function, given=given: function(*given)))
    return found


def run_file(file: str, part: str, first: int, progress: Path) -> int:
    """Runs the tests from number `first` on; the file `progress` holds the one that is running."""
    failed = 0
    for number, (name, call) in enumerate(tests_of(file)):
        if number < first or part not in name:
            continue
        progress.write_text(str(number))
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        start = time.perf_counter()
        try:
            note = call() or ""
            print(f"ok   {file}.{name} {time.perf_counter() - start:.1f}s {note}", flush=True)
        except BaseException:
            failed += 1
            print(f"FAIL {file}.{name}\n{short(traceback.format_exc())}", flush=True)
        faulthandler.cancel_dump_traceback_later()
    progress.write_text("done")
    return failed


def short(text: str, most: int = 18) -> str:
    """The end of a traceback, which is where the reason is."""
    lines = [line[:300] for line in text.rstrip().splitlines() if "^^^" not in line]
    kept = lines if len(lines) <= most else [*lines[:2], "    ...", *lines[2 - most :]]
    return "\n".join("     " + line for line in kept)


def run_apart(file: str, part: str) -> int:
    """The number of failures; a test that ends its process is one."""
    progress = HERE / f".{file}.{os.getpid()}"
    first = failed = 0
    while True:
        command = [sys.executable, __file__, file, "-k", part, "--first", str(first)]
        environment = {**os.environ, "HEADRACE_PROGRESS": str(progress)}
        done = subprocess.run(command, env=environment, check=False)
        state = progress.read_text() if progress.exists() else "none"
        progress.unlink(missing_ok=True)
        if state == "done":
            return failed + done.returncode
        failed += 1
        if state == "none":
            print(f"FAIL {file}: ended with {done.returncode} before its first test", flush=True)
            return failed
        print(f"FAIL {file}, test {state}: ended the process with {done.returncode}", flush=True)
        first = int(state) + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="default: all")
    parser.add_argument("-k", default="", help="tests whose names have this part")
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    progress = os.environ.get("HEADRACE_PROGRESS")
    if progress and arguments.first is not None:
        # Under this name, not __main__, so that there is one of it.
        import checks

        return checks.run_file(arguments.files[0], arguments.k, arguments.first, Path(progress))
    files = [Path(name).stem for name in arguments.files]
    failed = sum(
        run_apart(file, arguments.k)
        for file in files or sorted(path.stem for path in HERE.glob("test_*.py"))
    )
    print(f"{failed} failed" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
