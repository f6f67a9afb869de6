"""One architecture, compiled and compared with eager mode."""

from __future__ import annotations

import copy
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import headrace.torch
import torch
from headrace.torch._report import forget_reports
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from cases.torch_zoo import Architecture, Inputs, call

#: What results may differ by: a share of their largest element, and of the largest element of all gradients.
TOLERANCES = {torch.float32: (2e-3, 1e-5), torch.float64: (1e-7, 1e-10)}


@dataclass
class Outcome:
    kind: str  # "right", "wrong", "raised", or "eager" if PyTorch itself raised
    compiled: float = 0.0  # the share of the work
    programs: int = 0
    seconds: float = 0.0  # of the first call
    left: list[str] = field(default_factory=list)
    text: str = ""


def check(each: Architecture, training: bool) -> Outcome:
    """Compares in f32; gradients that differ there, in f64: at a kink a rounding before it decides."""
    outcome = compare(each, training, torch.float32)
    if outcome.kind == "wrong" and re.match("gradient .* differs", outcome.text):
        exact = compare(each, training, torch.float64)
        if exact.kind == "right":
            outcome.kind, outcome.text = "right", f"in f64; in f32 {outcome.text}"
    return outcome


def compare(each: Architecture, training: bool, dtype: torch.dtype) -> Outcome:
    torch._dynamo.reset()
    torch.manual_seed(0)
    try:
        net = each.make().to(dtype).train(training)
        inputs = {
            name: x.to(dtype) if x.is_floating_point() else x for name, x in each.inputs().items()
        }
        twin = copy.deepcopy(net)
        expected = run(twin, twin, inputs, training)
    except Exception as error:  # there is nothing to compare with
        return Outcome("eager", text=line_of(error))
    forget_reports()
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = torch.compile(net, backend="headrace", options={"training": training})
            found = run(compiled, net, inputs, training)
    except Exception as error:  # is the outcome
        return Outcome("raised", text=line_of(error))
    seconds = time.perf_counter() - start
    report = headrace.torch.report()
    outcome = Outcome("right", report.compiled, sum(g.programs for g in report), seconds)
    left = sorted((x for graph in report for x in graph.left), key=lambda x: -x.share)
    outcome.left = list(dict.fromkeys(x.what for x in left))
    outcome.text = difference(found, expected, *TOLERANCES[dtype])
    if outcome.text:
        outcome.kind = "wrong"
    return outcome


Results = dict[str, Tensor]


def run(module: Callable[..., Any], net: nn.Module, inputs: Inputs, training: bool) -> Results:
    """Results, and if trained, gradients and buffers."""
    torch.manual_seed(1)
    if not training:
        with torch.no_grad():
            return {f"result {i}": x for i, x in enumerate(floats(call(module, inputs)))}
    given = {n: x.clone().requires_grad_(x.is_floating_point()) for n, x in inputs.items()}
    results = floats(call(module, given))
    reached = [x for x in results if x.requires_grad]
    random = torch.Generator().manual_seed(2)
    weights = [
        torch.randn(x.shape, generator=random, dtype=torch.float64).to(x.dtype) for x in reached
    ]
    torch.autograd.backward(reached, weights)
    found = {f"result {i}": x.detach() for i, x in enumerate(results)}
    found |= {f"gradient of {n}": x.grad for n, x in given.items() if x.grad is not None}
    found |= {f"gradient of {n}": p.grad for n, p in net.named_parameters() if p.grad is not None}
    return found | {n: b.detach() for n, b in net.named_buffers() if b.is_floating_point()}


def floats(results: Any) -> list[Tensor]:
    if hasattr(results, "to_tuple"):
        results = results.to_tuple()
    leaves = pytree.tree_leaves(results)
    return [x for x in leaves if isinstance(x, Tensor) and x.is_floating_point()]


def difference(found: Results, expected: Results, tolerance: float, floor: float) -> str:
    """The worst difference in words; empty if there is none beyond rounding."""
    if found.keys() != expected.keys():
        return f"expected {sorted(expected.keys() ^ found.keys())} in both"
    gradients = [x for name, x in expected.items() if name.startswith("gradient")]
    top = max((float(x.abs().max()) for x in gradients if x.numel()), default=0.0)
    worst, text = 1.0, ""
    for name, ours in found.items():
        theirs = expected[name]
        if ours.shape != theirs.shape:
            return f"{name}: expected the shape {tuple(theirs.shape)}, got {tuple(ours.shape)}"
        if not ours.numel():
            continue
        allowed = tolerance * float(theirs.abs().max()) + torch.finfo(theirs.dtype).tiny
        allowed += floor * top if name.startswith("gradient") else 0
        off = torch.where(ours == theirs, 0.0, (ours - theirs).abs())
        off = off.masked_fill(ours.isnan() & theirs.isnan(), 0).nan_to_num(nan=torch.inf)
        if float(off.max()) > allowed * worst:
            worst = float(off.max()) / allowed
            text = f"{name} differs by {float(off.max()):.2g} of {float(theirs.abs().max()):.2g}"
    return text


def line_of(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
