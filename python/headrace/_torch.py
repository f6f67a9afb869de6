"""PyTorch modules. PyTorch is imported when they are asked for, not with Headrace."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.errors import InvalidArgumentError, UnsupportedError


def module(
    target: Any = None, /, *, training: bool = True, dynamic: bool | None = None, **options: Any
) -> Any:
    """Run a PyTorch module, or every module of a class, through Headrace.

    >>> import torch
    >>> net = torch.nn.Linear(64, 10)
    >>> hr.module(net) is net  # the same object: parameters, state_dict and train() stay
    True
    >>> @hr.module
    ... class Net(torch.nn.Module): ...

    With `training`, autograd works as usual, with gradients computed by Headrace; without it,
    results have no gradient and nothing is saved for one. `dynamic` is that of `torch.compile`;
    other options are those of `headrace.load`. Unsupported parts run in PyTorch, with a
    `headrace.torch.FallbackWarning`; with `strict=True` they raise an error.
    """
    if target is None:
        return functools.partial(module, training=training, dynamic=dynamic, **options)
    try:
        import torch
    except ImportError:
        raise UnsupportedError("headrace.module: expected the package torch, got none") from None
    from headrace.torch._backend import check_options

    check_options("headrace.module", options)
    settings = {"dynamic": dynamic, "options": {"training": training, **options}}
    if isinstance(target, torch.nn.Module):
        return _compiled(target, settings)
    if isinstance(target, type) and issubclass(target, torch.nn.Module):
        return _compiled_class(target, settings)
    raise InvalidArgumentError(
        f"headrace.module: expected a torch.nn.Module or a class of them, "
        f"got {type(target).__name__}"
    )


def _compiled(module: Any, settings: dict[str, Any]) -> Any:
    """As `torch.nn.Module.compile`, which passes over PyTorch's own classes."""
    import torch

    from headrace.torch import backend

    def call(*args: Any, **kwargs: Any) -> Any:
        return module._call_impl(*args, **kwargs)

    # PyTorch bounds the versions of one code object: every module gets its own.
    call.__code__ = call.__code__.replace()
    own = {
        "_compiled_call_impl": torch.compile(call, backend=backend, **settings),
        "__reduce_ex__": functools.partial(_reduce, module, settings),
    }
    if hasattr(type(module), "__deepcopy__"):
        own["__deepcopy__"] = functools.partial(_deepcopy, module, settings)
    module.__dict__.update(own)
    return module


def _compiled_class(cls: type, settings: dict[str, Any]) -> type:
    initialize = cls.__init__

    @functools.wraps(initialize)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, *args, **kwargs)
        _compiled(self, settings)

    cls.__init__ = __init__
    return cls


# Copies of a module, by `copy` and `pickle`, are compiled anew: code is neither copied nor stored.


def _reduce(module: Any, settings: dict[str, Any], protocol: Any) -> tuple[Any, ...]:
    with _plain(module):
        create, arguments, *rest = type(module).__reduce_ex__(module, protocol)
    return (_create_compiled, (settings, create, arguments), *rest)


def _create_compiled(settings: dict[str, Any], create: Any, arguments: tuple[Any, ...]) -> Any:
    return _compiled(create(*arguments), settings)


def _deepcopy(module: Any, settings: dict[str, Any], memo: dict[int, Any]) -> Any:
    with _plain(module):
        copied = copy.deepcopy(module, memo)
    return _compiled(copied, settings)


@contextmanager
def _plain(module: Any) -> Iterator[None]:
    """The module as it was before it was compiled."""
    names = ("_compiled_call_impl", "__reduce_ex__", "__deepcopy__")
    own = {name: module.__dict__.pop(name) for name in names if name in module.__dict__}
    try:
        yield
    finally:
        module.__dict__.update(own)
