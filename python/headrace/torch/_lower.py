"""From a graph of ATen operators to a program."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch import fx

from headrace import _core
from headrace.torch import _elementwise, _linear, _losses, _movement, _reductions  # noqa: F401
from headrace.torch._capture import Capture
from headrace.torch._context import FUNCTIONS, Context, Tensor, Unsupported, dtype_name


@dataclass
class Draw:
    """Random numbers that PyTorch draws for the program at each call."""

    kind: str
    shape: list[Any]  # int or an expression of sizes
    dtype: torch.dtype
    device: torch.device
    probability: float

    def __call__(self, sizes: list[int]) -> torch.Tensor:
        if self.kind == "bernoulli":
            empty = torch.empty(sizes, dtype=self.dtype, device=self.device)
            return empty.bernoulli_(self.probability)
        return getattr(torch, self.kind)(sizes, dtype=self.dtype, device=self.device)


@dataclass
class Program:
    """A compiled graph, and how its inputs and outputs belong to those of PyTorch's."""

    model: _core.Model
    device: torch.device  # of its inputs and outputs
    names: list[str]  # of the program's inputs
    inputs: list[int]  # PyTorch's inputs that are tensors the program reads, in its order
    sizes: list[sympy.Expr]  # then: sizes as numbers
    draws: list[Draw]  # then: random tensors
    results: list[tuple[str, Any]]  # ("output", number), ("input", number), ("value", anything)
    outputs: int  # how many outputs are results; the rest are new values of inputs
    mutated: list[int]
    symbols: dict[sympy.Symbol, tuple[int, int | None]]  # an input and its dimension, or its value


def lower(capture: Capture, name: str, options: dict[str, Any]) -> Program:
    device = device_of(capture)
    target = target_for(device, options.get("target"))
    builder = _core.graph_builder(name, target)
    context = Context(builder)
    values = context.values
    inputs: list[int] = []
    names: list[str] = []
    symbols: dict[sympy.Symbol, tuple[int, int | None]] = {}
    placeholders = inputs_of(capture)
    for number, node in enumerate(placeholders):
        value = node.meta["val"]
        find_symbols(value, number, symbols)
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

    results: list[tuple[str, Any]] = []
    outputs: dict[Any, int] = {}
    for result in capture.results:
        if isinstance(result, fx.Node) and result.op == "placeholder":
            results.append(("input", placeholders.index(result)))
        elif isinstance(result, fx.Node) and isinstance(values[result], Tensor):
            if result not in outputs:
                outputs[result] = len(outputs)
                builder.output(f"output {outputs[result]}", values[result])
            results.append(("output", outputs[result]))
        else:
            value = values[result] if isinstance(result, fx.Node) else result
            results.append(("value", value))
    for number, node in capture.mutated:
        builder.output(f"new input {number}", builder.detach(values[node]))

    sizes = list(context.size_inputs)
    names += [f"size {i}" for i in range(len(sizes))]
    names += [f"random {i}" for i in range(len(context.draws))]
    model = builder.finish(
        target, options.get("expansion", "auto"), options.get("plan_cache_size", 16),
    )  # fmt: skip
    return Program(
        model, device, names, inputs, sizes, [draw(*each) for each in context.draws], results, len(outputs),
        [number for number, _ in capture.mutated], symbols,
    )  # fmt: skip


def find_symbols(value: Any, number: int, symbols: dict[Any, Any]) -> None:
    """Where each free size can be read off at a call."""
    if isinstance(value, torch.SymInt) and isinstance(value.node.expr, sympy.Symbol):
        symbols.setdefault(value.node.expr, (number, None))
    elif isinstance(value, torch.Tensor):
        for dim, size in enumerate(value.shape):
            if isinstance(size, torch.SymInt) and isinstance(size.node.expr, sympy.Symbol):
                symbols.setdefault(size.node.expr, (number, dim))


def inputs_of(capture: Capture) -> list[fx.Node]:
    return [node for node in capture.graph.nodes if node.op == "placeholder"]


def device_of(capture: Capture) -> torch.device:
    """The one device of all tensors; numbers in main memory may go with any."""
    inputs = [node.meta["val"] for node in inputs_of(capture) if node.users]
    results = [node.meta["val"] for node in capture.results if isinstance(node, fx.Node)]
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


def call(context: Context, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
    value = node.meta.get("val")
    if isinstance(value, (int, float, torch.SymInt, torch.SymFloat, torch.SymBool)):
        return value  # arithmetic of sizes
    args, kwargs = fx.map_arg((node.args, node.kwargs), values.__getitem__)
    if node.target is operator.getitem:
        item = args[0][args[1]]
        if item is None:
            raise Unsupported(f"result {args[1]} of {node.args[0].target}")
        return item
    function = FUNCTIONS.get(node.target)
    if function is None:
        raise Unsupported(str(node.target))
    context.node = node
    context.builder.at(node.name)
    return function(context, *args, **kwargs)


def draw(node: fx.Node, kind: str) -> Draw:
    value = node.meta["val"]
    shape = [size.node.expr if isinstance(size, torch.SymInt) else size for size in value.shape]
    probability = 0.5
    if kind == "bernoulli":
        probability = node.args[1] if len(node.args) > 1 else node.kwargs.get("p", 0.5)
    return Draw(kind, shape, value.dtype, value.device, probability)
