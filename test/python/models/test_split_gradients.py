"""Gradients of models that are split into several programs: through the programs that a call used."""

from __future__ import annotations

import headrace as hr
import numpy as np
import pytest

pytest.importorskip("onnx")

from cases.policy import assert_close

CHOICE = (
    "m (float[N] x) => (float y) {"
    "  zero = Constant<value_float=0.0>()"
    "  three = Constant<value_float=3.0>()"
    "  s = ReduceSum<keepdims=0>(x)"
    "  c = Greater(s, zero)"
    "  b = If(c) <then_branch = t () => (float[P] p) { k = NonZero(x)  q = Mul(x, x)"
    "               g = Squeeze(k)  p = Gather(q, g) },"
    "             else_branch = e () => (float[Q] r) { r = Mul(x, three) }>"
    "  y = ReduceSum<keepdims=0>(b)"
    "}"
)


@pytest.fixture
def load(load):
    """A split model from the text of its graph."""

    def make(text: str) -> hr.Model:
        model = load(text)
        assert model.is_split
        return model

    return make


def test_each_branch_has_its_gradient(load) -> None:
    value_and_slope = hr.value_and_grad(load(CHOICE))
    x = np.array([1, 0, -2, 4], np.float32)
    for sign in (1, -1, 1):
        value, slope = value_and_slope(sign * x)
        used = sign * x
        assert_close(value, (used**2).sum() if used.sum() > 0 else 3 * used.sum())
        assert_close(slope, 2 * used if used.sum() > 0 else np.full(4, 3, np.float32))


def test_the_reference_agrees(load) -> None:
    slope = hr.grad(load(CHOICE))
    x = np.array([1, 0, -2, 4], np.float32)
    assert_close(slope.reference(x), slope(x))


def test_values_that_choose_axes_have_no_part_in_gradients(load) -> None:
    model = load(
        "m (float[N,M] x, int64[1] a) => (float[K] y) {"
        "  e = Exp(x)  y = ReduceSum<keepdims=0>(e, a) }"
    )
    x = np.random.default_rng(0).random((2, 3)).astype(np.float32)
    both = hr.vjp(model)
    for axis in (0, 1):
        seed = np.arange(x.shape[1 - axis], dtype=np.float32)
        value, slope = both(x, np.array([axis]), seed)
        assert_close(value, np.exp(x).sum(axis=axis))
        assert_close(slope, np.exp(x) * np.expand_dims(seed, axis))
    with pytest.raises(hr.ShapeMismatchError, match=r"input 'y.grad': expected f32 of 3"):
        both(x, np.array([0]), np.ones(2, np.float32))


def test_gradients_flow_through_each_iteration_of_a_loop(load) -> None:
    model = load(
        "m (float[2] x, int64 n) => (float y) {"
        "  t = Constant<value_int=1>()"
        "  go = Cast<to=9>(t)"
        "  z = Loop(n, go, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) {"
        "      d = Identity(c)  w = Mul(v, x) }>"
        "  y = ReduceSum<keepdims=0>(z)"
        "}"
    )
    x = np.array([2, -3], np.float32)
    slope = hr.grad(model, wrt="x")
    for count in (0, 1, 3):
        assert_close(slope(x, np.array(count)), (count + 1) * x**count)


def test_one_array_for_two_inputs_has_two_gradients(load) -> None:
    model = load(
        "m (float[N] x, float[N] z, int64[1] a) => (float y) {"
        "  p = Mul(x, z)  s = ReduceSum<keepdims=0>(p, a)  q = Add(s, x)"
        "  y = ReduceSum<keepdims=0>(q) }"
    )
    x = np.array([2, 5], np.float32)
    by_x, by_z = hr.grad(model)(x, x, np.array([0]))
    assert_close(by_x, 2 * x + 1)
    assert_close(by_z, 2 * x)


def test_a_result_that_does_not_depend_on_an_input_has_gradient_0(load) -> None:
    model = load(
        "m (float[N] x, float[N] z, int64[1] a) => (float y) { y = ReduceSum<keepdims=0>(x, a) }"
    )
    by_x, by_z = hr.grad(model)(np.ones(3, np.float32), np.ones(3, np.float32), np.array([0]))
    np.testing.assert_array_equal(by_x, np.ones(3, np.float32))
    np.testing.assert_array_equal(by_z, np.zeros(3, np.float32))


def test_a_node_of_the_host_on_the_way_is_named(load) -> None:
    model = load(
        "m (float[N] x) => (float y) { e = Exp(x)  u = Unique(e)  y = ReduceSum<keepdims=0>(u) }"
    )
    with pytest.raises(hr.UnsupportedError, match=r"Unique.*: expected a node with a gradient"):
        hr.grad(model)(np.ones(3, np.float32))


def test_a_node_of_the_host_beside_the_way_is_not(load) -> None:
    model = load(
        "m (float[N] x) => (float y) {"
        "  e = Exp(x)  u = Unique(e)  n = Size(u)  f = Cast<to=1>(n)  p = Mul(e, f)"
        "  y = ReduceSum<keepdims=0>(p) }"
    )
    x = np.array([1, 2, 1], np.float32)
    assert_close(hr.grad(model)(x), 2 * np.exp(x))


def test_a_value_that_decides_the_code_has_no_gradient(load) -> None:
    model = load(
        "m (float[1,1,A,B] x, float[4] s, int64[1] a) => (float[K] y) {"
        '  r = Resize<mode="nearest">(x, , s)  y = ReduceSum(r, a) }'
    )
    x, s = np.ones((1, 1, 2, 2), np.float32), np.array([1, 1, 2, 2], np.float32)
    up = np.ones((1, 1, 4, 1), np.float32)
    with pytest.raises(hr.UnsupportedError, match="Resize.*decides the code"):
        hr.vjp(model)(x, s, np.array([3]), up)
    _, slope = hr.vjp(model, wrt="x")(x, s, np.array([3]), up)
    assert_close(slope, np.full_like(x, 4))


def test_what_is_asked_for_is_checked(load) -> None:
    model = load("m (float[N] x, int64[1] a) => (float[M] y) { y = ReduceSum(x, a) }")
    with pytest.raises(hr.InvalidArgumentError, match="expected a program with one scalar output"):
        hr.grad(model)
    with pytest.raises(hr.InvalidArgumentError, match=r"input \('x'\) or a weight .* got 'a'"):
        hr.vjp(model, wrt="a")
    with pytest.raises(hr.InvalidArgumentError, match="each name to differentiate by once"):
        hr.vjp(model, wrt=["x", "x"])


WEIGHTS = (
    "m (float[N,2] x, bool c) => (float[N,2] y) <float[2,2] w = {1,2,3,4}, float[2] b = {5,6}> {"
    "  two = Constant<value = float {2.0}>()"
    "  t = Transpose<perm=[1,0]>(w)"  # on constants it would be computed once
    "  h = MatMul(x, t)"
    "  y = If(c) <then_branch = a () => (float[N,2] p) { r = MatMul(h, w)  p = Add(r, b) },"
    "             else_branch = e () => (float[N,2] q) { q = Mul(h, two) }>"
    "}"
)


def test_weights_have_gradients(load) -> None:
    model = load(WEIGHTS)
    assert {spec.name: spec.shape for spec in model.weights} == {"w": (2, 2), "b": (2,), "two": ()}
    both = hr.vjp(model, wrt=["b", "x", "w", "two"])
    assert [spec.name for spec in both.model.inputs] == ["x", "c", "y.grad"]
    w, b = np.array([[1, 2], [3, 4]], np.float32), np.array([5, 6], np.float32)
    x, up = np.random.default_rng(0).standard_normal((2, 3, 2)).astype(np.float32)
    y, (db, dx, dw, dtwo) = both(x, np.array(True), up)
    assert_close(y, x @ w.T @ w + b)
    assert_close(db, up.sum(axis=0))
    assert_close(dx, up @ w.T @ w)
    assert_close(dw, (x @ w.T).T @ up + (up @ w.T).T @ x)
    assert_close(dtwo, np.float32(0))
    y, (db, dx, dw, dtwo) = both(x, np.array(False), up)
    assert_close(y, x @ w.T * 2)
    assert_close(db, np.zeros(2, np.float32))
    assert_close(dw, 2 * up.T @ x)
    assert_close(dtwo, (up * (x @ w.T)).sum())
    with pytest.raises(hr.InvalidArgumentError, match=r"input \('x'\) or a weight .* got 'v'"):
        hr.vjp(model, wrt="v")


def test_forward_and_backward_run_at_different_times(load) -> None:
    model = load(CHOICE)
    pair = hr.forward_backward(model)
    assert [spec.name for spec in pair.kept] == ["tape"] and not pair.computed_again
    x = np.array([1, 0, -2, 4], np.float32)
    up = np.float32(0.5)
    calls = [
        (sign * x[:size], *pair.forward(sign * x[:size])) for sign in (1, -1) for size in (4, 3)
    ]
    for used, value, kept in reversed(calls):
        wanted, slope = hr.vjp(model)(used)
        assert_close(value, wanted)
        assert_close(pair.backward(kept, up), up * slope)


def test_a_budget_saves_nothing_but_inputs(load) -> None:
    pair = hr.forward_backward(load(WEIGHTS), wrt="w", memory_budget=0)
    assert pair.kept == () and "MatMul" in str(pair.computed_again)
    x, up = np.random.default_rng(0).standard_normal((2, 3, 2)).astype(np.float32)
    y, kept = pair.forward(x, np.array(False))
    assert_close(y, x @ np.array([[1, 3], [2, 4]], np.float32) * 2)
    assert_close(pair.backward(kept, up), 2 * up.T @ x)


def test_a_tape_of_another_model_is_refused(load) -> None:
    x = np.ones(2, np.float32)
    (pair, other) = (hr.forward_backward(load(CHOICE)) for _ in range(2))
    _, (tape,) = pair.forward(x)
    match = "'tape': expected what a call of the forward program returned"
    changed = [tape[0].copy(), *tape[1:]]
    changed[0][3] += 1
    for wrong in ([], [x], [tape[0][:-1], *tape[1:]], tape[:1], changed, list(tape[::-1])):
        with pytest.raises(hr.Error):
            pair.backward([wrong], np.float32(1))
    with pytest.raises(hr.InvalidArgumentError, match=match):
        other.backward([tape], np.float32(1))
    with pytest.raises(hr.ShapeMismatchError, match=r"input 'y.grad': expected f32"):
        pair.backward([tape], np.ones(2, np.float32))
    assert_close(pair.backward([tape], np.float32(1)), 2 * x)
