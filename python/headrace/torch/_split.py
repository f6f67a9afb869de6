"""A graph in parts: some are compiled, and PyTorch runs the rest itself between them.

Parts are of nodes that follow each other in PyTorch's order, so that random numbers, changes in
place and states of the thread keep theirs. A part is a graph like the whole one: it is captured,
lowered and differentiated by itself, and autograd leads from one to the next.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from operator import attrgetter
from typing import Any

import sympy
import torch
from torch import fx

from headrace.torch._context import Unsupported
from headrace.torch._modes import is_mode, modes_before, transform_regions
from headrace.torch._results import example, tensors_in

#: Values that a program takes and yields, in addition to tensors.
NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool)


@dataclass
class Part:
    """Consecutive nodes of a graph, as a graph of their own."""

    nodes: list[fx.Node]
    module: fx.GraphModule
    origin: dict[fx.Node, fx.Node]  # the node of the whole graph for each node of the part
    inputs: list[tuple[fx.Node, int]]  # nodes before it, and which tensor or number of each
    outputs: list[tuple[fx.Node, int]]
    run: Callable[..., Any] | None = field(default=None)  # what it is compiled to


class Splitter:
    """Takes a graph apart and puts it together again."""

    def __init__(self, module: fx.GraphModule) -> None:
        self.module = module
        self.recording = torch.is_grad_enabled()
        self.nodes = in_order(module.graph)
        self.position = {node: i for i, node in enumerate(self.nodes)}
        self.modes = modes_before(self.nodes)
        self.regions = transform_regions(self.nodes)
        self.symbols = {
            example(node).node.expr: node
            for node in module.graph.nodes
            if node.op == "placeholder" and isinstance(example(node), torch.SymInt)
        }

    def pieces(self, nodes: list[fx.Node], left: Iterable[fx.Node]) -> Iterator[list[fx.Node]]:
        """The nodes without those that are left to PyTorch, where they follow each other."""
        without = set(left)
        regions = {self.regions[node] for node in without if node in self.regions}
        piece: list[fx.Node] = []
        for node in nodes:
            if node in without or self.regions.get(node) in regions:
                if piece:
                    yield piece
                piece = []
            else:
                piece.append(node)
        if piece:
            yield piece

    # A part

    def part(self, nodes: list[fx.Node]) -> Part:
        inside = set(nodes)
        graph = fx.Graph()
        values: dict[fx.Node, Any] = {}
        inputs: list[tuple[fx.Node, int]] = []
        taken: dict[int, fx.Node] = {}

        def take(node: fx.Node, number: int, leaf: Any) -> Any:
            if not isinstance(leaf, (torch.Tensor, *NUMBERS)):
                return leaf
            key = id(leaf)
            if key not in taken:
                taken[key] = graph.placeholder(f"input_{len(inputs)}")
                taken[key].meta["example_value"] = leaf
                inputs.append((node, number))
            return taken[key]

        before = [arg for node in nodes for arg in node.all_input_nodes if arg not in inside]
        for node in dict.fromkeys(before):
            if node.op == "get_attr" or is_mode(node):
                continue
            if "example_value" not in node.meta:
                raise Unsupported(f"the value of {node.target}")
            values[node] = leaves_replaced(example(node), lambda i, x, n=node: take(n, i, x))
        for symbol in sorted(symbols_in(nodes), key=str):
            if symbol in self.symbols:
                node = self.symbols[symbol]
                take(node, 0, example(node))
        for node in dict.fromkeys(before):
            if node.op == "get_attr":
                values[node] = graph.node_copy(node)
        start = self.modes[nodes[0]]
        start.enter(graph, values)
        origin = {}
        for node in nodes:
            values[node] = graph.node_copy(node, values.__getitem__)
            origin[values[node]] = node
        end = self.modes[nodes[-1]].after(nodes[-1])
        outputs, results = [], []
        for node in nodes:
            if is_mode(node) or all(user in inside for user in node.users):
                continue
            if "example_value" not in node.meta:
                raise Unsupported(f"the value of {node.target}")
            for i, leaf in enumerate(leaves_of(example(node))):
                if isinstance(leaf, (torch.Tensor, *NUMBERS)):
                    outputs.append((node, i))
                    results.append(self.leaf(graph, values[node], example(node), i))
        end.leave(graph, values, start, self.recording)
        graph.output(tuple(results))
        return Part(nodes, fx.GraphModule(self.module, graph), origin, inputs, outputs)

    def leaf(self, graph: fx.Graph, value: Any, structure: Any, number: int) -> Any:
        """A tensor or number of a value that may be a tuple."""
        for step in path_of(structure, number):
            if isinstance(value, fx.Node):
                inner = example(value)[step]
                value = graph.call_function(operator.getitem, (value, step))
                value.meta["example_value"] = inner
            else:
                value = value[step]
        return value

    # The whole

    def joined(self, parts: list[Part]) -> fx.GraphModule:
        """The graph with calls of its parts, all else as it was."""
        graph = fx.Graph()
        values: dict[fx.Node, Any] = {}
        by_first = {part.nodes[0]: part for part in parts}
        inside = {node for part in parts for node in part.nodes}
        modules: dict[str, Any] = {}
        for node in self.module.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                values[node] = graph.node_copy(node)
            if node.op == "get_attr":
                modules[node.target] = attrgetter(node.target)(self.module)
        for node in self.nodes:
            if node in by_first:
                part = by_first[node]
                name = f"part_{len(modules)}"
                modules[name] = Compiled(part.run)
                args = tuple(self.leaf(graph, values[n], example(n), i) for n, i in part.inputs)
                self.call(graph, name, part, args, values)
            elif node not in inside:
                values[node] = graph.node_copy(node, values.__getitem__)
        output = self.module.graph.output_node()
        graph.output(fx.map_arg(output.args[0], values.__getitem__))
        return fx.GraphModule(modules, graph)

    def call(
        self, graph: fx.Graph, name: str, part: Part, args: Any, values: dict[fx.Node, Any]
    ) -> None:
        called = graph.call_module(name, args)
        found: dict[fx.Node, dict[int, fx.Node]] = {}
        for place, (node, number) in enumerate(part.outputs):
            got = graph.call_function(operator.getitem, (called, place))
            found.setdefault(node, {})[number] = got
        for node, leaves in found.items():
            values[node] = leaves_replaced(example(node), lambda i, x, own=leaves: own.get(i, x))
        for node in part.nodes:
            if is_mode(node):
                values[node] = graph.node_copy(node, values.__getitem__)
            elif node not in values:
                values[node] = None


class Compiled(torch.nn.Module):
    """What runs a part."""

    def __init__(self, run: Callable[..., Any]) -> None:
        super().__init__()
        self.forward = run


def in_order(graph: fx.Graph) -> list[fx.Node]:
    """The nodes that are run; what takes a tuple apart follows at once what makes it."""
    nodes: list[fx.Node] = []
    moved: set[fx.Node] = set()

    def add(node: fx.Node) -> None:
        nodes.append(node)
        moved.add(node)
        for user in node.users:
            if user.target is operator.getitem and not isinstance(example(node), torch.Tensor):
                if user not in moved and all(arg is node for arg in user.all_input_nodes):
                    add(user)

    for node in graph.nodes:
        if node.op not in ("placeholder", "get_attr", "output") and node not in moved:
            add(node)
    return nodes


def symbols_in(nodes: Iterable[fx.Node]) -> set[sympy.Symbol]:
    """Those that sizes of the nodes' values, and of what they take, depend on."""
    found: set[sympy.Symbol] = set()
    for node in {each for user in nodes for each in (user, *user.all_input_nodes)}:
        values = [x for x in leaves_of(example(node)) if isinstance(x, NUMBERS)]
        for x in tensors_in(example(node)):
            values += [*x.shape, *x.stride()]
        for value in values:
            if isinstance(value, NUMBERS):
                found |= value.node.expr.free_symbols
    return found


def leaves_replaced(value: Any, replace: Callable[[int, Any], Any]) -> Any:
    """The value with each leaf replaced; what is a tuple of any kind is a plain one."""
    numbers = count()

    def inner(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            parts = [inner(part) for part in value]
            return parts if isinstance(value, list) else tuple(parts)
        return replace(next(numbers), value)

    return inner(value)


def leaves_of(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves_of(part)]
    return [value]


def path_of(value: Any, number: int) -> list[int]:
    """The indices that lead to a leaf."""
    found: list[list[int]] = []

    def inner(value: Any, path: list[int]) -> None:
        if isinstance(value, (tuple, list)):
            for i, part in enumerate(value):
                inner(part, [*path, i])
        else:
            found.append(path)

    inner(value, [])
    return found[number]
