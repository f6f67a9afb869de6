"""The ratios of a run as a bar chart: bars start at 1.0 and extend to the right if Headrace is faster.

The colours follow the reader's colour scheme, light or dark.
"""

from __future__ import annotations

import math
from html import escape

from bench.report import SUBJECT, Run, milliseconds

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 860, 220, 110, 98, 44
NAME_GAP = 106  # room for the figures of the longest bar to the left
BAR, BAR_GAP, GROUP_GAP = 14, 3, 14
COLOURS = ("#3f74bd", "#d98032", "#4b9460", "#8a5aa5")  # of bars: seen on both grounds
STYLE = """
  .ground { fill: #ffffff } .strong { fill: #111111 } .plain { fill: #333333 } .faint { fill: #666666 }
  .grid { stroke: #dddddd } .unit { stroke: #111111; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } .strong { fill: #f0f3f6 } .plain { fill: #d0d7de } .faint { fill: #9198a1 }
    .grid { stroke: #30363d } .unit { stroke: #f0f3f6 }
  }
"""
SMALL = 'class="plain" font-size="11"'
TITLE = "Median time of other systems over Headrace's"
LABELS = (
    "Below each model: Headrace's time. Next to each bar: the ratio, and the other system's time."
)
TICKS = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000)


class Axis:
    """A logarithmic axis, so that half and double lie equally far from 1.0."""

    def __init__(self, ratios: list[float]) -> None:
        low, high = min([*ratios, 0.5]), max([*ratios, 2.0])
        self.low = max((t for t in TICKS if t <= low), default=low)
        self.high = min((t for t in TICKS if t >= high), default=high)

    def x(self, ratio: float) -> float:
        share = math.log(ratio / self.low) / math.log(self.high / self.low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def ticks(self) -> list[float]:
        return [tick for tick in TICKS if self.low <= tick <= self.high]


def svg(run: Run) -> str:
    bars = {
        m: [(p, r) for p in run.rivals if (r := run.ratio(m, p)) is not None] for m in run.outcomes
    }
    bars = {model: group for model, group in bars.items() if group}
    axis = Axis([ratio for group in bars.values() for _, ratio in group])
    colours = {peer: COLOURS[i % len(COLOURS)] for i, peer in enumerate(run.rivals)}
    heights = [len(group) * (BAR + BAR_GAP) + GROUP_GAP for group in bars.values()]
    bottom = TOP + max(sum(heights), 40)
    parts = [heading(run, colours if bars else {}), grid(axis, bottom)]
    y = TOP + GROUP_GAP / 2
    for (model, group), height in zip(bars.items(), heights):
        parts.append(bar_group(run, model, group, axis, colours, y))
        y += height
    if bars:
        parts.append(unit_line(axis, bottom))
    else:
        parts.append(text(LEFT, TOP + 24, "no ratios: Headrace or all other systems are missing"))
    return frame(parts, bottom + BOTTOM)


def frame(parts: list[str], height: float) -> str:
    body = "\n".join(part for part in parts if part)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:g}" '
        f'viewBox="0 0 {WIDTH} {height:g}" font-family="Helvetica, Arial, sans-serif" font-size="12">\n'
        f'<style>{STYLE}</style>\n<rect class="ground" width="100%" height="100%"/>\n{body}\n</svg>\n'
    )


def text(x: float, y: float, words: str, style: str = 'class="plain"') -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(words)}</text>'


def heading(run: Run, colours: dict[str, str]) -> str:
    said = [run.facts[name] for name in ("cpu", "threads", "date") if name in run.facts]
    if run.facts.get("measuring") == "quick":
        said.append("measured quickly, so roughly")
    parts = [
        text(16, 24, TITLE, 'class="strong" font-size="16" font-weight="bold"'),
        text(16, 42, LABELS if colours else "", 'class="faint"'),
        text(16, 58, ", ".join(said), 'class="faint"'),
    ]
    x = float(LEFT)
    for peer, colour in colours.items():
        parts.append(f'<rect x="{x:.1f}" y="70" width="12" height="12" fill="{colour}"/>')
        system = " ".join([peer, *filter(None, [run.facts.get(peer)])])  # with its version
        parts.append(text(x + 17, 80, system))
        x += 45 + 7 * len(system)
    return "\n".join(parts)


def grid(axis: Axis, bottom: float) -> str:
    parts = []
    for tick in axis.ticks():
        x = axis.x(tick)
        parts.append(f'<path d="M{x:.1f} {TOP}V{bottom:g}" class="grid"/>')
        parts.append(text(x, bottom + 16, f"{tick:g}x", 'text-anchor="middle" class="faint"'))
    middle, y = axis.x(1.0), bottom + 34
    parts.append(
        text(middle - 14, y, "← other system is faster", 'text-anchor="end" class="faint"')
    )
    parts.append(text(middle + 14, y, "Headrace is faster →", 'class="faint"'))
    return "\n".join(parts)


def bar_group(
    run: Run,
    model: str,
    group: list[tuple[str, float]],
    axis: Axis,
    colours: dict[str, str],
    y: float,
) -> str:
    middle = y + (len(group) * (BAR + BAR_GAP) - BAR_GAP) / 2
    parts = [
        text(LEFT - NAME_GAP, middle - 1, model, 'text-anchor="end" class="strong"'),
        text(
            LEFT - NAME_GAP, middle + 13, time_of(run, model, SUBJECT), f'text-anchor="end" {SMALL}'
        ),
    ]
    for peer, ratio in group:
        start, end = sorted((axis.x(1.0), axis.x(ratio)))
        parts.append(
            f'<rect x="{start:.1f}" y="{y:.1f}" width="{max(end - start, 1):.1f}" height="{BAR}" '
            f'fill="{colours[peer]}"><title>{escape(f"{model}, {peer}: {ratio:.2f}x")}</title></rect>'
        )
        anchor = 'text-anchor="end" ' if ratio < 1 else ""
        x = start - 5 if ratio < 1 else end + 5
        figures = f"{ratio:.{2 if ratio < 100 else 0}f}x ({time_of(run, model, peer)})"
        parts.append(text(x, y + BAR - 3, figures, f"{anchor}{SMALL}"))
        y += BAR + BAR_GAP
    return "\n".join(parts)


def time_of(run: Run, model: str, peer: str) -> str:
    timing = run.timing(model, peer)
    return f"{milliseconds(timing.median_ms)} ms" if timing else ""


def unit_line(axis: Axis, bottom: float) -> str:
    x = axis.x(1.0)
    return f'<path d="M{x:.1f} {TOP - 6}V{bottom + 4:g}" class="unit"/>'
