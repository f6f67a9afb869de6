"""How much work a graph is: what decides whether a part of it is worth a program of its own."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import fx
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from headrace.torch._results import example, hints, tensors_in


@dataclass(frozen=True)
class Rates:
    """What a machine does in a microsecond, in round figures, and what calls take."""

    operations: float
    bytes: float
    operator: float  # PyTorch's time for an operator, in addition to its work
    program: float  # a call of a program
    gradient: float  # what autograd adds to it
    tensor: float  # a tensor that is passed to a program or returned


RATES = {
    "cpu": Rates(50e3, 10e3, 3, 12, 30, 0.7),
    "cuda": Rates(20e6, 2e6, 6, 20, 40, 1),
}

#: A part is compiled if its time grows by no more than this.
TOLERANCE = 1.05


@dataclass(frozen=True)
class Work:
    operators: int = 0
    operations: int = 0
    bytes: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.operators + other.operators,
            self.operations + other.operations,
            self.bytes + other.bytes,
        )

    def microseconds(self, rates: Rates) -> float:
        """In PyTorch, operator by operator."""
        moved = self.bytes / rates.bytes + self.operations / rates.operations
        return self.operators * rates.operator + moved


def rates_for(device: torch.device) -> Rates:
    return RATES.get(device.type, RATES["cpu"])


def work_of(node: fx.Node) -> Work:
    """A traced node's work."""
    if node.op != "call_function" or node.target is operator.getitem or is_free(node):
        return Work()
    inputs = [x for arg in node.all_input_nodes for x in tensors_in(arg.meta.get("val"))]
    outputs = tensors_in(node.meta.get("val"))
    if not outputs:
        return Work()
    return Work(1, operations_of(node, outputs), byte_count([*inputs, *outputs]))


def is_free(node: fx.Node) -> bool:
    """Whether it is a view: nothing is computed and nothing moved."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(arg.alias_info is not None for arg in schema.arguments)


def operations_of(node: fx.Node, outputs: list[torch.Tensor]) -> int:
    count = flop_registry.get(getattr(node.target, "overloadpacket", None))
    if count is None:
        return max(elements(x) for x in outputs)
    args, kwargs = fx.map_arg((node.args, node.kwargs), lambda arg: arg.meta["val"])
    try:
        (total,) = hints([count(*args, **kwargs, out_val=node.meta["val"])])
        return total
    except (AttributeError, TypeError, ValueError, AssertionError):
        return max(elements(x) for x in outputs)


def work_of_source(node: fx.Node) -> Work:
    """The work of a node that PyTorch traced, and which cannot be traced further."""
    if node.op not in ("call_function", "call_method") or node.target is operator.getitem:
        return Work()
    outputs = tensors_in(example(node))
    if not outputs:
        return Work()
    inputs = [x for arg in node.all_input_nodes for x in tensors_in(example(arg))]
    return Work(1, elements(outputs[0]) + counted(node), byte_count([*inputs, *outputs]))


def counted(node: fx.Node) -> int:
    """The operations of its matrix products and convolutions, as far as PyTorch knows them."""
    fakes = [x for arg in node.all_input_nodes for x in tensors_in(example(arg))]
    mode = next((x.fake_mode for x in fakes if hasattr(x, "fake_mode")), None)
    changes = any(x is y for x in fakes for y in tensors_in(example(node)))
    if mode is None or changes or not callable(node.target):
        return 0
    args, kwargs = fx.map_arg((node.args, node.kwargs), example)
    counter = FlopCounterMode(display=False)
    try:
        with torch.no_grad(), mode, counter:
            node.target(*args, **kwargs)
    except (RuntimeError, TypeError, ValueError, LookupError, AttributeError, AssertionError):
        # No more than an estimate depends on it.
        return 0
    (total,) = hints([counter.get_total_flops()])
    return total


def byte_count(tensors: Iterable[torch.Tensor]) -> int:
    distinct = {id(x): x for x in tensors}
    return sum(elements(x) * x.element_size() for x in distinct.values())


def elements(value: torch.Tensor) -> int:
    total = 1
    for size, stride in zip(hints(value.shape), hints(value.stride())):
        total *= size if stride else 1
    return total


def pays(work: Work, border: list[torch.Tensor], trains: bool, rates: Rates) -> bool:
    """Whether a program is about as fast as PyTorch, or faster.

    It computes as much, reads and writes only the tensors at its boundary, and takes a call.
    """
    call = rates.program + (rates.gradient if trains else 0) + len(border) * rates.tensor
    ours = Work(0, work.operations, min(byte_count(border), work.bytes)).microseconds(rates)
    theirs = work.microseconds(rates) + (work.operators * rates.operator if trains else 0)
    return call + ours <= theirs * TOLERANCE


def share(part: Work, whole: Work, rates: Rates) -> float:
    """Of the time that the work takes in PyTorch."""
    total = whole.microseconds(rates)
    return part.microseconds(rates) / total if total else 0.0
