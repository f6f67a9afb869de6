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
    `torch.compile`; further options are those of `headrace.load`. What is not supported runs in
    PyTorch, and a `headrace.torch.FallbackWarning` says so.
    """
    if target is None:
        return functools.partial(module, training=training, dynamic=dynamic, **options)
    try:
        import torch
    except ImportError:
        raise UnsupportedError("headrace.module: expected the package torch, found none") from None
    from headrace.torch import backend

    settings = {"backend": backend, "dynamic": dynamic, "options": {"training": training, **options}}
    if isinstance(target, torch.nn.Module):
        target.compile(**settings)
        return target
    if isinstance(target, type) and issubclass(target, torch.nn.Module):
        return _compiled_class(target, settings)
    raise InvalidArgumentError(
        f"headrace.module: expected a torch.nn.Module or a class of them, "
        f"found {type(target).__name__}"
    )


def _compiled_class(cls: type, settings: dict[str, Any]) -> type:
    initialize = cls.__init__

    @functools.wraps(initialize)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, *args, **kwargs)
        self.compile(**settings)

    cls.__init__ = __init__
    return cls
