"""A task whose child crashes, hangs or goes away costs that task alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("headrace")

PROGRAM = """
    import json, os, signal, sys, time
    from headrace import children

    children.SECONDS_FOR_ONE = 1

    def answer(task):
        if task == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if task == "exit":
            os._exit(3)
        if task == "hang":
            time.sleep(100)
        if task == "raise":
            raise ValueError
        return f"{task} " + "x" * 200_000

    tasks = sys.argv[1:]
    answers = children.answers(tasks, answer, 2)
    found = {task: (line and line.split()[0], why) for task, line, why in answers}
    print(json.dumps(found))
"""


def run(*tasks: str) -> dict:
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), *tasks]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_task_has_its_answer() -> None:
    tasks = [f"t{i}" for i in range(20)]
    assert run(*tasks) == {task: [task, ""] for task in tasks}


def test_a_lost_child_costs_its_task_alone() -> None:
    found = run("a", "crash", "b", "exit", "hang", "raise", "c")
    assert found == {
        "a": ["a", ""],
        "b": ["b", ""],
        "c": ["c", ""],
        "crash": [None, "ended the process (-11)"],
        "exit": [None, "ended the process (3)"],
        "hang": [None, "takes too long"],
        "raise": [None, "ended the process (0)"],
    }


def test_no_tasks_are_no_answers() -> None:
    assert run() == {}
