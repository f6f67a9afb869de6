"""Makes a failing program small: fewer outputs, and nodes replaced by inputs of what they computed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import helper

from cases.graphs.values import Program
from runtime import by_runtime


def needed(model: onnx.ModelProto) -> onnx.ModelProto:
    """Without the nodes, inputs and initializers that no output depends on."""
    graph = model.graph
    wanted = {output.name for output in graph.output}
    nodes = []
    for node in reversed(graph.node):
        if wanted & set(node.output):
            nodes.append(node)
            wanted |= set(node.input)
    smaller = onnx.ModelProto()
    smaller.CopyFrom(model)
    smaller.graph.ClearField("node")
    smaller.graph.node.extend(reversed(nodes))
    for field in ("input", "initializer"):
        kept = [entry for entry in getattr(graph, field) if entry.name in wanted]
        smaller.graph.ClearField(field)
        getattr(smaller.graph, field).extend(kept)
    return smaller


def with_model(program: Program, model: onnx.ModelProto, feeds: dict) -> Program:
    names = {entry.name for entry in model.graph.input}
    return Program(
        program.seed,
        model,
        {name: value for name, value in feeds.items() if name in names},
        program.tolerances,
        program.special,
        program.types,
        program.shapes,
        program.fits_single,
    )


def fewer_outputs(program: Program):
    for kept in program.model.graph.output:
        if len(program.model.graph.output) == 1:
            return
        model = onnx.ModelProto()
        model.CopyFrom(program.model)
        model.graph.ClearField("output")
        model.graph.output.append(kept)
        yield with_model(program, needed(model), program.feeds)


def cut(program: Program, name: str) -> Program | None:
    """The value becomes an input, which holds what ONNX Runtime computes there."""
    probe = onnx.ModelProto()
    probe.CopyFrom(program.model)
    probe.graph.ClearField("output")
    probe.graph.output.append(helper.make_empty_tensor_value_info(name))
    answer = by_runtime(with_model(program, probe, program.feeds))
    if answer.results is None:
        return None
    value = np.asarray(answer.results[name])
    model = onnx.ModelProto()
    model.CopyFrom(program.model)
    nodes = [node for node in model.graph.node if name not in node.output]
    model.graph.ClearField("node")
    model.graph.node.extend(nodes)
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    model.graph.input.append(helper.make_tensor_value_info(name, kind, value.shape))
    return with_model(program, needed(model), {**program.feeds, name: value})


def shrink(program: Program, fails: Callable[[Program], bool]) -> Program:
    """The smallest program found that still fails; `fails` must survive a crash of its own."""
    smaller = with_model(program, needed(program.model), program.feeds)
    if fails(smaller):
        program = smaller
    for candidate in fewer_outputs(program):
        if fails(candidate):
            program = candidate
            break
    done = False
    while not done:
        done = True
        for node in list(program.model.graph.node):
            if len(node.output) != 1 or len(program.model.graph.node) == 1:
                continue
            if node.output[0] in {output.name for output in program.model.graph.output}:
                continue
            candidate = cut(program, node.output[0])
            if candidate and fails(candidate):
                program, done = candidate, False
                break
    return program
