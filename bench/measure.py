"""Timing: peers take turns, round after round, so that all meet the same state of the machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.peers import OnnxRuntime, Peer
from bench.workload import Feeds, Workload


@dataclass(frozen=True)
class Plan:
    """How long to measure: each peer gets `rounds` turns of at least `turn_s` and `min_calls`."""

    rounds: int = 10
    turn_s: float = 0.2
    min_calls: int = 3
    rest_s: float = 0.005  # lets the threads of the peer before stop spinning


@dataclass(frozen=True)
class Timing:
    """Times and error of one peer on one model; `error` is None if there is no reference."""

    median_ms: float
    p95_ms: float
    first_s: float
    calls: int
    error: float | None


@dataclass(frozen=True)
class Missing:
    """Why a peer has no timing; the reason names the peer or the model at fault."""

    reason: str


Outcome = Timing | Missing
Report = Callable[[str], None]


def one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:197] + "..."


def measure(
    workload: Workload, peers: Sequence[Peer], plan: Plan, report: Report
) -> dict[str, Outcome]:
    """Time every peer on one workload; a peer that fails is left out with its reason."""
    expected = reference(workload, peers)
    outcomes: dict[str, Outcome] = {}
    first: dict[str, tuple[float, float | None]] = {}
    for peer in peers:
        report(f"loading in {peer.name}")
        try:
            first_s, outputs = first_answer(peer, workload)
            first[peer.name] = (
                first_s,
                None if expected is None else largest_error(outputs, expected),
            )
        except Exception as error:  # a peer may raise anything; it must not end the run
            outcomes[peer.name] = Missing(f"{peer.name}: {one_line(error)}")
    samples: dict[str, list[float]] = {name: [] for name in first}
    for number in range(plan.rounds):
        report(f"round {number + 1} of {plan.rounds}")
        for peer in peers:
            if peer.name in samples:
                try:
                    samples[peer.name] += turn(peer, workload.feeds, plan)
                except Exception as error:
                    outcomes[peer.name] = Missing(f"{peer.name}: {one_line(error)}")
                    del samples[peer.name]
    for name, seconds in samples.items():
        outcomes[name] = summarize(seconds, *first[name])
    return outcomes


def reference(workload: Workload, peers: Sequence[Peer]) -> list[np.ndarray] | None:
    """ONNX Runtime's answer, computed before any timing, which also brings the file into memory."""
    for peer in peers:
        if peer.name == OnnxRuntime.name:
            try:
                return first_answer(peer, workload)[1]
            except Exception:
                return None  # its own column will say why
    workload.path.read_bytes()
    return None


def first_answer(peer: Peer, workload: Workload) -> tuple[float, list[np.ndarray]]:
    start = time.perf_counter()
    peer.load(workload)
    outputs = peer.run(workload.feeds)
    return time.perf_counter() - start, outputs


def turn(peer: Peer, feeds: Feeds, plan: Plan) -> list[float]:
    """Seconds of each call in one turn; a call before them, not counted, warms the caches."""
    time.sleep(plan.rest_s)
    peer.run(feeds)
    samples: list[float] = []
    begin = now = time.perf_counter()
    while len(samples) < plan.min_calls or now - begin < plan.turn_s:
        peer.run(feeds)
        after = time.perf_counter()
        samples.append(after - now)
        now = after
    return samples


def largest_error(found: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """The largest difference of any element over the largest magnitude of its output."""
    shapes = [a.shape for a in found], [a.shape for a in expected]
    if shapes[0] != shapes[1]:
        raise ValueError(f"expected outputs of shapes {shapes[1]}, got {shapes[0]}")
    worst = 0.0
    for ours, theirs in zip(found, expected):
        if theirs.size:
            scale = float(np.abs(theirs).max()) or 1.0
            error = float(np.abs(np.subtract(ours, theirs, dtype=np.float64)).max()) / scale
            worst = error if np.isnan(error) else max(worst, error)
    return worst


def summarize(seconds: list[float], first_s: float, error: float | None) -> Timing:
    milliseconds = np.array(seconds) * 1e3
    return Timing(
        median_ms=float(np.median(milliseconds)),
        p95_ms=float(np.percentile(milliseconds, 95)),
        first_s=first_s,
        calls=len(seconds),
        error=error,
    )
