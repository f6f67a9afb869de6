"""From a graph of PyTorch to programs: one for all of it, or one for each part that pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import fx

from headrace.errors import Error, InternalError
from headrace.torch._capture import Capture, attributes_as_inputs, capture
from headrace.torch._context import Reason, Unsupported, fixed
from headrace.torch._execute import Executor
from headrace.torch._fallback import OURS, Fallback, compiling, describe, unsupported
from headrace.torch._lower import MissingOperators, Program, lower
from headrace.torch._prepare import prepare
from headrace.torch._report import GraphReport, Tally
from headrace.torch._results import example
from headrace.torch._split import Part, Splitter
from headrace.torch._work import Work, pays, rates_for, work_of, work_of_source

TOO_SMALL = "parts too small to pay"


class GraphCompiler:
    """Compiles one graph, and keeps account of what becomes of its nodes."""

    def __init__(self, module: fx.GraphModule, options: dict[str, Any], fallback: Fallback) -> None:
        self.module, self.options, self.fallback = module, options, fallback
        self.source, self.held = attributes_as_inputs(module)
        self.splitter = Splitter(self.source)
        self.tally = Tally(rates_for(a_device(self.source)))
        self.reasons: list[Reason] = []

    def run(self) -> Callable[..., Any]:
        """What replaces the graph."""
        try:
            with compiling():
                captured = capture(self.source)
                program = lower_settling(captured, self.fallback.name, self.options)
            self.tally.compiled(work_in(captured))
            return self.with_held(self.executor(program, self.source))
        except OURS as reason:
            if not isinstance(reason, Unsupported) or not any(r.node for r in reason.reasons):
                self.leave(self.splitter.nodes, describe(reason))
                self.fallback(reason)
                return self.module.forward
            if self.fallback.strict:
                self.fallback(reason)
            nodes, reasons = self.splitter.nodes, reason.reasons
        parts = list(self.search(nodes, reasons))
        left = unsupported(self.reasons)
        if not parts:
            self.fallback(left)
            return self.module.forward
        self.fallback.partly(left, self.report().summary)
        return self.with_held(self.splitter.joined(parts).forward)

    def report(self) -> GraphReport:
        return self.tally.report(self.fallback.name)

    def with_held(self, run: Callable[..., Any]) -> Callable[..., Any]:
        return (lambda *args: run(*args, *self.held)) if self.held else run

    def executor(self, program: Program, source: fx.GraphModule) -> Executor:
        return Executor(program, self.options.get("training", True), source, self.fallback)

    # Parts

    def search(self, nodes: list[fx.Node], reasons: Iterable[Reason]) -> Iterator[Part]:
        """The parts that are compiled of consecutive nodes, some of which stay in PyTorch."""
        why: dict[fx.Node, Reason] = {}
        for reason in reasons:
            if reason.node is not None:
                why.setdefault(reason.node, reason)
                self.reasons.append(reason)
        pieces = list(self.splitter.pieces(nodes, why))
        whole = {node for piece in pieces for node in piece}
        last = next(iter(why.values()))
        for node in nodes:
            if node not in whole:  # with it, the rest of its function transform
                last = why.get(node, last)
                self.tally.left(work_of_source(node), last.what, last.place)
        for piece in pieces:
            yield from self.attempt(piece)

    def attempt(self, nodes: list[fx.Node]) -> Iterator[Part]:
        part = None
        try:
            with compiling():
                part = self.splitter.part(nodes)
                captured = capture(part.module)
                if not self.is_worth_it(captured, part):
                    self.tally.left(work_in(captured), TOO_SMALL)
                    return
                program = lower_settling(captured, self.fallback.name, self.options)
        except InternalError as mistake:
            self.leave(nodes, describe(mistake))
            self.fallback(mistake)
            return
        except OURS as reason:
            origin = part.origin if part else {}
            reasons = getattr(reason, "reasons", [])
            named = [Reason(r.what, r.place, origin[r.node]) for r in reasons if r.node in origin]
            if named:
                yield from self.search(nodes, named)
            else:
                self.leave(nodes, describe(reason))
            return
        self.tally.compiled(work_in(captured))
        part.run = self.executor(program, part.module)
        yield part

    def leave(self, nodes: Iterable[fx.Node], what: str) -> None:
        self.reasons.append(Reason(what))
        for node in nodes:
            self.tally.left(work_of_source(node), what)

    def is_worth_it(self, captured: Capture, part: Part) -> bool:
        border = [x for x in map(example, ends_of(part.module)) if isinstance(x, torch.Tensor)]
        trains = self.options.get("training", True) and any(
            example(node).requires_grad for node in captured.results.outputs
        )
        return pays(work_in(captured), border, trains, self.tally.rates)


def lower_settling(captured: Capture, name: str, options: dict[str, Any]) -> Program:
    """If dynamic dimensions are in the way, all but batches take the values that they have now.

    PyTorch then asks for another graph when they change.
    """
    captured, preparation = prepare(captured)
    try:
        program = lower(captured, name, options)
    except MissingOperators:
        raise
    except (Unsupported, Error):
        if not settle_sizes(captured):
            raise
        program = lower(captured, name, options)
    program.preparation = preparation
    return program


def ends_of(module: fx.GraphModule) -> list[Any]:
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    return [*inputs, *module.graph.output_node().args[0]]


def work_in(captured: Capture) -> Work:
    return sum(map(work_of, captured.graph.nodes), Work())


def a_device(module: fx.GraphModule) -> torch.device:
    inputs = (example(node) for node in module.graph.nodes if node.op == "placeholder")
    found = {x.device.type: x.device for x in inputs if isinstance(x, torch.Tensor)}
    return found.get("cuda") or torch.device("cpu")


def settle_sizes(captured: Capture) -> bool:
    """Fixes every dynamic dimension that is not the first dimension of an input; whether there were any."""
    shapes = [
        node.meta["val"].shape
        for node in captured.graph.nodes
        if node.op == "placeholder" and isinstance(node.meta["val"], torch.Tensor)
    ]
    batches = {expression(shape[0]) for shape in shapes if len(shape)}
    settled = False
    for shape in shapes:
        for size in shape[1:]:
            if fixed(size) is None and expression(size) not in batches:
                int(size)  # a condition of the graph from now on
                settled = True
    return settled


def expression(size: Any) -> Any:
    return size.node.expr if isinstance(size, torch.SymInt) else size
