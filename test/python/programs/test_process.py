"""Forks, the interpreter's end and Ctrl-C, each in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

# Long enough for a busy machine; only what hangs meets it.
PATIENCE = 120

PRELUDE = """
import os, signal, sys, threading, time
import numpy as np
import headrace as hr

MODEL, NETWORK = sys.argv[1:3]
images = np.ones((2, 1, 8, 8), np.float32)


def fresh(size=1):
    '''A program that nobody compiled yet.'''
    n = hr.var("n")
    x = hr.placeholder((n, 3 + size), "f32")
    return hr.compile(hr.compute((n, 3 + size), lambda i, j: hr.exp(x[i, j]) * size))


def in_child(work, seconds=60):
    '''What a forked child's work gives, as its exit code says: 0 where it is right.'''
    child = os.fork()
    if child == 0:
        code = 3
        try:
            work()
            code = 0
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
        finally:
            os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"
"""


@pytest.fixture
def network(write_model) -> Path:
    """Takes some seconds to compile: many kernels, none like another."""
    nodes, inputs, outputs = [], [], []
    for i in range(150):
        inputs.append((f"x{i}", "FLOAT", ["n", 5 + i]))
        outputs.append((f"y{i}", "FLOAT", None))
        nodes += [
            ("Softmax", [f"x{i}"], [f"s{i}"]),
            ("Mul", [f"s{i}", f"x{i}"], [f"m{i}"]),
            ("ReduceSum", [f"m{i}"], [f"y{i}"]),
        ]
    return write_model(nodes, inputs, outputs, "network.onnx")


def start(code: str, model: Path, network: Path, **settings) -> subprocess.Popen[str]:
    environment = {**os.environ, "HEADRACE_CACHE_DIR": "", **settings.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code), str(model), str(network)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **settings,
    )


def run(code: str, model: Path, network: Path, **settings) -> str:
    process = start(code, model, network, **settings)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, (process.returncode, out, err)
    return out


# Forks


def test_a_child_compiles_and_runs(digits_path, network) -> None:
    run(
        """
        model, other = hr.load(MODEL), fresh()
        expected, expected_other = model(images), other(np.ones((2, 4), np.float32))

        def known():
            assert (model(images) == expected).all()

        def other_sizes():
            assert np.allclose(model(images[:1]), expected[:1])

        def another():
            assert np.allclose(hr.load(MODEL)(images), expected)

        def script():
            assert hr.script("y = sum(x %*% t(x))", compile="always")(x=[[1.0, 2.0]])["y"] == 5

        def grandchild():
            assert in_child(another) == 0

        for work in (known, other_sizes, another, script, grandchild):
            assert in_child(work) == 0, work.__name__
        assert in_child(lambda: fresh(7)(np.ones((2, 10), np.float32))) == 0
        """,
        digits_path,
        network,
        env={"HEADRACE_THREADS": "3"},
    )


def test_a_child_of_a_busy_parent(digits_path, network) -> None:
    out = run(
        """
        model = hr.load(MODEL)
        expected = model(images)
        busy = hr.load(NETWORK)
        inputs = [np.ones(spec.shape[1:], np.float32)[None].repeat(2, 0) for spec in busy.inputs]
        stop = False

        def call():
            while not stop:
                model(images)

        threads = [threading.Thread(target=call) for _ in range(2)]
        threads.append(threading.Thread(target=lambda: busy(*inputs), daemon=True))
        for thread in threads:
            thread.start()

        def run_and_compile():
            assert (model(images) == expected).all()
            assert np.allclose(hr.load(MODEL)(images), expected)
            fresh(5)(np.ones((2, 8), np.float32))

        for _ in range(2):
            time.sleep(0.1)
            assert in_child(run_and_compile) == 0
        assert threads[-1].is_alive(), "it was compiled too soon to tell anything"
        print(in_child(lambda: busy(*inputs)))
        stop = True
        for thread in threads[:2]:
            thread.join()
        """,
        digits_path,
        network,
        env={"HEADRACE_THREADS": "3"},
    )
    assert out.endswith("load it again here\n3\n"), out
    assert out.startswith("UnsupportedError model 'network.onnx': a thread of the parent process")


# The interpreter's end

ENDS = {
    "in calls": "work = lambda: model(images)",
    "in compilations": "work = lambda: hr.load(MODEL)(images)",
    "in a long compilation": """
        busy = hr.load(NETWORK)
        inputs = [np.ones((2, spec.shape[1]), np.float32) for spec in busy.inputs]
        work = lambda: busy(*inputs)
    """,
    "in a script": """
        endless = hr.script("i = 0\\nwhile (TRUE) { i = i + 1\\nprint(i) }")
        sys.stdout = open(os.devnull, "w")
        work = lambda: endless()
    """,
    "in a long step": """
        slow = hr.script("y = solve(x, x)", compile="never")
        x = np.eye(1500) + 0.001
        work = lambda: slow(x=x)
    """,
}


@pytest.mark.parametrize("where", ENDS)
def test_the_interpreter_ends_while_daemons_are_busy(where, digits_path, network) -> None:
    process = start(
        "model = hr.load(MODEL)\n"
        + textwrap.dedent(ENDS[where])
        + textwrap.dedent("""
        def forever():
            while True:
                work()

        for _ in range(3):
            threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.5)
        import atexit
        atexit.register(lambda: model(images))
        sys.exit(7)
        """),
        digits_path,
        network,
    )
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (7, ""), (out, err)


def test_the_interpreter_waits_for_other_threads(digits_path, network) -> None:
    out = run(
        """
        model = hr.load(MODEL)

        def work():
            time.sleep(0.2)
            print(model(images).shape)

        threading.Thread(target=work).start()
        """,
        digits_path,
        network,
    )
    assert out == "(2, 10)\n"


# Ctrl-C

INTERRUPTED = {
    "a compilation": """
        model = hr.load(NETWORK)
        inputs = [np.ones((2, spec.shape[1]), np.float32) for spec in model.inputs]
        work = lambda: model(*inputs)
    """,
    "a loop of a script": """
        session = hr.script("i = 0\\nwhile (TRUE) { i = i + 1 }")
        work = lambda: session()
    """,
    "many statements": """
        session = hr.script("for (i in 1:1000000000) { x = x + 1 }", compile="never")
        work = lambda: session(x=np.ones((10, 10)))
    """,
    "an operator of the reference": """
        n = hr.var("n")
        x, r = hr.placeholder((n, n), "f32"), hr.axis(n)
        square = hr.compile(hr.compute((n, n), lambda i, j: hr.sum(x[i, r] * x[r, j], axis=r)))
        work = lambda: square.reference(np.ones((5000, 5000), np.float32))
    """,
    "a package": """
        work = lambda: hr.write_package(NETWORK, os.path.join(os.path.dirname(NETWORK), "p.hrpkg"))
    """,
    "a wait for another thread": """
        model = hr.load(NETWORK)
        inputs = [np.ones((2, spec.shape[1]), np.float32) for spec in model.inputs]
        threading.Thread(target=lambda: model(*inputs), daemon=True).start()
        time.sleep(0.3)
        work = lambda: model(*inputs)
    """,
}


@pytest.mark.parametrize("what", INTERRUPTED)
def test_an_interrupt_ends(what, digits_path, network) -> None:
    process = start(
        textwrap.dedent(INTERRUPTED[what])
        + textwrap.dedent("""
        print("begins", flush=True)
        try:
            work()
            print("done")
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        # A model can be used again after an interruption.
        assert hr.load(MODEL)(images).shape == (2, 10)
        """),
        digits_path,
        network,
    )
    assert process.stdout is not None and process.stdout.readline() == "begins\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, "interrupted\n"), (out, err)
    assert sorted(path.name for path in network.parent.iterdir()) == ["network.onnx"]


def test_another_handler_decides(digits_path, network) -> None:
    process = start(
        """
        class Alarm(Exception):
            pass

        def handle(number, frame):
            raise Alarm

        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            hr.script("while (TRUE) { x = 1 }")()
        except Alarm:
            print("alarm")
        """,
        digits_path,
        network,
    )
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, "alarm\n"), err
