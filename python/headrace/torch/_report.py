"""What became of graphs: how much of each is compiled, and what is left to PyTorch."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from torch._dynamo.utils import get_metrics_context
from torch._guards import CompileContext

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
    #: The predicted time of its operators in PyTorch.
    microseconds: float = 0.0
    #: Counts the graphs of the same function, from 1: beyond 1 it was compiled again.
    compile: int = 1
    #: The condition of the graph before that a call did not meet.
    why_again: str = ""

    @property
    def summary(self) -> str:
        programs = f"{self.programs} program{'s' if self.programs != 1 else ''}"
        return f"is compiled to {programs}, {percent(self.compiled)} of its work"

    def __str__(self) -> str:
        head = f"{self.name} ({self.operators} operators) {self.summary}"
        again = f"  compile {self.compile}, because of {self.why_again}"
        left = (f"  {each}" for each in self.left)
        return "\n".join([head, *([again] if self.compile > 1 else []), *left])


class Report(list[GraphReport]):
    """Reports of graphs in the order in which they were compiled."""

    @property
    def compiles(self) -> int:
        """The number of compilations, each of a graph."""
        return len(self)

    @property
    def again(self) -> int:
        """The number of compilations for sizes or values that no graph before was made for."""
        return sum(each.compile > 1 for each in self)

    @property
    def compiled(self) -> float:
        """The share of all graphs' work that programs of Headrace do."""
        total = sum(each.microseconds for each in self)
        return sum(each.compiled * each.microseconds for each in self) / total if total else 0.0

    def __str__(self) -> str:
        if not self:
            return "no graph has been compiled"
        times = f"{self.compiles} compilation{'s' if self.compiles != 1 else ''}"
        return "\n".join([f"{times}, {self.again} of them again", *map(str, self)])


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
        time = whole.microseconds(self.rates)
        return GraphReport(name, part, self.programs, whole.operators, left, time, *this_compile())


def this_compile() -> tuple[int, str]:
    """Which compilation of its function this is, and why there is another, as PyTorch tells."""
    current = CompileContext.current_compile_id()
    number = (current.frame_compile_id or 0) + 1 if current else 1
    if number == 1:
        return 1, ""
    known = getattr(get_metrics_context(), "_metrics", {})
    reason = known.get("recompile_reason") or "a condition that PyTorch does not name"
    condition = reason.strip().splitlines()[0].partition("  #")[0]
    return number, condition.partition(": ")[2].strip() or condition


#: Of the graphs compiled last.
_reports: deque[GraphReport] = deque(maxlen=1000)


def record(report: GraphReport) -> None:
    _reports.append(report)


def report() -> Report:
    """What became of the graphs compiled so far, the last thousand of them."""
    return Report(_reports)


def forget_reports() -> None:
    _reports.clear()
