"""The backend that `torch.compile(model, backend="headrace")` finds."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import fx

from headrace import _core
from headrace.errors import Error, InvalidArgumentError, UnsupportedError
from headrace.torch._capture import Capture, attributes_as_inputs, capture
from headrace.torch._context import Unsupported, fixed
from headrace.torch._execute import Executor
from headrace.torch._fallback import OURS, Fallback, compiling
from headrace.torch._lower import SETTINGS, Program, lower

OPTIONS = ("strict", "target", "training", *SETTINGS)

#: PyTorch's modes ask for more or less time spent on compiling. Here the cost model decides.
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def backend(
    module: fx.GraphModule,
    example_inputs: list[Any],
    *,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Compiles one graph. `options` are `training`, `strict`, and those of `headrace.load`."""
    if mode is not None and mode not in MODES:
        raise InvalidArgumentError(
            f"backend 'headrace': expected a mode among {list(MODES)}, got {mode!r}"
        )
    options = options or {}
    check_options("backend 'headrace'", options)
    fallback = Fallback(module, example_inputs, options.get("strict", False))
    try:
        with compiling():
            source, held = attributes_as_inputs(module)
            program = lower_settling(capture(source), fallback.name, options)
    except OURS as reason:
        fallback(reason)
        return module.forward
    run = Executor(program, options.get("training", True), source, fallback)
    return (lambda *args: run(*args, *held)) if held else run


def check_options(who: str, options: dict[str, Any]) -> None:
    """Refuses names and values that no graph could be compiled with."""
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise InvalidArgumentError(
            f"{who}: expected options among {sorted(OPTIONS)}, got {', '.join(map(repr, unknown))}"
        )
    for name in ("strict", "training"):
        if not isinstance(options.get(name, True), bool):
            raise InvalidArgumentError(
                f"{who}: expected True or False for {name!r}, got {options[name]!r}"
            )
    settings = {name: options[name] for name in ("target", *SETTINGS) if name in options}
    try:
        check_settings(tuple(settings.items()))
    except TypeError:
        given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        raise InvalidArgumentError(f"{who}: an option has the wrong type: {given}") from None
    except UnsupportedError:
        pass  # not on this machine, or not for this program
    except Error as error:
        raise type(error)(f"{who}: {error}") from None


@functools.lru_cache
def check_settings(settings: tuple[tuple[str, Any], ...]) -> None:
    """Compiles a program of one operator with them: whether they are valid only the compiler knows."""
    if settings:
        builder = _core.graph_builder("options", dict(settings).get("target", "cpu"))
        x = builder.input("x", "f32", [2])
        builder.output("y", builder.elementwise("neg", [x]))
        builder.finish(_core.Settings(**dict(settings)))


def lower_settling(captured: Capture, name: str, options: dict[str, Any]) -> Program:
    """Where dynamic dimensions are in the way, all but batches take the values they have now.

    PyTorch then asks for another graph when they change.
    """
    try:
        return lower(captured, name, options)
    except (Unsupported, Error):
        if not settle_sizes(captured):
            raise
        return lower(captured, name, options)


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
