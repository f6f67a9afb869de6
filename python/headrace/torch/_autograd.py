"""A program and its gradient as one step of autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from headrace.errors import DivisionByZeroError, OutOfRangeError
from headrace.torch._fallback import OURS
from headrace.torch._lower import Program
from headrace.torch._results import inverse
from headrace.torch._runnable import Runnable

Gradients = list[torch.Tensor | None]


class Training:
    """A program as two: forward, which keeps what backward needs, and backward."""

    def __init__(self, program: Program, wanted: list[int]) -> None:
        names = [program.names[i] for i in wanted]
        forward, backward, self.kept, _ = program.model.forward_and_backward(names, None)
        #: Of what is kept: tensors that are changed before backward may need them.
        self.copied = [
            i in (program.changing if is_input else changed_outputs(program))
            for is_input, i in self.kept
        ]
        self.forward = Runnable(forward, program.device)
        self.backward = Runnable(backward, program.device)
        self.wanted = wanted
        self.program = program
        self.results = len(program.model.outputs)
        floats = {"f16", "bf16", "f32", "f64"}
        kinds = [dtype for _, dtype, _ in program.model.outputs]
        self.floats = [i for i, dtype in enumerate(kinds) if dtype in floats]
        self.differentiable = [i for i, out in enumerate(program.outputs) if out.differentiable]
        self.plain = [i for i in range(self.results) if i not in self.differentiable]
        self.arranged = [i for i, out in enumerate(program.outputs) if out.order is not None]

    def arrange(self, gradients: Gradients) -> Gradients:
        """Gradients of the program's inputs as those of PyTorch's."""
        orders = self.program.orders
        if not orders:
            return gradients
        return [
            x.permute(inverse(orders[i])) if i in orders and x is not None else x
            for i, x in zip(self.wanted, gradients)
        ]

    def reaches(self, wanted: int, given: list[int]) -> bool:
        """Whether autograd leads from one of these outputs to the input."""
        return any(wanted in self.program.outputs[i].reached for i in given)


def changed_outputs(program: Program) -> set[int]:
    return {i for i, output in enumerate(program.outputs) if output.changes}


class Call:
    """One forward pass, as PyTorch would have to do it again."""

    def __init__(
        self,
        again: Callable[..., Any],
        give_up: Callable[[Exception], None],
        args: list[Any],
        inputs: list[int],
        random: bool,
    ) -> None:
        self.again, self.give_up, self.args, self.inputs = again, give_up, args, inputs
        self.versions = [x._version if isinstance(x, torch.Tensor) else 0 for x in args]
        self.random_state = torch.get_rng_state() if random else None

    def gradients(self, given: Gradients, wanted: list[int], create_graph: bool) -> Gradients:
        """By PyTorch, which may be asked for gradients of these gradients."""
        for x, version in zip(self.args, self.versions):
            if isinstance(x, torch.Tensor) and x._version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an "
                    f"inplace operation: it is at version {x._version}, expected version {version}"
                )
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            if self.random_state is not None:
                torch.set_rng_state(self.random_state)
            outputs = self.again(*self.args)
        pairs = [(x, g) for x, g in zip(outputs, given) if g is not None]
        return list(
            torch.autograd.grad(
                [x for x, _ in pairs],
                [self.args[self.inputs[i]] for i in wanted],
                [g for _, g in pairs],
                create_graph=create_graph,
                allow_unused=True,
            )
        )


class Carrier(torch.Tensor):
    """Carries a call through the tensors saved for backward, which are freed with the graph.

    Hooks of saved tensors, as those of `torch.utils.checkpoint`, save copies, which carry it, too.
    """

    call: Call

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = super().__torch_function__(function, types, args, kwargs or {})
        if isinstance(result, cls) and isinstance(args[0], cls) and "call" in args[0].__dict__:
            result.call = args[0].call
        return result


class Function(torch.autograd.Function):
    """Headrace's own gradient, for autograd."""

    @staticmethod
    def forward(
        ctx: Any, training: Training, call: Call, *inputs: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        ctx.training = training
        ctx.inputs = len(inputs)
        inputs = training.program.stored(list(inputs))
        outputs = training.forward(inputs)
        carrier = Carrier()
        carrier.call = call
        kept = [(inputs if is_input else outputs)[i] for is_input, i in training.kept]
        kept = [x.clone() if copied else x for x, copied in zip(kept, training.copied)]
        ctx.set_materialize_grads(False)
        results = outputs[: training.results]
        ctx.shapes = [results[i].shape for i in training.floats]
        for i in training.arranged:
            results[i] = not_a_view(training.program.outputs[i].arrange(results[i]))
        ctx.save_for_backward(*kept, carrier)
        if training.plain:
            ctx.mark_non_differentiable(*(results[i] for i in training.plain))
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        training, (*kept, carrier) = ctx.training, ctx.saved_tensors
        wanted = training.wanted
        if any(gradients[i] is None for i in training.differentiable):
            given = [i for i in training.differentiable if gradients[i] is not None]
            wanted = [i for i in wanted if training.reaches(i, given)]
        results: list[torch.Tensor | None] = [None] * (ctx.inputs + 2)
        if not wanted:
            return tuple(results)
        if torch.is_grad_enabled():
            found = carrier.call.gradients(list(gradients), wanted, True)
        else:
            try:
                every = training.backward([*kept, *materialized(ctx, gradients)])
                found = every = training.arrange(every)
                if wanted is not training.wanted:
                    found = [every[training.wanted.index(i)] for i in wanted]
            except (OutOfRangeError, DivisionByZeroError):
                raise  # the data are at fault
            except OURS as reason:
                carrier.call.give_up(reason)
                found = carrier.call.gradients(list(gradients), wanted, False)
        for i, gradient in zip(wanted, found):
            results[i + 2] = gradient
        return tuple(results)


def not_a_view(x: torch.Tensor) -> torch.Tensor:
    """The same memory; autograd forbids changes in place of views that a function has made.

    Backward needs the tensor before it is arranged, which is another one of the program.
    """
    return x.new_empty(0).set_(x)


def materialized(ctx: Any, gradients: Any) -> list[torch.Tensor]:
    """The gradients of the program's outputs as it has them, zeros among them."""
    training = ctx.training
    outputs = training.program.outputs
    found = []
    for i, shape in zip(training.floats, ctx.shapes):
        gradient = gradients[i]
        if gradient is None:
            dtype = training.forward.dtypes[i]
            gradient = torch.zeros(shape, dtype=dtype, device=training.program.device)
        elif i < len(outputs):
            gradient = outputs[i].stored(gradient)
        found.append(gradient)
    return found
