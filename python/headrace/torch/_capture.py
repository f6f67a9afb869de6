"""From the graph that PyTorch traced to one of ATen operators without side effects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import torch
from torch import fx
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import detect_fake_mode
from torch._higher_order_ops.effects import with_effects
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta

from headrace.torch._context import Reason, Unsupported
from headrace.torch._decompositions import decompositions
from headrace.torch._fallback import first_line, place_of, unsupported
from headrace.torch._interpreter import GraphInterpreter
from headrace.torch._results import Results, find_results, tensors_in


@dataclass
class Capture:
    source: fx.GraphModule  # as PyTorch traced it
    graph: fx.Graph
    module: fx.GraphModule
    results: Results
    outputs: list[fx.Node]  # nodes of the graph, for each of `results.outputs`
    mutated: list[tuple[int, fx.Node]]  # the input's number, and what it is to hold afterwards


def attributes_as_inputs(module: fx.GraphModule) -> tuple[fx.GraphModule, list[torch.Tensor]]:
    """The graph with the tensors it holds as further inputs, and those tensors.

    PyTorch holds what an optimizer changes so: parameters and its own state.
    """
    held: dict[str, torch.Tensor] = {}
    for node in module.graph.nodes:
        if node.op == "get_attr" and isinstance(node.meta.get("example_value"), torch.Tensor):
            held[node.target] = attrgetter(node.target)(module)
    if not held:
        return module, []
    graph = fx.Graph()
    copies = {n: graph.node_copy(n) for n in module.graph.nodes if n.op == "placeholder"}
    inputs = {name: graph.placeholder(f"held_{i}") for i, name in enumerate(held)}
    for node in module.graph.nodes:
        if node.op == "get_attr" and node.target in held:
            copies[node] = inputs[node.target]
            copies[node].meta = dict(node.meta)
        elif node not in copies:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    return fx.GraphModule(module, graph), list(held.values())


def capture(module: fx.GraphModule) -> Capture:
    """Traces the forward computation only: its gradient is taken of the program it becomes."""
    fakes = [n.meta["example_value"] for n in module.graph.nodes if n.op == "placeholder"]
    known = (x for node in module.graph.nodes for x in tensors_in(node.meta.get("example_value")))
    mode = next((x.fake_mode for x in known if isinstance(x, FakeTensor)), detect_fake_mode())
    if mode is None:
        raise Unsupported("a graph without tensors")
    results = find_results(module)
    mutated: list[int] = []

    def trace() -> fx.GraphModule:
        nonlocal interpreter
        interpreter = GraphInterpreter(module, recording)
        run = functional(interpreter, results, mutated)
        return make_fx(run, decomposition_table=decompositions())(*fakes)

    recording = torch.is_grad_enabled()
    interpreter: GraphInterpreter | None = None
    # cuDNN's normalization changes running statistics without saying so.
    with torch.no_grad(), torch.backends.cudnn.flags(enabled=False), preserve_node_meta(), mode:
        try:
            with state_restored():
                traced = trace()
        except RuntimeError:
            # Some of PyTorch's operators in place know dynamic dimensions in Python alone, which takes
            # others apart further than need be.
            try:
                with enable_python_dispatcher(), state_restored():
                    traced = trace()
            except RuntimeError as error:
                what = f"{type(error).__name__}: {first_line(error)}"
                node = interpreter.current
                raise unsupported([Reason(what, node and place_of(node), node)]) from error
    traced.graph.eliminate_dead_code(is_impure_node=has_effect)
    found = list(traced.graph.output_node().args[0])
    kept = len(found) - len(mutated)
    changes = list(zip(mutated, found[kept:]))
    return Capture(module, traced.graph, traced, results, found[:kept], changes)


@contextmanager
def state_restored() -> Iterator[None]:
    """A trace that ends early leaves states that nodes of the graph entered: levels of `vmap`, say."""
    levels = torch._C._functorch.get_dynamic_layer_stack_depth()
    hooks_allowed = torch._C._autograd._saved_tensors_hooks_is_enabled()
    states = [
        (torch.set_autocast_cache_enabled, torch.is_autocast_cache_enabled()),
        (torch._C._set_fwd_grad_enabled, torch._C._is_fwd_grad_enabled()),
        (torch.set_deterministic_debug_mode, torch.get_deterministic_debug_mode()),
    ]
    for kind in ("cpu", "cuda"):
        states += [
            (partial(torch.set_autocast_enabled, kind), torch.is_autocast_enabled(kind)),
            (partial(torch.set_autocast_dtype, kind), torch.get_autocast_dtype(kind)),
        ]
    with ExitStack() as undo:
        for restore, value in states:
            undo.callback(restore, value)
        if hooks_allowed:
            undo.callback(torch._C._autograd._saved_tensors_hooks_enable)
        undo.callback(torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth, levels)
        yield
        undo.pop_all()


def has_effect(node: fx.Node) -> bool:
    """Random numbers are drawn whether they are used or not: those after them depend on it."""
    tags = getattr(node.target, "tags", ())
    drawn = torch.Tag.nondeterministic_seeded in tags
    return drawn or node.target is with_effects or node.is_impure()


def functional(interpreter: GraphInterpreter, results: Results, mutated: list[int]) -> Any:
    """The graph as a function that changes none of its inputs and returns their new values."""

    def unwrap(value: Any) -> Any:
        if not isinstance(value, FunctionalTensor):
            return value
        torch._sync(value)
        return torch._from_functional_tensor(value.elem)

    def run(*args: Any) -> list[Any]:
        # Operators with effects beyond their results become nodes that say so.
        mode = FunctionalTensorMode(_allow_token_discovery=True)
        functionalize = torch._C.DispatchKeySet(torch._C.DispatchKey.Functionalize)
        with torch._C._ExcludeDispatchKeyGuard(functionalize), mode:
            wrapped = [
                FunctionalTensor.to_functional(arg) if isinstance(arg, torch.Tensor) else arg
                for arg in args
            ]
            interpreter.run(*wrapped)
            outputs = [interpreter.env[node] for node in results.outputs]
            mutated[:] = [
                i
                for i, arg in enumerate(wrapped)
                if isinstance(arg, FunctionalTensor)
                and torch._functionalize_has_data_mutation(arg.elem)
            ]
            return [unwrap(value) for value in outputs + [wrapped[i] for i in mutated]]

    return run
