"""Fixtures that all directories of tests share: the benchmark models, and how the tests of each directory ended."""

from __future__ import annotations

import collections
import fcntl
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

MAKE = Path(__file__).resolve().parents[1] / "bench" / "models" / "make.py"
# A shell starts what runs in the background with Ctrl-C ignored, which programs under test would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What a process measured in the background must not decide what the tests after it see.
os.environ.setdefault("HEADRACE_RATES", "derived")
# Nor must results of tuning that the user has.
os.environ.setdefault("HEADRACE_TUNED", "")

OUTCOMES = ("failed", "error", "passed", "skipped", "xfailed", "xpassed")


@pytest.fixture(scope="session")
def small_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the benchmark models, small. The processes of a run share it: exporting takes seconds."""
    pytest.importorskip("torch", reason="PyTorch makes the benchmark models")
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "small-models"
    with open(shared / "small-models.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            made = folder.with_suffix(".made")
            command = [sys.executable, str(MAKE), "--small", "--out", str(made)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            made.rename(folder)
    return folder


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--counts",
        type=Path,
        metavar="FILE",
        help="write lines 'FOLDER OUTCOME NUMBER SECONDS' at the end",
    )
    parser.addoption(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="run the tests in an order that this number draws",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that only pass after others are found by an order that nobody chose."""
    if (seed := config.getoption("--shuffle")) is not None:
        random.Random(seed).shuffle(items)


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    if (path := config.getoption("--counts")) is None:
        return
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    seconds: collections.Counter[tuple[str, str]] = collections.Counter()
    for outcome in (*OUTCOMES, ""):  # under "" pytest keeps the set-ups and tear-downs of tests
        for report in terminalreporter.stats.get(outcome, []):
            key = "/".join(report.nodeid.split("/")[:2]), outcome or "around"
            counts[key] += bool(outcome)
            seconds[key] += getattr(report, "duration", 0)  # collecting has none
    lines = (f"{' '.join(key)} {number} {seconds[key]:.1f}\n" for key, number in counts.items())
    path.write_text("".join(lines))
