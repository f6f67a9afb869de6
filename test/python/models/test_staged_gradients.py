"""Gradients of models that are split into several programs: through the programs that a call used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import headrace as hr
import numpy as np
import pytest

pytest.importorskip("onnx")

from cases import graph_text
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
def load(tmp_path: Path):
    """A split model from the text of its graph."""

    def make(text: str, **options: Any) -> hr.Model:
        model = hr.load(graph_text.write(tmp_path / "model.onnx", text, **options))
        assert model.staged
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


def test_what_is_asked_for_is_checked(load) -> None:
    model = load("m (float[N] x, int64[1] a) => (float[M] y) { y = ReduceSum(x, a) }")
    with pytest.raises(hr.InvalidArgumentError, match="expected a program with one scalar output"):
        hr.grad(model)
    with pytest.raises(hr.InvalidArgumentError, match=r"differentiate by \('x'\), got 'a'"):
        hr.vjp(model, wrt="a")
    with pytest.raises(hr.UnsupportedError, match="its gradient as two programs"):
        hr.forward_backward(model)
