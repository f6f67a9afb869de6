"""Which operators are compared with which, and what counts as a good choice."""

from __future__ import annotations

import json

from bench.choices import (
    Choice,
    Kernel,
    accuracy,
    choices,
    errors,
    groups,
    read_steps,
    steps_text,
    worst,
)


def kernel(operators: str, time_us: float, library: bool = False, predicted: float | None = None):
    return Kernel(operators, frozenset(operators.split()), time_us, predicted, library)


def test_operators_that_share_a_kernel_anywhere_are_one_group() -> None:
    generated = [kernel("conv relu", 5), kernel("pool", 1)]
    library = [kernel("conv", 3, True), kernel("relu add", 1), kernel("pool", 1)]
    assert set(groups([generated, library])) == {
        frozenset({"conv", "relu", "add"}),
        frozenset({"pool"}),
    }


def test_times_of_a_group_are_those_of_all_its_kernels() -> None:
    generated = [kernel("conv relu", 5)]
    library = [kernel("conv", 1, False), kernel("conv", 3, True), kernel("relu", 2)]
    (choice,) = choices(generated, library, generated)
    assert (choice.generated_us, choice.library_us, choice.took_library) == (5, 6, False)
    assert choice.is_clear
    assert choice.is_right


def test_groups_without_a_library_are_no_choices() -> None:
    kernels = [kernel("relu", 1)]
    assert choices(kernels, kernels, kernels) == []


def test_close_times_are_no_clear_choice() -> None:
    assert not Choice(frozenset(), 10, 10.5, False).is_clear
    assert not Choice(frozenset(), 10, 8, False).is_right


def test_accuracy_has_the_median_and_the_share_within_a_factor_of_2() -> None:
    kernels = [
        kernel("a", 10, predicted=11),
        kernel("b", 10, predicted=5),
        kernel("c", 10, predicted=31),
        kernel("d", 10),
    ]
    found = accuracy(kernels)
    assert (found.median, found.kernels) == (0.5, 3)
    assert abs(found.close - 2 / 3) < 1e-9
    assert accuracy([]).kernels == 0


def test_the_worst_are_those_that_matter() -> None:
    kernels = [
        kernel("large", 1000, predicted=500),
        kernel("small", 5, predicted=500),
        kernel("fair", 900, predicted=1000),
    ]
    assert [k.name for k in worst(kernels, 2)] == ["large", "fair"]


def test_errors_leave_out_what_is_mostly_the_clock() -> None:
    assert errors(
        [kernel("a", 10, predicted=12), kernel("b", 0.5, predicted=5), kernel("c", 9)]
    ) == [0.2]


def test_measured_steps_are_judged_by_sign_and_factor() -> None:
    def line(predicted: list[float], measured: list[float]) -> str:
        return json.dumps({"predicted_us": predicted, "measured_us": measured})

    steps = read_steps(
        [
            line([10, 5], [10, 6]),  # right
            line([10, 5], [10, 9]),  # predicted five times too much
            line([10, 11], [10, 5]),  # the other way
            line([10, 1], [10, 9.9]),  # noise
            '{"predicted_us": [1',
        ]
    )
    assert len(steps) == 4
    assert [step.is_clear for step in steps] == [True, True, True, False]
    assert [step.has_right_sign for step in steps[:3]] == [True, True, False]
    assert [step.is_close for step in steps[:3]] == [True, False, False]
    assert "4 measured steps, 3 beyond 5% of the time: of 2 the sign" in steps_text(steps)
