"""Scripts over moments, distributions, groups, bits, random numbers, and functions called by name."""

from __future__ import annotations

from collections.abc import Iterator


def moments() -> Iterator[str]:
    for order in (2, 3, 4):
        for x in ("v", "c", "v, w", "v, h"):
            yield f"y = moment({x}, {order})"
    for pair in ("v, w", "c, k", "v, w, h", "v, v"):
        yield f"y = cov({pair})"
    yield "y = mean(v, w)"


def distributions() -> Iterator[str]:
    named = {'dist="normal"': "", 'dist="normal", mean=1, sd=2': "", 'dist="exp", rate=2': "", 'dist="chisq", df=3': "",
             'dist="f", df1=3, df2=4': "", 'dist="t", df=3': "", 'dist="t", df=0.5': "", 'dist="chisq", df=40': ""}  # fmt: skip
    for dist in named:
        for x in ("0.5", "-1.25", "0", "3", "30"):
            yield f"y = cdf(target={x}, {dist})"
            yield f"y = cdf(target={x}, {dist}, lower.tail=FALSE)"
        for p in ("0.5", "0.001", "0.975"):
            yield f"y = icdf(target={p}, {dist})"
    for name, rest in (
        ("norm", "mean=1, sd=2"),
        ("t", "df=4"),
        ("chisq", "df=4"),
        ("f", "df1=4, df2=5"),
        ("exp", "rate=4"),
    ):
        yield f"y = p{name}(target=0.3, {rest})"
        yield f"y = q{name}(target=0.3, {rest})"
    yield 'y = cdf(target=A, dist="normal")'
    yield 'y = icdf(target=1.5, dist="normal")'


def groups() -> Iterator[str]:
    for x in (
        "v",
        "g",
        "t(v)",
        "A",
        "I",
        "N",
        "S",
        "rbind(c, k)",
        "seq(1, 40)",
        "seq(20, 1) * 0.5",
        "seq(1, 100) / 7",
    ):
        yield f"y = unique({x})"
        yield f"y = countDistinct({x})"
        yield f"y = countDistinctApprox({x})"
    for x in ("A", "I", "N", 'matrix("1 1 2 3 4 4 4 4", 2, 4)'):
        for dir in ("r", "c"):
            yield f'y = unique({x}, dir="{dir}")'
            yield f'y = countDistinct({x}, dir="{dir}")'
        yield f"y = rowCountDistinct({x})"
        yield f"y = colCountDistinct({x})"
    functions = ('"sum"', '"count"', '"mean"', '"variance"', '"min"', '"max"', '"centralmoment", order="2"', '"centralmoment", order="3"')  # fmt: skip
    for fn in functions:
        for arguments in ("v, groups=g", "v, groups=2 * g", "v, groups=g + 0.5", "v, groups=g, ngroups=2", "v, groups=g, ngroups=6",
                          "cbind(v, w), groups=g, ngroups=5", "v, groups=g - 1"):  # fmt: skip
            yield f"y = aggregate(target={arguments}, fn={fn})"
        if "m" not in fn.split('"')[1][:1]:
            yield f"y = aggregate(target=v, groups=g, fn={fn}, weights=w)"
    yield 'y = aggregate(target=v, groups=g, fn="product")'


def bits() -> Iterator[str]:
    for function in ("bitwAnd", "bitwOr", "bitwXor", "bitwShiftL", "bitwShiftR"):
        for pair in ("12, 10", "i2, n3", "2.5, 3", "I, L", "I, 3", "A, (c > 0)", "3, 64", "2, L"):
            yield f"y = {function}({pair})"
    for x in ("A", "S", "c", "r"):
        for shift in ("1", "-1", "100", "1.5"):
            yield f"y = roll({x}, {shift})"
        yield f"y = rowcumsum({x})"
    for x in ("cbind(v, w)", "cbind(v, w / 10)", "cbind(c, k)", "cbind(v, w, v)", "v"):
        yield f"y = cumsumprod({x})"


def random() -> Iterator[str]:
    for seed in (7, 42, -3, 123456789012):
        for rest in ("rows=3, cols=2", "rows=7, cols=5, min=-1, max=2", 'rows=3, cols=2, pdf="normal"', "rows=3, cols=6, sparsity=0.3",
                     "rows=9, cols=9, sparsity=0.05", "rows=3, cols=6, sparsity=0.6", 'rows=4, cols=6, pdf="normal", sparsity=0.2',
                     'rows=3, cols=2, pdf="poisson", lambda=3', "rows=5, cols=1, min=2, max=2", "rows=20, cols=1, sparsity=0.3"):  # fmt: skip
            yield f"y = rand({rest}, seed={seed})"
        for rest in (
            "10, 5, FALSE",
            "10, 5, TRUE",
            "10, 10, FALSE",
            "1000, 6, FALSE",
            "1000000, 4, TRUE",
            "1, 1, FALSE",
        ):
            yield f"y = sample({rest}, {seed})"
        yield f"y = sample(10, 10, {seed})"
        for rest in ("sparsity=0.01", 'pdf="normal"', "sparsity=0.5", "sparsity=0.0000005"):
            yield f"y = colSums(matrix(rand(rows=2100, cols=1500, seed={seed}, {rest}), 1050, 3000))[1, 1490:1500]"


def dynamic() -> Iterator[str]:
    twice = (
        "f = function(Matrix[Double] a, Double b = 5) return (Matrix[Double] c) { c = a * 2 + b }\n"
    )
    for call in (
        '"f", A, 3',
        '"f", list(A, 2)',
        '"f", list(b=2, a=A)',
        '"f", list(a=A)',
        '"g", A',
        '"f", list(a=A, q=3)',
    ):
        yield f"{twice}y = eval({call})"
    number = "f = function(Double a) return (Double b, Double d) { b = a * 2; d = 3.5 }\n"
    for use in ('y = eval("f", list(a=3.0))', 'y = eval("f", 4.0)', 'y = as.scalar(eval("f", list(a=3.0))) + 1',
                'l = evalList("f", list(a=3.0))\ny = length(l)', 'l = evalList("f", list(a=3.0))\ny = as.scalar(l["d"])',
                'n = "f"\ny = eval(n, list(matrix(2, 1, 1)))'):  # fmt: skip
        yield number + use
    yield 'f = function(Double n) return (Double c) { if (n <= 1) { c = 1.0 } else { c = n * as.scalar(eval("f", list(n - 1))) } }\ny = eval("f", list(5.0))'
    yield "y = exists(A)"
    yield 'y = exists("zz")'


FAMILIES = (moments, distributions, groups, bits, random, dynamic)
