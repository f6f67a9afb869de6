"""What became of graphs: how much of each is compiled, and what is left to PyTorch."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from headrace.torch._context import Place
from headrace.torch._fallback import shown
from headrace.torch._work import Rates, Work, share


@dataclass(frozen=True)
class Left:
    """A feature without a counterpart, and the work of the nodes that stay in PyTorch for it."""

    what: str
    place: Place | None  # file and line of the user's
    share: float  # of the graph's work
    count: int = 1

    def __str__(self) -> str:
        times = f" {self.count} times," if self.count > 1 else ""
        return f"{self.what}{shown(self.place)}:{times} {percent(self.share)} of the work"


@dataclass
class GraphReport:
    """One graph of PyTorch: `compiled` is the share of its work that programs of Headrace do."""

    name: str
    compiled: float = 0.0
    programs: int = 0
    operators: int = 0
    left: list[Left] = field(default_factory=list)

    @property
    def summary(self) -> str:
        programs = f"{self.programs} program{'s' if self.programs != 1 else ''}"
        return f"is compiled to {programs}, {percent(self.compiled)} of its work"

    def __str__(self) -> str:
        head = f"{self.name} ({self.operators} operators) {self.summary}"
        return "\n".join([head, *(f"  {each}" for each in self.left)])


class Report(list[GraphReport]):
    """Reports of graphs in the order in which they were compiled."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "no graph has been compiled"


def percent(part: float) -> str:
    """Rounded toward the middle: 100% is all of it, 0% none."""
    if 0 < part < 1:
        part = min(max(part, 0.01), 0.99)
    return f"{part:.0%}"


@dataclass
class Tally:
    """Counts the work of a graph while it is taken apart."""

    rates: Rates
    done: Work = Work()
    rest: Work = Work()
    programs: int = 0
    why: dict[str, tuple[Place | None, Work, int]] = field(default_factory=dict)

    def compiled(self, work: Work) -> None:
        self.done += work
        self.programs += 1

    def left(self, work: Work, what: str, place: Place | None = None) -> None:
        self.rest += work
        first, so_far, number = self.why.get(what, (place, Work(), 0))
        self.why[what] = (first or place, so_far + work, number + 1)

    def report(self, name: str) -> GraphReport:
        whole = self.done + self.rest
        left = [
            Left(what, place, share(work, whole, self.rates), number)
            for what, (place, work, number) in self.why.items()
        ]
        part = share(self.done, whole, self.rates) if self.rest.operators else 1.0
        if not self.programs:
            part = 0.0
        return GraphReport(name, part, self.programs, whole.operators, left)


#: Of the graphs compiled last.
_reports: deque[GraphReport] = deque(maxlen=1000)


def record(report: GraphReport) -> None:
    _reports.append(report)


def report() -> Report:
    """What became of the graphs compiled so far, the last thousand of them."""
    return Report(_reports)


def forget_reports() -> None:
    _reports.clear()
