"""Random ONNX graphs: a number in, the same small program out.

Every operator that Headrace accepts has a generator here, which a test compares with the importer's own
tables.
"""

from __future__ import annotations

import re
from pathlib import Path

from builder import Builder, Skip
from elementwise import ELEMENTWISE
from structure import STRUCTURE
from values import Program

GENERATORS = {**ELEMENTWISE, **STRUCTURE}
NAMES = sorted(GENERATORS)
SOURCES = Path(__file__).resolve().parents[2] / "src"
TABLES = SOURCES / "frontend/onnx/import/ops"
FUNCTIONS = SOURCES / "runtime/scalar/Functions.def"


def accepted_operators() -> set[str]:
    """The names in the importer's tables."""
    names: set[str] = set()
    for file in TABLES.glob("*.cpp"):
        table = file.read_text().split("static const Operator table[]", 1)[1]
        names |= set(re.findall(r'\{"(\w+)",\s*\d+,', table))
    elementary = FUNCTIONS.read_text()
    names |= set(re.findall(r'^HEADRACE_\w+\(.* "(\w+)", \d+, "[^"]*"\)$', elementary, re.M))
    return names


def generate(seed: int) -> Program:
    """Seeds go through all operators in turn, so that each has its share."""
    b = Builder(seed)
    wanted = [NAMES[seed % len(NAMES)]]
    # Mostly small ones, which compile quickly; one in five is large enough for several kernels.
    wanted += [
        b.choose(NAMES) for _ in range(b.integer(6, 14) if b.chance(0.2) else b.integer(0, 3))
    ]
    b.random.shuffle(wanted)
    for op in wanted:
        for _ in range(4):
            try:
                GENERATORS[op](b)
                break
            except Skip:
                continue
    if not b.nodes or all(node.op_type == "Constant" for node in b.nodes):
        GENERATORS["Neg"](b)
    return b.finish()
