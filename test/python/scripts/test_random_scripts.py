"""Random programs: what a script computes is what NumPy computes, compiled or not, dense or sparse.

`python test/random/scripts.py --count 2000 --seed N` runs others.
"""

from __future__ import annotations

import pytest

pytest.importorskip("scipy.sparse")
from cases.scripts.comparison import WAYS, differences
from cases.scripts.programs import random_program

COUNT = 24


@pytest.mark.parametrize(("compile", "formats"), WAYS)
def test_random_programs_give_what_numpy_gives(compile: str, formats: str) -> None:
    wrong = {}
    for seed in range(COUNT):
        program = random_program(seed)
        if found := differences(program, compile, formats):
            wrong[seed] = (found, program.text)
    assert wrong == {}


def test_programs_differ_and_leave_values_to_compare() -> None:
    programs = [random_program(seed) for seed in range(COUNT)]
    assert len({program.text for program in programs}) == COUNT
    assert sum(len(program.expected) for program in programs) > 10 * COUNT
    assert any(0 in value.shape for program in programs for value in program.inputs.values())
