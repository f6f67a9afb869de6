"""Scripts of casts, printing, control flow, functions, mistakes and edges."""

from __future__ import annotations

from collections.abc import Iterator


def casts() -> Iterator[str]:
    for cast in ("as.integer", "as.double", "as.logical", "as.matrix", "as.scalar"):
        for x in ("i2", "n7", "i0", "d25", "n05", "-2.7", "1e20", "dn", "di", "bt", "bf", "o", "(o * 0)", '"12"',
                  '"2.5"', '"TRUE"', '"abc"', '""', '"-3"', '"1e3"', "A", "sum(A)", "nrow(A)", "A[1,2]", "(2 < 3)"):  # fmt: skip
            yield f"y = {cast}({x})"
    numbers = ("1", "1.0", "-2", "1e10", "1e7", "1e6", "12345678.9", "0.001", "0.0001", "1e-5", "1.5e300", "-0.0", "0.1 + 0.2",
               "100000000000", "1/3", "2/3", "1e16", "123456789012345678", "NaN", "Inf", "-Inf", "TRUE", "FALSE",
               "5e-324", "1.7976931348623157e308", "0.5", "1e21", "1e22", "123456.7", "9999999.0", "10000000.0",
               "2 ^ 3", "3 %% 2", "7 %/% 2", "7.0 %/% 2", "4 / 2", "-7 %/% 2", "-3 %% 2", "-3 %% 2.0", "min(1, 2)",
               "max(1, 2.0)", "abs(-3)", "round(2.5)", "sqrt(16)", "nrow(A)", "sum(A)", "length(S)", "i2 * n3", "i2 + d2",
               "i2 - i2", "i2 / i2", "bt + bf", "-bt", "!bt", "bt & bf", "i2 ^ i2", "as.integer(d25)", "as.logical(i2)",
               "mean(A)", "as.scalar(A[2,2])", "i2 %/% n3", "n7 %% i2", "floor(d25)", "exp(0)", "sign(n3)", "i2 == d2",
               "2147483647 + 1", "2147483648", "3 * 1.0", "1 - 1", "5 - 2 * 3", "2 + 3 * 4 ^ 2", "-2 ^ 2", "2 ^ -1",
               "!FALSE & FALSE", "!(1 > 2)", "1 < 2 & 3 > 2", "10 - 4 - 3", "2 ^ 3 ^ 2", "100 / 10 / 2", "7 %% 4 * 2",
               "2 * 7 %% 4", "-7 %% 4", "2 * 3 %/% 2", "- 3 + 5", "1 + -2", "--2", "6 / 2 * 3", "7 %/% 2 %% 2", "i3 * -1")  # fmt: skip
    for x in numbers:
        yield f"y = {x}"
        yield f"print({x})"
        yield f'print("" + {x})'
    for x in (
        "A",
        "S",
        "N",
        "P",
        "Z",
        "c",
        "r",
        "o",
        "I",
        "U",
        "(A / 3)",
        "(A * 1e10)",
        "(A / 1e10)",
        "(A > 0)",
        "exp(I * 20)",
        "v",
    ):
        yield f"print(toString({x}))"
        yield f"print({x})"
        yield f"print(toString({x}, rows=2, cols=2))"
        yield f"print(toString({x}, decimal=1))"
        yield f"print(toString({x}, decimal=6))"
        yield f'print(toString({x}, sep=", "))'
        yield f'print(toString({x}, sep=",", linesep=";", decimal=2))'
        yield f"print(toString({x}, sparse=TRUE))"
    for text in ('"%d", i2', '"%d of %d", i2, n3', '"%f", d25', '"%5.2f|", d25', '"%s", st', '"%s %s", bt, i2', '"%8d|", i2',
                 '"%-8d|", i2', '"%08.3f|", d25', '"%e", d25', '"%d", d2', '"%f", i2', '"%s", d25', '"100%% %d", i2',
                 '"%5s|", "a"', '"%-5s|", "a"', '"%d"', '"%f", dn', '"%f", di', '"%.3f", n05', '"%+d", i2', '"%b", bt',
                 '"%g", d25', '"%E", d25', '"%d", bt', '"%s", i2', '"%.0f", d25', '"%x", i2', '"a\\tb\\n%d", i2'):  # fmt: skip
        yield f"print({text})"
    yield 'y = "a" + "b" + 1 + 2.5 + TRUE'
    yield 'y = 1 + 2 + "a"'
    yield 'y = "a" == "a"'
    yield 'y = "a" != "b"'
    yield 'y = "a" == 1'
    yield 'y = st == "text"'
    yield 'y = "a" < "b"'
    yield 'y = length("abc")'
    yield "y = toString(d25)"
    yield "y = toString(i2)"
    yield "y = toString(bt)"
    yield "y = toString(st)"
    yield "y = toString(o)"


def control() -> Iterator[str]:
    yield "y = 0\nfor (a in 1:4) { y = y + a }"
    yield "y = 0\nfor (a in 4:1) { y = y * 10 + a }"
    yield "y = 0\nfor (a in seq(1, 10, 3)) { y = y + a }"
    yield "y = 0\nfor (a in seq(10, 1, -4)) { y = y + a }"
    yield "y = 0\nfor (a in seq(0, 1, 0.25)) { y = y + a }"
    yield "y = 0\nfor (a in 1:0) { y = y + a }"
    yield "y = 0\nfor (a in 2:2) { y = a }"
    yield "y = 0\nfor (a in 1:i3) { y = a }"
    yield "y = 0\nfor (a in i3:1) { y = y * 10 + a }"
    yield "y = 0\nfor (a in 1:d25) { y = y + a }"
    yield "y = 0\nfor (a in d2:4) { y = a }"
    yield "y = 0.0\nfor (a in 1:3) { y = y + a / 2 }"
    yield "y = 1\nwhile (y < 100) { y = y * 3 }"
    yield "y = 1\na = TRUE\nwhile (a) { y = y + 1\n a = y < 5 }"
    yield "y = 1\na = 3\nwhile (a > 0) { y = y * a\n a = a - 1 }"
    yield "if (i2 > 1) { y = 1 } else { y = 2 }"
    yield "if (i0 > 1) y = 1 else y = 2"
    yield "y = 5\nif (bf) { y = 6 }"
    yield "y = 5\nif (d25 > 2 & !bf | bf) { y = 6.5 }"
    yield "if (i2 == 2) { if (i3 == 4) { y = 1 } else { y = 2 } } else { y = 3 }"
    yield "y = A\nfor (a in 1:nrow(A)) { for (b in 1:ncol(A)) { y[a, b] = a * 10 + b } }"
    yield "y = matrix(0, rows=3, cols=1)\nfor (a in 1:3) { y[a, 1] = sum(A[a, ]) }"
    yield "y = matrix(0, rows=3, cols=1)\nparfor (a in 1:3) { y[a, 1] = max(S[a, ]) }"
    yield "y = A\na = 0\nwhile (sum(abs(y)) > 1 & a < 5) { y = y / 2\n a = a + 1 }"
    yield "a = i2\ny = a\na = a + 1\ny = y * 10 + a"
    yield "y = 1\ny += 4"
    yield "y = A\ny += S"
    for value in ("i2", "d25", "bt", "n05", "i0", "dn"):
        yield f"if ({value}) {{ y = 1 }} else {{ y = 2 }}"
        yield f"if ({value} != 0) {{ y = 1 }} else {{ y = 2 }}"
    yield "for (a in 1:3) { print(a) }"
    yield "for (a in 1:3) { print(a / 2) }"
    yield "for (a in seq(1, 2, 0.5)) { print(a) }"
    yield "for (a in 3:1) { print(a) }"
    yield "a = 0\nwhile (a < 3) { a = a + 1\n print(a) }"
    yield "a = 0.5\nwhile (a < 3) { a = a + 1\n print(a) }"
    yield 'a = 5\nprint("a is " + a + ", half " + a / 2)'
    yield 'print("sum " + sum(A) + " rows " + nrow(A))'
    yield 'stop("enough")'
    yield 'if (bf) { stop("no") }\ny = 1'
    yield "assert(i2 == 3)\ny = 1"
    yield "assert(i2 == 2)\ny = 1"


def functions() -> Iterator[str]:
    types = ("integer", "double", "boolean", "string")
    values = (
        "i2",
        "n7",
        "i0",
        "d25",
        "d2",
        "n05",
        "bt",
        "bf",
        "dn",
        "st",
        "3",
        "2.5",
        "TRUE",
        '"7"',
    )
    for loop in (
        "{body}",
        "for (a in 1:2) {{ {body} }}",
        "if (sum(matrix(x, 1, 2)) != -99) {{ {body} }} else {{ {body} }}",
    ):
        for argument in types:
            for result in types:
                if loop != "{body}" and (argument == "string" or result == "string"):
                    continue
                for value in values if loop == "{body}" else ("i2", "d25", "bt", "n05", "2.5"):
                    body = loop.format(body="z = x")
                    yield f"f = function({argument} x) return ({result} z) {{ {body} }}\ny = f({value})"
    yield "f = function(integer x) return (integer z) { z = x / 2 }\ny = f(i3)"
    yield "f = function(integer x) return (integer z) { z = x * 2 }\ny = f(i3)"
    yield "f = function(integer x) return (double z) { z = x * 2 }\ny = f(i3)"
    yield "f = function(double x) return (integer z) { z = as.integer(x * 2) }\ny = f(d25)"
    yield "f = function(double x, integer n = 2) return (double z) { z = x ^ n }\ny = f(d25)"
    yield "f = function(double x, integer n = 2) return (double z) { z = x ^ n }\ny = f(d25, 3)"
    yield "f = function(double x, integer n = 2) return (double z) { z = x ^ n }\ny = f(n = i3, x = d2)"
    yield "f = function(matrix[double] x) return (double z) { z = sum(x) }\ny = f(A)"
    yield "f = function(matrix[double] x) return (matrix[double] z) { z = x * 2 }\ny = f(S)"
    yield "f = function(matrix[double] x) return (matrix[double] z) { z = x * 2 }\ny = f(d25)"
    yield "f = function(double x) return (double z) { z = x * 2 }\ny = f(A)"
    yield "f = function(double x) return (double z) { z = x * 2 }\ny = f(o)"
    yield "f = function(double x) return (matrix[double] z) { z = x * 2 }\ny = f(d25)"
    yield "f = function(matrix[double] x) return (double z) { z = x }\ny = f(A)"
    yield "f = function(matrix[double] x) return (matrix[double] z, integer n) { z = x + 1; n = nrow(x) }\n[y, a] = f(A)"
    yield "f = function(matrix[double] x) return (matrix[double] z, integer n) { z = x + 1; n = nrow(x) }\n[a, y] = f(S)"
    yield "f = function(double x) return (double a, double b) { a = x + 1; b = x * 2 }\n[p, q] = f(d25)\ny = p * 100 + q"
    yield "f = function(integer n) return (integer z) { if (n <= 1) { z = 1 } else { a = f(n - 1); z = n * a } }\ny = f(5)"
    yield "f = function(integer n) return (integer z) { z = n %% 2 }\ny = f(n7)"
    yield "f = function(integer n) return (matrix[double] z) { z = matrix(n, rows=n, cols=n) }\ny = f(d25)"
    yield "f = function(double x) return (double z) { print(x); z = x }\ny = f(i2)"
    yield "f = function(integer x) return (double z) { print(x); z = x }\ny = f(i2)"
    yield "f = function(integer x) return (double z) { print(x); z = x }\ny = f(d25)"
    yield "f = function(boolean x) return (double z) { print(x); z = 1 }\ny = f(bt)"
    yield "f = function(double x) return (double z) { z = 1; x = x + 1 }\ny = d25\na = f(y)\ny = y + a"


def mistakes() -> Iterator[str]:
    for text in ("A + U", "A %*% A", "cbind(A, U)", "rbind(A, U)", "A[4,1]", "A[0,1]", "A[1,6]", "A[3:2,1]", "solve(A, c)",
                 "inv(A)", "missing + 1", "nosuch(A)", "as.scalar(A)", "A * st", "st * 2", "-st", "sum(st)", "matrix(1, rows=-1, cols=2)",
                 "diag(A)", "order(target=A, by=9)", "table(g, c)", "rand(rows=-1, cols=1)", "seq(1, 2, 3, 4)", "sum()",
                 "sum(A, B)", "t(3)", "nrow(3)", "as.matrix(A) + U", "ifelse(A, U, 1)", "quantile(v, 1.5)", "quantile(v, -0.1)",
                 "sample(3, 5)", "sample(0, 1)", "sample(5, -1)", 'rand(rows=2, cols=2, pdf="odd")', "rand(rows=2, cols=2, sparsity=2)",
                 'removeEmpty(target=A, margin="odd")', "removeEmpty(target=A)", "replace(target=A, pattern=1)", "cholesky(I)",
                 "rowIndexMax(3)", "cumsum(3)", "A[1,1,1]", "max(st, 1)", "matrix(A, rows=4, cols=4)", "outer(A, r, \"*\")",
                 "lower.tri(A)", "median(A)", "as.integer(A)", "mean(3)", "max(3)", "sum(3)", "trace(A)", "abs(st)", "st & bt"):  # fmt: skip
        yield f"y = {text}"
    for text in ("y[1,1] = 1", "y = A\ny[4,1] = 1", "y = A\ny[1:2,] = c", "y = 3\ny[1,1] = 2", "[y, z] = sum(A)", "y = 1 +",
                 "for (a in A) { y = 1 }", "if (A) { y = 1 }", "if (st) { y = 1 }", "while (st) { y = 1 }", 'y = write(A, "")'):  # fmt: skip
        yield text


def edges() -> Iterator[str]:
    for empty in (
        "matrix(0, rows=0, cols=3)",
        "matrix(0, rows=3, cols=0)",
        "matrix(1, rows=0, cols=0)",
    ):
        for function in ("sum", "mean", "min", "max", "prod", "rowSums", "colSums", "rowMaxs", "colMins", "t", "abs", "exp",
                         "cumsum", "var", "colMeans", "round", "-", "length", "rev"):  # fmt: skip
            yield f"a = {empty}\ny = {function}(a)"
        for text in ("a + 1", "a * a", "rbind(a, a)", "cbind(a, a)", "a %*% t(a)", "t(a) %*% a", "a == 0", "nrow(a)", "ncol(a)",
                     "sum(a * 2) + 1", "rbind(a, matrix(1, rows=2, cols=3))", "cbind(a, c)", "a[1, 1]", "as.scalar(a)"):  # fmt: skip
            yield f"a = {empty}\ny = {text}"
    for text in ("A[1:d25,]", "A[d25:i3,]", "A[i3:i2,1]", "A[i3 + 1,1]", "A[,i0]", "A[1:2]", "v[3]", "matrix(0, rows=d25, cols=2)",
                 "matrix(7, rows=2.0, cols=2)", "seq(1, d25)", "var(r)", "colVars(r)", "rowVars(c)", "sd(matrix(3, rows=1, cols=1))",
                 '"b" < "a"', '"10" < "9"', '"a" >= 1', 'i2 == "2"', 'TRUE == "TRUE"', '"a" != "a"', "9007199254740993 == 9007199254740992",
                 "9223372036854775807 * i3", "i3 * 3000000000", 'as.double("Infinity")', 'as.double(" 1")', 'as.double("0x10")',
                 'as.double("1L")', 'as.double("NaN")', 'as.logical("true")', 'as.logical("True")', 'as.integer("1e3")',
                 "0.3 %/% 0.1", "0.3 %% 0.1", "1 %/% 0.1", "5.5 %% -2", "1e300 %/% 0.1", "d25 %% di",
                 "n7 %/% di", "round(-2.5)", "round(2.5)", "round(0.49999999999999994)", "round(4503599627370497.0)", "round(1e19)",
                 "rowIndexMax(L)", "rowIndexMin(L)", "rowIndexMax(A * 0)", "order(target=t(N), by=2)"):  # fmt: skip
        yield f"y = {text}"
    for x in ('matrix("1 2 0 0 -3 4", rows=6, cols=1)', 'matrix("-1 -2 -3 0 0 0", rows=6, cols=1)', 'matrix("0 0 0 0 1 2", rows=6, cols=1)',
              'matrix("5 5 5 5", rows=4, cols=1)', 'matrix("2", rows=1, cols=1)'):  # fmt: skip
        yield f"y = median({x})"
        yield f"y = interQuartileMean({x})"
        for p in ("0.2", "0.5", "0.6667", "1"):
            yield f"y = quantile({x}, {p})"
            yield f"y = quantile({x}, matrix({p}, rows=1, cols=1))"
    for weights in (
        "matrix(2, rows=8, cols=1)",
        "matrix(3, rows=8, cols=1)",
        "matrix(0.5, rows=8, cols=1)",
        "-w",
        "c",
    ):
        yield f"y = median(v, {weights})"
        yield f"y = quantile(v, {weights}, 0.25)"
        yield f"y = quantile(v, {weights}, 0.75)"
        yield f"y = interQuartileMean(v, {weights})"
    for body in (
        "z = sum(x)",
        "z = nrow(x) / 2",
        "z = round(2.5)",
        "z = TRUE",
        "z = min(x)",
        "z = nrow(x)",
        "z = nrow(x) %/% 2",
    ):
        for declared in ("integer", "double", "boolean"):
            yield f"f = function(matrix[double] x) return ({declared} z) {{ {body} }}\ny = f(A)"
    for text in ('"%,d", 1234567', '"%o", 8', '"%c", "a"', '"%10.3e|", 12345.678', '"%g", 0.00001234', '"%g", 123456789.0', '"%.2f", 0.125',
                 '"%.1f", 0.25', '"%.1f", 0.35', '"%.2f", 1.005', '"%6.1f|%-6d|%s", 2.25, 7, "x"', '"%.3s|", "abcdef"', '"%s", i2 == 2',
                 '"%05d", n3', '"%+.2e", n05', '"% d", i2', '"%f", 1e20', '"%.0f", 0.5', '"%.0f", 1.5', '"%e", 0.0', '"%f", 0.0001'):  # fmt: skip
        yield f"print({text})"
    for text in ('append("a", "b")', 'cbind("a", "b", st)', 'append(st + i2, "b" + 2.5)', 'append("a", 1)', "as.matrix(list(1, 2.5, 3))",
                 "as.matrix(list(i2))", "as.matrix(list(TRUE, d25))"):  # fmt: skip
        yield f"y = {text}"
    yield 'print(list(1, 2.5, TRUE, "a"))'


def lists() -> Iterator[str]:
    """Entries with their types, indices, changes."""
    made = "l = list(a=bt, b=i2, c=d25, d=st, e=A)"
    for entry in ('l["a"]', "l[1]", 'l["b"]', "l[2]", 'l["d"]', "l[i2]", 'l["z"]', "l[6]", "l[0]"):  # fmt: skip
        yield f"{made}\ny = as.scalar({entry})"
    for value in ('as.scalar(l["b"]) %/% 2', 'as.scalar(l["a"]) & FALSE', 'as.scalar(l["d"]) + "x"',
                  'as.matrix(l["e"])', 'sum(as.matrix(l["e"]))', 'as.matrix(l["b"])', "length(l)", "nrow(l)", "length(l[2:4])",
                  'length(l["a"])', "l[2] + 1"):  # fmt: skip
        yield f"{made}\ny = {value}"
    for change in ('l["a"] = 5; y = as.scalar(l["a"])', "l[2] = list(7); y = as.scalar(l[2])",
                   "l[1:2] = list(7, 8); y = as.scalar(l[2])", "l[2] = B; y = as.matrix(l[2])"):  # fmt: skip
        yield f"{made}\n{change}"
    for grown in ("append(list(i2, i3), d25)", "append(list(i2), list(i3, i3))", "append(list(a=i2), list(b=i3))", "append(list(), bt)",
                  "list(list(i2, i3), d25)"):  # fmt: skip
        yield f"l = {grown}\ny = length(l)"
        yield f"l = {grown}\nprint(l)"
    yield "l = append(list(i2), A)\nprint(toString(l))"
    yield 'l = append(list(a=i2), list(b=i3))\ny = as.scalar(l["b"])'
    yield "l = list(list(i2, i3), d25)\nm = as.list(l[1])\ny = as.scalar(m[2])"
    for bound in ("rbind(list(A, B))", "cbind(list(A, B, c))", "rbind(list(A))", "rbind(list(i2, A))", "rbind(list(A, c))"):  # fmt: skip
        yield f"l = {bound[6:-1]}\ny = {bound[:5]}(l)"
    yield 'f = function(list[unknown] l) return (double z) { z = as.scalar(l["b"]) + 1 }\nl = list(a=bt, b=i2)\ny = f(l)'


def parallel_loops() -> Iterator[str]:
    """Loops whose iterations depend on each other, or do not."""
    for body in ("R[i, ] = matrix(i, rows=1, cols=5)", "R[i, ] = R[i, ] + 1", "for (j in 1:5) { R[i, j] = i + j }", "R[1, 1] = i",
                 "R = R + i", "R[i, 1] = sum(A) + i", "R += i * A", "t = i * 2; R[i, 1] = t"):  # fmt: skip
        yield f"R = A\nparfor (i in 1:3) {{ {body} }}\ny = R"
        yield f"R = A\nparfor (i in 1:1, check=0) {{ {body} }}\ny = R"
    for body in ("R[2 * i, ] = R[2 * i - 1, ]", "R[i + 1, ] = R[i, ]", "R[2 * i, ] = R[i, ]", "R[i, ] = R[i + 4, ]",
                 "R[2 * i - 1, 1] = i; R[2 * i, 1] = 5"):  # fmt: skip
        yield f"R = matrix(seq(1, 40), rows=8, cols=5)\nparfor (i in 1:4) {{ {body} }}\ny = R"
    for body in ("s = s + i", "s = i", "s = max(s, i)"):
        yield f"s = 0\nparfor (i in 1:4) {{ {body} }}\ny = s"


FAMILIES = (casts, control, functions, mistakes, edges, lists, parallel_loops)
