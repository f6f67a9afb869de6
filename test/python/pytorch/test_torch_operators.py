"""PyTorch's own samples of its operators: what is compiled has the results and gradients of eager
mode, and the rest is left to PyTorch.

`torch_operators.txt` says which is which; `python test/python/pytorch/test_torch_operators.py` writes it
and the counts in docs/pytorch.md, for all operators or those that are named.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest

pytest.importorskip("headrace")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

TABLE = Path(__file__).with_name("torch_operators.txt")
PAGE = Path(__file__).parents[3] / "docs" / "pytorch.md"
PARTS = 12
#: The number of operators that are compiled, in all samples, does not fall below this.
FLOOR = 540
large = pytest.mark.skipif(
    not os.environ.get("HEADRACE_LARGE_TESTS"), reason="HEADRACE_LARGE_TESTS is not set"
)


def table() -> dict[str, str]:
    lines = TABLE.read_text().splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


@pytest.fixture(scope="module")
def opinfo():
    """Its import takes a second: not in every process that collects tests."""
    return importlib.import_module("torch_opinfo")


@pytest.fixture(scope="module")
def operators(opinfo) -> dict[str, object]:
    return opinfo.operators()


def test_every_operator_is_listed(operators: dict[str, object]) -> None:
    assert list(table()) == sorted(operators)


def test_the_number_of_compiled_operators_does_not_fall() -> None:
    assert counts()["lowered"] >= FLOOR


def test_the_page_has_the_counts() -> None:
    assert counted(PAGE.read_text()) == PAGE.read_text()


@pytest.mark.parametrize("part", range(PARTS))
def test_operators_that_are_compiled(part: int, operators: dict[str, object], opinfo) -> None:
    """One sample of each, many to a graph."""
    names = [name for name, status in table().items() if status == "lowered"][part::PARTS]
    cases = []
    for name in names:
        op = operators[name]
        cases += opinfo.cases(name, op, opinfo.main_type(op), 1, gradients=True)
    assert len(cases) >= len(names)
    wrong, left = opinfo.compare(cases)
    assert not wrong and not left


@large
@pytest.mark.parametrize("name", table())
def test_all_samples(name: str, operators: dict[str, object], opinfo) -> None:
    op = operators[name]
    for dtype, gradients in ((opinfo.main_type(op), True), (torch.float32, False)):
        assert not opinfo.mistakes(opinfo.cases(name, op, dtype, None, gradients))


def counts() -> Counter[str]:
    return Counter(status.partition(":")[0] for status in table().values())


def counted(page: str) -> str:
    """The page with the counts of the table."""
    found = counts()
    rows = {
        "compiled, with their gradients": found["lowered"],
        "compiled for some samples": found["part"],
        "left to PyTorch": found["PyTorch"],
    }
    lines = ["| operators of PyTorch's samples | number |", "|---|---|"]
    lines += [f"| {what} | {number} |" for what, number in rows.items()]
    block = "<!-- operators -->\n" + "\n".join(lines) + "\n<!-- end -->"
    return re.sub(r"<!-- operators -->.*?<!-- end -->", lambda _: block, page, flags=re.DOTALL)


def write_table(names: Collection[str]) -> None:
    """From five samples of each operator."""
    import torch_opinfo

    for name, op in sorted(torch_opinfo.operators().items()):
        if names and name not in names:
            continue
        every = torch_opinfo.cases(name, op, torch_opinfo.main_type(op), 5, gradients=True)
        status, wrong = torch_opinfo.status(every)
        print(name, status, *wrong, flush=True)
        header = TABLE.read_text().partition("\n\n")[0]
        found = {**table(), name: status}
        lines = [f"{each} {found[each]}" for each in sorted(found)]
        TABLE.write_text(f"{header}\n\n" + "\n".join(lines) + "\n")
    PAGE.write_text(counted(PAGE.read_text()))


if __name__ == "__main__":
    write_table(sys.argv[1:])
