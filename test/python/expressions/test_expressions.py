"""Tensor expressions, compared with NumPy."""

from __future__ import annotations

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close

RNG = np.random.default_rng(7)


def floats(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RNG.uniform(-1, 1, shape).astype(dtype)


def check(tensor, arrays, expected, rtol=1e-5, atol=1e-5):
    """The compiled program and the reference both give what NumPy gives."""
    f = hr.compile(tensor)
    expected = np.asarray(expected)
    for found in (f(*arrays), f.reference(*arrays)):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
    return f


def matmul(n, m, k, dtype="f32"):
    A = hr.placeholder((n, k), dtype, name="A")
    B = hr.placeholder((k, m), dtype, name="B")
    r = hr.axis(k, name="r")
    return hr.compute((n, m), lambda i, j: hr.sum(A[i, r] * B[r, j], axis=r), name="C")


class TestProducts:
    def test_matrix_product_of_known_sizes(self):
        a, b = floats(33, 20), floats(20, 17)
        f = check(matmul(33, 17, 20), (a, b), a @ b)
        assert "hr.contract" in f.ir("import")

    def test_one_program_serves_all_sizes(self):
        f = hr.compile(matmul(*hr.var("n m k")))
        for n, m, k in [
            (5, 6, 7),
            (64, 3, 128),
            (2, 2, 2),
            (1, 9, 4),
            (3, 1, 1),
            (0, 4, 3),
            (4, 3, 0),
        ]:
            a, b = floats(n, k), floats(k, m)
            np.testing.assert_allclose(f(a, b), a @ b, rtol=1e-5, atol=1e-5)
        assert f.inputs[0].shape == ("n", "k")

    @pytest.mark.parametrize("dtype", ["f64", "i32", "i64", "i8"])
    def test_other_types(self, dtype):
        numpy = {"f64": "float64", "i32": "int32", "i64": "int64", "i8": "int8"}[dtype]
        a, b = (RNG.integers(-3, 4, s).astype(numpy) for s in ((6, 5), (5, 8)))
        check(matmul(6, 8, 5, dtype), (a, b), a @ b)

    def test_the_deprecated_name_of_a_minimum_is_accepted(self):
        with pytest.warns(DeprecationWarning, match="'least' is deprecated, use 'min'"):
            n = hr.var("n", least=2)
        X = hr.placeholder((n,), "f32", name="X")
        f = hr.compile(hr.compute((n - 1,), lambda i: X[i] + X[i + 1]))
        assert f(np.arange(3, dtype="float32")).tolist() == [1, 3]

    @pytest.mark.parametrize("dtype", ["f16", "bf16"])
    def test_half_precision_is_summed_in_single(self, dtype):
        n = hr.var("n")
        X = hr.placeholder((n,), dtype, name="X")
        r = hr.axis(n)
        f = hr.compile(hr.compute((), lambda: hr.sum(X[r], axis=r)))
        ones = np.ones(4096, "float16")
        if dtype == "bf16":
            ml_dtypes = pytest.importorskip("ml_dtypes")
            ones = ones.astype(ml_dtypes.bfloat16)
        assert float(f(ones)) == 4096

    def test_batched_and_transposed(self):
        b, n, m, k = hr.var("b n m k")
        A = hr.placeholder((b, n, k), name="A")
        B = hr.placeholder((b, m, k), name="B")
        r = hr.axis(k)
        C = hr.compute((b, n, m), lambda s, i, j: hr.sum(A[s, i, r] * B[s, j, r], axis=r), name="C")
        x, y = floats(3, 5, 4), floats(3, 6, 4)
        f = check(C, (x, y), x @ y.transpose(0, 2, 1))
        assert 'hr.stage = "C"' in f.ir("import")
        assert 'hr.axes = ["s", "i", "j", "d3"]' in f.ir("import")

    def test_outer_and_dot_product(self):
        n, m = hr.var("n m")
        x, y = hr.placeholder((n,), name="x"), hr.placeholder((m,), name="y")
        a, b = floats(5), floats(8)
        f = check(hr.compute((n, m), lambda i, j: x[i] * y[j]), (a, b), np.outer(a, b))
        assert "hr.map" in f.ir("import")
        z = hr.placeholder((n,), name="z")
        r = hr.axis(n)
        check(hr.compute((), lambda: hr.sum(x[r] * z[r], axis=r)), (a, a), np.dot(a, a))

    def test_three_factors(self):
        n, k = hr.var("n k")
        A, B, C = (hr.placeholder((n, k), name=name) for name in "ABC")
        r = hr.axis(k)
        D = hr.compute((n,), lambda i: hr.sum(A[i, r] * B[i, r] * C[i, r], axis=r), name="D")
        a, b, c = floats(9, 31), floats(9, 31), floats(9, 31)
        f = check(D, (a, b, c), (a * b * c).sum(1))
        assert "hr.compute" in f.ir("import")


class TestElementwise:
    def test_functions(self):
        n = hr.var("n")
        X = hr.placeholder((n,), "f64", name="X")
        x = np.linspace(0.1, 3, 37)
        from math import erf

        for function, expected in [
            (lambda v: hr.exp(v) + hr.log(v) * hr.sqrt(v), np.exp(x) + np.log(x) * np.sqrt(x)),
            (lambda v: hr.tanh(v) - hr.sin(v) / hr.cos(v), np.tanh(x) - np.tan(x)),
            (lambda v: hr.erf(v), np.vectorize(erf)(x)),
            (lambda v: v**2 + v**0.5 + 2**v, x**2 + x**0.5 + 2**x),
            (
                lambda v: hr.floor(v) + hr.ceil(v) * hr.round(v),
                np.floor(x) + np.ceil(x) * np.round(x),
            ),
            (
                lambda v: hr.min(v, 1.5) * hr.max(2, v) - abs(-v),
                np.minimum(x, 1.5) * np.maximum(2, x) - x,
            ),
            (lambda v: v // 0.5 + v % 0.7, x // 0.5 + x % 0.7),
        ]:
            check(hr.compute((n,), lambda i, g=function: g(X[i])), (x,), expected)

    def test_integers_divide_as_in_python(self):
        n = hr.var("n")
        X, Y = hr.placeholder((n,), "i32", name="X"), hr.placeholder((n,), "i32", name="Y")
        x = np.array([7, -7, 7, -7, 5, 0, -8], "int32")
        y = np.array([2, 2, -2, -2, 0, 3, 4], "int32")
        with np.errstate(divide="ignore"):
            check(hr.compute((n,), lambda i: X[i] // Y[i]), (x, y), x // y)
            check(hr.compute((n,), lambda i: X[i] % Y[i]), (x, y), x % y)
        check(hr.compute((n,), lambda i: X[i] / 2), (x, y)[:1], x / 2)
        check(hr.compute((n,), lambda i: X[i] ** 2 - 3), (x,), x**2 - 3)

    def test_types_mix_as_stated(self):
        n = hr.var("n")
        F, G = hr.placeholder((n,), "f32", name="F"), hr.placeholder((n,), "f64", name="G")
        J, B = hr.placeholder((n,), "i32", name="J"), hr.placeholder((n,), "bool", name="B")
        H, L = hr.placeholder((n,), "f16", name="H"), hr.placeholder((n,), "bf16", name="L")
        for value, dtype in [
            (lambda i: F[i] + 1, "f32"),
            (lambda i: F[i] * i + n, "f32"),
            (lambda i: F[i] + G[i], "f64"),
            (lambda i: J[i] + 1, "i32"),
            (lambda i: J[i] * F[i], "f32"),
            (lambda i: J[i] * 0.5, "f64"),
            (lambda i: J[i] / 2, "f64"),
            (lambda i: B[i] + B[i], "i64"),
            (lambda i: B[i] & (J[i] > 3), "bool"),
            (lambda i: H[i] + L[i], "f32"),
            (lambda i: H[i] * 2.5, "f16"),
            (lambda i: i, "i64"),
            (lambda i: i * 0.5, "f32"),
            (lambda i: hr.exp(J[i]), "f64"),
            (lambda i: F[i].astype("int8"), "i8"),
        ]:
            assert hr.compute((n,), value).dtype == dtype

    def test_bools_and_casts(self):
        n = hr.var("n")
        X, M = hr.placeholder((n,), name="X"), hr.placeholder((n,), "bool", name="M")
        x, m = floats(19), RNG.random(19) < 0.5
        check(hr.compute((n,), lambda i: hr.any(X[i] > 0.5, ~M[i])), (x, m), (x > 0.5) | ~m)
        check(hr.compute((n,), lambda i: hr.all(M[i], X[i] != 0)), (x, m), m & (x != 0))
        check(hr.compute((n,), lambda i: (X[i] * 10).astype("i32")), (x,), (x * 10).astype("int32"))
        check(hr.compute((n,), lambda i: M[i].astype("f32") * X[i]), (x, m), m * x)
        r = hr.axis(n)
        count = hr.compute((), lambda: hr.sum(X[r] > 0, axis=r))
        check(count, (x,), np.int64((x > 0).sum()))

    def test_positions_and_sizes_are_values(self):
        n, m = hr.var("n m")
        X = hr.placeholder((n, m), name="X")
        x = floats(4, 6)
        i, j = np.ogrid[:4, :6]
        check(
            hr.compute((n, m), lambda i, j: X[i, j] * 0 + (i * m + j)),
            (x,),
            (i * 6.0 + j).astype("f4"),
        )
        check(
            hr.compute((n, m), lambda i, j: X[i, j] * i - j / n), (x,), (x * i - j / 4).astype("f4")
        )
        check(hr.compute((n, m), lambda i, j: hr.select(i > j, X[i, j], 0.0)), (x,), np.tril(x, -1))

    def test_program_without_inputs_of_its_own(self):
        check(
            hr.compute((3, 4), lambda i, j: i * 10 + j),
            (),
            np.add.outer(10 * np.arange(3), np.arange(4)),
        )

    def test_transpose_copy_broadcast(self):
        n, m = hr.var("n m")
        X, v = hr.placeholder((n, m), name="X"), hr.placeholder((n,), name="v")
        x, w = floats(5, 7), floats(5)
        f = check(hr.compute((m, n), lambda i, j: X[j, i]), (x,), x.T)
        assert "hr.transpose" in f.ir("import")
        check(hr.compute((n, m), lambda i, j: X[i, j]), (x,), x)
        check(hr.compute((n, m), lambda i, j: X[i, j] + v[i]), (x, w), x + w[:, None])
        check(hr.compute((n, 3), lambda i, j: v[i]), (w,), np.repeat(w[:, None], 3, 1))
        check(hr.compute((m, n), lambda i, j: X[j, i] * v[j]), (x, w), x.T * w)

    def test_nan_stays(self):
        n = hr.var("n")
        X = hr.placeholder((n,), name="X")
        x = np.array([1, np.nan, -2, np.inf], "float32")
        check(hr.compute((n,), lambda i: hr.max(X[i], 0.0)), (x,), np.maximum(x, 0))
        r = hr.axis(n)
        check(hr.compute((), lambda: hr.max(X[r], axis=r)), (x,), np.float32(np.nan))
        check(hr.compute((n,), lambda i: X[i] == X[i]), (x,), x == x)


class TestReductions:
    @pytest.mark.parametrize("shape", [(6, 40), (1, 1), (3, 0), (0, 5)])
    def test_kinds(self, shape):
        n, m = hr.var("n m")
        X = hr.placeholder((n, m), name="X")
        r = hr.axis(m)
        x = floats(*shape)
        check(hr.compute((n,), lambda i: hr.sum(X[i, r], axis=r)), (x,), x.sum(1))
        check(hr.compute((n,), lambda i: hr.prod(X[i, r], axis=r)), (x,), x.prod(1))
        check(hr.compute((n,), lambda i: hr.min(X[i, r], axis=r)), (x,), x.min(1, initial=np.inf))
        f = check(
            hr.compute((n,), lambda i: hr.max(X[i, r], axis=r)), (x,), x.max(1, initial=-np.inf)
        )
        assert "hr.reduce" in f.ir("import")
        check(hr.compute((n,), lambda i: hr.sum(hr.exp(X[i, r]), axis=r)), (x,), np.exp(x).sum(1))

    def test_several_axes_and_ranges(self):
        n, m = hr.var("n m")
        X = hr.placeholder((n, m), name="X")
        r, s = hr.axis(n, name="r"), hr.axis((1, m - 1), name="s")
        x = floats(7, 9)
        check(hr.compute((), lambda: hr.sum(X[r, s] * 2, axis=(r, s))), (x,), x[:, 1:-1].sum() * 2)
        t = hr.axis((2, 5))
        check(hr.compute((3,), lambda i: hr.sum(i * t, axis=t)), (), np.arange(3) * 9)

    def test_user_defined(self):
        n, m = hr.var("n m")
        X = hr.placeholder((n, m), name="X")
        r = hr.axis(m)
        largest = hr.reducer(lambda a, b: hr.select(abs(a) > abs(b), a, b), identity=0.0)
        x = floats(6, 33)
        expected = x[np.arange(6), np.abs(x).argmax(1)]
        check(hr.compute((n,), lambda i: largest(X[i, r], axis=r), name="L"), (x,), expected)
        norm = hr.reducer(lambda a, b: hr.sqrt(a * a + b * b), identity=0)
        check(hr.compute((n,), lambda i: norm(X[i, r], axis=r)), (x,), np.linalg.norm(x, axis=1))
        exists = hr.reducer(lambda a, b: a | b, identity=False)
        check(hr.compute((n,), lambda i: exists(X[i, r] > 0.9, axis=r)), (x,), (x > 0.9).any(1))

    def test_argmax_in_two_stages(self):
        n, m = hr.var("n m")
        X = hr.placeholder((n, m), name="X")
        r, s = hr.axis(m), hr.axis(m)
        M = hr.compute((n,), lambda i: hr.max(X[i, r], axis=r), name="M")
        first = hr.compute((n,), lambda i: hr.min(hr.select(X[i, s] == M[i], s, m), axis=s))
        x = floats(8, 50)
        check(first, (x,), x.argmax(1))

    @pytest.mark.parametrize("shape", [(40,), (3, 4)])
    @pytest.mark.parametrize("extent", [2, 16, 33])
    def test_positions_and_constants_are_reduced_as_what_is_read(self, shape, extent):
        k, a = hr.axis(extent, name="k"), hr.axis(9, name="a")
        total = extent * (extent - 1) // 2

        def full(value):
            return np.full(shape, value, np.int64)

        def check_everywhere(reduced, expected):
            index = (lambda i: reduced) if len(shape) == 1 else (lambda i, j: reduced)
            check(hr.compute(shape, index, name="T"), (), full(expected))

        check_everywhere(hr.sum(k * 1, axis=k), total)
        check_everywhere(hr.sum(k * 1, axis=[a, k]), 9 * total)
        check_everywhere(hr.max(k * (5 - k), axis=k), max(i * (5 - i) for i in range(extent)))
        check_everywhere(hr.sum(k * 0 + 3, axis=k), 3 * extent)

    def test_reductions_inside_expressions(self):
        n, m = hr.var("n m")
        X = hr.placeholder((n, m), name="X")
        r, s = hr.axis(m), hr.axis(m)
        x = floats(6, 21)
        mean = hr.compute((n,), lambda i: hr.sum(X[i, r], axis=r) / m, name="mean")
        check(mean, (x,), x.mean(1))
        ratio = lambda i: hr.sum(X[i, r], axis=r) / hr.sum(X[i, s] ** 2, axis=s)  # noqa: E731
        check(hr.compute((n,), ratio, name="ratio"), (x,), x.sum(1) / (x**2).sum(1))
        nested = lambda i: hr.max(X[i, r] * hr.sum(X[i, s], axis=s), axis=r)  # noqa: E731
        check(hr.compute((n,), nested, name="nested"), (x,), (x * x.sum(1, keepdims=True)).max(1))

    def test_log_sum_exp_in_stages(self):
        n, m = hr.var("n m")
        X = hr.placeholder((n, m), name="X")
        r, s = hr.axis(m), hr.axis(m)
        M = hr.compute((n,), lambda i: hr.max(X[i, r], axis=r), name="M")
        S = hr.compute((n,), lambda i: hr.sum(hr.exp(X[i, s] - M[i]), axis=s), name="S")
        L = hr.compute((n,), lambda i: M[i] + hr.log(S[i]), name="L")
        P = hr.compute((n, m), lambda i, j: hr.exp(X[i, j] - L[i]), name="P")
        x = 50 * floats(5, 64)
        top = x.max(1, keepdims=True)
        logs = (top + np.log(np.exp(x - top).sum(1, keepdims=True)))[:, 0]
        check(L, (x,), logs)
        both = hr.compile([L, P])
        found = both(x)
        assert_close(found[0], logs)
        assert_close(found[1].sum(1), np.ones(5), tolerance=1e-4)


class TestAccesses:
    def test_stencil_in_one_dimension(self):
        n = hr.var("n")
        X = hr.placeholder((n,), name="X")
        x = floats(50)
        inner = hr.compute((n - 2,), lambda i: X[i] - 2 * X[i + 1] + X[i + 2], name="inner")
        f = check(inner, (x,), x[:-2] - 2 * x[1:-1] + x[2:])
        for small in (2, 3, 4):
            np.testing.assert_allclose(f(x[:small]), np.diff(x[:small], 2), atol=1e-6)
        with pytest.raises(hr.ShapeMismatchError, match="n"):
            f(x[:1])
        edges = hr.compute(
            (n,),
            lambda i: hr.select(i > 0, X[i - 1], 0.0) + hr.select(i < n - 1, X[i + 1], 0.0),
            name="edges",
        )
        padded = np.pad(x, 1)
        f = check(edges, (x,), padded[:-2] + padded[2:])
        assert f.ir("import").count("hr.pad") == 1
        assert_close(f(x[:1]), [0])
        assert f(x[:0]).shape == (0,)

    def test_stencil_in_two_dimensions(self):
        n, m = hr.var("n m")
        X = hr.placeholder((n, m), name="X")
        x = floats(12, 17)

        def at(i, j):
            return hr.select(hr.all(i >= 0, i < n, j >= 0, j < m), X[i, j], 0.0)

        cross = hr.compute(
            (n, m),
            lambda i, j: at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1) - 4 * X[i, j],
            name="laplace",
        )
        p = np.pad(x, 1)
        check(cross, (x,), p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * x)

    def test_boundary_chosen_by_any(self):
        n = hr.var("n")
        X = hr.placeholder((n,), name="X")
        smooth = hr.compute(
            (n,),
            lambda i: hr.select(hr.any(i < 1, i >= n - 1), X[i], (X[i - 1] + X[i] + X[i + 1]) / 3),
        )
        x = floats(20)
        expected = x.copy()
        expected[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
        check(smooth, (x,), expected)

    def test_convolution(self):
        C, H, W, F = 3, 10, 11, 4
        X = hr.placeholder((C, H, W), name="X")
        K = hr.placeholder((F, C, 3, 3), name="K")
        c, u, v = hr.axis(C, name="c"), hr.axis(3, name="u"), hr.axis(3, name="v")
        valid = hr.compute(
            (F, H - 2, W - 2),
            lambda f, y, x: hr.sum(X[c, y + u, x + v] * K[f, c, u, v], axis=(c, u, v)),
            name="valid",
        )
        x, k = floats(C, H, W), floats(F, C, 3, 3)

        def convolve(image):
            windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (1, 2))
            return np.einsum("cyxuv,fcuv->fyx", windows, k)

        check(valid, (x, k), convolve(x), rtol=1e-4)

        def padded(ch, y, xx):
            inside = hr.all(y >= 1, y < H + 1, xx >= 1, xx < W + 1)
            return hr.select(inside, X[ch, y - 1, xx - 1], 0.0)

        same = hr.compute(
            (F, H, W),
            lambda f, y, x: hr.sum(padded(c, y + u, x + v) * K[f, c, u, v], axis=(c, u, v)),
            name="same",
        )
        check(same, (x, k), convolve(np.pad(x, ((0, 0), (1, 1), (1, 1)))), rtol=1e-4)

    def test_strides_reversal_and_constants(self):
        n = hr.var("n", min=4)
        X = hr.placeholder((n,), name="X")
        Y = hr.placeholder((2 * n,), name="Y")
        x, y = floats(10), floats(20)
        check(hr.compute((n,), lambda i: X[i] * Y[2 * i]), (x, y), x * y[::2])
        check(hr.compute((n,), lambda i: X[i] + Y[2 * i + 1]), (x, y), x + y[1::2])
        check(hr.compute((n,), lambda i: X[n - 1 - i]), (x,), x[::-1])
        check(hr.compute((n,), lambda i: X[3] * X[i]), (x,), x[3] * x)
        r = hr.axis(n)
        full = hr.compute(
            (2 * n - 1,),
            lambda i: hr.sum(
                hr.select(hr.all(i - r >= 0, i - r < n), X[i - r], 0.0) * X[r], axis=r
            ),
            name="full",
        )
        check(full, (x,), np.convolve(x, x))

    def test_by_index(self):
        n, m = hr.var("n m")
        T = hr.placeholder((n, 3), name="T")
        J = hr.placeholder((m,), "i64", name="I")
        t, index = floats(6, 3), np.array([5, 0, 2, 2], "int64")
        f = check(hr.compute((m, 3), lambda i, j: T[J[i], j] * 2), (t, index), t[index] * 2)
        with pytest.raises(hr.OutOfRangeError, match="index 99"):
            f(t, np.array([99, -99], "int64"))
        check(hr.compute((2 * n, 3), lambda i, j: T[i // 2, j]), (t,), np.repeat(t, 2, 0))
        X = hr.placeholder((n,), name="X")
        x = floats(6)
        check(hr.compute((n,), lambda i: X[i // 2]), (x,), x[np.arange(6) // 2])
        Z = hr.placeholder((3,), name="Z")
        check(hr.compute((n,), lambda i: X[i] * Z[i % 3]), (x, t[0]), x * np.tile(t[0], 2))
        r = hr.axis(m)
        bag = hr.compute((3,), lambda j: hr.sum(T[J[r], j], axis=r), name="bag")
        check(bag, (t, index), t[index].sum(0))

    def test_diagonal(self):
        n = hr.var("n")
        X = hr.placeholder((n, n), name="X")
        x = floats(6, 6)
        check(hr.compute((n,), lambda i: X[i, i]), (x,), np.diag(x))
        r = hr.axis(n)
        check(hr.compute((), lambda: hr.sum(X[r, r], axis=r)), (x,), np.trace(x))

    def test_prefix_sums_by_doubling(self):
        n = 13
        X = hr.placeholder((n,), name="X")
        stage = X
        for step in (1, 2, 4, 8):
            stage = hr.compute(
                (n,),
                lambda i, s=step, p=stage: p[i] + hr.select(i >= s, p[i - s], 0.0),
                name=f"step{step}",
            )
        x = floats(n)
        check(stage, (x,), np.cumsum(x))


class TestPrograms:
    def test_face(self):
        f = hr.compile(matmul(*hr.var("n m k")), name="product")
        a, b = floats(4, 5), floats(5, 6)
        assert f.name == "product" and [spec.name for spec in f.outputs] == ["C"]
        assert_close(f(B=b, A=a), a @ b)
        report = f.explain(n=64, m=64, k=64)
        assert report["after"]["operations"] == 2 * 64**3
        assert "hr.library" in f.ir("kernels") or "hr.kernel" in f.ir("kernels")
        with pytest.raises(hr.ShapeMismatchError):
            f(a, a)
        with pytest.raises(hr.TypeMismatchError):
            f(a.astype("float64"), b)

    def test_inputs_in_order_of_their_making(self):
        n = hr.var("n")
        first = hr.placeholder((n,))
        second = hr.placeholder((n,))
        f = hr.compile(hr.compute((n,), lambda i: second[i] - first[i]))
        assert_close(f(np.full(3, 2, "f4"), np.full(3, 5, "f4")), [3, 3, 3])

    def test_elementwise_stages_share_a_kernel(self):
        n, m = hr.var("n m")
        X = hr.placeholder((n, m), name="X")
        A = hr.compute((n, m), lambda i, j: X[i, j] * (i + 1), name="A")
        B = hr.compute((n, m), lambda i, j: hr.tanh(A[i, j]) + j, name="B")
        x = floats(5, 8)
        f = check(
            B, (x,), np.tanh(x * np.arange(1, 6, dtype="f4")[:, None]) + np.arange(8, dtype="f4")
        )
        assert f.explain()["after"]["kernels"] == 1

    def test_epilogue_joins_a_product(self):
        n, m, k = 32, 24, 16
        C = matmul(n, m, k)
        bias = hr.placeholder((m,), name="bias")
        D = hr.compute((n, m), lambda i, j: hr.max(C[i, j] + bias[j], 0.0), name="D")
        a, b, v = floats(n, k), floats(k, m), floats(m)
        f = hr.compile(D, expansion="generated")
        np.testing.assert_allclose(f(a, b, v), np.maximum(a @ b + v, 0), rtol=1e-4, atol=1e-5)
        assert f.explain()["after"]["kernels"] == 1

    def test_numpy_numbers_and_types(self):
        X = hr.placeholder((3,), np.float32)
        assert X.dtype == "f32" and X.shape == (3,)
        f = hr.compile(hr.compute((3,), lambda i: np.float32(2) * X[i] + np.int64(1)))
        assert_close(f(np.ones(3, "f4")), [3, 3, 3])

    def test_text(self):
        n = hr.var("n")
        A = hr.placeholder((n, 4), name="A")
        r = hr.axis(4, name="r")
        C = hr.compute((n,), lambda i: hr.sum(A[i, r] * 2.0 - (i + 1), axis=r), name="C")
        assert repr(A) == "<headrace placeholder 'A' f32[n, 4]>"
        assert repr(A[0, r] ** 2 + hr.exp(-A[1, 2])) == "A[0, r] ** 2.0 + exp(-A[1, 2])"
        assert repr(C) == "<headrace stage 'C' f32[n]>"


ELEMENTARY = [
    *("sqrt cbrt exp exp2 expm1 log log1p log2 log10 sin cos tan sinh cosh tanh".split()),
    *("floor ceil round trunc".split()),
]


@pytest.mark.parametrize("name", [*ELEMENTARY, "asin", "acos", "atan", "asinh", "acosh", "atanh"])
@pytest.mark.parametrize(("dtype", "error"), [("f8", 1e-14), ("f4", 1e-6)])
def test_elementary_functions_are_numpys(name: str, dtype: str, error: float) -> None:
    low, high = {"acosh": (1.0, 9.0), "log": (0.1, 9.0)}.get(name, (0.05, 0.95))
    x = np.linspace(low, high, 29).astype(dtype)
    X = hr.placeholder((hr.var("n"),), x.dtype, name="X")
    function = getattr(hr, name)
    f = hr.compile(hr.compute(X.shape, lambda i: function(X[i]), name="Y"))
    expected = getattr(np, name.replace("a", "arc", 1) if name[0] == "a" else name)(x.astype("f8"))
    np.testing.assert_allclose(f(x), expected, rtol=error, atol=error)
    np.testing.assert_allclose(f.reference(x), expected, rtol=error, atol=error)
