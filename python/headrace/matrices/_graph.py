"""Graphs of operators that were not computed yet, and their computation as one program."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from headrace import _core
from headrace.errors import Error

#: A result of a node.
Ref = tuple["Node", int]
#: An operand: its parameter's name, often empty, and a result, a literal, or None if it is not given.
Operand = tuple[str, "Ref | bool | int | float | str | None"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: Programs that are kept with their plans and their code.
_MAX_PROGRAMS = 256


class Node:
    """An operation with one result or several; without operands if its values were given."""

    __slots__ = ("function", "keeps", "operands", "path", "place", "results", "values")

    def __init__(
        self,
        function: str,
        operands: Sequence[Operand] = (),
        results: int = 1,
        *,
        keeps: bool = False,
        path: tuple[str, ...] = (),
    ) -> None:
        self.function = function
        self.operands = operands
        self.results = results
        self.keeps = keeps  # the result is kept once the operation was executed
        self.path = path  # where a function of a script is looked up
        self.place = _caller()
        self.values: list[Any] | None = None


def given(value: Any) -> Node:
    """A node that has its value."""
    node = Node("")
    node.values = [value]
    return node


def _caller() -> str:
    """The line of the program that wrote the operation: "fit.py:12"."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        if frame.f_back is None:
            break
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


class _Programs:
    """Programs by the operations they are made of; the least recently used one is dropped."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Any, Any] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Any, make: Any) -> Any:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key]
        program = make()
        with self._lock:
            self._entries[key] = program
            while len(self._entries) > _MAX_PROGRAMS:
                self._entries.popitem(last=False)
        return program


_programs = _Programs()


class Plan:
    """The operations that some results need, in order, with names for values: equal graphs give
    equal operations, whatever their values are."""

    def __init__(self, wanted: Iterable[Ref]) -> None:
        self.inputs: dict[str, Any] = {}
        self.nodes: list[Node] = []
        self._names: dict[tuple[int, int], str] = {}
        operations: list[tuple[tuple[str, ...], str, tuple[Any, ...]]] = []
        self.wanted: list[Ref] = list(wanted)
        for node in _in_order(node for node, _ in self.wanted):
            if node.values is not None:
                continue
            operands = tuple(self._operand(operand) for operand in node.operands)
            targets = tuple(f"_m{len(self.nodes)}_{i}" for i in range(node.results))
            for i, target in enumerate(targets):
                self._names[id(node), i] = target
            if node.keeps:
                self.wanted.append((node, 0))
            operations.append((targets, node.function, operands))
            self.nodes.append(node)
        # All results of a node are computed at once.
        nodes = dict.fromkeys(node for node, _ in self.wanted if node.values is None)
        self.wanted = [(node, i) for node in nodes for i in range(node.results)]
        self.results = tuple(self._names[id(node), i] for node, i in self.wanted)
        self.operations = tuple(operations)
        self.path = tuple(dict.fromkeys(folder for node in self.nodes for folder in node.path))

    def _operand(self, operand: Operand) -> tuple[str, str | None, Any]:
        name, value = operand
        if not isinstance(value, tuple):
            return name, None, value
        node, i = value
        key = (id(node), i)
        if key not in self._names:
            assert node.values is not None
            self._names[key] = f"_v{len(self.inputs)}"
            self.inputs[self._names[key]] = node.values[i]
        return name, self._names[key], None

    def program(self) -> Any:
        # Literals that are equal in Python differ in type: 1, 1.0, True.
        types = tuple(type(value) for _, _, operands in self.operations for _, _, value in operands)
        return _programs.find((self.operations, types, self.results, self.path), self._make)

    def _make(self) -> Any:
        listed = [
            (list(targets), function, list(operands), function)
            for targets, function, operands in self.operations
        ]
        return _core.OperatorGraph(listed, list(self.results), list(self.path), False)

    def run(self) -> None:
        """Computes what is wanted; its nodes have their values afterwards."""
        if not self.wanted:
            return
        try:
            values = self.program().run(self.inputs)
        except Error as error:
            raise self._placed(error) from None
        found = iter(values)
        for node in dict.fromkeys(node for node, _ in self.wanted):
            node.values = [next(found) for _ in range(node.results)]
            node.operands = ()

    def explain(self, level: str) -> str:
        try:
            return str(self.program().explain(self.inputs, level))
        except Error as error:
            raise self._placed(error) from None

    def _placed(self, error: Error) -> Error:
        """The error with the line of Python that wrote the operation."""
        text = str(error)
        match = re.match(r"lazy matrices:(\d+):\d+: ([^\n]*)", text)
        if match is None:
            return error
        line = int(match[1]) - 1
        place = self.nodes[line].place if line < len(self.nodes) else "lazy matrices"
        return type(error)(f"{place}: {match[2]}")


def _in_order(roots: Iterable[Node]) -> list[Node]:
    """The nodes that are not computed, operands first."""
    order: list[Node] = []
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(node, False) for node in reversed(list(roots))]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen and node.values is None:
            seen.add(id(node))
            stack.append((node, True))
            for _, value in reversed(list(node.operands)):
                if isinstance(value, tuple):
                    stack.append((value[0], False))
    return order
