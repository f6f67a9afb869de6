"""A dry run: what would become of a model, without changing it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx

from headrace.torch._compile import GraphCompiler
from headrace.torch._fallback import Fallback, FallbackWarning
from headrace.torch._report import Report


def explain(
    model: Callable[..., Any], /, *inputs: Any, options: dict[str, Any] | None = None, **named: Any
) -> Report:
    """What Headrace would compile of a call of the model, and which operators stay in PyTorch.

    PyTorch runs the model once. Its buffers and the random numbers are as before afterwards.

    >>> import headrace.torch
    >>> import torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(64, 10), torch.nn.ReLU())
    >>> work = headrace.torch.explain(net, torch.randn(8, 64))
    """
    options = {**(options or {}), "strict": False}
    report = Report()

    def note(module: fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        compiler = GraphCompiler(module, options, Fallback(module, example_inputs, False))
        compiler.run()
        report.append(compiler.report())
        return module.forward

    def call(*args: Any, **kwargs: Any) -> Any:
        return model(*args, **kwargs)

    call.__code__ = call.__code__.replace()  # with versions of its own
    with as_before(model), warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        torch.compile(call, backend=note)(*inputs, **named)
    return report


@contextmanager
def as_before(model: Any) -> Iterator[None]:
    """Buffers of a module and random numbers are restored."""
    buffers = dict(model.named_buffers()) if isinstance(model, torch.nn.Module) else {}
    saved = {name: buffer.detach().clone() for name, buffer in buffers.items()}
    try:
        with torch.random.fork_rng():
            yield
    finally:
        with torch.no_grad():
            for name, buffer in buffers.items():
                buffer.copy_(saved[name])
