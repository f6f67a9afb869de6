"""Reductions of tuples, and of the values for which a condition holds."""

from __future__ import annotations

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close

SHAPES = [(7, 5), (1, 1), (33, 17), (4, 0), (0, 4), (2, 70)]


def table(shape, seed=0, dtype="f4"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def first_largest(a, b):
    """The tuple (place, value) of the larger value, of the first one if they are equal."""
    takes_a = hr.any(a[1] > b[1], hr.all(a[1] == b[1], a[0] <= b[0]))
    return tuple(hr.select(takes_a, x, y) for x, y in zip(a, b))


argmax = hr.reducer(first_largest, identity=(0, -np.inf))


def merged(a, b):
    """Count, mean and sum of squared distances from it: Welford's, of two parts."""
    (n, mean, m2), (k, other, o2) = a, b
    count = n + k
    distance = other - mean
    share = hr.select(count > 0.0, k / hr.max(count, 1.0), 0.0)
    return count, mean + distance * share, m2 + o2 + distance * distance * n * share


welford = hr.reducer(merged, identity=(0.0, 0.0, 0.0))


def matrix(dtype="f32"):
    n, m = hr.var("n m")
    return n, m, hr.placeholder((n, m), dtype, name="A")


@pytest.mark.parametrize("shape", SHAPES)
def test_the_place_of_the_largest_element(shape):
    n, m, A = matrix()
    r = hr.axis(m, name="r")
    best = hr.compute((n,), lambda i: argmax((r, A[i, r]), axis=r), name="best")
    assert [t.name for t in best] == ["best.0", "best.1"]
    f = hr.compile(list(best))
    a = np.round(table(shape), 1)  # with equal elements
    for places, values in (f(a), f.reference(a)):
        assert places.dtype == np.int64
        assert places.tolist() == (a.argmax(1) if shape[1] else np.zeros(shape[0])).tolist()
        assert values.tolist() == a.max(1, initial=-np.inf).tolist()


@pytest.mark.parametrize("shape", SHAPES)
def test_mean_and_variance_in_one_pass(shape):
    n, m, A = matrix("f64")
    r = hr.axis(n, name="r")
    count, mean, m2 = hr.compute((m,), lambda j: welford((1.0, A[r, j], 0.0), axis=r), name="w")
    a = table(shape, dtype="f8")
    f = hr.compile([count, mean, m2])
    for found in (f(a), f.reference(a)):
        assert found[0].tolist() == [shape[0]] * shape[1]
        assert_close(found[1], a.mean(0) if shape[0] else np.zeros(shape[1]))
        assert_close(found[2], ((a - a.mean(0)) ** 2).sum(0) if shape[0] else np.zeros(shape[1]))


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 70])
def test_rows_of_known_length_are_computed_in_parts(columns):
    A = hr.placeholder((3, columns), "f32", name="A")
    r, q = hr.axis(columns, name="r"), hr.axis(columns, name="q")
    best = hr.compute((3,), lambda i: argmax((r, A[i, r]), axis=r), name="best")
    moments = hr.compute((3,), lambda i: welford((1.0, A[i, q], 0.0), axis=q), name="w")
    a = np.round(table((3, columns)), 1)  # with equal elements
    a[0] = -np.inf
    a[1, columns // 2 :] = np.nan
    places, values, count, mean, m2 = hr.compile([*best, *moments])(a)
    assert places[0] == 0 and places[2] == a[2].argmax()
    assert values[0] == -np.inf and values[2] == a[2].max()
    assert count.tolist() == [columns] * 3 and np.isnan(mean[1])
    assert_close(mean[2], a[2].mean())
    assert_close(m2[2], ((a[2] - a[2].mean()) ** 2).sum())


def test_a_component_is_part_of_an_expression():
    n, m, A = matrix()
    r = hr.axis(m, name="r")
    gap = hr.compute((n, m), lambda i, j: argmax((r, A[i, r]), axis=r)[1] - A[i, j], name="gap")
    a = table((6, 9))
    assert_close(hr.compile(gap)(a), a.max(1, keepdims=True) - a)


def test_tuples_over_several_axes_and_computed_values():
    n, m, A = matrix()
    i, j = hr.axis(n, name="i"), hr.axis((1, m - 1), name="j")
    place, value = hr.compute(
        (), lambda: argmax((i * m + j, A[i, j - 1] * A[i, j + 1]), axis=[i, j]), name="best"
    )
    a = table((5, 7))
    products = a[:, :-2] * a[:, 2:]
    row, column = np.unravel_index(products.argmax(), products.shape)
    found = hr.compile([place, value])(a)
    assert found[0] == row * 7 + column + 1
    assert_close(found[1], products.max())


def test_tuples_of_half_precision_are_reduced_in_single():
    n, m, A = matrix("f16")
    r = hr.axis(m, name="r")
    total, count = hr.compute(
        (n,),
        lambda i: hr.reducer(lambda a, b: (a[0] + b[0], a[1] + b[1]), identity=(0.0, 0))(
            (A[i, r], 1), axis=r
        ),
        name="sums",
    )
    a = np.ones((2, 4099), "f2")
    found = hr.compile([total, count])(a)
    assert found[0].tolist() == [4100, 4100] and found[1].tolist() == [4099, 4099]


@pytest.mark.parametrize("seed", range(8))
def test_random_tuples(seed):
    """Sums, minima and maxima at once, under a condition, along random axes."""
    random = np.random.default_rng(seed)
    shape = tuple(int(v) for v in random.integers(1, 9, 3))
    reduced = sorted(random.choice(3, random.integers(1, 4), replace=False).tolist())
    X = hr.placeholder(shape, "f64", name="X")
    axes = {d: hr.axis(shape[d], name=f"r{d}") for d in reduced}
    limit = float(random.uniform(-1, 1))
    all_three = hr.reducer(
        lambda a, b: (a[0] + b[0], hr.min(a[1], b[1]), hr.max(a[2], b[2])),
        identity=(0.0, np.inf, -np.inf),
    )

    def body(*point):
        kept = iter(point)
        index = tuple(axes[d] if d in axes else next(kept) for d in range(3))
        x = X[index]
        return all_three((x, x, x), axis=list(axes.values()), where=x > limit)

    rest = tuple(shape[d] for d in range(3) if d not in axes)
    f = hr.compile(list(hr.compute(rest, body, name="t")))
    x = table(shape, seed, "f8")
    chosen = np.ma.masked_where(x <= limit, x)
    expected = (
        np.where(x > limit, x, 0.0).sum(tuple(reduced)),
        np.where(x > limit, x, np.inf).min(tuple(reduced)),
        np.where(x > limit, x, -np.inf).max(tuple(reduced)),
    )
    assert chosen.shape == shape
    for found in (f(x), f.reference(x)):
        for got, wanted in zip(found, expected):
            assert_close(got, wanted)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["sum", "prod", "min", "max", "longest"])
def test_triangles(shape, kind):
    n, m, A = matrix()
    r = hr.axis(m, name="r")
    longest = hr.reducer(lambda a, b: hr.select(abs(a) > abs(b), a, b), identity=0.0)
    functions = {"sum": hr.sum, "prod": hr.prod, "min": hr.min, "max": hr.max, "longest": longest}
    T = hr.compute((n,), lambda i: functions[kind](A[i, r], axis=r, where=r <= i), name="T")
    a = table(shape)
    below = np.tri(*shape, dtype=bool)
    expected = {
        "sum": lambda: np.where(below, a, 0).sum(1),
        "prod": lambda: np.where(below, a, 1).prod(1),
        "min": lambda: np.where(below, a, np.inf).min(1, initial=np.inf),
        "max": lambda: np.where(below, a, -np.inf).max(1, initial=-np.inf),
        "longest": lambda: np.array(
            [max((*row[keep], 0.0), key=abs) for row, keep in zip(a, below)], "f4"
        ),
    }[kind]()
    f = hr.compile(T)
    assert_close(f(a), expected)
    assert_close(f.reference(a), expected)


CONDITIONS = {
    "below": lambda i, r, both: r <= i,
    "strictly below": lambda i, r, both: r < i,
    "above": lambda i, r, both: r >= i,
    "far above": lambda i, r, both: r > i + 3,
    "band": lambda i, r, both: both(r >= i - 2, r <= i + 2),
    "corner": lambda i, r, both: r + i < 30,
}


@pytest.mark.parametrize("shape", [(40, 40), (37, 70), (3, 1)])
@pytest.mark.parametrize("name", CONDITIONS)
def test_loops_over_triangles_leave_out_what_is_masked(name, shape):
    condition, (rows, columns) = CONDITIONS[name], shape
    A, B = hr.placeholder(shape, name="A"), hr.placeholder((columns, 33), name="B")
    r, q, k = hr.axis(columns, name="r"), hr.axis(columns, name="q"), hr.axis(rows, name="k")
    largest = hr.compute(
        (rows,), lambda i: hr.max(A[i, r], axis=r, where=condition(i, r, hr.all)), name="largest"
    )
    sums = hr.compute(
        (columns,), lambda i: hr.sum(A[k, i], axis=k, where=condition(k, i, hr.all)), name="sums"
    )
    product = hr.compute(
        (rows, 33),
        lambda i, j: hr.sum(A[i, q] * B[q, j], axis=q, where=condition(i, q, hr.all)),
        name="product",
    )
    inside = condition(*np.indices(shape), np.logical_and)
    a, b = np.where(inside, table(shape), np.nan), table((columns, 33), seed=1)
    found = hr.compile([largest, sums, product])(a, b)
    kept = np.where(inside, a, 0)
    assert_close(found[0], np.where(inside, a, -np.inf).max(1))
    assert_close(found[1], kept.sum(0))
    assert_close(found[2], kept @ b)


def test_a_condition_keeps_indices_inside():
    n = hr.var("n")
    X = hr.placeholder((n,), "i32", name="X")
    r = hr.axis(n, name="r")
    C = hr.compute((n,), lambda i: hr.sum(X[i - r] * X[r], axis=r, where=r <= i), name="C")
    x = np.arange(1, 8, dtype="i4")
    assert hr.compile(C)(x).tolist() == np.convolve(x, x)[:7].tolist()


@pytest.mark.parametrize("dtype", ["i8", "i64", "f64", "bool"])
@pytest.mark.parametrize("kind", ["min", "max"])
def test_extremes_of_nothing_are_neutral(kind, dtype):
    X = hr.placeholder((3,), dtype, name="X")
    r = hr.axis(3, name="r")
    function = getattr(hr, kind)
    f = hr.compile(hr.compute((), lambda: function(X[r], axis=r, where=r > 2), name="T"))
    array = np.zeros(3, hr.compile(hr.compute((3,), lambda i: X[i])).inputs[0].dtype)
    if dtype == "bool":
        neutral = kind == "min"
    elif dtype == "f64":
        neutral = np.inf if kind == "min" else -np.inf
    else:
        info = np.iinfo(array.dtype)
        neutral = info.max if kind == "min" else info.min
    assert f(array) == neutral


def test_tuples_have_one_length():
    n, m, A = matrix()
    r = hr.axis(m, name="r")
    with pytest.raises(hr.InvalidArgumentError, match="expected a tuple of 2 values, got 3"):
        argmax((r, A[0, r], 1.0), axis=r)
    with pytest.raises(hr.TypeMismatchError, match="expected values in a tuple, got Expr"):
        argmax(A[0, r], axis=r)
    short = hr.reducer(lambda a, b: (a[0],), identity=(0.0, 0.0))
    with pytest.raises(hr.InvalidArgumentError, match="returns a tuple of 2 values, got 1"):
        short((A[0, r], 1.0), axis=r)
    single = hr.reducer(lambda a, b: a[0], identity=(0.0, 0.0))
    with pytest.raises(hr.TypeMismatchError, match="a function that returns a tuple, got Expr"):
        single((A[0, r], 1.0), axis=r)
    mixed = hr.reducer(lambda a, b: (a[0] + b[1], a[1]), identity=(0, 0.0))
    with pytest.raises(hr.TypeMismatchError, match="values of type i64 into one, got f"):
        mixed((r, A[0, r]), axis=r)
    with pytest.raises(hr.InvalidArgumentError, match="expected axis=... next to where=..."):
        hr.max(A[0, 0], 1.0, where=True)
