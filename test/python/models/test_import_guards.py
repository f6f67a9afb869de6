"""Sizes for which a model is another program: it is imported again, and the answer is right."""

from __future__ import annotations

import threading
from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases import graph_text
from cases.policy import assert_close

pytest.importorskip("onnx")

FAR = 2**40


def vector(name: str, *numbers: int) -> str:
    return f"{name} = Constant<value = int64[{len(numbers)}] {{{','.join(map(str, numbers))}}}>()"


def sliced(start: int, end: int, step: int = 1) -> str:
    bounds = [vector("s", start), vector("e", end), vector("a", 0), vector("t", step)]
    return f"m (float[n,2] x) => (float y) {{ {' '.join(bounds)} y = Slice(x, s, e, a, t) }}"


FIRST_THREE = sliced(0, 3)


@pytest.fixture
def load(tmp_path: Path):
    def make(text: str, **settings) -> hr.Model:
        return hr.load(graph_text.write(tmp_path / "model.onnx", text, opset=18), **settings)

    return make


def rows(count: int, columns: int = 2) -> np.ndarray:
    return np.arange(count * columns, dtype=np.float32).reshape(count, columns) + 1


BOUNDS = [
    (0, 3, 1),
    (-3, FAR, 1),
    (3, -1, 1),
    (0, -3, 2),
    (4, 2, 1),
    (-1, -4, -1),
    (5, 1, -2),
    (-2, 0, -1),
    (1, -2, -1),
]


@pytest.mark.parametrize("specialize", ["auto", "always", "never"])
@pytest.mark.parametrize("start, end, step", BOUNDS)
def test_slices_of_any_length(load, start: int, end: int, step: int, specialize: str) -> None:
    model = load(sliced(start, end, step), specialize=specialize)
    for n in (5, 2, 3, 0, 1, 4, 9):
        expected = rows(n)[slice(start, end, step)]
        np.testing.assert_array_equal(model(rows(n)), expected)
        np.testing.assert_array_equal(model.reference(rows(n)), expected)


@pytest.mark.parametrize("step", [-1, -2])
def test_slices_backwards_begin_at_an_element(load, step: int) -> None:
    model = load(sliced(-3, -FAR, step))
    for n in (5, 2, 0, 1, 3):
        expected = rows(n)[max(n - 3, 0) :: step] if n else rows(0)
        np.testing.assert_array_equal(model(rows(n)), expected)
        np.testing.assert_array_equal(model.reference(rows(n)), expected)


def by_size(rule: str, rest: str) -> str:
    """A slice whose bounds are computed from the size n, as `z`."""
    return f"m (float[n,2] x) => (float y) {{ z = Shape<start = 0, end = 1>(x) {rule} {rest} }}"


ZERO, THREE, AXIS, END = vector("o", 0), vector("c", 3), vector("a", 0), vector("e", FAR)


@pytest.mark.parametrize(
    "text, bounds",
    [
        (by_size("s = Neg(z)", f"{END} {AXIS} y = Slice(x, s, e, a)"), lambda n: slice(-n, None)),
        (
            by_size(f"{THREE} s = Sub(z, c)", f"{END} {AXIS} y = Slice(x, s, e, a)"),
            lambda n: slice(n - 3, None),
        ),
        (
            by_size(f"{THREE} s = Sub(z, c)", f"{ZERO} {AXIS} y = Slice(x, o, s, a)"),
            lambda n: slice(0, n - 3),
        ),
        # -1 counts from the end, also where a step goes back and it would be the end.
        (
            by_size(
                f"{THREE} s = Sub(z, c)",
                f"{END} {AXIS} {vector('t', -1)} y = Slice(x, e, s, a, t)",
            ),
            lambda n: slice(None, n - 3, -1),
        ),
    ],
    ids=["-n:", "n-3:", ":n-3", ":n-3:-1"],
)
def test_bounds_that_sizes_give(load, text: str, bounds) -> None:
    model = load(text)
    for n in (6, 1, 2, 4, 3, 0):
        np.testing.assert_array_equal(model(rows(n)), rows(n)[bounds(n)])
        np.testing.assert_array_equal(model.reference(rows(n)), rows(n)[bounds(n)])


def test_a_range_may_be_empty(load) -> None:
    model = load(
        by_size(
            f"{THREE} d = Sub(z, c) e = Squeeze(d)",
            "u = Constant<value_int = 1>() o = Constant<value_int = 0>() r = Range(o, e, u)"
            " y = Cast<to = 1>(r)",
        )
    )
    for n in (7, 2, 0, 4):
        np.testing.assert_array_equal(model(rows(n)), np.arange(n - 3, dtype=np.float32))


def test_squeeze_drops_an_open_size_of_one(load) -> None:
    model = load("m (float[n,1,k] x) => (float y) { y = Squeeze(x) }")
    for n, k in ((3, 4), (1, 4), (3, 1), (1, 1), (0, 1), (0, 0), (5, 2)):
        x = rows(n, k).reshape(n, 1, k)
        np.testing.assert_array_equal(model(x), np.squeeze(x))
        np.testing.assert_array_equal(model.reference(x), np.squeeze(x))


def test_crops_and_pads_to_the_middle(load) -> None:
    model = load(f"m (float[n,2] x) => (float y) {{ {vector('t', 3, 2)} y = CenterCropPad(x, t) }}")
    for n in (6, 1, 3, 2, 4, 7, 0):
        expected = np.zeros((3, 2), np.float32)
        start = abs(n - 3) // 2
        if n < 3:
            expected[start : start + n] = rows(n)
        else:
            expected = rows(n)[start : start + 3]
        np.testing.assert_array_equal(model(rows(n)), expected)


def test_a_mask_of_one_element_is_every_key_s(tmp_path: Path) -> None:
    def load(size: str) -> hr.Model:
        inputs = f"float[1,1,2,4] q, float[1,1,5,4] k, float[1,1,5,4] v, float[2,{size}] mask"
        text = f"m ({inputs}) => (float y) {{ y = Attention(q, k, v, mask) }}"
        return hr.load(graph_text.write(tmp_path / f"{size}.onnx", text, opset=23))

    model = load("m")
    q, k, v = (np.random.default_rng(n).random((1, 1, n, 4), np.float32) for n in (2, 5, 5))
    for size in (3, 1, 5, 2):
        mask = rows(2, size)
        expected = load(str(size))(q, k, v, mask)
        assert_close(model(q, k, v, mask), expected)


def test_a_matrix_without_elements_has_the_determinant_1(load) -> None:
    model = load("m (float[n,n] x) => (float y) { y = Det(x) }")
    for n in (2, 0, 1):
        assert model(np.eye(n, dtype=np.float32)) == 1


TWO_SIZES = (
    "m (float[n,k] x, float[m,k] w) => (float y) {"
    f" {vector('s', 0, 1)} {vector('e', 3, 5)} p = Slice(x, s, e) q = Slice(w, s, e)"
    " y = Concat<axis = 0>(p, q) }"
)


def test_several_guards_at_once(load) -> None:
    model = load(TWO_SIZES)
    for n, m, k in ((4, 4, 6), (2, 4, 6), (4, 2, 6), (2, 2, 3), (0, 7, 2), (1, 0, 1), (9, 9, 0)):
        x, w = rows(n, k), -rows(m, k)
        expected = np.concatenate([x[0:3, 1:5], w[0:3, 1:5]])
        np.testing.assert_array_equal(model(x, w), expected)
        np.testing.assert_array_equal(model.reference(x, w), expected)


def test_one_more_program_serves_all_smaller_sizes(load) -> None:
    model = load(sliced(0, 40), specialize="never")
    for n in [*range(2, 65), *range(64, 1, -1)]:
        np.testing.assert_array_equal(model(rows(n)), rows(n)[:40])
    assert model.compiled_versions == 2


def test_guards_beside_guards(load) -> None:
    model = load(
        "m (float[n,2] x) => (float y) {"
        f" {ZERO} {AXIS} {vector('p', 3)} {vector('q', 5)} a3 = Slice(x, o, p, a)"
        " a5 = Slice(x, o, q, a) y = Concat<axis = 0>(a3, a5) }",
        specialize="never",
    )
    for n in (8, 4, 2, 3, 5, 6, 2, 4):
        np.testing.assert_array_equal(model(rows(n)), np.concatenate([rows(n)[:3], rows(n)[:5]]))
    assert model.compiled_versions == 3  # up to 2, 3 and 4, from 5 on


def test_versions_are_bounded(load) -> None:
    model = load(FIRST_THREE, plan_cache_size=2, specialize="always")
    for n in (5, 1, 2, 0, 3, 2, 1, 4):
        np.testing.assert_array_equal(model(rows(n)), rows(n)[:3])
        assert model.compiled_versions <= 2


def test_threads_on_both_sides(load) -> None:
    model = load(FIRST_THREE)
    right: list[int] = []

    def call(first: int) -> None:
        for n in [(first + i) % 6 for i in range(30)]:
            np.testing.assert_array_equal(model(rows(n)), rows(n)[:3])
            right.append(n)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(right) == 4 * 30


REFUSED = {
    "split": (
        by_size(
            f"{vector('one', 3)} r = Sub(z, one) p = Concat<axis = 0>(one, r)",
            "[apart] u, v = Split<axis = 0>(x, p) y = Neg(v)",
        ),
        lambda n: (rows(n),),
        "'apart'.*expected sizes of 0 or more, got 3 x -1, for n = 2",
    ),
    "topk": (
        f"m (float[n,2] x) => (float y) {{ {vector('k', 3)} [best] y, i = TopK<axis = 0>(x, k) }}",
        lambda n: (rows(n),),
        "'best'.*expected at most the 2 elements of axis 0, asked for 3, for n = 2",
    ),
    "pad": (
        f"m (float[n,2] x) => (float y) {{ {vector('p', -2, 0, -2, 0)} [cut] y = Pad(x, p) }}",
        lambda n: (rows(n),),
        "'cut'.*size less negative pads: expected 0 or more, got -2, for n = 2",
    ),
    "gather": (
        "m (float[n,2] x) => (float y) { i = Constant<value_int = 2>() [pick] y = Gather(x, i) }",
        lambda n: (rows(n),),
        "'pick'.*index 2 is outside a size of 2, for n = 2",
    ),
    "conv": (
        "m (float[1,1,n] x, float[1,1,3] w) => (float y) { [wide] y = Conv(x, w) }",
        lambda n: (rows(1, n).reshape(1, 1, n), rows(1, 3).reshape(1, 1, 3)),
        "'wide'.*window of extent 3 is larger than the padded input 2, for n = 2",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_node(load, name: str) -> None:
    text, inputs, message = REFUSED[name]
    model = load(text)
    for _ in range(2):
        for call in (model, model.reference):
            with pytest.raises(hr.ShapeMismatchError if name != "gather" else hr.Error) as raised:
                call(*inputs(2))
            assert raised.match(message)
    model(*inputs(5))


@pytest.mark.parametrize("values", [1, 3])
def test_one_hot_has_two_values(load, values: int) -> None:
    model = load(
        "m (int64[3] i, float[n] v) => (float y) {"
        " d = Constant<value_int = 4>() [hot] y = OneHot(i, d, v) }"
    )
    indices = np.array([0, 3, 1], np.int64)
    np.testing.assert_array_equal(
        model(indices, np.array([0, 1], np.float32)), np.eye(4, dtype=np.float32)[indices]
    )
    with pytest.raises(hr.ShapeMismatchError, match="'hot'.*expected two values, off and on"):
        model(indices, np.zeros(values, np.float32))


def test_gradients_are_of_the_program_that_serves(load) -> None:
    text = FIRST_THREE.replace("y = Slice(x", "p = Slice(x").replace(" }", " y = Mul(p, p) }")
    model = hr.vjp(load(text))
    for n in (4, 2, 1, 3):
        kept = rows(n)[:3]
        value, gradient = model(rows(n), np.ones_like(kept))
        expected = np.zeros((n, 2), np.float32)
        expected[:3] = 2 * kept
        np.testing.assert_array_equal(value, kept * kept)
        np.testing.assert_array_equal(gradient, expected)


def test_reports_are_of_the_program_that_serves(load) -> None:
    model = load(FIRST_THREE)
    assert "tensor<2x2xf32>" in model.ir("import", n=2)
    assert model.explain(n=2) is not None
    with pytest.raises(hr.ShapeMismatchError, match="window"):
        load(REFUSED["conv"][0]).ir("import", n=2)


def test_stages_leave_small_sizes_open(load) -> None:
    """The sum over NonZero's result makes it a staged model."""
    model = load(
        "m (float[n,2] x) => (float y) {"
        f" {ZERO} {vector('c', 40)} {AXIS} p = Slice(x, o, c, a) q = NonZero(x)"
        " r = Cast<to = 1>(q) t = ReduceSum<keepdims = 0>(r) y = Add(p, t) }",
        specialize="never",
    )
    assert model.is_split
    for n in (50, 60, *range(2, 30)):
        expected = rows(n)[:40] + np.float32(np.sum(np.nonzero(rows(n))))
        np.testing.assert_array_equal(model(rows(n)), expected)
    assert model.compiled_versions < 12


def test_a_package_says_how_to_serve_them(load, tmp_path: Path) -> None:
    load(FIRST_THREE)
    path, small = tmp_path / "model.onnx", tmp_path / "small.hrpkg"
    hr.write_package(path, tmp_path / "model.hrpkg", processors=["native"])
    with pytest.raises(
        hr.ShapeMismatchError, match="of 3 or more, got 2; .* compiled with --size n=2"
    ):
        hr.load(tmp_path / "model.hrpkg")(rows(2))
    hr.write_package(path, small, processors=["native"], sizes={"n": 2})
    np.testing.assert_array_equal(hr.load(small)(rows(2)), rows(2))
