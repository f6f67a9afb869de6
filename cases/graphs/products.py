"""Products of matrices and tensors."""

from __future__ import annotations

import math

from cases.graphs.builder import Builder, Skip
from cases.graphs.values import FLOATS, INTEGERS, Range, Value

MULTIPLIED = FLOATS + INTEGERS[:2]


def summed(x: Value, y: Value, depth: int) -> Range:
    bound = x.bound * y.bound * max(depth, 1)
    error = depth * (x.error * y.bound + y.error * x.bound)
    return Range(-bound, bound, x.grid * y.grid, error).rounded(
        x.dtype, x.is_exact and y.is_exact, max(depth, 1)
    )


def factor(b: Builder, dtypes=MULTIPLIED, **options) -> Value:
    return b.pick(dtypes, low=-8, high=8, **options)


def matmul(b: Builder) -> Value:
    x = factor(b, ranks=(1, 2, 3, 4))
    depth, columns = x.dims[-1], b.dims(1)[0]
    outer = [b.choose([1, d]) for d in x.dims[:-2]]
    kind = b.integer(0, 3)
    if kind == 0:
        y = factor(b, [x.dtype], dims=[depth])
        dims = x.dims[:-1]
    elif kind == 1:
        y = factor(b, [x.dtype], dims=[depth, columns])
        dims = [*x.dims[:-1], columns]
    elif kind == 2:
        y = factor(b, [x.dtype], dims=[*outer, depth, columns])
        dims = [*x.dims[:-1], columns]
    else:
        # The left factor is broadcast.
        many = b.dims(1)[0]
        y = factor(b, [x.dtype], dims=[many, *(x.dims[:-2] if x.rank == 3 else ()), depth, columns])
        if x.rank == 4:
            raise Skip("the ranks do not fit together")
        dims = [many, *x.dims[:-1], columns]
    return b.node("MatMul", [x, y], x.dtype, dims, summed(x, y, x.shape[-1]))


def gemm(b: Builder) -> Value:
    x = factor(b, ranks=(2,))
    trans_a, trans_b = b.integer(0, 1), b.integer(0, 1)
    rows, depth = (x.dims[1], x.dims[0]) if trans_a else x.dims
    columns = b.dims(1)[0]
    y = factor(b, [x.dtype], dims=[columns, depth] if trans_b else [depth, columns])
    inputs = [x, y]
    result = summed(x, y, b.shape_of([depth])[0])
    alpha, beta = b.choose([1.0, 0.5, 2.0]), b.choose([1.0, 0.5, 0.0])
    if x.dtype in INTEGERS:
        alpha = beta = 1.0
    low, high, error = result.low * alpha, result.high * alpha, result.error * alpha
    grid = result.grid / (2 if x.dtype in FLOATS else 1)
    if b.opset < 11 or b.chance(0.6):
        shape = b.choose([[columns], [1, columns], [rows, columns], [rows, 1], [1], []])
        c = b.pick([x.dtype], dims=shape)
        inputs.append(c)
        low, high, error = low + min(c.low, 0), high + max(c.high, 0), error + c.error
        grid = min(grid, c.grid / 2) if x.dtype in FLOATS else grid
    exact = all(v.is_exact for v in inputs) and result.error == 0
    final = Range(low, high, grid, error).rounded(x.dtype, exact, 2)
    return b.node(
        "Gemm", inputs, x.dtype, [rows, columns], final, transA=trans_a, transB=trans_b, alpha=alpha,
        beta=beta,
    )  # fmt: skip


def einsum(b: Builder) -> Value:
    """Letters that one or two operands share in any order, some of them summed."""
    x = factor(b, [*FLOATS[:3], *INTEGERS[:2]], ranks=(1, 2, 3))
    first = [str(letter) for letter in b.random.permutation(list("abcdefg"))[: x.rank]]
    dims = dict(zip(first, x.dims))
    if b.chance(0.3):
        kept = [letter for letter in first if b.chance(0.6)]
        b.random.shuffle(kept)
        terms = max(math.prod(b.shape_of([dims[k] for k in first if k not in kept])), 1)
        result = Range(-x.bound * terms, x.bound * terms, x.grid, x.error * terms)
        equation = f"{''.join(first)}->{''.join(kept)}"
        result = result.rounded(x.dtype, x.is_exact, terms)
        return b.node("Einsum", [x], x.dtype, [dims[k] for k in kept], result, equation=equation)
    shared = [letter for letter in first if b.chance(0.6)]
    fresh = [letter for letter in "xyz"[: b.integer(0, 3 - min(len(shared), 2))]]
    dims |= {letter: b.dims(1)[0] for letter in fresh}
    second = shared + fresh
    b.random.shuffle(second)
    y = factor(b, [x.dtype], dims=[dims[letter] for letter in second])
    kept = [k for k in dims if b.chance(0.8 if k not in shared else 0.4)]
    b.random.shuffle(kept)
    depth = max(math.prod(b.shape_of([d for k, d in dims.items() if k not in kept])), 1)
    equation = f"{''.join(first)},{''.join(second)}->{''.join(kept)}"
    result = summed(x, y, depth)
    return b.node("Einsum", [x, y], x.dtype, [dims[k] for k in kept], result, equation=equation)


PRODUCTS = {"MatMul": matmul, "Gemm": gemm, "Einsum": einsum}
