"""The callables that replace a graph of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import fx

from headrace.errors import DivisionByZeroError, OutOfRangeError
from headrace.torch._autograd import Call, Function, Training
from headrace.torch._context import Unsupported
from headrace.torch._fallback import OURS
from headrace.torch._lower import Program
from headrace.torch._numbers import read_symbols
from headrace.torch._random import Draw
from headrace.torch._runnable import Runnable


class Executor:
    """Runs the program, or PyTorch's own way once the program turns out not to be possible."""

    def __init__(
        self,
        program: Program,
        training: bool,
        module: fx.GraphModule,
        fallback: Callable[[Exception], None],
    ) -> None:
        self.program = program
        self.module, self.fallback = module, fallback
        self.instead = False
        self.inference = Runnable(program.model, program.device)
        self.trains = training and any(output.differentiable for output in program.outputs)
        self.may_differentiate = training
        self.reached = frozenset().union(*(output.reached for output in program.outputs))
        self.trainings: dict[tuple[int, ...], Training] = {}
        self.plain = all(kind == "output" for kind, _ in program.results)
        self.again: fx.GraphModule | None = None

    def __call__(self, *args: Any) -> list[Any]:
        if self.instead:
            return self.module.forward(*args)
        if self.program.mutated and self.overlaps(args):
            self.fallback(Unsupported("an input is changed whose elements share memory"))
            return self.module.forward(*args)
        try:
            return self.run(args)
        except (OutOfRangeError, DivisionByZeroError):
            raise  # the data are at fault; on a device maybe those of the call before
        except OURS as reason:
            results = self.module.forward(*args)
            self.give_up(reason)
            return results

    def give_up(self, reason: Exception) -> None:
        self.instead = True
        self.fallback(reason)

    def run(self, args: tuple[Any, ...]) -> list[Any]:
        program = self.program
        inputs = [args[i] for i in program.inputs]
        wanted: tuple[int, ...] = ()
        if self.trains:
            wanted = tuple(i for i, x in enumerate(inputs) if x.requires_grad and i in self.reached)
        symbols = None
        if program.numeric:
            symbols = read_symbols(program.symbols, args)
        if program.extra:
            call = self.record(args) if wanted else None
            inputs += self.extra(symbols)
        elif wanted:
            call = self.record(args)
        if wanted:
            with nullcontext() if torch.is_grad_enabled() else torch.enable_grad():
                outputs = Function.apply(self.training(wanted), call, *inputs)
        elif program.preparation:
            known = program.preparation(args)
            outputs = self.inference(program.stored(inputs), known, len(program.inputs))
            for i, output in enumerate(program.outputs):
                outputs[i] = output.arrange(outputs[i])
        else:
            outputs = self.inference(program.stored(inputs))
            for i, output in enumerate(program.outputs):
                outputs[i] = output.arrange(outputs[i])
        if program.mutated:
            with torch.no_grad():
                for number, value in zip(program.mutated, outputs[len(program.outputs) :]):
                    args[number].copy_(value)
        if self.plain:
            return [outputs[value] for _, value in program.results]
        return self.results(args, outputs, symbols)

    def training(self, wanted: tuple[int, ...]) -> Training:
        if wanted not in self.trainings:
            self.trainings[wanted] = Training(self.program, list(wanted))
        return self.trainings[wanted]

    def results(self, args: tuple[Any, ...], outputs: Any, symbols: Any) -> list[Any]:
        """All that the graph returns."""
        program = self.program
        views = ()
        if program.views is not None:
            numbers = [number(symbols) for number in program.numbers]
            with torch.set_grad_enabled(self.may_differentiate):
                views = program.views(*args, *outputs[: len(program.outputs)], *numbers)
        found = {"output": outputs, "input": args, "view": views}
        return [
            value(symbols) if kind == "number" else found[kind][value] if kind in found else value
            for kind, value in program.results
        ]

    def extra(self, symbols: dict[Any, Any]) -> list[torch.Tensor]:
        """Python numbers that are computed with, and random tensors, in the program's order."""
        values = []
        for each in self.program.extra:
            if not isinstance(each, Draw):
                device = self.program.device
                values.append(torch.full((), each(symbols), dtype=torch.float64, device=device))
                continue
            drawn = each(symbols)
            if each.used:
                values.append(drawn)
        return values

    # Calls that PyTorch may have to repeat

    def record(self, args: tuple[Any, ...]) -> Call:
        """The call, with copies of what it is going to change."""
        given = list(args)
        for number in self.program.mutated:
            given[number] = given[number].detach().clone()
        program = self.program
        return Call(self.run_again, self.give_up, given, program.inputs, bool(program.draws))

    def run_again(self, *args: Any) -> list[Any]:
        """The program's results, computed by PyTorch."""
        if self.program.draws and self.program.device.type != "cpu":
            raise RuntimeError(
                "headrace: gradients of gradients of a graph that draws random numbers on a device "
                "are not supported"
            )
        if self.again is None:
            graph = fx.Graph()
            copies: dict[fx.Node, fx.Node] = {}
            graph.graph_copy(self.module.graph, copies)
            graph.output(tuple(copies[output.node] for output in self.program.outputs))
            self.again = fx.GraphModule(self.module, graph)
        # It gets copies of the tensors that it changes in place.
        given = list(args)
        for number in self.program.mutated:
            given[number] = given[number].clone()
        return self.again(*given)

    def overlaps(self, args: tuple[Any, ...]) -> bool:
        """Whether memory of an input that is changed is also another's, or that of several of its elements."""
        if any(torch._debug_has_internal_overlap(args[i]) == 1 for i in self.program.mutated):
            return True
        spans = sorted(
            span(x, i) for i, x in enumerate(args) if isinstance(x, torch.Tensor) and x.numel()
        )
        changed = set(self.program.mutated)
        end, owner = -1, -1
        for first, last, number in spans:
            if first < end and (number in changed or owner in changed):
                return True
            if last > end:
                end, owner = last, number
        return False


def span(x: torch.Tensor, number: int) -> tuple[int, int, int]:
    first = x.data_ptr()
    if x.is_contiguous():
        return first, first + x.nbytes, number
    reach = sum((size - 1) * stride for size, stride in zip(x.shape, x.stride()))
    return first, first + (reach + 1) * x.itemsize, number
