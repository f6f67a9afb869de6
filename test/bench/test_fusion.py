"""Which plans are neighbours, and what the report says of them."""

from __future__ import annotations

import pytest

from bench.fusion.run import GREEDY, PLANNED, Comparison, main, neighbours, summary


def test_neighbours_undo_what_was_fused_and_try_what_was_not() -> None:
    steps = ["fuse a into b", "walk b along d0", "kernel b:"]
    assert list(neighbours(steps, ["merge c into b", "expand c as openblas"])) == [
        "separate a",
        "walk b along nothing",
        "merge c into b",
    ]


def test_clearly_faster_neighbours_are_told() -> None:
    times = {GREEDY: 3.0, PLANNED: 2.0, "separate a": 1.0, "separate b": 1.99}
    comparison = Comparison("softmax", times, is_same=False)
    assert comparison.gain == 1.5
    assert comparison.faster_neighbours() == {"separate a": 2.0}
    assert "faster in 1: softmax" in summary([comparison])


def test_parts_of_models_are_counted_apart_from_models_and_expressions() -> None:
    comparisons = [
        Comparison("softmax", {GREEDY: 2.0, PLANNED: 2.0}, is_same=True),
        Comparison("adam_step", {GREEDY: 4.0, PLANNED: 1.0}, is_same=False),
    ]
    text = summary(comparisons)
    assert "1.000 over 1 models and expressions, 2.000 over all 2 programs" in text
    assert "neighbour" not in text


def test_unknown_programs_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no_such_program"]) == 2
    assert "got 'no_such_program'" in capsys.readouterr().err
