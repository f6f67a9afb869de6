"""A random PyTorch module, compiled and in eager mode."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from headrace.torch import FallbackWarning, _compile, _lower
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call
from torch_modules import Program, create

ALLOWED = 1e-9  # in double precision, of the largest number there is, but at least of 1
UNIT = torch.finfo(torch.float32).eps
TRIES = 6


@dataclass
class CheckResult:
    """`kind`: same, left (the graph, or a part of it, runs in PyTorch), refused (by eager mode) or wrong."""

    kind: str
    message: str = ""


@dataclass
class Outcome:
    """All that a call of a module leaves behind."""

    tensors: dict[str, torch.Tensor | None]
    shared: list[tuple[str, str]]  # results and inputs that are of the same memory


def check(program: Program, dtype: torch.dtype | None = None, whole: bool = False) -> CheckResult:
    """In `dtype`, else in double or, for every third seed without random numbers, in f32.

    For every other seed some operators are withheld, unless the graph is to stay `whole`.
    """
    draws = any(word in line for line in program.lines for word in ("dropout", "rand"))
    dtype = dtype or (torch.float32 if program.seed % 3 == 0 and not draws else torch.float64)
    torch._dynamo.reset()
    try:
        wanted = outcome(program, dtype)
        exact = wanted if dtype == torch.float64 else outcome(program, torch.float64)
    except RuntimeError as error:
        return CheckResult("refused", str(error).splitlines()[0])
    if not all(x is None or x.isfinite().all() for x in exact.tensors.values()):
        return CheckResult("refused", "gradients that are not finite")
    left = program.seed % 2 and not whole
    withheld = operators_withheld(program.seed) if left else nullcontext()
    with withheld, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = outcome(program, dtype, compiled_by("headrace"))
        except Exception as error:
            kind = "wrong" if is_traced(program, dtype) else "refused"
            return CheckResult(kind, f"{type(error).__name__}: {error}")
    reasons = [str(each.message) for each in told if issubclass(each.category, FallbackWarning)]
    if any("bug in Headrace" in reason for reason in reasons):
        return CheckResult("wrong", reasons[0])
    if wrong := difference(program, found, wanted, exact, dtype):
        return CheckResult("wrong", f"{wrong} {reasons}" if reasons else wrong)
    return CheckResult("left", reasons[0]) if reasons else CheckResult("same")


def compiled_by(backend: str) -> Callable:
    return lambda f: torch.compile(f, backend=backend, dynamic=False)


def is_traced(program: Program, dtype: torch.dtype) -> bool:
    """Whether PyTorch captures the graph and runs it itself: it rejects a few that eager mode runs."""
    torch._dynamo.reset()
    try:
        outcome(program, dtype, compiled_by("eager"))
    except Exception:
        return False
    return True


@contextmanager
def operators_withheld(seed: int) -> Iterator[None]:
    """Some operators have no function, and parts pay however small: the graph is split at random."""
    is_written, pays = _lower.is_written, _compile.pays

    def some(operator: Any) -> bool:
        hidden = zlib.crc32(f"{operator} {seed}".encode()) % 4 == 0
        return not hidden and is_written(operator)

    _lower.is_written, _compile.pays = some, lambda *_: True
    try:
        yield
    finally:
        _lower.is_written, _compile.pays = is_written, pays


def outcome(
    program: Program, dtype: torch.dtype, compiled: Callable | None = None, moved: int | None = None
) -> Outcome:
    """With `moved`, every input and parameter is a unit in the last place away, up or down."""
    module, inputs = create(program, dtype)
    if moved is not None:
        generator = torch.Generator().manual_seed(moved)
        with torch.no_grad():
            for x in [*inputs, *module.parameters()]:
                if x.is_floating_point() and 0 not in x.stride():
                    x.mul_(1 + UNIT * (torch.randint(0, 3, x.shape, generator=generator) - 1))
    torch.manual_seed(5)
    results = (compiled(module) if compiled else module)(*inputs)
    values = {f"result {i}": x for i, x in enumerate(results)}
    named = {each.name: x for each, x in zip(program.inputs, inputs)}
    shared = [
        (one, other)
        for one, x in values.items()
        for other, y in {**values, **named}.items()
        if one != other
        and x.numel()
        and x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    ]
    tensors = {
        **values,
        **{f"input {name}": x for name, x in named.items()},
        **dict(module.named_buffers()),
    }
    tensors.update(gradients(values, {**named, **dict(module.named_parameters())}))
    return Outcome(tensors, shared)


def gradients(values: dict[str, Any], leaves: dict[str, Any]) -> dict[str, Any]:
    """Of a sum of the results with fixed weights."""
    differentiable = [x for x in values.values() if x.requires_grad]
    wanted = {name: x for name, x in leaves.items() if x.requires_grad}
    if not differentiable or not wanted:
        return {}
    generator = torch.Generator().manual_seed(3)
    total = sum(
        (x * (torch.rand(x.shape, generator=generator).to(x.dtype) + 0.5)).sum()
        for x in differentiable
    )
    found = torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
    return {f"gradient of {name}": x for name, x in zip(wanted, found)}


def difference(
    program: Program, found: Outcome, wanted: Outcome, exact: Outcome, dtype: torch.dtype
) -> str:
    """The first difference, in a few words; empty if there is none."""
    if found.tensors.keys() != wanted.tensors.keys():
        return f"results {list(found.tensors)}, expected {list(wanted.tensors)}"
    if found.shared != wanted.shared:
        return f"shared memory {found.shared}, expected {wanted.shared}"
    for name, x in found.tensors.items():
        y = wanted.tensors[name]
        if (x is None) != (y is None):
            return f"{name} is {'None' if x is None else 'a tensor'}"
        if x is None:
            continue
        for what in ("dtype", "shape", "requires_grad"):
            if getattr(x, what) != getattr(y, what):
                return f"{what} of {name} is {getattr(x, what)}, expected {getattr(y, what)}"
        if (
            name.startswith("result")
            and strides_differ(x, y)
            and strides_differ(x, foreseen(program, name))
        ):
            return f"strides of {name} are {x.stride()}, expected {y.stride()}"
        if wrong := values_differ(program, name, x, y, exact.tensors[name], dtype):
            return f"{name}: {wrong}"
    return ""


def strides_differ(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Results have the order of eager mode, without the gaps that parts of a larger tensor have there."""
    if not y.numel() or not torch.ops.aten.is_non_overlapping_and_dense(y):
        return False
    return any(a != b for size, a, b in zip(x.shape, x.stride(), y.stride()) if size > 1)


def foreseen(program: Program, name: str) -> torch.Tensor:
    """The result as PyTorch's compilers foresee it, which is not always as eager mode makes it."""
    module, inputs = create(program, torch.float64)
    mode = FakeTensorMode()
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    fakes = {key: mode.from_tensor(x) for key, x in state.items()}
    with mode:
        results = functional_call(module, fakes, tuple(mode.from_tensor(x) for x in inputs))
    return results[int(name.split()[1])]


def values_differ(
    program: Program,
    name: str,
    x: torch.Tensor,
    y: torch.Tensor,
    exact: torch.Tensor,
    dtype: torch.dtype,
) -> str:
    if not x.numel():
        return ""
    if not x.is_floating_point():
        return "" if torch.equal(x, y) else "differs"
    x, y, exact = (each.detach().double() for each in (x, y, exact))
    largest = max(1.0, exact.abs().max().item())
    if dtype == torch.float64:
        error = (x - y).abs().max().item()
        return "" if error <= ALLOWED * largest else f"off by {error:.3g} of {largest:.3g}"
    ours, theirs = rmse(x, exact), rmse(y, exact)
    floor = 8 * UNIT * largest
    if ours <= 3 * theirs + floor:
        return ""
    # Rounding may decide at kinks, and errors may happen to cancel: eager mode nearby says how far.
    for seed in range(TRIES):
        nearby = outcome(program, dtype, moved=seed).tensors[name]
        theirs = max(theirs, rmse(nearby.detach().double(), exact))
    return "" if ours <= 3 * theirs + floor else f"error {ours:.3g}, {theirs:.3g} in eager mode"


def rmse(x: torch.Tensor, exact: torch.Tensor) -> float:
    return (x - exact).square().mean().sqrt().item()
