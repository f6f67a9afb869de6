"""The backend that `torch.compile(model, backend="headrace")` finds."""

from __future__ import annotations

import functools
from typing import Any

from torch import fx

from headrace import _core
from headrace.errors import Error, InvalidArgumentError, UnsupportedError
from headrace.torch._compile import GraphCompiler
from headrace.torch._fallback import Fallback
from headrace.torch._lower import SETTINGS
from headrace.torch._report import record

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
    compiler = GraphCompiler(module, options, fallback)
    run = compiler.run()
    record(compiler.report())
    return run


def check_options(who: str, options: dict[str, Any]) -> None:
    """Rejects names and values that no graph could be compiled with."""
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
        check_for_some_target(settings)
    except TypeError:
        given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        raise InvalidArgumentError(f"{who}: an option has the wrong type: {given}") from None
    except UnsupportedError:
        pass  # not on this machine, or not for this program
    except Error as error:
        raise type(error)(f"{who}: {error}") from None


def check_for_some_target(settings: dict[str, Any]) -> None:
    """Without a target, graphs may be compiled for CPUs or for CUDA devices."""
    try:
        check_settings(tuple(settings.items()))
    except (InvalidArgumentError, UnsupportedError):
        if "target" in settings:
            raise
        try:
            check_settings((("target", "cuda"), *settings.items()))
        except Error:
            pass
        else:
            return
        raise


@functools.lru_cache
def check_settings(settings: tuple[tuple[str, Any], ...]) -> None:
    """Compiles a program of one operator with them: whether they are valid only the compiler knows."""
    if settings:
        builder = _core.graph_builder("options", dict(settings).get("target", "cpu"))
        x = builder.input("x", "f32", [2])
        builder.output("y", builder.elementwise("neg", [x]))
        builder.finish(_core.Settings(**dict(settings)))
