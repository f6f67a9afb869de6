"""Runs a program on PyTorch's tensors, which it reads and hands over in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.function import once_differentiable
from torch.utils.dlpack import to_dlpack

from headrace import _core
from headrace._tensors import TensorRunner
from headrace.errors import Error
from headrace.torch._lower import Program


class Runnable:
    """A program that is called with tensors of a device and yields tensors there."""

    def __init__(self, model: _core.Model, device: torch.device) -> None:
        self.model = model
        self.on_device = TensorRunner(model, device) if device.type == "cuda" else None
        self.halves = [i for i, (_, dtype, _) in enumerate(model.outputs) if dtype == "bf16"]

    def __call__(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        if self.on_device:
            return self.on_device(inputs)

        def copied(_: Any, index: int) -> torch.Tensor:
            """For what cannot be read in place: a misaligned view."""
            return inputs[index].detach().clone()

        arrays = self.model.run([as_capsule(x) for x in inputs], copied)
        outputs = [torch.from_numpy(array) for array in arrays]
        for i in self.halves:
            outputs[i] = outputs[i].view(torch.bfloat16)
        return outputs


def as_capsule(x: torch.Tensor) -> Any:
    """The tensor in place, for DLPack; `x.__dlpack__()` does the same, but takes its time."""
    return to_dlpack(x.contiguous().resolve_neg())


class Training:
    """A program as two: forward, which keeps what backward needs, and backward."""

    def __init__(self, program: Program, wanted: list[int]) -> None:
        names = [program.names[i] for i in wanted]
        forward, backward, self.kept, _ = program.model.forward_and_backward(names, None)
        self.forward = Runnable(forward, program.device)
        self.backward = Runnable(backward, program.device)
        self.wanted = wanted
        self.results = len(program.model.outputs)
        floats = {"f16", "bf16", "f32", "f64"}
        kinds = [dtype for _, dtype, _ in program.model.outputs]
        self.floats = [i for i, dtype in enumerate(kinds) if dtype in floats]
        self.plain = [
            i for i, dtype in enumerate(kinds) if dtype not in floats or i >= program.outputs
        ]


class Function(torch.autograd.Function):
    """Headrace's own gradient, for autograd."""

    @staticmethod
    def forward(ctx: Any, training: Training, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        outputs = training.forward(list(inputs))
        ctx.training = training
        ctx.inputs = len(inputs)
        ctx.save_for_backward(
            *((inputs if is_input else outputs)[i] for is_input, i in training.kept)
        )
        if training.plain:
            ctx.mark_non_differentiable(*(outputs[i] for i in training.plain))
        return tuple(outputs[: training.results])

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        # Otherwise nobody can go on from the gradient, and to forbid it takes its time.
        if torch.is_grad_enabled():
            return once_differentiable(gradient)(ctx, *gradients)
        return gradient(ctx, *gradients)


def gradient(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    training = ctx.training
    found = training.backward([*ctx.saved_tensors, *[gradients[i] for i in training.floats]])
    results: list[torch.Tensor | None] = [None] * (ctx.inputs + 1)
    for i, each in zip(training.wanted, found):
        results[i + 1] = each
    return tuple(results)


class Executor:
    """What PyTorch calls in place of the graph."""

    def __init__(self, program: Program, training: bool, fallback: Callable[[str], Any]) -> None:
        self.program = program
        self.trains = training
        self.fallback = fallback
        self.instead: Any = None  # PyTorch's way, once a gradient is found not to exist
        self.inference = Runnable(program.model, program.device)
        self.trainings: dict[tuple[int, ...], Training] = {}

    def __call__(self, *args: Any) -> list[Any]:
        program = self.program
        inputs = [args[i] for i in program.inputs]
        wanted = ()
        if self.trains and torch.is_grad_enabled():
            wanted = tuple(i for i, x in enumerate(inputs) if x.requires_grad)
        if wanted and not self.training(wanted):
            return self.instead(*args)
        if program.sizes or program.draws:
            inputs += self.extra(args)
        if wanted:
            outputs = Function.apply(self.trainings[wanted], *inputs)
        else:
            outputs = self.inference(inputs)
        if program.mutated:
            with torch.no_grad():
                for number, value in zip(program.mutated, outputs[program.outputs :]):
                    args[number].copy_(value)
        return [result(kind, value, args, outputs) for kind, value in program.results]

    def training(self, wanted: tuple[int, ...]) -> bool:
        """Whether there is a gradient for these inputs."""
        if self.instead is None and wanted not in self.trainings:
            try:
                self.trainings[wanted] = Training(self.program, list(wanted))
            except Error as reason:
                self.instead = self.fallback(str(reason))
        return self.instead is None

    def extra(self, args: tuple[Any, ...]) -> list[torch.Tensor]:
        sizes = {
            symbol: args[number] if dim is None else args[number].shape[dim]
            for symbol, (number, dim) in self.program.symbols.items()
        }

        def number(size: Any) -> Any:
            return size if isinstance(size, int) else size.xreplace(sizes)

        device = self.program.device
        values = [
            torch.full((), float(number(expr)), dtype=torch.float64, device=device)
            for expr in self.program.sizes
        ]
        return values + [
            draw([int(number(size)) for size in draw.shape]) for draw in self.program.draws
        ]


def result(kind: str, value: Any, args: tuple[Any, ...], outputs: Any) -> Any:
    if kind == "output":
        return outputs[value]
    return args[value] if kind == "input" else value
