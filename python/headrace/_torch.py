"""PyTorch modules. PyTorch is imported when they are asked for, not with Headrace."""

from __future__ import annotations

import functools
from typing import Any

from headrace.errors import InvalidArgumentError, UnsupportedError


def module(
    target: Any = None, /, *, training: bool = True, dynamic: bool | None = None, **options: Any
) -> Any:
    """Run a PyTorch module, or every module of a class, through Headrace.

    >>> net = hr.module(net)                 # the same object: parameters, state_dict, train() stay
    >>> @hr.module
    ... class Net(torch.nn.Module): ...

    With `training`, autograd works as before, by gradients that Headrace takes of the program;
    without it, results have no gradient and nothing is kept for one. `dynamic` is that of
    `torch.compile`; further options are those of `headrace.load`. Unsupported parts run in
    PyTorch, and a `headrace.torch.FallbackWarning` says so.
    """
    if target is None:
        return functools.partial(module, training=training, dynamic=dynamic, **options)
    try:
        import torch
    except ImportError:
        raise UnsupportedError("headrace.module: expected the package torch, found none") from None
    from headrace.torch import backend

    settings = {
        "backend": backend,
        "dynamic": dynamic,
        "options": {"training": training, **options},
    }
    if isinstance(target, torch.nn.Module):
        return _compiled(target, settings)
    if isinstance(target, type) and issubclass(target, torch.nn.Module):
        return _compiled_class(target, settings)
    raise InvalidArgumentError(
        f"headrace.module: expected a torch.nn.Module or a class of them, "
        f"found {type(target).__name__}"
    )


def _compiled(module: Any, settings: dict[str, Any]) -> Any:
    """As `torch.nn.Module.compile`, which passes over PyTorch's own classes."""
    import torch

    def call(*args: Any, **kwargs: Any) -> Any:
        return module._call_impl(*args, **kwargs)

    # PyTorch bounds the versions of one code object: every module gets its own.
    call.__code__ = call.__code__.replace()
    module._compiled_call_impl = torch.compile(call, **settings)
    return module


def _compiled_class(cls: type, settings: dict[str, Any]) -> type:
    initialize, restore = cls.__init__, cls.__setstate__

    @functools.wraps(initialize)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, *args, **kwargs)
        _compiled(self, settings)

    @functools.wraps(restore)
    def __setstate__(self: Any, state: Any) -> None:
        restore(self, state)
        _compiled(self, settings)

    cls.__init__, cls.__setstate__ = __init__, __setstate__
    return cls
