"""Functions of SystemDS's library give what SystemDS gave: headrace conformance dml."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cases.systemds.library import library_cases, recorded_library

ROOT = Path(__file__).resolve().parents[3]
FETCHED = ROOT / "build" / "systemds-scripts"


def conformance(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-m", "headrace", "conformance", "dml", *arguments]
    return subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=ROOT)


def test_every_case_is_recorded() -> None:
    recorded = recorded_library()
    assert [
        case.name for case in library_cases() if recorded[case.name]["check"] != case.check
    ] == []
    assert len({case.function for case in library_cases()}) == 199


@pytest.mark.skipif(not FETCHED.is_dir(), reason="fetch_systemds_scripts.py has not been run")
@pytest.mark.parametrize(("group", "least"), [("library", 180), ("scripts", 290)])
def test_nothing_is_wrong(group: str, least: int, tmp_path: Path) -> None:
    results = tmp_path / "verdicts.json"
    done = conformance("--group", group, "--json", results)
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = json.loads(results.read_text())
    passed = [name for name, entry in verdicts.items() if entry["verdict"] == "pass"]
    assert len(passed) >= least
    unexplained = [n for n, v in verdicts.items() if v["verdict"] != "pass" and not v["reason"]]
    assert unexplained == []


def test_a_filter_and_its_table() -> None:
    done = conformance("--group", "language", "--filter", "y = cumsum(A)", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-6:] == ["1", "0", "0", "0", "0", "0"]
    assert conformance("--group", "language", "--filter", "no such case").returncode == 2


def test_session_keeps_variables(tmp_path: Path) -> None:
    text = "X = matrix(2, 2, 2)\nsum(X)\nf = function(Double a) return (Double b) {\nb = a + 1\n}\nf(3)\nq\n"
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "repl"],
        input=text,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.stdout == "8.0\n4.0\n"
    assert "variable 'q' is not defined" in done.stderr
    assert done.returncode == 1
