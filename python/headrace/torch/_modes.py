"""Nodes of PyTorch's graph that change the state of the thread: gradients on or off, automatic casts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch.amp.autocast_mode import _enter_autocast, _exit_autocast

GRADIENTS = torch._C._set_grad_enabled
MODES = (GRADIENTS, _enter_autocast, _exit_autocast)


@dataclass
class Modes:
    """The state before a node: whether autograd records, if the graph has said so, and casts."""

    recording: Any = None
    casts: list[fx.Node] = field(default_factory=list)  # those that are entered

    def after(self, node: fx.Node) -> Modes:
        if node.target is GRADIENTS:
            return Modes(node.args[0], self.casts)
        if node.target is _enter_autocast:
            return Modes(self.recording, [*self.casts, node])
        if node.target is _exit_autocast:
            return Modes(self.recording, [each for each in self.casts if each is not node.args[0]])
        return self

    def enter(self, graph: fx.Graph, values: dict[fx.Node, Any]) -> None:
        """Writes what a graph of its own begins with."""
        if self.recording is not None:
            graph.call_function(GRADIENTS, (self.recording,))
        for cast in self.casts:
            values[cast] = graph.node_copy(cast)

    def leave(
        self, graph: fx.Graph, values: dict[fx.Node, Any], before: Modes, initial: bool
    ) -> None:
        """Writes what leads back to the state before."""
        for cast in reversed(self.casts):
            graph.call_function(_exit_autocast, (values[cast],))
        if self.recording is not None:
            graph.call_function(
                GRADIENTS, (initial if before.recording is None else before.recording,)
            )


def is_mode(node: fx.Node) -> bool:
    return node.op == "call_function" and node.target in MODES


def modes_before(nodes: Iterable[fx.Node]) -> dict[fx.Node, Modes]:
    found: dict[fx.Node, Modes] = {}
    now = Modes()
    for node in nodes:
        found[node] = now
        now = now.after(node)
    return found


def transform_regions(nodes: Iterable[fx.Node]) -> dict[fx.Node, int]:
    """For nodes inside of a function transform (`torch.func.vmap`), which one: it stays whole."""
    regions: dict[fx.Node, int] = {}
    depth = number = 0
    for node in nodes:
        name = name_of_target(node.target)
        enters, leaves = name.endswith("_increment_nesting"), name.endswith("_decrement_nesting")
        number += enters and depth == 0
        depth += enters
        if depth:
            regions[node] = number
        depth -= leaves
    return regions


def name_of_target(target: str | Callable[..., Any]) -> str:
    return target if isinstance(target, str) else getattr(target, "__name__", "")
