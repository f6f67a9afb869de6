"""An equivalent model: other nodes, the same results. What the compiler folds, fuses and lays out in the one
it meets in another form in the other."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import onnx
from onnx import helper, numpy_helper

from cases.graphs.values import BF16, BOOL, Program

COMMUTATIVE = {"Add", "Mul", "And", "Or", "Xor", "Equal"}


class Rewriting:
    """A copy of a program's model, under change."""

    def __init__(self, program: Program, seed: int) -> None:
        self.program, self.random = program, random.Random(seed)
        self.model = onnx.ModelProto()
        self.model.CopyFrom(program.model)
        self.graph = self.model.graph
        self.feeds = dict(program.feeds)
        self.opset = next(o.version for o in self.model.opset_import if o.domain in ("", "ai.onnx"))
        self.count = 0
        self.done: list[str] = []

    def name(self) -> str:
        self.count += 1
        return f"rewritten{self.count}"

    def constant(self, array: np.ndarray) -> str:
        name = self.name()
        self.graph.initializer.append(numpy_helper.from_array(array, name))
        return name

    def is_tensor(self, name: str) -> bool:
        return name in self.program.shapes and name in self.program.types

    def has_open_sizes(self) -> bool:
        shapes = [value.type.tensor_type.shape.dim for value in self.graph.input]
        return any(dim.WhichOneof("value") != "dim_value" for dims in shapes for dim in dims)

    def place_of(self, name: str) -> int:
        """Where nodes that read the value may be."""
        made = [i for i, node in enumerate(self.graph.node) if name in node.output]
        return made[0] + 1 if made else 0

    def read_elsewhere(self, old: str, new: str, after: int) -> None:
        """One reader of the value, or all of them, get the new one."""
        readers = [
            (node, i)
            for node in self.graph.node[after:]
            for i, given in enumerate(node.input)
            if given == old
        ]
        for node, i in readers if self.random.random() < 0.5 else self.random.sample(readers, 1):
            node.input[i] = new


# Each changes the model, or says False if it cannot.


def detour(r: Rewriting) -> bool:
    """A value goes through nodes that give it back."""
    read = sorted({x for node in r.graph.node for x in node.input if x and r.is_tensor(x)})
    if not read:
        return False
    value = r.random.choice(read)
    way = r.random.choice(WAYS)
    nodes: list[onnx.NodeProto] = []

    def add(op: str, *inputs: str, **attributes) -> str:
        nodes.append(helper.make_node(op, inputs, [r.name()], **attributes))
        return nodes[-1].output[0]

    result = way(r, value, add)
    if result is None:
        return False
    at = r.place_of(value)
    r.read_elsewhere(value, result, at)
    for node in reversed(nodes):
        r.graph.node.insert(at, node)
    r.done.append(f"{way.__name__}({value})")
    return True


def copied(r: Rewriting, value: str, add: Callable) -> str | None:
    return add("Identity", value)


def turned_twice(r: Rewriting, value: str, add: Callable) -> str | None:
    order = list(range(len(r.program.shapes[value])))
    r.random.shuffle(order)
    back = [order.index(i) for i in range(len(order))]
    return add("Transpose", add("Transpose", value, perm=order), perm=back) if order else None


def flattened(r: Rewriting, value: str, add: Callable) -> str | None:
    if 0 in r.program.shapes[value]:
        return None  # -1 means nothing there
    flat = add("Reshape", value, r.constant(np.array([-1], np.int64)))
    return add("Reshape", flat, add("Shape", value))


def cut_and_joined(r: Rewriting, value: str, add: Callable) -> str | None:
    shape = r.program.shapes[value]
    axes = [axis for axis, size in enumerate(shape) if size >= 2]
    if not axes or r.opset < 10 or r.has_open_sizes():
        return None
    axis = r.random.choice(axes)
    middle = r.random.randint(1, shape[axis] - 1)

    def part(begin: int, end: int) -> str:
        bounds = [r.constant(np.array([n], np.int64)) for n in (begin, end, axis)]
        return add("Slice", value, *bounds)

    return add("Concat", part(0, middle), part(middle, shape[axis]), axis=axis)


def inverted_twice(r: Rewriting, value: str, add: Callable) -> str | None:
    dtype = r.program.types[value]
    if dtype == BOOL:
        return add("Not", add("Not", value))
    is_signed = dtype == BF16 or dtype.kind in "fi"
    return add("Neg", add("Neg", value)) if is_signed else None


def chosen_from_itself(r: Rewriting, value: str, add: Callable) -> str | None:
    if r.opset < (16 if r.program.types[value] == BF16 else 9):
        return None
    return add("Where", r.constant(np.array(r.random.random() < 0.5)), value, value)


WAYS = [copied, turned_twice, flattened, cut_and_joined, inverted_twice, chosen_from_itself]


def swap(r: Rewriting) -> bool:
    """The operands of a commutative operator change places."""
    nodes = [n for n in r.graph.node if n.op_type in COMMUTATIVE and len(set(n.input)) == 2]
    nodes = [n for n in nodes if not any(a.name in ("axis", "broadcast") for a in n.attribute)]
    if not nodes:
        return False
    node = r.random.choice(nodes)
    node.input[0], node.input[1] = node.input[1], node.input[0]
    r.done.append(f"swap({node.output[0]})")
    return True


def constant_as_input(r: Rewriting) -> bool:
    """A constant of floats is not known before the call: nothing that it has a part in is folded."""
    found = [t for t in r.graph.initializer if t.data_type == onnx.TensorProto.FLOAT]
    declared = {value.name for value in r.graph.input}
    found = [t for t in found if t.name not in declared]
    if not found:
        return False
    tensor = r.random.choice(found)
    r.feeds[tensor.name] = numpy_helper.to_array(tensor)
    r.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    r.graph.initializer.remove(tensor)
    r.done.append(f"constant_as_input({tensor.name})")
    return True


def input_as_constant(r: Rewriting) -> bool:
    """An input is known before the call: what depends on it alone is folded."""
    found = [v for v in r.graph.input if r.is_tensor(v.name) and r.program.types[v.name] != BF16]
    if len(r.graph.input) < 2 or not found or r.has_open_sizes():
        return False
    value = r.random.choice(found)
    r.graph.initializer.append(numpy_helper.from_array(r.feeds.pop(value.name), value.name))
    r.graph.input.remove(value)
    r.done.append(f"input_as_constant({value.name})")
    return True


def further_output(r: Rewriting) -> bool:
    """A value between is requested, too: it has to be written."""
    outputs = {value.name for value in r.graph.output}
    between = [n for node in r.graph.node for n in node.output if n and n not in outputs]
    between = [name for name in between if r.is_tensor(name)]
    if not between:
        return False
    name = r.random.choice(between)
    r.graph.output.append(helper.make_empty_tensor_value_info(name))
    r.done.append(f"further_output({name})")
    return True


CHANGES = [detour, detour, detour, swap, constant_as_input, input_as_constant, further_output]


def rewrite(program: Program) -> tuple[Program, str]:
    """And what was done, in order; nothing if nothing could be."""
    r = Rewriting(program, program.seed)
    for _ in range(r.random.randint(1, 5)):
        r.random.choice(CHANGES)(r)
    changed = Program(
        program.seed,
        r.model,
        r.feeds,
        program.tolerances,
        program.special,
        program.types,
        program.shapes,
        program.fits_single,
        program.operators,
    )
    return changed, ", ".join(r.done)
