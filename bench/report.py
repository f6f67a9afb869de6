"""From timings to what is read: ratios, tables, the record of a run."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any

from bench.measure import Missing, Outcome, Timing

SUBJECT = "Headrace"
NONE = "-"


@dataclass
class Run:
    """One run of the benchmark: the machine's facts, the peers in order, the outcomes by model."""

    facts: dict[str, str]
    peers: list[str]
    outcomes: dict[str, dict[str, Outcome]]

    def timing(self, model: str, peer: str) -> Timing | None:
        outcome = self.outcomes[model].get(peer)
        return outcome if isinstance(outcome, Timing) else None

    def ratio(self, model: str, peer: str) -> float | None:
        """The peer's time over Headrace's; above 1, Headrace is faster."""
        ours, theirs = self.timing(model, SUBJECT), self.timing(model, peer)
        return theirs.median_ms / ours.median_ms if ours and theirs else None

    def mean_ratio(self, peer: str) -> float | None:
        """The geometric mean over the models that both answered."""
        ratios = [r for model in self.outcomes if (r := self.ratio(model, peer)) is not None]
        return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None

    @property
    def rivals(self) -> list[str]:
        return [peer for peer in self.peers if peer != SUBJECT]


class Footnotes:
    """Numbers reasons in order of appearance; the same reason keeps its number."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def mark(self, reason: str) -> str:
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"{NONE} [{self.reasons.index(reason) + 1}]"

    def text(self) -> str:
        return "\n".join(f"[{i}] {reason}  " for i, reason in enumerate(self.reasons, 1))


def milliseconds(value: float) -> str:
    """Three significant digits, but at most four decimals."""
    digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:.{min(digits, 4)}f}"


def ratio_cell(run: Run, model: str, peer: str, notes: Footnotes) -> str:
    outcome = run.outcomes[model].get(peer, Missing(f"{peer}: not run"))
    if isinstance(outcome, Missing):
        return notes.mark(outcome.reason)
    time = f"{milliseconds(outcome.median_ms)} ms"
    ratio = run.ratio(model, peer)
    return time if peer == SUBJECT or ratio is None else f"{ratio:.2f}x ({time})"


def ratio_table(run: Run, notes: Footnotes) -> str:
    rows = [["model", *run.peers]]
    for model in run.outcomes:
        rows.append([model, *(ratio_cell(run, model, peer, notes) for peer in run.peers)])
    means = {peer: run.mean_ratio(peer) for peer in run.rivals}
    if any(mean is not None for mean in means.values()):
        cells = ["" if (m := means.get(peer)) is None else f"{m:.2f}x" for peer in run.peers]
        rows.append(["geometric mean", *cells])
    return table(rows)


def detail_table(run: Run) -> str:
    rows = [["model", "peer", "median ms", "p95 ms", "first answer s", "error", "calls"]]
    for model in run.outcomes:
        for peer in run.peers:
            if timing := run.timing(model, peer):
                rows.append([model, peer, *detail_cells(timing)])
    return table(rows)


def detail_cells(timing: Timing) -> list[str]:
    return [
        milliseconds(timing.median_ms),
        milliseconds(timing.p95_ms),
        f"{timing.first_s:.3f}",
        NONE if timing.error is None else f"{timing.error:.1e}",
        str(timing.calls),
    ]


def table(rows: list[list[str]]) -> str:
    """Markdown that also reads well in a terminal."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def summary(run: Run) -> str:
    """The tables and their footnotes."""
    notes = Footnotes()
    parts = [
        "Ratios: a peer's median time over Headrace's (above 1, Headrace is faster), "
        "in brackets the peer's median.",
        ratio_table(run, notes),
        notes.text(),
        "First answer: from the file to the first outputs, packages already imported; PyTorch starts "
        "from a network in memory. Error: the largest difference from ONNX Runtime over the largest "
        "magnitude of the output.",
        detail_table(run),
    ]
    return "\n\n".join(part for part in parts if part)


def markdown(run: Run, picture: str) -> str:
    facts = "\n".join(f"- {name}: {value}" for name, value in run.facts.items())
    return f"# Benchmark\n\n{facts}\n\n![ratios]({picture})\n\n{summary(run)}\n"


def from_json(text: str) -> Run:
    """A run as to_json() recorded it."""
    record = json.loads(text)
    fields = [field.name for field in dataclasses.fields(Timing)]
    outcomes: dict[str, dict[str, Outcome]] = {}
    for model, by_peer in record["models"].items():
        outcomes[model] = {
            peer: Missing(said["missing"])
            if "missing" in said
            else Timing(**{name: said[name] for name in fields})
            for peer, said in by_peer.items()
        }
    return Run(record["facts"], record["peers"], outcomes)


def to_json(run: Run) -> str:
    models: dict[str, Any] = {}
    for model, outcomes in run.outcomes.items():
        models[model] = {
            peer: {**dataclasses.asdict(outcome), "ratio": run.ratio(model, peer)}
            if isinstance(outcome, Timing)
            else {"missing": outcome.reason}
            for peer, outcome in outcomes.items()
        }
    return json.dumps({"facts": run.facts, "peers": run.peers, "models": models}, indent=2) + "\n"
