"""Scripts over frames: tables, their types, texts in them, and their encodings as matrices."""

from __future__ import annotations

from collections.abc import Iterator

MIXED = 'F = frame(["ab","C d","2.5","TRUE"], rows=2, cols=2)\n'
LETTERS = 'F = frame(["b","a","b","c"], rows=4, cols=1)\n'
GAPS = 'F = dropInvalidLength(frame(["ab","abc","ab","cd"], rows=4, cols=1), matrix(2, 1, 1))\n'
NUMBERS = 'F = dropInvalidLength(frame(["1","222","4","7"], rows=4, cols=1), matrix(2, 1, 1))\n'
THREE = 'F = cbind(frame(["x","y","x"], rows=3, cols=1), as.frame(c), frame(["p","q","r"], rows=3, cols=1))\n'


def frames() -> Iterator[str]:
    for x in (
        "A",
        "I",
        "L",
        "N",
        "A/3",
        "S",
        '"abc"',
        "2",
        "2.5",
        "TRUE",
        "matrix(0, 2, 2)",
        "1e10 * A",
    ):
        yield f"F = as.frame({x})\nprint(toString(F))"
    for call in ('0, rows=2, cols=2', '"a", rows=2, cols=2', '1.5, rows=2, cols=2', '["a","b","c","d"], rows=2, cols=2',
                 '["a","b"], rows=2, cols=2', '["a","1","2.5","TRUE"], rows=1, cols=4, schema=["STRING","INT64","FP64","BOOLEAN"]'):  # fmt: skip
        yield f"F = frame({call})\nprint(toString(F))"
    for use in ("print(F)", "y = nrow(F) * 10 + ncol(F)", "y = length(F)", "y = as.matrix(F)", "y = as.scalar(F[1,2])",
                "print(toString(F[1:2,2]))", "print(toString(F[2,]))", "print(toString(F, rows=2, cols=2))",
                'print(toString(F, sep=","))', "print(toString(F, decimal=1))", "y = sum(as.matrix(F[,2:4]))",
                "print(toString(rbind(F, as.frame(B))))", "print(toString(cbind(F, as.frame(c))))", "y = as.scalar(F)",
                'F[1,1] = as.frame("q")\nprint(toString(F))', "F[2,] = F[1,]\nprint(toString(F))", "y = F[4,1]"):  # fmt: skip
        yield f"F = as.frame(A)\n{use}"
    for pair in ('as.frame("a"), as.frame(2)', "as.frame(TRUE), as.frame(3)", 'as.frame(TRUE), as.frame("q")',
                 "as.frame(12345678901), as.frame(2.5)", "as.frame(c), as.frame(c/3)"):  # fmt: skip
        yield f"F = rbind({pair})\nprint(toString(F))"
    yield 'F = cbind(as.frame("a"), as.frame("b"))\nF[1,2] = as.frame("z")\nprint(toString(F))'
    yield 'F = cbind(as.frame("a"), as.frame("b"))\nF[1,1] = "q"\nprint(toString(F))'
    yield 'F = cbind(as.frame(c), as.frame("z"))\nprint(toString(F))'
    yield 'F = as.frame("12")\ny = as.matrix(F)'
    yield 'F = as.frame("abc")\ny = as.matrix(F)'
    yield 'F = as.frame("abc")\ny = as.scalar(F)'
    yield 'l = list(as.frame("a"), 3)\nprint(toString(as.frame(l[1])))'
    for use in ('F == frame("ab", rows=2, cols=2)', 'F != frame("ab", rows=2, cols=2)', 'F < frame("ab", rows=2, cols=2)',
                'as.matrix(F == frame("ab", rows=2, cols=2))', 'replace(target=F, pattern="ab", replacement="z")',
                'removeEmpty(target=F, margin="rows", select=matrix("0 1", 2, 1))'):  # fmt: skip
        yield f"{MIXED}print(toString({use}))"
    yield f"{NUMBERS}y = as.matrix(F)"


def schemas() -> Iterator[str]:
    for values in (
        '"a","1","2.5","TRUE"',
        '"123456789012","1","0","3.3"',
        '"t","f","T","-3"',
        '"abc","1e5","12.0","x"',
    ):
        for use in (
            "detectSchema(F)",
            "applySchema(F, detectSchema(F))",
            "colnames(F)",
            "typeof(F)",
        ):
            yield f"F = frame([{values}], rows=1, cols=4)\nprint(toString({use}))"
    for values in (
        '"b","","b","c"',
        '"t","f","T","f"',
        '"1","2","3.5","f"',
        '"1","2","3.5","-4"',
        '"1","2","abc","-4"',
    ):
        yield f"F = frame([{values}], rows=4, cols=1)\nprint(toString(detectSchema(F)))"
    for x in ("A", "I", "L"):
        yield f"F = as.frame({x})\nprint(toString(detectSchema(F)))\nprint(toString(typeof(F)))"
    yield f'{MIXED}print(toString(dropInvalidType(F, frame(["STRING","FP64"], rows=1, cols=2))))'
    yield f'{MIXED}print(toString(dropInvalidLength(F, matrix("2 3", 1, 2))))'
    yield 'F = frame(["a","b","c"], rows=1, cols=3)\nprint(toString(freplicate(frame("z", rows=3, cols=3), F)))'


def lambdas() -> Iterator[str]:
    for body in ("x.length()", "x.toLowerCase()", "x.toUpperCase() + x", "x.trim()", "x.length() + 1", "x.replace('a', '1')",
                 "x.substring(1)", "x.charAt(0)", "x.length() > 2 ? x : x.length()", "x.isEmpty()", "x.concat(x)", "x.hashCode()"):  # fmt: skip
        yield f'{MIXED}print(toString(map(F, "x -> {body}")))'
    yield 'F = as.frame(A)\nprint(toString(map(F, "x -> x.length()")))'
    yield f'{MIXED}print(toString(map(F[,1], "(x, y) -> UtilFunctions.jaccardSim(x, y)")))'
    yield 'F = frame(["abc","b","c","d"], rows=4, cols=1)\nprint(toString(map(F, "s -> UtilFunctions.getAsciiAtIdx(s, 1)")))'

    yield 'F = frame(["a b c","a c","q","q"], rows=2, cols=2)\nprint(toString(map(F, "x -> new String[]{String.valueOf(UtilFunctions.getWordErrorRate(x[0], x[1])), x[0]}", margin=1)))'
    for words in ("Graz,Wien,Linz,1234,Enns", "1.5,22.75,3,x,-4", "ab cd,efg h,x y,12,Ab C"):
        listed = ",".join(f'"{word}"' for word in words.split(","))
        for threshold in (0.5, 0.7, 0.9):
            yield f'F = frame([{listed}], rows=5, cols=1)\nprint(toString(map(F, "UtilFunctions.syntacticalPatternDiscovery({threshold},NA)")))'
    for mode in ("single", "double"):
        yield f'F = frame(["1","2.5","3","4","2","3"], rows=6, cols=1)\ny = as.matrix(map(F, "UtilFunctions.exponentialMovingAverageImputation(1;{mode};4;0.4;0.3;0.2)"))'


def tokens() -> Iterator[str]:
    texts = 'F = frame(["a","the fox the dog","b","fox  jumps","c","the"], rows=3, cols=2)\n'
    for algo in (
        '"split"',
        '"ngram", "algo_params": {"min_gram": 1, "max_gram": 2}',
        '"ngram", "algo_params": {"min_gram": 2, "max_gram": 3, "ngram_type": "token"}',
        '"split", "algo_params": {"regex": "o"}',
    ):
        for out in ('"count"', '"count", "out_params": {"sort_alpha": true}', '"position"', '"hash", "out_params": {"num_features": 20}'):  # fmt: skip
            for form in ("", ', "format_wide": true', ', "apply_padding": true', ', "format_wide": true, "apply_padding": true'):  # fmt: skip
                spec = f'{{"algo": {algo}, "out": {out}, "tokenize_col": 2, "id_cols": [1]{form}}}'
                spec = spec.replace('"', '\\"')
                yield f'{texts}print(toString(tokenize(target=F, spec="{spec}", max_tokens=4)))'


def encoded(frame: str, spec: str) -> str:
    return f'{frame}[y, M] = transformencode(target=F, spec="{spec}")\nprint(toString(M))'


def transforms() -> Iterator[str]:
    for spec in ("{ids:true, recode:[1]}", "{ids:true, dummycode:[1]}", "{recode:[C1]}", "{ids:true, hash:[1], K:10}",
                 "{ids:true, hash:[1], K:10, dummycode:[1]}", "{ids:true, recode:[1], dummycode:[1]}",
                 "{'ids':true, 'recode':[1]}", "{ids:true, bin:[{id:1, method:equi-width, numbins:4}], recode:[1]}"):  # fmt: skip
        yield encoded(LETTERS, spec)
    for spec in (
        "{ids:true}",
        "{ids:true, recode:[1], dummycode:[1,2]}",
        "{ids:true, recode:[1,2]}",
        "{ids:true, dummycode:[5]}",
    ):
        for x in ("A", "I", "L"):
            yield encoded(f"F = as.frame({x})\n", spec)
    for method in ("equi-width", "equi-height"):
        for bins in (1, 2, 3):
            for x in ("v", "w", "rbind(c, c, c, k)"):
                bin = f"bin:[{{id:1, method:{method}, numbins:{bins}}}]"
                yield encoded(f"F = as.frame({x})\n", f"{{ids:true, {bin}}}")
                yield encoded(f"F = as.frame({x})\n", f"{{ids:true, {bin}, dummycode:[1]}}")
    for spec in ("{ids:true, recode:[1]}", "{ids:true, dummycode:[1]}", "{ids:true, recode:[1], omit:[1]}",
                 "{ids:true, recode:[1], impute:[{id:1, method:global_mode}]}",
                 "{ids:true, recode:[1], impute:[{id:1, method:constant, value:cd}]}"):  # fmt: skip
        yield encoded(GAPS, spec)
    for spec in (
        "{ids:true}",
        "{ids:true, impute:[{id:1, method:global_mean}]}",
        "{ids:true, impute:[{id:1, method:constant, value:3}]}",
    ):
        yield encoded(NUMBERS, spec)
        yield f'{NUMBERS}[X, M] = transformencode(target=F, spec="{spec}")\ny = transformapply(target=F, spec="{spec}", meta=M)'
    words = "aa ab ba bb ca cc hello world x.y zz one two three four".split()
    listed = ",".join(f'"{word}"' for word in words)
    yield encoded(f"F = frame([{listed}], rows={len(words)}, cols=1)\n", "{ids:true, recode:[1]}")
    yield encoded("F = as.frame(seq(1, 30))\n", "{ids:true, recode:[1]}")
    for spec in ("{ids:true, recode:[1]}", "{ids:true, dummycode:[1]}"):
        encode = f'{LETTERS}[X, M] = transformencode(target=F, spec="{spec}")\n'
        yield f'{encode}print(toString(transformdecode(target=X, spec="{spec}", meta=M)))'
        yield f'{encode}y = transformapply(target=frame(["c","q"], rows=2, cols=1), spec="{spec}", meta=M)'
        yield f'{encode}y = transformcolmap(target=M, spec="{spec}")'
    yield f'{LETTERS}[X, M] = transformencode(target=F, spec="{{ids:true, recode:[1]}}")\nprint(toString(transformdecode(target=matrix("1 7 0", 3, 1), spec="{{ids:true, recode:[1]}}", meta=M)))'
    for spec in ("{ids:true, dummycode:[1], recode:[3]}", "{ids:true, recode:[1], dummycode:[3]}"):
        yield f'{THREE}[X, M] = transformencode(target=F, spec="{spec}")\ny = transformcolmap(target=M, spec="{spec}")'
        yield encoded(THREE, spec)
    for method in ("equi-width", "equi-height"):
        spec = f"{{ids:true, bin:[{{id:1, method:{method}, numbins:3}}]}}"
        encode = f'F = as.frame(v)\n[X, M] = transformencode(target=F, spec="{spec}")\n'
        yield f'{encode}y = transformapply(target=as.frame(w * 3), spec="{spec}", meta=M)'
        yield f'{encode}print(toString(transformdecode(target=X, spec="{spec}", meta=M)))'


FAMILIES = (frames, schemas, lambdas, tokens, transforms)
