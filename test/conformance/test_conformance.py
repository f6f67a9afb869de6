"""No case of the `onnx` package is wrong or crashes, and no fewer pass than the page or this file says."""

from __future__ import annotations

import collections
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("headrace")
pytest.importorskip("onnx")

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "onnx-results.md"


# How many of the groups whose cases are files pass.
PROMISED = {"simple": 23, "pytorch-operator": 35, "pytorch-converted": 82}


def promised(group: str) -> int:
    if group != "node":
        return PROMISED[group]
    return int(re.search(r"^\| all \| (\d+) ", PAGE.read_text(), re.MULTILINE)[1])


def conformance(*arguments: object) -> subprocess.CompletedProcess:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "headrace",
        "conformance",
        *map(str, arguments),
    ]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("group", ["node", *PROMISED])
def test_cases(group: str, tmp_path: Path) -> None:
    results = tmp_path / "verdicts.json"
    done = conformance("onnx", "--group", group, "--json", results)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    verdicts = json.loads(results.read_text())
    counts = collections.Counter(verdict["verdict"] for verdict in verdicts.values())
    assert counts["pass"] >= promised(group), counts
    unexplained = [n for n, v in verdicts.items() if v["verdict"] == "refused" and not v["reason"]]
    assert not unexplained


def test_the_command_counts_what_a_filter_names() -> None:
    group = ("--group", "simple")
    done = conformance("onnx", *group, "--filter", "sign_model")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-5:] == ["all", "1", "0", "0", "0"]
    verdicts = json.loads(conformance(*group, "--filter", "sign_model", "--json").stdout)
    assert verdicts == {"test_sign_model": {"verdict": "pass", "reason": ""}}
    wrong = conformance("onnx", *group, "--filter", "no such case")
    assert wrong.returncode == 2
    assert "no case's name holds 'no such case'" in wrong.stderr
