"""Calls of ATen's operators, which the table of src/frontend/aten writes."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from headrace import _core
from headrace.torch._context import FUNCTIONS, NAMES, Context, Unsupported, dtype_name

Numbers = (torch.SymInt, torch.SymFloat, torch.SymBool)


@functools.cache
def table_name(target: Any) -> str | None:
    """The operator's name in the table: "add.Tensor", "prims.fma.default"; None if it has no such entry."""
    if not isinstance(target, torch._ops.OpOverload):
        return None
    space, _, name = target._schema.name.partition("::")
    name = f"{name}.{target._overloadname}"
    if space != "aten":
        name = f"{space}.{name}"
    return name if _core.has_aten(name) else None


def is_written(target: Any) -> bool:
    """Whether there is a function for the operator, in the table or here."""
    return table_name(target) is not None or target in FUNCTIONS


def write(c: Context, node: fx.Node, args: Sequence[Any], named: dict[str, Any]) -> Any:
    """The operator as operators of level 1; a tuple if it has several results."""
    name = table_name(node.target)
    c.node = node
    c.builder.at(node.name)
    if name is None:
        return FUNCTIONS[node.target](c, *args, **named)
    names = [each.name for each in node.target._schema.arguments]
    given = [*zip(names, args), *named.items()]
    arguments = [(name, argument(c, value)) for name, value in given]
    value = node.meta["val"]
    if isinstance(value, torch.Tensor):
        results = [result(c, value, True)]
    else:
        used = {user.args[1] for user in node.users if user.target is operator.getitem}
        results = [result(c, each, i in used) for i, each in enumerate(value)]
    return c.builder.aten(name, arguments, results, c.differentiates)


def argument(c: Context, value: Any) -> Any:
    """As the table takes it: dtypes and devices show in the results."""
    if isinstance(value, (list, tuple)):
        return [argument(c, each) for each in value]
    if isinstance(value, torch.SymInt):
        try:
            return c.size(value)
        except Unsupported:
            return c.number(value)
    if isinstance(value, Numbers):
        return c.number(value)
    plain = isinstance(value, (bool, int, float, str, _core.GraphNode))
    return value if plain else None


def result(c: Context, value: Any, used: bool) -> Any:
    """Element type, dimensions, and whether anything reads the result; None if it is not a tensor."""
    if not isinstance(value, torch.Tensor) or (not used and value.dtype not in NAMES):
        return None
    return dtype_name(value.dtype), c.sizes(value.shape), used
