"""Which operators are compared with which, and what counts as a good choice."""

from __future__ import annotations

from bench.choices import Choice, Kernel, choices, errors, groups


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


def test_errors_leave_out_what_is_mostly_the_clock() -> None:
    assert errors(
        [kernel("a", 10, predicted=12), kernel("b", 0.5, predicted=5), kernel("c", 9)]
    ) == [0.2]
