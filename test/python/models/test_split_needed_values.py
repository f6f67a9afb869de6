"""Values that nodes need and that change from call to call: one program serves them where it can, and all are right."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases import graph_text

pytest.importorskip("onnx")

X = np.arange(60, dtype=np.float32).reshape(20, 3)
FAR = np.iinfo(np.int64).max


@pytest.fixture
def load(tmp_path: Path):
    def make(text: str) -> hr.Model:
        return hr.load(graph_text.write(tmp_path / "model.onnx", text, opset=18))

    return make


def vector(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


SLICE = "m (float[20,3] x, int64[1] s, int64[1] e) => (float y) { p = Slice(x, s, e) y = Neg(p) }"
CASES = {
    "slice": (SLICE, lambda k: (X, vector(k), vector(k + 4)), lambda k: -X[k : k + 4]),
    "slice-to": (SLICE, lambda k: (X, vector(0), vector(k)), lambda k: -X[:k]),
    "range": (
        "m (int64 n) => (int64 y) { a = Constant<value_int=0>() b = Constant<value_int=1>() y = Range(a, n, b) }",
        lambda k: (np.array(k),),
        np.arange,
    ),
    "expand": (
        "m (float[1,3] v, int64[2] s) => (float y) { y = Expand(v, s) }",
        lambda k: (X[:1], vector(k, 3)),
        lambda k: np.broadcast_to(X[:1], (k, 3)),
    ),
    "constant": (
        "m (int64[2] s) => (float y) { y = ConstantOfShape(s) }",
        lambda k: (vector(k, 2),),
        lambda k: np.zeros((k, 2), np.float32),
    ),
    "tile": (
        "m (float[20,3] x, int64[2] s) => (float y) { y = Tile(x, s) }",
        lambda k: (X, vector(k, 1)),
        lambda k: np.tile(X, (k, 1)),
    ),
    "topk": (
        "m (float[20,3] x, int64[1] k) => (float y, int64 i) { y, i = TopK<axis=0>(x, k) }",
        lambda k: (X, vector(k)),
        lambda k: X[::-1][:k],
    ),
    "reshape-with-its-size": (
        "m (float[N,3] x, int64[2] s) => (float y) { y = Reshape(x, s) }",
        lambda k: (X[:k], vector(3, k)),
        lambda k: X[:k].reshape(3, k),
    ),
    "used-as-data-too": (
        "m (float[1,3] v, int64[2] s) => (float y) { e = Expand(v, s) f = Cast<to=1>(s) t = ReduceSum(f)"
        "  y = Add(e, t) }",
        lambda k: (X[:1], vector(k, 3)),
        lambda k: np.broadcast_to(X[:1], (k, 3)) + np.float32(k + 3),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_program_serves_values_that_change(name: str, load) -> None:
    text, inputs, expected = CASES[name]
    model = load(text)
    for k in (3, 5, 8, 9, 7, 2, 6, 4):
        outputs = model(*inputs(k))
        first = outputs[0] if isinstance(outputs, tuple) else outputs
        np.testing.assert_array_equal(first, expected(k))
    assert model.compiled_versions == 2
    for k in (1, 10, 1, 2):
        outputs = model.reference(*inputs(k))
        first = outputs[0] if isinstance(outputs, tuple) else outputs
        np.testing.assert_array_equal(first, expected(k))


def padded(mode: str):
    def expected(x: np.ndarray, p: np.ndarray) -> np.ndarray:
        rows = slice(max(-p[0], 0), len(x) - max(-p[2], 0))
        return np.pad(x[rows], np.maximum(p, 0).reshape(2, 2).T, mode=mode)

    return expected


def bounds(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return X, rng.integers(-25, 25, 1), rng.integers(-25, 25, 1)


INDEPENDENT = {
    "slice": (SLICE, bounds, lambda x, s, e: -x[s[0] : e[0]]),
    "slice-with-steps": (
        "m (float[20,3] x, int64[1] s, int64[1] e, int64[1] a, int64[1] t) => (float y)"
        "{ p = Slice(x, s, e, a, t) y = Neg(p) }",
        lambda rng: (
            X,
            *rng.integers(-20, 25, (2, 1)),
            vector(0),
            rng.choice([-30, -2, -1, 1, 2, 30], 1),
        ),
        lambda x, s, e, a, t: -x[s[0] : e[0] : t[0]],
    ),
    "pad": (
        "m (float[20,3] x, int64[4] p) => (float y) { y = Pad(x, p) }",
        lambda rng: (X, rng.integers([-5, 0, -5, 0], 5)),
        padded("constant"),
    ),
    "pad-by-edge": (
        'm (float[20,3] x, int64[4] p) => (float y) { y = Pad<mode="edge">(x, p) }',
        lambda rng: (X, rng.integers([-5, 0, -5, 0], 5)),
        padded("edge"),
    ),
    "pad-by-reflection": (
        'm (float[20,3] x, int64[4] p) => (float y) { y = Pad<mode="reflect">(x, p) }',
        lambda rng: (X, rng.integers([-5, 0, -5, 0], [9, 3, 9, 3])),
        padded("reflect"),
    ),
    "split": (
        "m (float[20,3] x, int64[2] s) => (float y, float z) { y, z = Split<axis=0>(x, s) }",
        lambda rng: (X, (k := rng.integers(0, 21)) + vector(0, 20 - 2 * k)),
        lambda x, s: x[: s[0]],
    ),
    "tile": (
        "m (float[20,3] x, int64[2] s) => (float y) { y = Tile(x, s) }",
        lambda rng: (X, rng.integers(0, 5, 2)),
        np.tile,
    ),
    "range": (
        "m (float a, float b, float c) => (float y) { y = Range(a, b, c) }",
        lambda rng: tuple(np.array(n, np.float32) for n in rng.integers([-9, -9, 1], [9, 30, 4])),
        np.arange,
    ),
    "computed-bounds": (
        "m (float[20,3] x, int64[1] s, int64[1] e) => (float y)"
        "{ a = Add(s, s) b = Add(a, e) p = Slice(x, a, b) y = Neg(p) }",
        lambda rng: (X, rng.integers(0, 8, 1), rng.integers(1, 9, 1)),
        lambda x, s, e: -x[2 * s[0] : 2 * s[0] + e[0]],
    ),
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_values_that_change_independently_take_few_programs(name: str, load) -> None:
    text, inputs, expected = INDEPENDENT[name]
    model = load(text)
    rng = np.random.default_rng(0)
    for _ in range(40):
        given = inputs(rng)
        outputs = model(*given)
        first = outputs[0] if isinstance(outputs, tuple) else outputs
        np.testing.assert_array_equal(first, expected(*given), err_msg=str(given[1:]))
    # Three for the values, and those behind them for sizes: the first, any, and 0 or 1.
    assert model.compiled_versions <= 7


def test_faults_of_changing_values_are_one_sentence(load) -> None:
    cases = {
        "m (float[20,3] x, int64[4] p) => (float y) { y = Pad(x, p) }": (4, vector(-30, 0, 0, 0)),
        "m (float[20,3] x, int64[2] p) => (float y, float z) { y, z = Split(x, p) }": (
            2,
            vector(9, 9),
        ),
        "m (float[20,3] x, int64[2] p) => (float y) { y = Tile(x, p) }": (2, vector(-1, 1)),
    }
    for text, (count, wrong) in cases.items():
        model = load(text)
        for k in range(6):
            model(X, vector(k, 20 - k) if "Split" in text else np.arange(count) + k)
        with pytest.raises(hr.Error, match="^(Pad|Split|Tile) node"):
            model(X, wrong)


def test_numbers_that_mean_something_else_are_not_taken_for_sizes(load) -> None:
    """0 copies a size, -1 is what is left."""
    model = load("m (float[N,6] x, int64[3] s) => (float y) { y = Reshape(x, s) }")
    for rows in (4, 2, 6, 8):
        x = np.arange(6 * rows, dtype=np.float32).reshape(rows, 6)
        for shape in ((2, -1, 3), (rows, 2, 3), (0, 3, 2), (3, rows, 2), (0, -1, 1), (1, rows, 6)):
            sizes = [x.shape[i] if size == 0 else size for i, size in enumerate(shape)]
            np.testing.assert_array_equal(model(x, vector(*shape)), x.reshape(sizes))


def test_bounds_of_slices_that_clamp_or_count_from_the_end(load) -> None:
    model = load(SLICE)
    bounds = [
        (2, 5),
        (3, 6),
        (4, 9),
        (0, 3),
        (18, 21),
        (25, 28),
        (5, 2),
        (7, 7),
        (-5, -2),
        (-3, FAR),
    ]
    bounds += [(1, FAR), (2, FAR - 1), (-FAR, 4), (6, -6), (9, 12), (1, 20), (2, 21)]
    for start, end in bounds:
        found = model(X, vector(start), vector(end))
        np.testing.assert_array_equal(found, -X[start:end], err_msg=f"{start}:{end}")


def test_values_that_were_equal_by_chance_may_differ_later(load) -> None:
    model = load(
        "m (float[1,1] v, int64[2] s, int64[2] t) => (float y, float z) { y = Expand(v, s) z = Expand(v, t) }"
    )
    v = np.ones((1, 1), np.float32)
    for s, t in (
        ((2, 3), (2, 3)),
        ((4, 5), (4, 5)),
        ((4, 5), (5, 4)),
        ((7, 2), (3, 9)),
        ((6, 6), (2, 7)),
    ):
        y, z = model(v, vector(*s), vector(*t))
        assert (y.shape, z.shape) == (s, t)


def test_what_cannot_be_done_is_still_one_sentence(load) -> None:
    model = load("m (float[20,3] x, int64[2] s) => (float y) { y = Reshape(x, s) }")
    np.testing.assert_array_equal(model(X, vector(3, 20)), X.reshape(3, 20))
    np.testing.assert_array_equal(model(X, vector(6, 10)), X.reshape(6, 10))
    for shape in ((7, 10), (61, 1), (-2, 30)):
        with pytest.raises(hr.Error, match="Reshape"):
            model(X, vector(*shape))
    np.testing.assert_array_equal(model(X, vector(12, 5)), X.reshape(12, 5))


def test_a_loop_s_counter_may_be_a_slice_s_begin(load) -> None:
    """Each turn takes the next row."""
    model = load(
        "m (int64 n, float[20,3] x) => (float[3] sum) {"
        "  t = Constant<value = bool {1}>()"
        "  zero = Constant<value = float[3] {0, 0, 0}>()"
        "  sum = Loop(n, t, zero) <body = b (int64 i, bool c, float[3] v) => (bool d, float[3] w) {"
        "     d = Identity(c) a = Constant<value_ints=[0]>() one = Constant<value_int=1>()"
        "     s = Unsqueeze(i, a) j = Add(i, one) e = Unsqueeze(j, a)"
        "     row = Slice(x, s, e) flat = Squeeze(row, a) w = Add(v, flat) }>"
        "}"
    )
    for count in (0, 1, 7, 20):
        np.testing.assert_array_equal(model(np.array(count), X), X[:count].sum(0))
    assert model.compiled_versions <= 5
