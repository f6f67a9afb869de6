"""The chart of README.md: its data, its image and its caption, each made from the one before.

docs/images/times.json -> docs/images/times.svg, and the caption in README.md
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from pathlib import Path

from bench import plot
from bench.measure import Outcome, Timing
from bench.report import SUBJECT, Run

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "docs" / "images" / "times.svg"
README = ROOT / "README.md"
BEGIN, END = "<!-- caption: ./dev bench --chart -->\n", "<!-- end of caption -->"
COLUMNS = 120


def write(run: Run, chart: Path) -> list[Path]:
    """Writes the data, then draws them as they were written; README.md shows the default chart only."""
    data = chart.with_suffix(".json")
    data.parent.mkdir(parents=True, exist_ok=True)
    data.write_text(to_json(run), encoding="utf-8")
    recorded = from_json(data.read_text(encoding="utf-8"))
    chart.write_text(plot.svg(recorded), encoding="utf-8")
    if chart.resolve() != CHART:
        return [data, chart]
    text = README.read_text(encoding="utf-8")
    README.write_text(with_caption(text, recorded), encoding="utf-8")
    return [data, chart, README]


def to_json(run: Run) -> str:
    """What the chart shows of a run: facts about machine and systems, and median times."""
    medians = {
        model: {p: t.median_ms for p in run.peers if (t := run.timing(model, p))}
        for model in run.outcomes
    }
    return (
        json.dumps({"facts": run.facts, "peers": run.peers, "median_ms": medians}, indent=2) + "\n"
    )


def from_json(text: str) -> Run:
    """A run with median times alone: other figures are NaN."""
    record = json.loads(text)
    outcomes: dict[str, dict[str, Outcome]] = {
        model: {peer: Timing(ms, math.nan, math.nan, 0, None) for peer, ms in times.items()}
        for model, times in record["median_ms"].items()
    }
    return Run(record["facts"], record["peers"], outcomes)


def slower(run: Run) -> list[str]:
    """The models on which another system is faster, each with the ratios of those systems."""
    found = []
    for model in run.outcomes:
        ratios = {peer: run.ratio(model, peer) for peer in run.rivals}
        losses = [f"{r:.2f}x {peer}" for peer, r in ratios.items() if r and round(r, 2) < 1]
        found += [f"{model} ({', '.join(losses)})"] if losses else []
    return found


def listed(items: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def caption(run: Run) -> str:
    facts = [run.facts[name] for name in ("cpu", "threads") if name in run.facts]
    facts += [run.facts["date"].split()[0]] if "date" in run.facts else []
    facts += ["measured quickly"] if run.facts.get("measuring") == "quick" else []
    losses = slower(run)
    text = (
        f"Median time of another system over {SUBJECT}'s, in f32: {', '.join(facts)}. "
        f"{SUBJECT} is slower on {listed(losses) or 'none of these models'}. "
        "`./dev bench --chart` measures again and writes the chart, [its data](docs/images/times.json) "
        "and this caption."
    )
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False) + "\n"


def with_caption(page: str, run: Run) -> str:
    """The page, with the caption of that run between its markers."""
    if page.count(BEGIN) != 1 or END not in page.partition(BEGIN)[2]:
        raise ValueError(f"expected one '{BEGIN.strip()}' with '{END}' after it")
    return re.sub(
        f"{re.escape(BEGIN)}.*?{re.escape(END)}",
        lambda _: BEGIN + caption(run) + END,
        page,
        flags=re.S,
    )
