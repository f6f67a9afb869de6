"""Runs a graph of PyTorch node by node, keeping to what autograd would make of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.utils import _pytree as pytree

from headrace.torch._context import Reason, Unsupported
from headrace.torch._fallback import first_line, place_of, unsupported
from headrace.torch._results import example, overlap, storage_of, tensors_in

#: Effects that a gradient of the program's own would pass over, by the name of the function or
#: method.
REFUSED = {
    "register_hook": "a hook of a tensor (register_hook)",
    "register_post_accumulate_grad_hook": "a hook of a tensor",
    "retain_grad": "retain_grad",
    "backward": "backward inside of the graph",
    "grad": "torch.autograd.grad inside of the graph",
    "_grad_increment_nesting": "torch.func.grad, vjp, jacrev or hessian",
    "_jvp_increment_nesting": "torch.func.jvp or jacfwd",
    "_func_increment_nesting": "torch.func.functionalize",
    "_enter_dual_level": "torch.autograd.forward_ad",
}

#: The entry of a traced node's `meta` with the node of PyTorch's graph that it was traced from.
SOURCE = "headrace_source"

#: Higher-order operators that are their body, for the program's purposes.
BODIES = {"tag_activation_checkpoint", "wrap", "invoke_subgraph"}


class GraphInterpreter(fx.Interpreter):
    """Traced values carry no gradients: what autograd would cut is detached explicitly.

    PyTorch's example values, made when it traced the graph, say which values require a gradient, and
    which share memory.
    """

    def __init__(self, module: fx.GraphModule, recording: bool) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.recording = recording  # autograd's mode at the current node
        self.ever_recording = recording or any(
            node.target is torch._C._set_grad_enabled and node.args[0]
            for node in module.graph.nodes
        )
        self.aliases: dict[Any, list[fx.Node]] = {}  # the nodes so far, by their memory
        self.current: fx.Node | None = None

    def run_node(self, n: fx.Node) -> Any:
        if n.op == "output":
            return self.fetch_args_kwargs_from_env(n)[0][0]
        self.current = n
        last = last_traced()
        try:
            return self.run_checked(n)
        except Unsupported as error:
            inner = error.reasons or [Reason(first_line(error), place_of(n))]
            reasons = [Reason(each.what, each.place, n) for each in inner]
            raise unsupported(reasons) from None
        finally:
            for traced in traced_after(last):
                traced.meta[SOURCE] = n

    def run_checked(self, n: fx.Node) -> Any:
        versions = [(arg, self.version(arg)) for arg in n.all_input_nodes]
        result = super().run_node(n)
        self.check_changes(n, [arg for arg, version in versions if self.version(arg) != version])
        for storage in {storage_of(x) for x in tensors_in(example(n))}:
            self.aliases.setdefault(storage, []).append(n)
        return self.cut(n, result)

    def version(self, node: fx.Node) -> int:
        value = self.env.get(node)
        return value._version if isinstance(value, torch.Tensor) else 0

    def check_changes(self, n: fx.Node, changed: list[fx.Node]) -> None:
        """Rejects changes in place that autograd does not see as the program would."""
        if any(is_wrapped(example(arg)) for arg in changed):
            raise Unsupported("a tensor is changed in place inside of torch.func.vmap")
        for storage in {storage_of(example(arg)) for arg in changed if tensors_in(example(arg))}:
            sharing = self.aliases.get(storage, [])
            inputs = [example(each) for each in sharing if each.op == "placeholder"]
            if any(overlap(x, y) for x, y in combinations(inputs, 2)):
                raise Unsupported("an input is changed that shares memory with another")
            if not self.ever_recording:  # an optimizer's step, say
                continue
            if not any(needs_gradient(each) for each in sharing):
                continue
            if any(each.op == "placeholder" for each in sharing):
                raise Unsupported("an input that requires a gradient is changed in place")
            through = [arg for arg in changed if storage_of(example(arg)) == storage]
            if not self.recording or not all(needs_gradient(arg) for arg in through):
                raise Unsupported("a tensor that requires a gradient is changed behind autograd")

    def cut(self, n: fx.Node, result: Any) -> Any:
        """The result, detached where autograd would not go on from it: under no_grad, say."""
        if n.op not in ("call_function", "call_method", "call_module"):
            return result
        values, structure = pytree.tree_flatten(result)
        examples = pytree.tree_leaves(example(n))
        if any(map(is_wrapped, examples)):
            if not self.recording:
                raise Unsupported("torch.no_grad inside of torch.func.vmap")
            return result
        if not any(needs_gradient(arg) for arg in n.all_input_nodes):
            return result
        if len(values) != len(examples):
            return result
        given = [self.env[arg] for arg in n.all_input_nodes]
        parts = [
            value.detach() if is_cut(value, made) and not among(value, given) else value
            for value, made in zip(values, examples)
        ]
        return pytree.tree_unflatten(parts, structure)

    # Nodes that are more than a function of tensors

    def call_function(self, target: Callable, args: Any, kwargs: Any) -> Any:
        if target is torch._C._set_grad_enabled:
            self.recording = args[0]
            return None
        refuse(getattr(target, "__name__", ""))
        if target is torch.bernoulli:
            args = in_c_order(args)
        if isinstance(target, HigherOrderOperator):
            return self.call_higher_order(target, args, kwargs)
        return super().call_function(target, args, kwargs)

    def call_method(self, target: str, args: Any, kwargs: Any) -> Any:
        refuse(target)
        if target == "bernoulli":
            args = in_c_order(args)
        return super().call_method(target, args, kwargs)

    def call_higher_order(self, target: HigherOrderOperator, args: Any, kwargs: Any) -> Any:
        name = target.name()
        if name in BODIES:
            body, *operands = args
            operands = [each for each in operands if not isinstance(each, str)]
            return GraphInterpreter(body, self.recording).run(*operands)
        if name == "autograd_function_apply" and not self.recording:
            return super().call_function(target, args, kwargs)
        named = {"autograd_function_apply": "a torch.autograd.Function"}
        raise Unsupported(named.get(name, f"torch.ops.higher_order.{name}"))

    def get_attr(self, target: str, args: Any, kwargs: Any) -> Any:
        value = super().get_attr(target, args, kwargs)
        if isinstance(value, torch.Tensor) and value.requires_grad:
            raise Unsupported(f"the parameter {target}, which is not an input of the graph")
        return value


def last_traced() -> fx.Node | None:
    """The node that was traced last, in the graph that is being traced."""
    mode = get_proxy_mode()
    return None if mode is None else mode.tracer.graph._root.prev


def traced_after(last: fx.Node | None) -> Iterator[fx.Node]:
    node = None if last is None else last.next
    while node is not None and node.op != "root":
        yield node
        node = node.next


def in_c_order(args: Any) -> Any:
    """For a function whose result is in C order whatever the order of its argument."""
    x, *others = args
    return (x.contiguous(), *others)


def refuse(name: str) -> None:
    if name in REFUSED:
        raise Unsupported(REFUSED[name])


def needs_gradient(node: fx.Node) -> bool:
    return any(x.requires_grad for x in tensors_in(example(node)))


def is_cut(value: Any, made: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and isinstance(made, torch.Tensor)
        and made.is_floating_point()
        and not made.requires_grad
    )


def is_wrapped(value: Any) -> bool:
    """Whether it is a tensor inside of a function transform, which hides its gradient."""
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor
    return isinstance(value, torch.Tensor) and wrapped(value)


def among(value: Any, given: list[Any]) -> bool:
    """Whether it is one of them: what a function changed in place and returned."""
    return any(value is each for each in given)
