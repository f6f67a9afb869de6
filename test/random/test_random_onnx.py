"""Random ONNX graphs: compiled, by the reference evaluation, and by ONNX Runtime (test/random)."""

from __future__ import annotations

import collections
import os
import subprocess
import sys
import time

import pytest

pytest.importorskip("headrace")
pytest.importorskip("onnxruntime")
import run  # noqa: E402
from run import run_seeds, serving  # noqa: E402

from cases.graphs.onnx_graphs import NAMES, accepted_operators, generate
from rewrite import CHANGES, WAYS, rewrite  # noqa: E402

LARGE = bool(os.environ.get("HEADRACE_LARGE_TESTS"))
COUNT = 20_000 if LARGE else 2000
THOROUGH_EVERY = 1 if LARGE else 5


def test_every_accepted_operator_has_a_generator() -> None:
    assert accepted_operators() == set(NAMES)


def test_every_operator_is_met() -> None:
    met = set().union(*(generate(seed).operators for seed in range(1000)))
    assert met == set(NAMES)


def test_results_flow_into_other_nodes() -> None:
    """In most graphs some node reads a result, in many of them a result is read twice."""
    reading, shared, count = 0, 0, 400
    for seed in range(count):
        made: set[str] = set()
        uses: collections.Counter = collections.Counter()
        for node in generate(seed).model.graph.node:
            uses.update(set(node.input) & made)
            if node.op_type != "Constant":
                made |= set(node.output)
        reading += bool(uses)
        shared += any(number > 1 for number in uses.values())
    assert reading > 0.75 * count
    assert shared > 0.4 * count


def test_rewritten_models_are_other_models() -> None:
    done: collections.Counter = collections.Counter()
    for seed in range(300):
        program = generate(seed)
        before = program.model.SerializeToString()
        changed, how = rewrite(program)
        assert program.model.SerializeToString() == before
        assert how or changed.model.SerializeToString() == before
        done.update(step.partition("(")[0] for step in how.split(", ") if step)
    ways = {way.__name__ for way in WAYS} | {change.__name__ for change in CHANGES} - {"detour"}
    assert set(done) == ways


def test_a_seed_is_a_program() -> None:
    first, second = generate(7), generate(7)
    assert first.model.SerializeToString() == second.model.SerializeToString()
    assert all((first.feeds[name] == second.feeds[name]).all() for name in first.feeds)


def test_a_process_hangs_if_it_waits_or_computes_for_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Other work on the machine does not make it so."""

    def started(code: str) -> run.Child:
        child = run.Child(subprocess.Popen([sys.executable, "-c", code]))
        child.begin(0)
        return child

    waits, computes = started("import time; time.sleep(1000)"), started("while True: pass")
    try:
        for _ in range(3):
            assert not computes.hangs()
            before = computes.seconds()
            while computes.seconds() == before:
                time.sleep(0.01)
        while not waits.hangs():  # it begins with work
            time.sleep(0.1)
        monkeypatch.setattr(run, "SECONDS_FOR_ONE", 0)
        assert computes.hangs()
    finally:
        for child in (waits, computes):
            child.process.kill()
            child.process.wait()


def test_random_graphs() -> None:
    outcome = run_seeds(
        range(COUNT), os.cpu_count() or 1, serving(THOROUGH_EVERY), keeps_kernels=True
    )
    assert not outcome.failures, "python test/random/run.py --count 1 --seed SEED shrinks one"
    # The generator knows what the compiler accepts, so that nearly all of them are compiled.
    assert outcome.kinds["refused"] < COUNT // 20
    # Further rejections of ONNX Runtime would mean that the generator writes invalid models.
    assert len(outcome.runtime_refusals) <= COUNT // 500, outcome.runtime_refusals
    assert outcome.runtime["unsupported"] < COUNT // 10
