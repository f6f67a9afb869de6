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

from headrace import _core
from headrace.torch import (  # noqa: F401
    _elementwise,
    _linear,
    _losses,
    _movement,
    _reductions,
)
from headrace.torch._capture import Capture
from headrace.torch._context import Context, Unsupported, dtype_name, function_of
from headrace.torch._fallback import place_of, unsupported
from headrace.torch._numbers import Number, Place, find_symbols
from headrace.torch._random import Draw
from headrace.torch._results import Result, example, memory_order

# Options of `torch.compile` that are settings of the compiler as they are.
SETTINGS = ("expansion", "plan_cache_size", "specialize", "accelerator")


@dataclass
class Output:
    """A tensor that the program yields, and what PyTorch knows of it."""

    node: fx.Node  # of PyTorch's graph
    differentiable: bool
    reached: set[int]  # the program's inputs that autograd goes on to
    order: list[int] | None  # of its dimensions in memory, where that is not C order

    def arrange(self, value: torch.Tensor) -> torch.Tensor:
        """From the dimensions as they lie in memory to those of the tensor."""
        if self.order is None:
            return value
        return value.permute([self.order.index(i) for i in range(len(self.order))])

    def stored(self, value: torch.Tensor) -> torch.Tensor:
        return value if self.order is None else value.permute(self.order)


@dataclass
class Program:
    """A compiled graph, and how its inputs and outputs belong to those of PyTorch's."""

    model: _core.Model
    device: torch.device  # of its inputs and outputs
    names: list[str]  # of the program's inputs
    inputs: list[int]  # PyTorch's inputs that are tensors the program reads, in its order
    extra: list[Number | Draw]  # then: Python numbers that change, and random tensors
    outputs: list[Output]  # then come new values of inputs:
    mutated: list[int]
    results: list[Result]  # those of PyTorch's graph; its numbers are `Number`
    views: fx.GraphModule | None
    numbers: list[Number]  # that views depend on
    symbols: dict[sympy.Symbol, Place]

    @cached_property
    def draws(self) -> list[Draw]:
        return [each for each in self.extra if isinstance(each, Draw)]

    @cached_property
    def numeric(self) -> bool:
        """Whether a call has to know the values of symbols."""
        kinds = {kind for kind, _ in self.results}
        return bool(self.extra or self.numbers or "number" in kinds)


def lower(capture: Capture, name: str, options: dict[str, Any]) -> Program:
    for node in capture.graph.nodes:
        if node.target is with_effects:
            raise Unsupported(str(node.args[1]))
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
    for number, node in enumerate(inputs_of(capture)):
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            values[node] = value
        elif node.users:
            if value.layout != torch.strided:
                raise Unsupported(f"tensors of layout {value.layout}")
            label = f"input {number}"
            values[node] = builder.input(label, dtype_name(value.dtype), context.sizes(value.shape))
            inputs.append(number)
            names.append(label)

    for node in capture.graph.nodes:
        if node.op == "get_attr":
            values[node] = context.constant(attribute(capture.module, node.target))
        elif node.op == "call_function":
            values[node] = call(context, node, values)

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
        outputs.append(Output(source, seen.requires_grad, reached_here, order))
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
    return Program(
        model, device, names, inputs, extra, outputs,
        [number for number, _ in capture.mutated], results, capture.results.views, numbers, symbols,
    )  # fmt: skip


def symbols_of_inputs(capture: Capture) -> set[sympy.Symbol]:
    """The symbols that the shapes of tensors give a value to."""
    read = [node.meta["val"] for node in inputs_of(capture) if node.users]
    sizes = [size for value in read if isinstance(value, torch.Tensor) for size in value.shape]
    expressions = [size.node.expr for size in sizes if isinstance(size, torch.SymInt)]
    return {expr for expr in expressions if isinstance(expr, sympy.Symbol)}


def inputs_of(capture: Capture) -> list[fx.Node]:
    return [node for node in capture.graph.nodes if node.op == "placeholder"]


def device_of(capture: Capture) -> torch.device:
    """The one device of all tensors; numbers in main memory may go with any."""
    inputs = [node.meta["val"] for node in inputs_of(capture) if node.users]
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


def check_operators(graph: fx.Graph) -> None:
    """Names all operators without a function at once."""
    missing: dict[str, Any] = {}
    for node in graph.nodes:
        known = node.op != "call_function" or node.target is operator.getitem
        if not known and not function_of(node.target) and not is_plain(node.meta.get("val")):
            missing.setdefault(str(node.target), place_of(node))
    if missing:
        raise unsupported(missing)


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
    context.node = node
    context.builder.at(node.name)
    try:
        return function_of(node.target)(context, *args, **kwargs)
    except Unsupported as reason:
        raise unsupported({str(reason): place_of(node)}) from None
