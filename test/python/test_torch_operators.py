"""PyTorch's own samples of its operators: what is compiled has the results and gradients of eager
mode, and the rest is left to PyTorch.

`torch_operators.txt` says which is which; `python test/python/test_torch_operators.py` writes it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("headrace")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="PyTorch's samples need the package expecttest")

import torch_opinfo  # noqa: E402

TABLE = Path(__file__).with_name("torch_operators.txt")
PARTS = 12
large = pytest.mark.skipif(
    not os.environ.get("HEADRACE_LARGE_TESTS"), reason="HEADRACE_LARGE_TESTS is not set"
)


def table() -> dict[str, str]:
    lines = TABLE.read_text().splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


@pytest.fixture(scope="module")
def operators() -> dict[str, object]:
    return torch_opinfo.operators()


def test_every_operator_is_listed(operators: dict[str, object]) -> None:
    assert list(table()) == sorted(operators)


@pytest.mark.parametrize("part", range(PARTS))
def test_operators_that_are_compiled(part: int, operators: dict[str, object]) -> None:
    """One sample of each, many to a graph."""
    names = [name for name, status in table().items() if status == "lowered"][part::PARTS]
    cases = []
    for name in names:
        cases += torch_opinfo.cases(name, operators[name], torch.float64, 1, gradients=True)
    assert len(cases) >= len(names)
    wrong, left = torch_opinfo.compare(cases)
    assert not wrong and not left


@large
@pytest.mark.parametrize("name", table())
def test_all_samples(name: str, operators: dict[str, object]) -> None:
    op = operators[name]
    every = torch_opinfo.cases(name, op, torch.float64, None, gradients=True)
    status, wrong = torch_opinfo.status(every)
    assert not wrong and status == table()[name]
    every = torch_opinfo.cases(name, op, torch.float32, None, gradients=False)
    assert not torch_opinfo.status(every)[1]
