"""What leaves a graph to PyTorch, and how the user learns of it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import fx
from torch._dynamo.exc import TorchDynamoException
from torch._guards import CompileContext, TracingContext
from torch.utils.weak import WeakIdKeyDictionary

from headrace.errors import Error, InternalError, UnsupportedError
from headrace.torch._context import Place, Reason, Unsupported


class FallbackWarning(UserWarning):
    """A graph, or a part of it, is left to PyTorch."""


#: What leaves a graph to PyTorch. Any other exception is passed on: it may be how control flows, as
#: where `torch.utils.checkpoint` ends a recomputation, or say that memory is used up.
OURS = (Unsupported, Error, InternalError)

#: What a mistake in Headrace raises.
MISTAKES = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError,
            ValueError)  # fmt: skip
REPORT = "(this is a bug in Headrace; please report it)"


@contextmanager
def compiling() -> Iterator[None]:
    """What is raised within is one of `OURS`, or the control flow of PyTorch's compiler."""
    try:
        yield
    except (TorchDynamoException, *OURS):
        raise
    except RuntimeError as reason:  # PyTorch cannot trace an operator
        raise Unsupported(f"{type(reason).__name__}: {first_line(reason)}") from reason
    except MISTAKES as mistake:
        raise InternalError(f"{type(mistake).__name__}: {first_line(mistake)}") from mistake


class Fallback:
    """Tells why a graph runs in PyTorch: once for each reason, model and function of the user's."""

    def __init__(self, module: fx.GraphModule, inputs: Iterable[Any], strict: bool) -> None:
        self.name = name_of(module)
        self.strict = strict
        compiled = CompileContext.current_compile_id()
        self.frame = compiled.frame_id if compiled else None
        self.place = own_place((x.filename, x.lineno) for x in TracingContext.extract_stack())
        parameters = (x for x in inputs if isinstance(x, torch.nn.Parameter))
        self.told = told_of(next(parameters, None))

    def __call__(self, reason: Exception) -> None:
        """Warns, or raises an error if the user asked for one."""
        text = describe(reason)
        if self.strict:
            raise UnsupportedError(f"headrace: '{self.name}' is not compiled: {text}") from reason
        kind = "" if isinstance(reason, InternalError) else "not supported: "
        self.tell(reason, f"runs in PyTorch: {kind}{text}")

    def partly(self, reason: Unsupported, compiled: str) -> None:
        """Warns of the operators that stay in PyTorch between programs."""
        self.tell(reason, f"{compiled}; not supported: {describe(reason)}")

    def tell(self, reason: Exception, text: str) -> None:
        place = getattr(reason, "place", None) or self.place or (__file__, 1)
        key = (self.frame, self.name, text, place)
        if key in self.told:
            return
        self.told.add(key)
        message = f"headrace: '{self.name}' {text}"
        # With a registry Python would pass over the same words for another model.
        warnings.warn_explicit(message, FallbackWarning, *place, registry=None)


_of_models: Any = WeakIdKeyDictionary()
_of_functions: set[Any] = set()


def told_of(parameter: torch.Tensor | None) -> set[Any]:
    """What was told of the model that this is the first parameter of, or of those without."""
    return _of_functions if parameter is None else _of_models.setdefault(parameter, set())


def forget_warnings() -> None:
    _of_models.clear()
    _of_functions.clear()


def describe(reason: Exception) -> str:
    text = first_line(reason)
    if isinstance(reason, InternalError) and REPORT not in text:
        return f"{text} {REPORT}"
    return text or type(reason).__name__


def first_line(reason: Exception) -> str:
    """The rest is for whoever mends it."""
    return (str(reason).strip().splitlines() or [""])[0]


def name_of(module: fx.GraphModule) -> str:
    """The user's function or class, as far as the graph tells."""
    for node in module.graph.nodes:
        stack = node.meta.get("nn_module_stack")
        if stack:
            owner = next(iter(stack.values()))[1]
            return owner.__name__ if isinstance(owner, type) else str(owner).rpartition(".")[2]
    return "graph"


# Lines of the user's

TORCH = str(Path(torch.__file__).parent)


def place_of(node: fx.Node) -> Place | None:
    """The innermost line outside of PyTorch that made the node."""
    frames = re.findall(r'File "(.+)", line (\d+), in ', node.meta.get("stack_trace") or "")
    return own_place((file, int(line)) for file, line in frames)


def own_place(frames: Iterable[Place]) -> Place | None:
    own = [place for place in frames if not place[0].startswith(TORCH)]
    return own[-1] if own else None


def shown(place: Place | None) -> str:
    return f" ({Path(place[0]).name}:{place[1]})" if place else ""


def unsupported(reasons: Sequence[Reason]) -> Unsupported:
    """An exception that names each feature once, with the line that first asks for it."""
    first: dict[str, Reason] = {}
    for reason in reasons:
        first.setdefault(reason.what, reason)
    names = (reason.what + shown(reason.place) for reason in first.values())
    return Unsupported(", ".join(names), reasons)
