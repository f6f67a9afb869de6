"""Sizes that data decide, and that calls change, in models that are split into several programs."""

from __future__ import annotations

import headrace as hr
import numpy as np
import pytest

pytest.importorskip("onnx")

from cases.policy import assert_same


def test_sizes_that_change_share_one_program_from_the_second_on(load) -> None:
    model = load("m (float[N] x, int64[1] axes) => (float y) { r = Unsqueeze(x, axes) y = Exp(r) }")
    for size in range(2, 12):
        assert_same(
            model(np.zeros(size, np.float32), np.array([0])), np.ones((1, size), np.float32)
        )
    assert model.compiled_versions == 2


def test_a_range_over_free_sizes_is_part_of_one_program(load) -> None:
    model = load(
        "m (float[N,M] x) => (int64[K] up, int64[K] down, int64[L] even)"
        "<int64 zero = {0}, int64 one = {1}, int64 minus = {-1}, int64 two = {2}> {"
        "  sizes = Shape(x)  n = Gather(sizes, zero)  m = Gather(sizes, one)  end = Add(n, m)"
        "  up = Range(n, end, one)  down = Range(m, zero, minus)  even = Range(zero, end, two)"
        "}"
    )
    assert not model.is_split
    for n, m in ((2, 3), (5, 1), (1, 0), (4, 4)):
        up, down, even = model(np.zeros((n, m), np.float32))
        assert_same(up, np.arange(n, n + m))
        assert_same(down, np.arange(m, 0, -1))
        assert_same(even, np.arange(0, n + m, 2))


def test_sizes_that_fit_as_multiples_alone_share_a_program(load) -> None:
    model = load(
        "m (float[1,1,H,W] x) => (float[1,1,A,B] y) {"
        "  half = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)"
        "  back = Concat<axis=2>(half, half)  wide = Concat<axis=3>(back, back)"
        "  y = Add(x, wide)"
        "}"
    )
    assert model.is_split  # x has the size of `wide` where both sizes are even
    random = np.random.default_rng(0)
    for rows, columns in ((4, 8), (8, 4), (12, 16), (16, 4), (2, 6)):
        x = random.standard_normal((1, 1, rows, columns), dtype=np.float32)
        half = x.reshape(1, 1, rows // 2, 2, columns // 2, 2).max(axis=(3, 5))
        assert_same(model(x), x + np.tile(half, (1, 1, 2, 2)))
    assert model.compiled_versions <= 4
    with pytest.raises(hr.ShapeMismatchError, match="do not broadcast"):
        model(np.zeros((1, 1, 5, 4), np.float32))


def test_open_sizes_of_different_names_may_be_equal(load) -> None:
    model = load("m (float[N] x, float[M] y) => (float[K] z) { z = Add(x, y) }")
    for n in (3, 1, 7):
        assert_same(
            model(np.full(n, 2, np.float32), np.ones(n, np.float32)), np.full(n, 3, np.float32)
        )
    with pytest.raises(hr.ShapeMismatchError, match="do not broadcast"):
        model(np.zeros(3, np.float32), np.zeros(4, np.float32))


@pytest.mark.parametrize("end", [10**9, 2**31 - 1, 2**31, 2**63 - 1])
def test_a_slice_to_a_far_end_takes_any_size(load, end: int) -> None:
    model = load(
        f"m (float[N] x) => (float[M] y) <int64[1] one = {{1}}, int64[1] end = {{{end}}},"
        " int64[1] zero = {0}> { y = Slice(x, one, end, zero) }"
    )
    for n in (1, 2, 9):
        x = np.arange(n, dtype=np.float32)
        assert_same(model(x), x[1:])


def test_pads_of_several_axes_are_known_where_shapes_are(load) -> None:
    model = load(
        "m (float[N,C] x) => (float[A,B] y) <int64[4] given = {1, 2, 3, 0}, int64[2] pairs = {-1, 2},"
        " int64[1] last = {-1}, int64[1] far = {-9223372036854775807}, int64[1] zero = {0}> {"
        "  apart = Reshape(given, pairs)  turned = Slice(apart, last, far, zero, last)"
        "  columns = Transpose<perm=[1, 0]>(turned)  pads = Reshape(columns, last)  y = Pad(x, pads)"
        "}"
    )
    assert not model.is_split
    x = np.ones((2, 3), np.float32)
    assert_same(model(x), np.pad(x, ((3, 0), (1, 2))))


@pytest.mark.parametrize("shape", [(3, 4), (0,), (5,), (2, 0, 3), (2, 1, 3)])
def test_nonzero_is_numpys(load, shape: tuple[int, ...]) -> None:
    sizes = ",".join("ABC"[: len(shape)])
    model = load(f"m (float[{sizes}] x) => (int64[R,K] y) {{ n = NonZero(x) y = Neg(n) }}")
    x = np.random.default_rng(0).integers(-1, 2, shape).astype(np.float32)
    assert_same(model(x), -np.array(np.nonzero(x)))


def test_unique_sorts_or_keeps_the_order(load) -> None:
    x = np.array([2.0, 1.0, 1.0, 3.0, 4.0, 3.0], np.float32)
    names = "(float[N] x) => (float[K] y, int64[K] i, int64[N] j, int64[K] k)"
    y, i, j, k = load(f"m {names} {{ y, i, j, k = Unique(x) }}")(x)
    for found, expected in zip((y, i, j, k), np.unique(x, True, True, True)):
        assert_same(found, expected)
    y, i, _, _ = load(f"m {names} {{ y, i, j, k = Unique<sorted=0>(x) }}")(x)
    assert_same(y, np.array([2, 1, 3, 4], np.float32))
    assert_same(i, np.array([0, 1, 3, 4]))


def test_compress_outside_of_the_axis_is_an_error(load) -> None:
    model = load("m (float[N] x, bool[M] c) => (float[K] y) { y = Compress<axis=0>(x, c) }")
    x = np.arange(3, dtype=np.float32)
    assert_same(model(x, np.array([True, False, True])), x[[0, 2]])
    assert_same(model(x, np.array([False])), x[:0])
    with pytest.raises(hr.Error, match=r"Compress.*position 3 is outside a size of 3"):
        model(x, np.array([False, False, False, True]))


def best_boxes(boxes: np.ndarray, scores: np.ndarray, most: int, overlap: float) -> list[int]:
    """Greedily, as the standard has it."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if len(kept) == most:
            break
        low, high = (
            np.maximum(boxes[i, :2], boxes[kept, :2]),
            np.minimum(boxes[i, 2:], boxes[kept, 2:]),
        )
        shared = np.prod(np.maximum(high - low, 0), axis=1)
        if not (shared / (areas[i] + areas[kept] - shared) > overlap).any():
            kept.append(int(i))
    return kept


@pytest.mark.parametrize(("most", "overlap"), [(7, 0.5), (200, 0.2)])
def test_boxes_of_many_classes_are_suppressed_apart(load, most: int, overlap: float) -> None:
    model = load(
        "m (float[B,N,4] boxes, float[B,C,N] scores, int64[1] most, float[1] overlap)"
        " => (int64[K,3] kept) { kept = NonMaxSuppression(boxes, scores, most, overlap) }"
    )
    random = np.random.default_rng(2)
    corner = random.random((2, 200, 2), dtype=np.float32) * 4
    boxes = np.concatenate([corner, corner + 1], axis=2)
    scores = random.integers(0, 50, (2, 30, 200)).astype(np.float32)  # many are equal
    kept = model(boxes, scores, np.array([most]), np.array([overlap], np.float32))
    expected = [
        [b, c, i]
        for b in range(2)
        for c in range(30)
        for i in best_boxes(boxes[b], scores[b, c], most, overlap)
    ]
    assert_same(kept, np.array(expected))
