"""The numeric policy of tests that compare two forms of a program, or a program and another computation of its values.

Rounding is judged by the size of the whole result: an element near zero, whose terms cancel, may differ by as much as
the largest element may. How far depends on the order of the terms, which every CPU and every number of threads
may choose differently. A relative tolerance per element holds on the machine where it was written, and there alone.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

#: What results of a type may differ by, as a share of their largest element: some 80 units in the last place of f32.
TOLERANCES = {
    np.dtype(np.float64): 1e-11,
    np.dtype(np.float32): 1e-5,
    np.dtype(np.float16): 4e-3,
    np.dtype(ml_dtypes.bfloat16): 3e-2,
}


def difference(found: object, expected: object, tolerance: float | None = None) -> str:
    """How `found` differs from `expected` beyond rounding: empty if it does not, else the worst element in words.

    Shapes (of anything but a number), integers, NaN and infinities must be equal. `tolerance` is a share of the largest finite expected element;
    without it, the less precise of the two types decides.
    """
    found, expected = np.asarray(found), np.asarray(expected)
    if expected.ndim == 0:
        expected = np.broadcast_to(expected, found.shape)
    if found.shape != expected.shape:
        return f"expected the shape {expected.shape}, got {found.shape}"
    if tolerance is None:
        tolerance = max(TOLERANCES.get(values.dtype, 0.0) for values in (found, expected))
    if tolerance == 0:
        differing = np.flatnonzero(found.reshape(-1) != expected.reshape(-1))
        return _element(found, expected, differing[0]) if differing.size else ""
    exact = expected.astype(_wide(expected))
    with np.errstate(invalid="ignore"):  # of infinities
        off = np.abs(found.astype(_wide(found)) - exact)
    is_finite = np.isfinite(exact)
    allowed = tolerance * np.max(np.abs(exact), where=is_finite, initial=0.0)
    is_same = (found == expected) | ((found != found) & (expected != expected))
    is_close = is_same | (is_finite & (off <= allowed))
    if is_close.all():
        return ""
    worst = np.argmax(np.where(is_close, -1.0, np.nan_to_num(off, nan=np.inf)))
    return f"{_element(found, expected, worst)}, allowed is a difference of {allowed:.3g}"


def assert_close(
    found: object, expected: object, tolerance: float | None = None, what: str = ""
) -> None:
    """Fails with the worst element if `found` differs from `expected` beyond rounding, see `difference`."""
    __tracebackhide__ = True  # pytest shows the line of the test
    words = difference(found, expected, tolerance)
    assert not words, f"{what}: {words}" if what else words


def assert_same(found: object, expected: object) -> None:
    """Fails if `found` differs from `expected` in any element, in shape or in type."""
    __tracebackhide__ = True
    np.testing.assert_array_equal(found, expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype


def _wide(values: np.ndarray) -> type:
    return np.complex128 if np.iscomplexobj(values) else np.float64


def _element(found: np.ndarray, expected: np.ndarray, which: int) -> str:
    place = tuple(int(i) for i in np.unravel_index(which, expected.shape))
    return f"element {place} of {expected.shape}: expected {expected[place]}, got {found[place]}"
