"""The numeric policy by which tests compare results."""

import ml_dtypes
import numpy as np
import pytest

from cases.policy import assert_close, difference

LARGE = np.array([1000.0, -3.0, 1e-4], np.float32)


def test_rounding_is_judged_by_the_largest_element() -> None:
    moved = LARGE + np.array([0, 0, 5e-3], np.float32)
    assert_close(moved, LARGE)
    words = difference(moved, LARGE, tolerance=1e-6)
    assert words.startswith("element (2,) of (3,): expected") and "allowed" in words
    assert difference(LARGE * 1.001, LARGE)
    assert not difference(LARGE.astype(ml_dtypes.bfloat16), LARGE)
    assert difference(LARGE.astype(np.float64) * (1 + 1e-9), LARGE.astype(np.float64))


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_the_measure_has_the_scale_of_the_result(scale: float) -> None:
    expected = np.array([[1.0, 2.0]]) * scale
    assert not difference(expected * (1 + 1e-13), expected)
    assert difference(expected * (1 + 1e-8), expected)
    assert difference(expected * 0, expected)


def test_what_is_not_rounding_must_be_equal() -> None:
    odd = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    assert_close(odd.copy(), odd)
    for which, value in ((0, 1.0), (1, 3e38), (1, np.nan), (2, np.inf), (3, np.nan), (3, np.inf)):
        other = odd.copy()
        other[which] = value
        assert f"element ({which},)" in difference(other, odd), (which, value)
    assert "shape (2, 1)" in difference(np.ones((1, 2)), np.ones((2, 1)))
    assert "expected 3, got 4" in difference(np.array([1, 4]), np.array([1, 3]))
    assert not difference(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32))
    with pytest.raises(AssertionError, match=r"here: element \(1,\)"):
        assert_close([1.0, 2.0], [1.0, 2.1], what="here")
