"""Random ONNX graphs: a number in, the same small program out.

Every operator that Headrace accepts has a generator here, which a test compares with the importer's own
tables.
"""

from __future__ import annotations

import re
from pathlib import Path

from cases.graphs.builder import Builder, Skip, is_in
from cases.graphs.elementwise import ELEMENTWISE
from cases.graphs.images import IMAGES
from cases.graphs.layout import LAYOUT
from cases.graphs.losses import LOSSES
from cases.graphs.normalizations import NORMALIZATIONS
from cases.graphs.parts import PARTS
from cases.graphs.patterns import PATTERNS
from cases.graphs.picking import PICKING
from cases.graphs.products import PRODUCTS
from cases.graphs.quantized import QUANTIZED
from cases.graphs.reductions import REDUCED
from cases.graphs.sequences import SEQUENCES
from cases.graphs.values import Program
from cases.graphs.windows import WINDOWS

GENERATORS = {
    **ELEMENTWISE, **LAYOUT, **PARTS, **PRODUCTS, **QUANTIZED, **WINDOWS, **NORMALIZATIONS, **REDUCED,
    **LOSSES, **PICKING, **IMAGES, **SEQUENCES,
}  # fmt: skip
NAMES = sorted(GENERATORS)
NEWEST = 26
# Operators of old versions alone.
LAST = {"Scatter": 9, "Upsample": 9}
SOURCES = Path(__file__).resolve().parents[2] / "src"
TABLES = SOURCES / "frontend/onnx/import/ops"
FUNCTIONS = SOURCES / "runtime/scalar/Functions.def"


# Files and directories of operators that are newer than the sets of these graphs, random by definition or
# of other domains: cases/operators/sequences.py has them one by one.
ELSEWHERE = {"Attention", "Rotary", "SequenceState", "Random", "training", "microsoft", "ml"}
NEWER = {"RMSNormalization", "SimplifiedLayerNormalization", "BitCast", "Swish", "SwiGLU"}


def accepted_operators() -> set[str]:
    """The names in the importer's tables."""
    names: set[str] = {"Dropout"}
    for file in TABLES.rglob("*.cpp"):
        if file.stem in ELSEWHERE or file.parent.name in ELSEWHERE:
            continue
        table = file.read_text().partition("static const Operator table[]")[2]
        names |= set(re.findall(r'\{"(\w+)",\s*\d+,', table))
    elementary = FUNCTIONS.read_text()
    names |= set(re.findall(r'^HEADRACE_\w+\(.* "(\w+)", \d+, "[^"]*"\)$', elementary, re.M))
    return names - NEWER


def generate(seed: int) -> Program:
    """Seeds go through all operators in turn, so that each has its share."""
    b = Builder(seed)
    first = NAMES[seed % len(NAMES)]
    if not is_in(first, b.opset):
        b.opset = 21 if is_in(first, 21) else NEWEST
    b.opset = LAST.get(first, b.opset)
    # Mostly small ones, which compile quickly; one in eight is large enough for several kernels.
    others = b.integer(5, 10) if b.chance(0.12) else b.integer(0, 3)
    wanted = [GENERATORS[op] for op in [first, *(b.choose(NAMES) for _ in range(others))]]
    if b.chance(0.4):
        wanted.append(b.choose(PATTERNS))
    b.random.shuffle(wanted)
    for make in wanted:
        attempt(b, make)
    if not b.nodes or all(node.op_type == "Constant" for node in b.nodes):
        attempt(b, GENERATORS["Neg"])
    return b.finish()


def attempt(b: Builder, make) -> None:
    for _ in range(4):
        computed = [value for value in b.values if value.is_computed]
        if computed and b.chance(0.85):
            b.preferred = computed[-1] if b.chance(0.5) else b.choose(computed)
        try:
            make(b)
            return
        except Skip:
            continue
        finally:
            b.preferred = None
