"""Turns, failures and errors, on peers that only pretend to compute."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.measure import Missing, Plan, Timing, largest_error, measure, summarize
from bench.peers import OnnxRuntime, as_arrays
from bench.workload import Feeds, Workload, from_name

ONCE = Plan(rounds=2, turn_s=0.0, min_calls=1, rest_s=0.0)


class FakePeer:
    """Answers with a constant; fails at the call with the given number."""

    version = "1"

    def __init__(self, name: str, log: list[str], answer: float = 1.0, fails_at: int = -1) -> None:
        self.name, self.log, self.answer, self.fails_at = name, log, answer, fails_at
        self.calls = 0

    def load(self, workload: Workload) -> None:
        self.log.append(f"load {self.name}")

    def run(self, feeds: Feeds) -> list[np.ndarray]:
        self.log.append(self.name)
        self.calls += 1
        if self.calls == self.fails_at:
            raise RuntimeError("cannot\n  do that")
        return [np.array([self.answer, 2.0])]


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    path = tmp_path / "fake.onnx"
    path.write_bytes(b"")
    return Workload("fake", path, {})


def silent(_: str) -> None:
    pass


def test_peers_take_turns(workload: Workload) -> None:
    log: list[str] = []
    outcomes = measure(workload, [FakePeer("A", log), FakePeer("B", log)], ONCE, silent)
    first = ["load A", "A", "load B", "B"]
    one_round = ["A", "A", "B", "B"]  # a call to warm up, then one that counts
    assert log == first + one_round * 2
    assert [outcome.calls for outcome in outcomes.values() if isinstance(outcome, Timing)] == [2, 2]


@pytest.mark.parametrize("fails_at", [1, 3])
def test_a_failing_peer_does_not_end_the_run(workload: Workload, fails_at: int) -> None:
    peers = [FakePeer("A", [], fails_at=fails_at), FakePeer("B", [])]
    outcomes = measure(workload, peers, ONCE, silent)
    assert outcomes["A"] == Missing("A: cannot do that")
    assert isinstance(outcomes["B"], Timing)


def test_error_is_against_onnx_runtime(workload: Workload) -> None:
    peers = [FakePeer("A", [], answer=1.5), FakePeer(OnnxRuntime.name, [], answer=1.0)]
    outcomes = measure(workload, peers, ONCE, silent)
    assert outcomes["A"].error == 0.25
    assert outcomes[OnnxRuntime.name].error == 0.0


def test_no_reference_no_error(workload: Workload) -> None:
    assert measure(workload, [FakePeer("A", [])], ONCE, silent)["A"].error is None


def test_largest_error_sees_nan_shapes_and_integers() -> None:
    zeros = np.zeros((2, 3), np.float32)
    assert math.isnan(largest_error([zeros * np.nan, zeros], [zeros, zeros]))
    assert largest_error([np.array([1], np.uint8)], [np.array([2], np.uint8)]) == 0.5
    assert largest_error([zeros[:0]], [zeros[:0]]) == 0.0
    with pytest.raises(
        ValueError, match=r"expected outputs of shapes \[\(2, 3\)\], got \[\(3,\)\]"
    ):
        largest_error([zeros[0]], [zeros])


def test_summary_of_samples() -> None:
    timing = summarize([i / 1000 for i in range(1, 102)], first_s=0.5, error=None)
    assert timing.median_ms == pytest.approx(51)
    assert timing.p95_ms == pytest.approx(96)
    assert (timing.first_s, timing.calls) == (0.5, 101)


def test_outputs_alone_in_sequence_or_by_name() -> None:
    array = np.ones(2)
    for answer in (array, [array], (array,), {"output": array}):
        assert [a.tolist() for a in as_arrays(answer)] == [[1.0, 1.0]]


def test_without_pytorch_files_that_are_there_still_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="PyTorch makes the benchmark models")
    made = from_name("mlp", small=True, batch=2)
    assert made.feeds["input"].shape == (2, 64)
    assert made.module is not None
    monkeypatch.setitem(sys.modules, "cases.networks", None)
    assert from_name("mlp", small=True, batch=2).module is None
    with pytest.raises(FileNotFoundError, match="none.onnx is not there, and cannot be made"):
        from_name("none", small=True, batch=1)
