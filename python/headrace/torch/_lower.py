"""From a graph of ATen operators to a program."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy
import torch
from torch import fx
from torch._higher_order_ops.effects import with_effects
from torch.utils import _pytree as pytree

from headrace import _core
from headrace.errors import Error
from headrace.torch import _memory, _random  # noqa: F401
from headrace.torch._aten import is_written, write
from headrace.torch._capture import Capture
from headrace.torch._context import (
    NAMES,
    Context,
    Reason,
    Unsupported,
    dtype_name,
)
from headrace.torch._fallback import first_line, place_of, unsupported
from headrace.torch._interpreter import SOURCE
from headrace.torch._numbers import Number, Place, find_symbols
from headrace.torch._prepare import Preparation
from headrace.torch._random import Draw
from headrace.torch._results import Result, example, inverse, is_changed, memory_order

# Options of `torch.compile` that are settings of the compiler as they are.
SETTINGS = ("expansion", "plan_cache_size", "specialize", "accelerator")


@dataclass
class Output:
    """A tensor that the program yields, and what PyTorch knows of it."""

    node: fx.Node  # of PyTorch's graph
    differentiable: bool
    reached: set[int]  # the program's inputs that autograd goes on to
    order: list[int] | None  # of its dimensions in memory, where that is not C order
    changes: bool  # whether PyTorch changes it later in the graph

    def arrange(self, value: torch.Tensor) -> torch.Tensor:
        """From the dimensions as they are in memory to those of the tensor."""
        if self.order is None:
            return value
        return value.permute(inverse(self.order))

    def stored(self, value: torch.Tensor) -> torch.Tensor:
        return value if self.order is None else value.permute(self.order)


@dataclass
class Program:
    """A compiled graph, and how its inputs and outputs belong to those of PyTorch's."""

    model: _core.Model
    device: torch.device  # of its inputs and outputs
    names: list[str]  # of the program's inputs
    inputs: list[int]  # PyTorch's inputs that are tensors the program reads, in its order
    orders: dict[
        int, list[int]
    ]  # of those inputs that are not in C order: their dimensions in memory
    extra: list[Number | Draw]  # then: Python numbers that change, and random tensors
    outputs: list[Output]  # then come new values of inputs:
    mutated: list[int]
    results: list[Result]  # those of PyTorch's graph; its numbers are `Number`
    views: fx.GraphModule | None
    numbers: list[Number]  # that views depend on
    symbols: dict[sympy.Symbol, Place]
    changing: set[
        int
    ]  # inputs, by their place in the program, that the graph or a later part of it changes
    preparation: Preparation | None = None  # of the inputs behind `inputs`

    def stored(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        """The inputs with their dimensions in the order in which the program has them."""
        for i, order in self.orders.items():
            inputs[i] = inputs[i].permute(order)
        return inputs

    @cached_property
    def draws(self) -> list[Draw]:
        return [each for each in self.extra if isinstance(each, Draw)]

    @cached_property
    def numeric(self) -> bool:
        """Whether a call has to know the values of symbols."""
        kinds = {kind for kind, _ in self.results}
        return bool(self.extra or self.numbers or "number" in kinds)


def lower(capture: Capture, name: str, options: dict[str, Any]) -> Program:
    check_operators(capture.graph)
    device = device_of(capture)
    target = target_for(device, options.get("target"))
    builder = _core.graph_builder(name, target)
    differentiates = any(example(node).requires_grad for node in capture.results.outputs)
    symbols = find_symbols(capture.source)
    context = Context(builder, differentiates, symbols)
    context.dimensions = symbols_of_inputs(capture)
    values = context.values
    inputs: list[int] = []
    names: list[str] = []
    orders: dict[int, list[int]] = {}
    sources = inputs_of(capture.source.graph)
    for number, node in enumerate(inputs_of(capture.graph)):
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            values[node] = value
        elif node.users:
            if value.layout != torch.strided or value.dtype not in NAMES:
                what = value.dtype if value.layout == torch.strided else f"layout {value.layout}"
                users = [reason_for(user, f"tensors of {what}") for user in node.users]
                raise unsupported(users)
            label = f"input {number}"
            is_prepared = number >= len(sources)
            order = memory_order(value if is_prepared else example(sources[number]))
            shape = context.sizes(value.shape)
            stored = shape if order is None else [shape[i] for i in order]
            values[node] = builder.input(label, dtype_name(value.dtype), stored)
            if order is not None:
                values[node] = builder.transpose(values[node], inverse(order))
            if is_prepared:
                continue
            if order is not None:
                orders[len(inputs)] = order
            inputs.append(number)
            names.append(label)

    missing: list[Reason] = []
    for node in capture.graph.nodes:
        try:
            if node.op == "get_attr":
                values[node] = context.constant(attribute(capture.module, node.target))
            elif node.op == "call_function":
                values[node] = call(context, node, values)
        except (Unsupported, Error) as error:
            missing.append(reason_for(node, first_line(error)))
            try:
                values[node] = stand_in(context, node, len(missing))
            except (Unsupported, Error, KeyError):
                break
    if missing:
        raise unsupported(missing)

    outputs: list[Output] = []
    places = {number: place for place, number in enumerate(inputs)}
    for node, source, reached in zip(
        capture.outputs, capture.results.outputs, capture.results.reached
    ):
        seen = example(source)
        order = memory_order(seen)
        value = values[node] if order is None else builder.transpose(values[node], order)
        builder.output(f"output {len(outputs)}", value)
        reached_here = {places[number] for number in reached if number in places}
        outputs.append(Output(source, seen.requires_grad, reached_here, order, is_changed(seen)))
    for number, node in capture.mutated:
        builder.output(f"new input {number}", builder.detach(values[node]))

    extra = [x if isinstance(x, Draw) else Number(x, symbols, float) for _, x in context.extra]
    names += [name for name, _ in context.extra if name]
    results = [
        (kind, Number(value, symbols) if kind == "number" else value)
        for kind, value in capture.results.results
    ]
    numbers = [Number(value, symbols) for value in capture.results.numbers]
    settings = {name: options[name] for name in SETTINGS if name in options}
    model = builder.finish(_core.Settings(target=target, **settings))
    mutated = [number for number, _ in capture.mutated]
    changing = {i for i, n in enumerate(inputs) if n in mutated or is_changed(example(sources[n]))}
    return Program(
        model, device, names, inputs, orders, extra, outputs, mutated, results,
        capture.results.views, numbers, symbols, changing,
    )  # fmt: skip


def symbols_of_inputs(capture: Capture) -> set[sympy.Symbol]:
    """The symbols that the shapes of tensors give a value to."""
    read = [node.meta["val"] for node in inputs_of(capture.graph) if node.users]
    sizes = [size for value in read if isinstance(value, torch.Tensor) for size in value.shape]
    expressions = [size.node.expr for size in sizes if isinstance(size, torch.SymInt)]
    return {expr for expr in expressions if isinstance(expr, sympy.Symbol)}


def inputs_of(graph: fx.Graph) -> list[fx.Node]:
    return [node for node in graph.nodes if node.op == "placeholder"]


def device_of(capture: Capture) -> torch.device:
    """The one device of all tensors; numbers in host memory may go with any."""
    inputs = [node.meta["val"] for node in inputs_of(capture.graph) if node.users]
    results = [node.meta["val"] for node in capture.outputs]
    tensors = [x for x in inputs if isinstance(x, torch.Tensor) and not is_number(x)]
    tensors += [x for x in results if isinstance(x, torch.Tensor)]
    devices = sorted({str(x.device) for x in tensors}) or ["cpu"]
    if len(devices) > 1:
        raise Unsupported(f"tensors on several devices: {', '.join(devices)}")
    return torch.device(devices[0])


def is_number(value: torch.Tensor) -> bool:
    return value.dim() == 0 and value.device.type == "cpu" and not value.requires_grad


def target_for(device: torch.device, wanted: str | None) -> str:
    """The target named, else the one of the tensors' device."""
    if device.type == "cpu":
        return wanted or "cpu"
    kind = (wanted or "cuda").partition(":")[0]
    if device.type != "cuda" or kind != "cuda":
        raise Unsupported(
            f"tensors on device '{device}'" + (f" for the target '{wanted}'" if wanted else "")
        )
    chosen = _core.cuda_device()
    if device.index != chosen:
        raise Unsupported(
            f"tensors on device '{device}': programs run on device {chosen} "
            "(the variable HEADRACE_CUDA_DEVICE)"
        )
    return wanted or "cuda"


def attribute(module: fx.GraphModule, path: str) -> torch.Tensor:
    value: Any = module
    for part in path.split("."):
        value = getattr(value, part)
    if isinstance(value, torch._subclasses.FakeTensor):
        if value.constant is None:
            raise Unsupported("a constant whose value is not known")
        value = value.constant
    return value


class MissingOperators(Unsupported):
    """Operators without a function, whatever the sizes."""


def check_operators(graph: fx.Graph) -> None:
    """Names all operators without a function at once."""
    missing: list[Reason] = []
    for node in graph.nodes:
        if node.target is with_effects:
            missing.append(reason_for(node, str(node.args[1])))
            continue
        known = node.op != "call_function" or node.target is operator.getitem
        if not known and not is_written(node.target) and not is_plain(node.meta.get("val")):
            missing.append(reason_for(node, str(node.target)))
    if missing:
        error = unsupported(missing)
        raise MissingOperators(str(error), error.reasons)


def reason_for(node: fx.Node, what: str) -> Reason:
    return Reason(what, place_of(node), node.meta.get(SOURCE))


def stand_in(context: Context, node: fx.Node, number: int) -> Any:
    """Takes the place of a value, so that the rest of the graph shows what else is missing."""
    results, structure = pytree.tree_flatten(node.meta["val"])
    stand_ins = [
        context.builder.input(
            f"missing {number}.{i}", dtype_name(value.dtype), context.sizes(value.shape)
        )
        if isinstance(value, torch.Tensor)
        else value
        for i, value in enumerate(results)
    ]
    return pytree.tree_unflatten(stand_ins, structure)


def is_plain(value: Any) -> bool:
    """Whether it is arithmetic of sizes, or of numbers that inputs hold."""
    return isinstance(value, (int, float, torch.SymInt, torch.SymFloat, torch.SymBool))


def call(context: Context, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
    value = node.meta.get("val")
    if is_plain(value):
        return value
    args, kwargs = fx.map_arg((node.args, node.kwargs), values.__getitem__)
    if node.target is operator.getitem:
        item = args[0][args[1]]
        if item is None:
            raise Unsupported(f"result {args[1]} of {node.args[0].target}")
        return item
    return write(context, node, args, kwargs)
