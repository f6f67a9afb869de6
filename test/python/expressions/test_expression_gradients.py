"""Gradients of tensor expressions, against central differences in double precision."""

from __future__ import annotations

from collections.abc import Callable

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close

n, m = hr.var("n m")


def tensor(name: str, *shape: object) -> hr.Tensor:
    return hr.placeholder(shape, "f64", name=name)


def check(output: hr.Tensor, **shapes: tuple[int, ...]) -> None:
    """The gradients of a weighted sum of the output, which the program yields for any weights."""
    model = hr.compile(output)
    random = np.random.default_rng(0)
    values = {name: random.uniform(0.3, 2, shape) for name, shape in shapes.items()}
    weights = random.standard_normal(model(**values).shape)
    given = {f"{model.outputs[0].name}.grad": weights}
    if weights.shape == ():  # one number has the gradient 1
        weights, given = np.ones(()), {}
    _, found = hr.vjp(model, wrt=list(values))(**values, **given)
    found = found if isinstance(found, tuple) else (found,)
    for name, gradient in zip(values, found):
        expected = np.zeros_like(values[name])
        for place in np.ndindex(expected.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = values[name].copy()
                moved[place] += step
                ends.append(np.sum(model(**{**values, name: moved}) * weights))
            expected[place] = (ends[0] - ends[1]) / 2e-5
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8, err_msg=name)


def test_functions_of_positions() -> None:
    x = tensor("x", n, m)
    check(hr.compute((n, m), lambda i, j: hr.exp(x[i, j]) * (i + 2 * j)), x=(3, 4))


def test_sums_of_any_function() -> None:
    x, w = tensor("x", n, m), tensor("w", m)
    r = hr.axis(m)
    check(
        hr.compute((n,), lambda i: hr.sum(hr.tanh(x[i, r] * w[r]) + w[r], axis=r)),
        x=(3, 4),
        w=(4,),
    )


def test_windows() -> None:
    x, w = tensor("x", 9), tensor("w", 3)
    k = hr.axis(3)
    check(hr.compute((7,), lambda i: hr.sum(x[i + k] * w[k], axis=k)), x=(9,), w=(3,))


def test_windows_with_steps_and_gaps() -> None:
    x, w = tensor("x", 12, 5), tensor("w", 3, 2)
    k, c = hr.axis(3), hr.axis(2)
    check(
        hr.compute(
            (4, 3), lambda i, j: hr.sum(hr.sin(x[2 * i + 2 * k, j + c]) * w[k, c], axis=[k, c])
        ),
        x=(12, 5),
        w=(3, 2),
    )


def test_windows_of_a_free_size() -> None:
    size = hr.var("size", min=3)
    x = tensor("x", size)
    k = hr.axis(3)
    check(hr.compute((size - 2,), lambda i: hr.sum(x[i + k] ** 2, axis=k)), x=(8,))


def test_neighbours_behind_conditions() -> None:
    x = tensor("x", n)
    check(
        hr.compute((n,), lambda i: hr.select(hr.all(i > 0, i < n - 1), x[i - 1] * x[i + 1], 0.0)),
        x=(6,),
    )


def test_diagonals_and_reversals() -> None:
    x = tensor("x", 4, 4)
    check(hr.compute((4,), lambda i: x[i, i] * x[3 - i, i]), x=(4, 4))


def test_parts_that_are_read_more_than_once() -> None:
    x = tensor("x", 6)
    check(hr.compute((3, 2), lambda i, j: x[i] * x[i + j] + x[2 * j]), x=(6,))


def test_elements_by_index() -> None:
    table, x = tensor("table", 5, 3), tensor("x", 4)
    indices = hr.compute((4,), lambda i: (3 * i) % 5)
    r = hr.axis(3)
    check(
        hr.compute((4,), lambda i: hr.sum(table[indices[i], r] * x[i] * (r + 1), axis=r)),
        table=(5, 3),
        x=(4,),
    )


@pytest.mark.parametrize("reduce", [hr.max, hr.min, hr.prod], ids=["max", "min", "prod"])
def test_other_reductions(reduce: Callable[..., hr.Expr]) -> None:
    x, w = tensor("x", n, 5), tensor("w", 3)
    k = hr.axis(3)
    check(hr.compute((n, 3), lambda i, j: reduce(x[i, j + k] * w[k], axis=k)), x=(2, 5), w=(3,))


def test_equal_maxima_share() -> None:
    x = tensor("x", 4)
    k = hr.axis(2)
    model = hr.compile(hr.compute((2,), lambda i: hr.max(x[2 * i + k], axis=k), name="y"))
    _, gradient = hr.vjp(model)(np.array([1.0, 1.0, 2.0, 3.0]), np.array([4.0, 6.0]))
    assert_close(gradient, [2, 2, 0, 6])


def test_several_stages_to_one_number() -> None:
    x, w = tensor("x", n, m), tensor("w", m)
    r, i, j = hr.axis(m), hr.axis(n), hr.axis(m)
    mean = hr.compute((n,), lambda i: hr.sum(x[i, r], axis=r) / m)
    loss = hr.compute(
        (), lambda: hr.sum((x[i, j] - mean[i]) ** 2 * hr.exp(-w[j]), axis=[i, j]), name="loss"
    )
    check(loss, x=(3, 4), w=(4,))
    value, gradient = hr.value_and_grad(hr.compile(loss), wrt="w")(np.eye(2), np.ones(2))
    assert value.shape == () and gradient.shape == (2,)


def test_reductions_of_the_users_own_are_refused() -> None:
    x = tensor("x", n, m)
    r = hr.axis(m)
    longest = hr.reducer(lambda a, b: hr.select(abs(a) > abs(b), a, b), identity=0.0)
    model = hr.compile(hr.compute((n,), lambda i: longest(x[i, r], axis=r), name="extent"))
    with pytest.raises(hr.Error, match=r"'extent'.*a reduction of the user's own"):
        hr.vjp(model)
