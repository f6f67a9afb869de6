"""PyTorch's own samples of its operators (OpInfo), run eagerly and by the backend."""

from __future__ import annotations

import importlib.util
import itertools
import re
import sys
import types
import unittest
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

# The samples lie next to PyTorch's own tests, whose base class is not needed here.
if importlib.util.find_spec("expecttest") is None:
    sys.modules["expecttest"] = types.ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = unittest.TestCase

from headrace.torch import FallbackWarning, _fallback  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.testing._internal.common_utils import SEED, set_rng_seed  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

#: Operators whose results are not determined.
UNDETERMINED = (
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
)
TOLERANCE = {torch.float64: 1e-7, torch.float32: 5e-5, torch.int64: 0}


@dataclass
class Case:
    """One sample of one operator, as a function of its data."""

    name: str
    function: Callable[..., Any]
    data: tuple[Any, tuple, dict]
    dtype: torch.dtype
    gradients: bool


def operators() -> dict[str, Any]:
    found = {}
    for op in op_db:
        name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
        if op.name not in UNDETERMINED:
            found[name] = op
    return found


def main_type(op: Any) -> torch.dtype:
    """The type that it is compared in, with gradients."""
    floating = torch.float64 in op.supported_dtypes("cpu")
    return torch.float64 if floating else torch.int64


def cases(name: str, op: Any, dtype: torch.dtype, limit: int | None, gradients: bool) -> list[Case]:
    """Up to `limit` samples, spread over all there are, and in place where the operator can be."""
    if dtype not in op.supported_dtypes("cpu"):
        return []
    differentiable = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    gradients = gradients and differentiable
    torch.manual_seed(0)
    samples = list(itertools.islice(samples_of(op, dtype, gradients), 1 if limit == 1 else None))
    chosen = range(len(samples))
    if limit is not None and len(samples) > limit:
        chosen = sorted({i * len(samples) // limit for i in range(limit)})
    found = []
    for i in chosen:
        sample = samples[i]
        data = (sample.input, sample.args, sample.kwargs)
        variants = {"": op.op}
        if op.inplace_variant and isinstance(sample.input, torch.Tensor):
            variants["_"] = in_place(op.inplace_variant)
        for mark, function in variants.items():
            case = Case(f"{name}{mark} {i}", function, data, dtype, gradients)
            if runs(case):
                found.append(case)
    return found


def samples_of(op: Any, dtype: torch.dtype, gradients: bool) -> Iterator[Any]:
    """As `op.sample_inputs` gives them, without its look at the stack for a test's name, which
    takes longer than making them."""
    samples = iter(op.sample_inputs_func(op, "cpu", dtype, gradients))
    while True:
        set_rng_seed(SEED)
        try:
            yield next(samples)
        except StopIteration:
            return


def in_place(function: Callable) -> Callable:
    def changed(x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        copy = x.clone()
        function(copy, *args, **kwargs)
        return copy

    # After a break of the graph, PyTorch takes functions of the same code for the same.
    changed.__code__ = changed.__code__.replace()
    return changed


def runs(case: Case) -> bool:
    try:
        run([case], together([case]))
    except Exception:
        return False
    return True


def together(cases: Sequence[Case]) -> Callable:
    """All of them as one function of the list of their data."""

    def function(data: list) -> list:
        return [case.function(x, *args, **kw) for case, (x, args, kw) in zip(cases, data)]

    return function


def run(cases: Sequence[Case], function: Callable) -> list[tuple[list[Any], list[Any]]]:
    """For each its results, and its gradients for a fixed gradient of the results."""
    data = [pytree.tree_map(lambda x, c=case: copied(x, c.gradients), case.data) for case in cases]
    torch.manual_seed(5)
    with torch.set_grad_enabled(any(case.gradients for case in cases)):
        results = function(data)
    found = []
    for given, result in zip(data, results):
        outputs = pytree.tree_leaves(result)
        leaves = [x for x in pytree.tree_leaves(given) if is_tensor(x) and x.requires_grad]
        differentiable = [x for x in outputs if is_tensor(x) and x.requires_grad]
        gradients: Sequence[Any] = []
        if differentiable and leaves:
            generator = torch.Generator().manual_seed(3)
            weights = [
                torch.rand(x.shape, dtype=x.dtype, generator=generator) + 0.5
                for x in differentiable
            ]
            gradients = torch.autograd.grad(
                differentiable, leaves, weights, allow_unused=True, retain_graph=True
            )
        found.append((outputs, list(gradients)))
    return found


def is_tensor(x: Any) -> bool:
    return isinstance(x, torch.Tensor)


def copied(x: Any, gradients: bool) -> Any:
    if not is_tensor(x):
        return x
    return x.detach().clone().requires_grad_(gradients and x.requires_grad)


def compare(cases: Sequence[Case]) -> tuple[list[str], list[str]]:
    """The mistakes, and the operators left to PyTorch with reasons."""
    wanted = run(cases, together(cases))
    torch._dynamo.reset()
    _fallback.forget_warnings()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = run(cases, torch.compile(together(cases), backend="headrace", dynamic=False))
        except Exception as error:
            if is_refused_by_torch(cases):
                return [], []
            return [f"{', '.join(case.name for case in cases)}: {error}"], []
    reasons = [str(w.message) for w in caught if issubclass(w.category, FallbackWarning)]
    wrong = []
    for case, ours, theirs in zip(cases, found, wanted):
        for kind, one, other in zip(("results", "gradients"), ours, theirs):
            reason = difference(one, other, TOLERANCE[case.dtype])
            if reason:
                wrong.append(f"{case.name}: {kind}: {reason}")
    return wrong, reasons


def is_refused_by_torch(cases: Sequence[Case]) -> bool:
    """Whether PyTorch cannot capture one sample for any backend, as where eager mode resizes."""
    if len(cases) > 1:
        return False
    torch._dynamo.reset()
    try:
        run(cases, torch.compile(together(cases), backend="eager", dynamic=False))
    except Exception:
        return True
    return False


def mistakes(cases: Sequence[Case], together: int = 16) -> list[str]:
    """The mistakes. Many cases share a graph; those of a graph that fails are tried one by one."""
    wrong: list[str] = []
    for start in range(0, len(cases), together):
        part = cases[start : start + together]
        if compare(part)[0]:
            wrong += [mistake for case in part for mistake in compare([case])[0]]
    return wrong


def difference(found: list[Any], wanted: list[Any], tolerance: float) -> str | None:
    if len(found) != len(wanted):
        return f"{len(found)} instead of {len(wanted)}"
    for one, other in zip(found, wanted):
        if is_tensor(one) and is_tensor(other):
            if one.requires_grad != other.requires_grad:
                return f"requires_grad is {one.requires_grad}"
            try:
                torch.testing.assert_close(
                    one, other, rtol=tolerance, atol=tolerance, equal_nan=True
                )
            except AssertionError as error:
                return str(error).replace("\n", " ")
        elif is_tensor(one) or is_tensor(other) or (one != other and one == one):
            return f"{one} instead of {other}"
    return None


def status(every: Iterable[Case]) -> tuple[str, list[str]]:
    """ "lowered", "part" or the reason why none of the samples are; and what is wrong."""
    wrong: list[str] = []
    reasons: list[str] = []
    lowered = 0
    for case in every:
        mistakes, left = compare([case])
        wrong += mistakes
        reasons += left[:1]
        lowered += not left
    if not reasons:
        return "lowered", wrong
    reason = re.sub(r" \(.*?:\d+\)", "", reasons[0].rpartition("not supported: ")[2])
    return (f"part: {reason}" if lowered else f"PyTorch: {reason}"), wrong
