"""Results of a graph of PyTorch: tensors that the program yields, and views that PyTorch takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from headrace.torch._context import Unsupported

#: A result: ("output", number), ("input", number), ("number", symbolic), ("value", anything), or
#: ("view", number) of what `Results.views` returns.
Result = tuple[str, Any]


@dataclass
class Results:
    results: list[Result]
    outputs: list[fx.Node]  # the nodes whose values the program yields
    reached: list[set[int]]  # for each: the inputs that autograd goes on to from it
    views: fx.GraphModule | None  # a function of inputs, then outputs, then numbers
    numbers: list[Any] = field(default_factory=list)  # symbolic ones that views depend on


def find_results(module: fx.GraphModule) -> Results:
    """Results that share memory stay views of one tensor, an input or one that the program yields."""
    nodes = list(module.graph.nodes)
    inputs = {node: i for i, node in enumerate(n for n in nodes if n.op == "placeholder")}
    returned = [resolve(each) for each in pytree.tree_leaves(module.graph.output_node().args[0])]
    shared = storages_of_views(returned, inputs)
    views = Views(module, inputs)
    results: list[Result] = []
    for node in returned:
        if not isinstance(node, fx.Node):
            results.append(("value", node))
        elif node in inputs:
            results.append(("input", inputs[node]))
        elif isinstance(example(node), (torch.SymInt, torch.SymFloat, torch.SymBool)):
            results.append(("number", example(node)))
        elif not isinstance(example(node), torch.Tensor):
            results.append(("value", example(node)))
        elif storage_of(example(node)) in shared or is_expanded(example(node)):
            results.append(("view", views.add(node)))
        else:
            results.append(("output", views.output(node)))
    outputs = list(views.outputs)
    return Results(
        results, outputs, [reached(node, inputs) for node in outputs], views.finish(), views.numbers
    )


def storages_of_views(returned: list[Any], inputs: dict[fx.Node, int]) -> set[Any]:
    """The memory of inputs, and what several results have in common."""
    counts: dict[Any, int] = {}
    tensors = [n for n in returned if isinstance(n, fx.Node) and n not in inputs]
    for node in dict.fromkeys(tensors):
        if isinstance(example(node), torch.Tensor):
            counts[storage_of(example(node))] = counts.get(storage_of(example(node)), 0) + 1
    taken = {storage_of(example(node)) for node in inputs if tensors_in(example(node))}
    return {storage for storage, count in counts.items() if count > 1 or storage in taken}


class Views:
    """Collects the views among the results as a graph of their own."""

    def __init__(self, module: fx.GraphModule, inputs: dict[fx.Node, int]) -> None:
        self.module, self.inputs = module, inputs
        self.outputs: dict[fx.Node, int] = {}
        self.numbers: list[Any] = []
        self.roots: list[tuple[str, int]] = []  # of the graph's placeholders
        self.copies: dict[fx.Node, fx.Node] = {}
        self.graph = fx.Graph()
        self.taken: list[fx.Node] = []

    def output(self, node: fx.Node) -> int:
        return self.outputs.setdefault(node, len(self.outputs))

    def add(self, node: fx.Node) -> int:
        copied = self.copy(node)
        if not example(node).requires_grad:
            copied = self.graph.call_method("detach", (copied,))
        self.taken.append(copied)
        return len(self.taken) - 1

    def copy(self, node: fx.Node) -> Any:
        node = resolve(node)
        if node not in self.copies:
            self.copies[node] = self.make(node)
        return self.copies[node]

    def make(self, node: fx.Node) -> Any:
        made = example(node)
        if node in self.inputs:
            return self.root("input", self.inputs[node])
        if not tensors_in(made) and node.op != "get_attr":
            if not isinstance(made, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                return made
            self.numbers.append(made)
            return self.root("number", len(self.numbers) - 1)
        if is_view(node):
            return self.graph.node_copy(node, self.copy)
        if not isinstance(made, torch.Tensor) or not is_dense(made):
            raise Unsupported("results that share memory")
        return self.root("output", self.output(node))

    def root(self, kind: str, number: int) -> fx.Node:
        self.roots.append((kind, number))
        return self.graph.placeholder(f"{kind}_{number}")

    def finish(self) -> fx.GraphModule | None:
        """Placeholders come first in a graph: they are moved there, all of them."""
        if not self.taken:
            return None
        named = {node.target: node for node in self.graph.nodes if node.op == "placeholder"}
        whole = fx.Graph()
        copies = {}
        counts = (("input", len(self.inputs)), ("output", len(self.outputs)))
        for kind, count in (*counts, ("number", len(self.numbers))):
            for number in range(count):
                name = f"{kind}_{number}"
                placeholder = whole.placeholder(name)
                if name in named:
                    copies[named[name]] = placeholder
        for node in self.graph.nodes:
            if node.op != "placeholder":
                copies[node] = whole.node_copy(node, copies.__getitem__)
        whole.output(tuple(copies[node] for node in self.taken))
        return fx.GraphModule(self.module, whole)


def is_view(node: fx.Node) -> bool:
    """Whether all it yields is memory of its arguments."""
    if node.op not in ("call_function", "call_method"):
        return False
    given = {storage_of(x) for arg in node.all_input_nodes for x in tensors_in(example(arg))}
    return all(storage_of(x) in given for x in tensors_in(example(node)))


def resolve(node: Any) -> Any:
    """The node that first had the value, where functions return what they changed."""
    while isinstance(node, fx.Node) and isinstance(example(node), torch.Tensor):
        same = [arg for arg in node.all_input_nodes if example(arg) is example(node)]
        if not same:
            break
        node = same[0]
    return node


def reached(output: fx.Node, inputs: dict[fx.Node, int]) -> set[int]:
    """The inputs that autograd's own graph leads to."""
    found: set[int] = set()
    if not example(output).requires_grad:
        return found
    leaves: dict[int, int] = {}
    edges: dict[Any, int] = {}
    for node, i in inputs.items():
        value = example(node)
        if not isinstance(value, torch.Tensor) or not value.requires_grad:
            continue
        if value.is_leaf:
            leaves[id(value)] = i
        elif is_changed(value):  # its place in autograd's graph is that of a later value
            found.add(i)
        else:
            edges[value.grad_fn, value.output_nr] = i
    seen = set()
    pending = [(example(output).grad_fn, example(output).output_nr)]
    while pending:
        edge = pending.pop()
        step = edge[0]
        if step is None or edge in seen:
            continue
        seen.add(edge)
        if edge in edges:
            found.add(edges[edge])
            continue
        variable = getattr(step, "variable", None)
        if id(variable) in leaves:
            found.add(leaves[id(variable)])
        pending += step.next_functions
    return found


def is_changed(value: torch.Tensor) -> bool:
    """Whether the graph changes the tensor, or one that shares its memory, in place."""
    return not value.is_inference() and value._version > 0


# Values as PyTorch saw them when it traced the graph


def example(node: Any) -> Any:
    return node.meta.get("example_value") if isinstance(node, fx.Node) else node


def tensors_in(value: Any) -> list[torch.Tensor]:
    return [x for x in pytree.tree_leaves(value) if isinstance(x, torch.Tensor)]


def storage_of(value: torch.Tensor) -> Any:
    try:
        return value.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # it has none that can be named
        return id(value)


def is_dense(value: torch.Tensor) -> bool:
    return torch.ops.aten.is_non_overlapping_and_dense(value)


def is_expanded(value: torch.Tensor) -> bool:
    return any(stride == 0 and size != 1 for size, stride in zip(value.shape, value.stride()))


def overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors of one storage have elements in common, as far as their first and last tell."""
    (first, last), (other, end) = extent(a), extent(b)
    return first <= end and other <= last


def extent(value: torch.Tensor) -> tuple[int, int]:
    shape, strides = hints(value.shape), hints(value.stride())
    (first,) = hints([value.storage_offset()])
    return first, first + sum((size - 1) * stride for size, stride in zip(shape, strides))


def hints(sizes: Iterable[Any]) -> list[int]:
    """The values that dynamic dimensions have in the call that is traced."""
    return [size.node.hint if isinstance(size, torch.SymInt) else size for size in sizes]


def memory_order(value: torch.Tensor) -> list[int] | None:
    """The dimensions from the outermost in memory to the innermost; None is C order, or close."""
    if value.is_contiguous():
        return None
    strides = hints(value.stride())
    order = sorted(range(value.dim()), key=lambda dim: -strides[dim])
    return order if value.permute(order).is_contiguous() else None


def inverse(order: list[int]) -> list[int]:
    return [order.index(i) for i in range(len(order))]
