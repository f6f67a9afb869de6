"""Scripts over every built-in function that Headrace executes on matrices and scalars."""

from __future__ import annotations

from collections.abc import Iterator

UNARY = (
    "-{} !{} abs({}) sqrt({}) exp({}) log({}) sign({}) round({}) floor({}) ceil({}) sin({}) cos({}) "
    "tan({}) asin({}) acos({}) atan({}) sinh({}) cosh({}) tanh({}) isNA({}) isNaN({}) isInf({})"
).split()
ARITHMETIC = ("+", "-", "*", "/", "^", "%%", "%/%")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
LOGICAL = ("&", "|")
BINARY = [f"{{}} {op} {{}}" for op in (*ARITHMETIC, *COMPARISONS, *LOGICAL)]
BINARY += ["min({}, {})", "max({}, {})", "xor({}, {})"]
AGGREGATES = (
    "sum mean min max prod var sd rowSums rowMeans rowProds rowMins rowMaxs rowVars rowSds colSums "
    "colMeans colProds colMins colMaxs colVars colSds rowIndexMax rowIndexMin cumsum cumprod cummin cummax"
).split()
INTEGERS, DOUBLES = ("i2", "n3", "n7", "i0"), ("d2", "d25", "n05", "d0", "dn", "di", "ni")
TRUTHS = ("bt", "bf")
SCALARS = (*INTEGERS, *DOUBLES, *TRUTHS)


def unary() -> Iterator[str]:
    for template in UNARY:
        for operand in ("A", "I", "N", "S", "P", "Z", "o", "m", *SCALARS):
            yield "y = " + template.format(operand)
    for base in ("2", "d25", "10.5"):
        for operand in ("A", "N", "S", "P", "d25", "i2"):
            yield f"y = log({operand}, {base})"


def binary() -> Iterator[str]:
    pairs = "A B|A N|N A|N N|I L|S T|S S|S P|P S|P P|S A|A S|S N|N S|P N|Z P|S Z|I k|S k|k S|P k"
    pairs += "|A r|r A|S r|P m|S m|m S|c r|r c|A o|o S|c c|r r"
    for template in BINARY:
        for pair in pairs.split("|"):
            yield "y = " + template.format(*pair.split())
        for matrix in ("I", "N", "S", "P"):
            for scalar in ("2", "0", "-1.5", "d25", "n3", "d0", "dn", "di", "ni"):
                yield "y = " + template.format(matrix, scalar)
            for scalar in ("2", "n3", "d0", "dn", "di"):
                yield "y = " + template.format(scalar, matrix)
        for scalar in TRUTHS:
            yield "y = " + template.format("A", scalar)


def scalars() -> Iterator[str]:
    integers = ("i2", "n3", "n7", "i0")
    for template in BINARY:
        for left in integers:
            for right in integers:
                yield "y = " + template.format(left, right)
        pairs = "d25 i2|n7 d2|i2 n05|n05 n05|i0 d0|d0 d0|dn i2|i2 dn|d2 di|ni d25|di di|di ni|n7 d0"
        pairs += "|bt bf|bt bt|bt i2|i2 bt|bf d25|dn bt"
        for left, right in split(pairs):
            yield "y = " + template.format(left, right)


def split(pairs: str) -> Iterator[tuple[str, str]]:
    for pair in pairs.split("|"):
        left, right = pair.split()
        yield left, right


def aggregates() -> Iterator[str]:
    for function in AGGREGATES:
        for operand in ("A", "I", "N", "S", "P", "Z", "c", "r", "m", "o", "L"):
            yield f"y = {function}({operand})"
    for function in ("trace", "sum", "mean", "min", "max"):
        for operand in ("Q", "(A - B)", "(S + T)", "(P * 0)", "t(N)"):
            yield f"y = {function}({operand})"
    for operand in ("v", "w", "c", "N[1,1:3]", "t(m)"):
        for function in ("median({})", "quantile({}, 0.25)", "quantile({}, 0.5)", "quantile({}, 0)",
                         "quantile({}, 1)", "quantile({}, 0.3)", "quantile({}, d0 + 0.75)",
                         'quantile({}, matrix("0.25 0.5 0.75", rows=3, cols=1))',
                         'quantile({}, matrix("0 0.1 1", rows=3, cols=1))',
                         "interQuartileMean({})"):  # fmt: skip
            yield "y = " + function.format(operand)
    for operand in ("rbind(v, c)", "v[1:1,]", "v[1:2,]", "v[1:3,]", "v[1:4,]"):
        yield f"y = median({operand})"
        for p in ("0.1", "0.25", "0.5", "0.66", "0.9"):
            yield f"y = quantile({operand}, {p})"
            yield f"y = quantile({operand}, matrix({p}, rows=1, cols=1))"
    for weights in ("w", "h", "(w * 0 + 1)", "(w - 1)"):
        yield f"y = median(v, {weights})"
        yield f"y = interQuartileMean(v, {weights})"
        for p in ("0.25", "0.5", "0.9"):
            yield f"y = quantile(v, {weights}, {p})"
            yield f"y = quantile(v, {weights}, matrix({p}, rows=1, cols=1))"
    for operand in ("A", "S", "N", "P", "L"):
        for pattern in ("0", "1", "NaN", "Inf", "-2", "dn"):
            yield f"y = contains(target={operand}, pattern={pattern})"


def products() -> Iterator[str]:
    pairs = "U t(V)|t(U) A|t(U) S|A V|S V|t(A) c|t(S) c|t(S) T|S t(T)|A t(r)|S t(r)|r V|c r|t(c) c"
    pairs += "|t(c) S|t(c) A|t(r) t(c)|Q A|Q S|o r|t(V) t(I)|L t(S)|t(L) T|Z V|t(Z) S|Q U"
    for left, right in split(pairs):
        yield f"y = {left} %*% {right}"
        yield f"y = sum({left} %*% {right})"
    yield "y = t(A) %*% (c * (A %*% t(r)))"
    yield "y = t(S) %*% (c * (S %*% t(r)))"
    yield "y = A %*% B"
    yield "y = S * (U %*% t(V))"
    yield "y = sum(S * log(abs(U %*% t(V)) + 1))"
    yield "y = sum(S * (U %*% t(V) + 2))"
    yield "y = (S * (U %*% t(V))) %*% V"


def movement() -> Iterator[str]:
    for x in ("A", "S", "N", "P", "Z", "c", "r", "o"):
        yield f"y = t({x})"
        yield f"y = rev({x})"
        yield f"y = nrow({x})"
        yield f"y = ncol({x})"
        yield f"y = length({x})"
        yield f"y = cbind({x}, {x} + 1)"
        yield f"y = rbind({x}, {x}, {x} * 2)"
        yield f"y = diag(t({x}) %*% {x})"
        yield f"y = replace(target={x}, pattern=0, replacement=7)"
        yield f"y = replace(target={x}, pattern=NaN, replacement=-1)"
        yield f"y = replace(target={x}, pattern=Inf, replacement=0)"
        yield f"y = replace(target={x}, pattern=2.5, replacement=NaN)"
        for margin in ("rows", "cols"):
            yield f'y = removeEmpty(target={x}, margin="{margin}")'
            yield f'y = removeEmpty(target={x}, margin="{margin}", empty.return=FALSE)'
        yield f"y = matrix({x}, rows=length({x}), cols=1)"
        yield f"y = matrix({x}, rows=1, cols=length({x}))"
    for x in ("A", "S", "N", "I", "P"):
        yield f"y = matrix({x}, rows=5, cols=3)"
        yield f"y = matrix({x}, rows=5, cols=3, byrow=FALSE)"
        yield f'y = removeEmpty(target={x}, margin="rows", select=k)'
        yield f'y = removeEmpty(target={x}, margin="cols", select=t(colSums(L) > 1))'
        yield f'y = removeEmpty(target={x}, margin="cols", select=(colSums(L) > 1))'
        for part in ("1,2", "2,", ",3", "1:2,2:4", "3,5", "1:i2,", "i2:i3,2", "2:3,", ",4:5", "1:3,1:5",
                     "nrow({0}),ncol({0})", "d25,1", "i2,d25"):  # fmt: skip
            yield f"y = {x}[{part.format(x)}]"
        for part, value in (("1,2", "9"), ("2,", "r"), (",3", "c"), ("1:2,2:3", "A[2:3,1:2]"), ("3,5", "d25"),
                            ("1:2,", "S[2:3,]"), ("2,", "r * 0"), ("1,1", "o"), ("i2,i3", "dn"),
                            ("2:3,4", "c[1:2,]"), ("1:3,1:5", "I"), ("2,2", "bt")):  # fmt: skip
            yield f"y = {x}\ny[{part}] = {value}"
        yield f"y = {x}\ny[2,] = y[2,] + 1"
        yield f"y = {x}\nfor (a in 1:3) {{ y[a,a] = a * 10 }}"
    for x in ("Q", "(S %*% t(T))", "(Q * NaN)"):
        for function in ("lower.tri", "upper.tri"):
            yield f"y = {function}(target={x})"
            yield f"y = {function}(target={x}, diag=TRUE)"
            yield f"y = {function}(target={x}, diag=TRUE, values=TRUE)"
            yield f"y = {function}(target={x}, values=TRUE)"
    for x in ("c", "k", "w", "t(m)", "o"):
        yield f"y = diag({x})"


def sorting() -> Iterator[str]:
    for x in ("v", "w", "t(m)", "t(A)", "t(S)", "t(N)", "I"):
        for by in ("1", "i0 + 1"):
            for rest in (
                "",
                ", decreasing=TRUE",
                ", index.return=TRUE",
                ", decreasing=TRUE, index.return=TRUE",
            ):
                yield f"y = order(target={x}, by={by}{rest})"
    for x in ("cbind(g, h, v)", "cbind(h, w)"):
        for by in ("2", 'matrix("1 2", rows=1, cols=2)', 'matrix("2 1", rows=1, cols=2)'):
            for rest in (
                "",
                ", decreasing=TRUE",
                ", index.return=TRUE",
                ", decreasing=TRUE, index.return=TRUE",
            ):
                yield f"y = order(target={x}, by={by}{rest})"
    for arguments in ("g, h", "h, g", "g, h, w", "g, h, 2", "g, h, 2.5", "g, h, w, 5, 4", "g, h, 4, 4",
                      "g, h, 2, 2", "g, h, w, 2, 2", "v, h", "g, g", "seq(1, 8), g", "seq(1, 8), g, w",
                      "g + 0.5, h", "g, h + 0.9", "g, 1", "1, g", "seq(1, nrow(g)), g, 8, 3", "g"):  # fmt: skip
        yield f"y = table({arguments})"
    for x in ("c", "k", "t(m)", "-w"):
        yield f"y = table({x}, {x})"
    for x in ("v", "g", "w"):
        yield f"y = rowIndexMax(cbind({x}, h))"
        yield f"y = rowIndexMin(cbind({x}, h))"


def creation() -> Iterator[str]:
    for text in ("1, 5", "5, 1", "1, 1", "0, 1, 0.25", "1, 10, 3", "10, 1, -4", "0, 1, 0.1", "-1, -3", "1, 0, -0.3",
                 "i2, 7", "1, i2 * 3, i2", "d25, 5", "0.5, 3", "1, 3.5", "0, 0.3, 0.1", "1, 2, 5", "3, 1, 1",
                 "1, 3, -1", "1, 3, 0", "n3, i3", "1, nrow(A)", "0, 3"):  # fmt: skip
        yield f"y = seq({text})"
    for value in ("0", "1", "-2.5", "NaN", "Inf", "i2", "d25", "dn", "bt", "i2 + d25"):
        for rows, cols in ((2, 3), (1, 1), (0, 2), (2, 0), (0, 0), ("nrow(A)", "i2")):
            yield f"y = matrix({value}, rows={rows}, cols={cols})"
    for text, rows, cols in (("1 2 3 4", 2, 2), ("1 2 3 4 5 6", 3, 2), ("1.5 -2 NaN 1e3", 1, 4), ("1,2,3,4", 2, 2),
                             ("1 2 3", 2, 2), ("", 0, 0), ("a b", 1, 2), ("1 2 3 4", 4, 1)):  # fmt: skip
        yield f'y = matrix("{text}", rows={rows}, cols={cols})'
        yield f'y = matrix("{text}", {rows}, {cols}, byrow=FALSE)'
    yield "y = rand(rows=3, cols=2, min=2, max=2)"
    yield "y = sum(rand(rows=10, cols=10, min=1, max=3) < 1)"
    yield "y = sum(rand(rows=10, cols=10, sparsity=0))"
    yield "y = nrow(rand(rows=i3, cols=2))"
    yield "y = sum(sample(5, 5))"
    yield "y = nrow(sample(10, 3))"
    yield "y = ncol(sample(10, 3, TRUE))"
    for op in (*ARITHMETIC, *COMPARISONS, "&", "|", "min", "max"):
        yield f'y = outer(c, r, "{op}")'
        yield f'y = outer(k, m, "{op}")'
    for op in COMPARISONS:
        yield f'y = ppred(A, B, "{op}")'
        yield f'y = ppred(S, 0, "{op}")'
    yield "y = solve(Q, A)"
    yield "y = solve(Q, c)"
    yield "y = inv(Q)"
    yield "y = cholesky(Q)"
    yield "y = solve(t(V) %*% V, t(V) %*% t(r))"


def choices() -> Iterator[str]:
    for test in ("L", "S", "N", "(A > 0)", "(S > 0)", "k", "m"):
        for yes, no in (
            ("A", "B"),
            ("A", "0"),
            ("1", "S"),
            ("2", "3.5"),
            ("c", "A"),
            ("A", "r"),
            ("dn", "S"),
            ("P", "N"),
        ):
            yield f"y = ifelse({test}, {yes}, {no})"
    for test in ("bt", "bf", "i2", "d0", "n05"):
        for yes, no in (("1", "2"), ("1", "2.5"), ("TRUE", "FALSE"), ("i2", "n3"), ("d25", "i2"), ("A", "B"), ("1", "S"),
                        ('"a"', '"b"'), ("bt", "3")):  # fmt: skip
            yield f"y = ifelse({test}, {yes}, {no})"


FAMILIES = (unary, scalars, binary, aggregates, products, movement, sorting, creation, choices)
