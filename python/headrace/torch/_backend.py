"""The backend that `torch.compile(model, backend="headrace")` finds."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import torch
from torch import fx

from headrace.errors import Error
from headrace.torch._capture import Capture, capture
from headrace.torch._context import Unsupported, fixed
from headrace.torch._execute import Executor, describe
from headrace.torch._lower import SETTINGS, Program, lower

OPTIONS = {"training", "target", *SETTINGS}


class FallbackWarning(UserWarning):
    """A graph, or a part of it, is left to PyTorch."""


def lower_settling(captured: Capture, name: str, options: dict[str, Any]) -> Program:
    """Where open sizes are in the way, all but batches take the values they have now.

    PyTorch then asks for another graph when they change.
    """
    try:
        return lower(captured, name, options)
    except (Unsupported, Error):
        if not settle_sizes(captured):
            raise
        return lower(captured, name, options)


def settle_sizes(captured: Capture) -> bool:
    """Fixes every open size that is not the first dimension of an input; whether there were any."""
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


_warned: set[tuple[str, str]] = set()


def backend(
    module: fx.GraphModule, example_inputs: list[Any], *, options: dict[str, Any] | None = None
) -> Any:
    """Compiles one graph. `options` are those of `headrace.load`."""
    options = options or {}
    unknown = set(options) - OPTIONS
    if unknown:
        raise ValueError(
            f"backend 'headrace': expected options among {sorted(OPTIONS)}, found {sorted(unknown)}"
        )
    name = name_of(module)
    try:
        program = lower_settling(capture(module), name, options)
    except Exception as reason:
        warn(name, describe(reason))
        return module.forward
    trains = options.get("training", True)
    return Executor(program, trains, module, functools.partial(warn, name))


def warn(name: str, reason: str) -> None:
    """Once for each reason and model."""
    if (name, reason) in _warned:
        return
    _warned.add((name, reason))
    warnings.warn(
        f"headrace: '{name}' runs in PyTorch: not supported: {reason}",
        FallbackWarning,
        stacklevel=2,
    )


def name_of(module: fx.GraphModule) -> str:
    """The user's function or class, as far as the graph tells."""
    for node in module.graph.nodes:
        stack = node.meta.get("nn_module_stack")
        if stack:
            owner = next(iter(stack.values()))[1]
            return owner.__name__ if isinstance(owner, type) else str(owner).rpartition(".")[2]
    return "graph"
