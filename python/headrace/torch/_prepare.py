"""Values that depend on parameters alone are computed once per version of the parameters, not at every call.

    conv(x, w) ; batch_norm(weight, bias, mean, variance) ; linear(x, w.float().half())
becomes
    conv(x, prepared 0) + prepared 1 ; linear(x, prepared 2)

At inference only, and on CUDA devices: programs of CPUs do that with constants. The prepared tensors
are computed by PyTorch. A call compares the parameters with those that they were computed from: the
tensors themselves, where they are, and PyTorch's counters of versions, which every change in place
increments. Changes through `Tensor.data` and by other libraries are not counted.
"""

from __future__ import annotations

import operator
import threading
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import fx

from headrace.torch._capture import Capture
from headrace.torch._results import example, inverse, memory_order

aten = torch.ops.aten

DEVICES = ("cuda",)
#: What marks a parameter or buffer among the inputs of a graph of PyTorch.
STATIC = "_dynamo_static_input_type"


class Preparation:
    """The tensors that a program takes for parameters, behind those of its inputs that change."""

    def __init__(self, inputs: list[int], compute: fx.GraphModule, values: list[fx.Node]) -> None:
        self.inputs = inputs  # PyTorch's inputs that it depends on
        self.compute = compute  # from those to the prepared tensors
        self.orders = [memory_order(node.meta["val"]) for node in values]
        self.known: Known | None = None
        self.lock = threading.Lock()

    def __call__(self, args: Sequence[Any]) -> Known:
        given = [args[i] for i in self.inputs]
        if is_recorded():
            # A graph of the user's replays the work: it reads the parameters of that time.
            return self.computed(given)
        known = self.known
        if known is None or not known.holds(given):
            with self.lock:
                known = self.known
                if known is None or not known.holds(given):
                    known = self.computed(given)
                    # Calls in other streams may begin before these values are written, and may still
                    # read those that are freed.
                    if given[0].is_cuda:
                        torch.cuda.synchronize(given[0].device)
                    self.known = known
        return known

    def computed(self, given: list[torch.Tensor]) -> Known:
        with torch.no_grad():
            values = self.compute(*given)
        stored = [x if order is None else x.permute(order) for x, order in zip(values, self.orders)]
        return Known(given, [x.contiguous().resolve_neg() for x in stored])


def is_recorded() -> bool:
    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()


class Known:
    """Prepared tensors, and which tensors of which versions they were computed from."""

    def __init__(self, given: list[torch.Tensor], values: list[torch.Tensor]) -> None:
        self.references = [weakref.ref(x) for x in given]
        self.versions = versions(given)
        self.places = list(map(torch.Tensor.data_ptr, given))
        self.values = values
        self.pointers = [x.data_ptr() for x in values]
        self.shapes = [x.shape for x in values]

    def holds(self, given: list[torch.Tensor]) -> bool:
        return (
            all(map(operator.is_, given, (reference() for reference in self.references)))
            and self.versions is not None
            and versions(given) == self.versions
            and list(map(torch.Tensor.data_ptr, given)) == self.places
        )


def versions(tensors: list[torch.Tensor]) -> list[int] | None:
    """PyTorch's counters of changes; none for tensors made under `torch.inference_mode`."""
    try:
        return [x._version for x in tensors]
    except RuntimeError:
        return None


def prepare(captured: Capture) -> tuple[Capture, Preparation | None]:
    """The graph over prepared tensors, and how they are computed."""
    static = static_inputs(captured)
    if not static or any(example(node).requires_grad for node in captured.results.outputs):
        return captured, None
    return Splitting(captured, static).run()


def static_inputs(captured: Capture) -> dict[int, fx.Node]:
    """The parameters and buffers among the inputs that the graph reads and leaves as they are."""
    changed = {number for number, _ in captured.mutated}
    sources = [node for node in captured.source.graph.nodes if node.op == "placeholder"]
    inputs = [node for node in captured.graph.nodes if node.op == "placeholder"]
    found = {}
    for number, (source, node) in enumerate(zip(sources, inputs)):
        value = node.meta.get("val")
        if (
            STATIC in (source.meta.get("tensor_dict") or {})
            and number not in changed
            and node.users
            and isinstance(value, torch.Tensor)
            and value.device.type in DEVICES
            and value.layout == torch.strided
            and not example(source).is_inference()
        ):
            found[number] = node
    return found


class Splitting:
    """Divides a graph into the part that depends on parameters alone, and the rest."""

    def __init__(self, captured: Capture, static: dict[int, fx.Node]) -> None:
        self.captured, self.static = captured, static
        self.graph = fx.Graph()  # the rest
        self.copies: dict[fx.Node, fx.Node] = {}
        self.early = fx.Graph()
        self.before: dict[fx.Node, fx.Node] = {}  # nodes that depend on parameters alone
        self.taken: dict[fx.Node, fx.Node] = {}  # of those: what the rest reads instead
        self.values: list[fx.Node] = []

    def run(self) -> tuple[Capture, Preparation | None]:
        nodes = list(self.captured.graph.nodes)
        for number, node in self.static.items():
            self.before[node] = self.early.placeholder(f"parameter_{number}")
            self.before[node].meta = dict(node.meta)
        for node in nodes:
            if node.op == "placeholder":
                self.copies[node] = self.graph.node_copy(node)
        end = list(self.copies.values())[-1]
        for node in nodes:
            if node.op in ("placeholder", "output"):
                continue
            if is_same(node):
                if node.args[0] in self.before:
                    self.before[node] = self.before[node.args[0]]
            elif self.depends_on_parameters_alone(node):
                self.before[node] = self.early.node_copy(node, self.before.__getitem__)
        self.end = end
        self.folded = {}
        for node in nodes:
            conv = folds(node, self.before)
            if conv is not None:
                self.folded[node] = conv
        self.skipped = set(self.folded.values())
        for node in nodes:
            if node.op in ("placeholder", "output") or node in self.before or node in self.skipped:
                continue
            if node in self.folded:
                self.copies[node] = self.fold(node, self.folded[node])
            elif is_same(node):
                if resolved(node) not in self.skipped:
                    self.copies[node] = self.read(node.args[0])
            elif node.target is operator.getitem and node.args[0] in self.folded:
                self.copies[node] = self.copies[node.args[0]]
            elif node.target is aten.convolution.default:
                self.copies[node] = self.convolution(node)
            else:
                self.copies[node] = self.graph.node_copy(node, self.read)
        captured = self.captured
        outputs = [self.read(node) for node in captured.outputs]
        mutated = [(number, self.read(node)) for number, node in captured.mutated]
        self.graph.output([*outputs, *(node for _, node in mutated)])
        if not self.values:
            return captured, None
        self.early.output(tuple(self.values))
        self.early.eliminate_dead_code()
        found = replace(captured, graph=self.graph, outputs=outputs, mutated=mutated)
        compute = fx.GraphModule(captured.module, self.early)
        return found, Preparation(list(self.static), compute, self.values)

    def depends_on_parameters_alone(self, node: fx.Node) -> bool:
        """And yields no more than it reads: what is spread or repeated is spread where it is read."""
        if node.op != "call_function" or node in self.captured.outputs:
            return False
        inputs = node.all_input_nodes
        made = node.meta.get("val")
        if not inputs or not isinstance(made, torch.Tensor) or node.is_impure():
            return False
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            return False
        if not all(each in self.before for each in inputs):
            return False
        return made.numel() <= max(each.meta["val"].numel() for each in inputs)

    def read(self, node: fx.Node) -> fx.Node:
        """The node in the rest of the graph: a prepared tensor, where it is one."""
        if node not in self.before:
            return self.copies[node]
        if node not in self.taken:
            self.taken[node] = self.prepared(self.before[node])
        return self.taken[node]

    def prepared(self, early: fx.Node) -> fx.Node:
        with self.graph.inserting_after(self.end):
            node = self.graph.placeholder(f"prepared_{len(self.values)}")
        node.meta = {key: early.meta[key] for key in ("val",)}
        self.end = node
        self.values.append(early)
        return node

    def compute(self, graph: fx.Graph, target: Any, *args: Any, **kwargs: Any) -> fx.Node:
        """A further node, with what PyTorch knows of its result."""
        node = graph.call_function(target, args, kwargs)
        given, named = fx.map_arg((args, kwargs), lambda each: each.meta["val"])
        with self.mode(), torch.no_grad():
            node.meta["val"] = target(*given, **named)
        return node

    def mode(self) -> Any:
        return next(iter(self.static.values())).meta["val"].fake_mode

    # Convolutions

    def convolution(self, node: fx.Node) -> fx.Node:
        """The filter in the order in which devices read it."""
        if node.args[1] not in self.before or node.args[6]:
            return self.graph.node_copy(node, self.read)
        filters = self.prepared(self.stored(self.before[node.args[1]], node.args[8]))
        return self.graph.node_copy(
            node, lambda each: filters if each is node.args[1] else self.read(each)
        )

    def stored(self, filters: fx.Node, groups: Any) -> fx.Node:
        """The same filters, in memory as libraries read them, or as our kernels do."""
        value = filters.meta["val"]
        if value.dim() != 4:
            return filters
        wide = value.shape[0] % 8 == 0 and value.shape[1] % 8 == 0
        narrow = value.dtype in (torch.float16, torch.bfloat16)
        order = [0, 2, 3, 1] if groups == 1 and wide and narrow else [2, 3, 1, 0]
        turned = self.compute(self.early, aten.permute.default, filters, order)
        laid = self.compute(
            self.early, aten.clone.default, turned, memory_format=torch.contiguous_format
        )
        return self.compute(self.early, aten.permute.default, laid, inverse(order))

    def fold(self, norm: fx.Node, conv: fx.Node) -> fx.Node:
        """conv(x, w * factor) + shift; with factor = weight / sqrt(variance + epsilon)."""
        _, weight, bias, mean, variance = (self.before.get(each) for each in norm.args[:5])
        epsilon = norm.args[-1]
        single = torch.float64 if mean.meta["val"].dtype == torch.float64 else torch.float32

        def early(target: Any, *args: Any) -> fx.Node:
            return self.compute(self.early, target, *args)

        def wide(node: fx.Node) -> fx.Node:
            return early(aten.to.dtype, node, single)

        factor = early(aten.rsqrt.default, early(aten.add.Tensor, wide(variance), epsilon))
        if weight is not None:
            factor = early(aten.mul.Tensor, factor, wide(weight))
        shift = early(aten.neg.default, early(aten.mul.Tensor, wide(mean), factor))
        if conv.args[2] is not None:
            added = early(aten.mul.Tensor, wide(self.before[conv.args[2]]), factor)
            shift = early(aten.add.Tensor, shift, added)
        if bias is not None:
            shift = early(aten.add.Tensor, shift, wide(bias))
        filters = self.before[conv.args[1]]
        value = filters.meta["val"]
        rest = [1] * (value.dim() - 1)
        spread = early(aten.reshape.default, factor, [value.shape[0], *rest])
        scaled = early(aten.mul.Tensor, wide(filters), spread)
        scaled = self.stored(early(aten.to.dtype, scaled, value.dtype), conv.args[8])
        shift = early(aten.reshape.default, shift, [value.shape[0], *rest[1:]])
        image = self.graph.call_function(
            conv.target,
            (
                self.read(conv.args[0]),
                self.prepared(scaled),
                None,
                *fx.map_arg(conv.args[3:], self.read),
            ),
        )
        image.meta = dict(conv.meta)
        moved = self.compute(
            self.graph, aten.add.Tensor, self.in_single(image, single), self.prepared(shift)
        )
        result = self.compute(self.graph, aten._to_copy.default, moved, dtype=value.dtype)
        for node in (moved, result):
            node.meta = {**norm.meta, "val": node.meta["val"]}
        return result

    def in_single(self, image: fx.Node, single: torch.dtype) -> fx.Node:
        if image.meta["val"].dtype == single:
            return image
        return self.compute(self.graph, aten._to_copy.default, image, dtype=single)


def is_same(node: fx.Node) -> bool:
    """Whether it yields what it is given, as far as a program without gradients is concerned."""
    return node.op == "call_function" and node.target in SAME


def resolved(node: fx.Node) -> fx.Node:
    while is_same(node):
        node = node.args[0]
    return node


SAME = (aten.detach.default, aten.alias.default)
NORMS = (
    aten._native_batch_norm_legit_no_training.default,
    aten.native_batch_norm.default,
    aten._native_batch_norm_legit.default,
    aten._native_batch_norm_legit_functional.default,
    aten.batch_norm.default,
)


def folds(norm: fx.Node, before: dict[fx.Node, fx.Node]) -> fx.Node | None:
    """The convolution whose filter takes the normalization in; none if there is none."""
    if norm.target not in NORMS or not isinstance(norm.args[0], fx.Node):
        return None
    trains = norm.target is not NORMS[0] and norm.args[5]
    conv = norm.args[0]
    while is_same(conv) and len(conv.users) == 1:
        conv = conv.args[0]
    read = any(
        user.args[1] > 0 and user.users for user in norm.users if user.target is operator.getitem
    )
    if trains or read or conv.target is not aten.convolution.default or len(conv.users) != 1:
        return None
    transposed = conv.args[6]
    parameters = [*norm.args[1:5], *conv.args[1:3]]
    static = all(each is None or each in before for each in parameters)
    statistics = norm.args[3] is not None and norm.args[4] is not None
    return conv if static and statistics and not transposed else None
