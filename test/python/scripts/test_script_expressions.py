"""Random expressions: what a script computes is what NumPy computes, whatever the formats."""

from __future__ import annotations

import random

import headrace as hr
import numpy as np
import pytest

sparse = pytest.importorskip("scipy.sparse")

# 1,000 expressions in all, many to a script; a quarter of the scripts compile all they can.
SCRIPTS, PER_SCRIPT = 40, 25
ROWS, COLS, RANK = 7, 5, 3

UNARY = {
    "(-{})": np.negative,
    "abs({})": np.abs,
    "sqrt(abs({}))": lambda x: np.sqrt(np.abs(x)),
    "exp({} / 8)": lambda x: np.exp(x / 8),
    "log(abs({}) + 1)": lambda x: np.log(np.abs(x) + 1),
    "round({})": lambda x: np.floor(x + 0.5),
    "sign({})": np.sign,
    "sin({})": np.sin,
    "({} ^ 2)": np.square,
    "(!{})": lambda x: (x == 0) * 1.0,
    "({} > 0)": lambda x: (x > 0) * 1.0,
    "({} * 2)": lambda x: x * 2,
    "(3 - {})": lambda x: 3 - x,
    "({} + 1)": lambda x: x + 1,
    "({} / 4)": lambda x: x / 4,
}
BINARY = {
    "({} + {})": np.add,
    "({} - {})": np.subtract,
    "({} * {})": np.multiply,
    "max({}, {})": np.maximum,
    "min({}, {})": np.minimum,
    "({} > {})": lambda a, b: (a > b) * 1.0,
    "({} != {})": lambda a, b: (a != b) * 1.0,
    "({} & {})": lambda a, b: ((a != 0) & (b != 0)) * 1.0,
    "({} / (abs({}) + 1))": lambda a, b: a / (np.abs(b) + 1),
}
AGGREGATES = {
    "sum({})": np.sum,
    "mean({})": np.mean,
    "min({})": np.min,
    "max({})": np.max,
    "rowSums({})": lambda x: x.sum(1, keepdims=True),
    "colSums({})": lambda x: x.sum(0, keepdims=True),
    "rowMaxs({})": lambda x: x.max(1, keepdims=True),
    "colMeans({})": lambda x: x.mean(0, keepdims=True),
}


class Expressions:
    """Expressions with their values, over matrices of ROWS x COLS, vectors and scalars."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        values = np.random.default_rng(seed)

        def matrix(rows: int, cols: int, density: float) -> np.ndarray:
            return np.round(values.uniform(-4, 4, (rows, cols)), 3) * (
                values.random((rows, cols)) < density
            )

        self.dense = {
            "A": matrix(ROWS, COLS, 1),
            "B": matrix(ROWS, COLS, 1),
            "S": matrix(ROWS, COLS, 0.25),
            "T": matrix(ROWS, COLS, 0.2),
            "E": np.zeros((ROWS, COLS)),
            "U": matrix(ROWS, RANK, 1),
            "V": matrix(COLS, RANK, 1),
            "c": matrix(ROWS, 1, 1),
            "r": matrix(1, COLS, 1),
        }
        self.given = {
            name: sparse.csr_matrix(value) if name in "STE" else value
            for name, value in self.dense.items()
        }
        self.given["k"] = self.dense["k"] = 1.5

    def pick(self, table):
        return self.random.choice(list(table.items()))

    def leaf(self) -> tuple[str, np.ndarray]:
        name = self.random.choice("ABSSTTE")
        if self.random.random() < 0.15:
            return "(U %*% t(V))", self.dense["U"] @ self.dense["V"].T
        return name, self.dense[name]

    def matrix(self, depth: int) -> tuple[str, np.ndarray]:
        if depth == 0:
            return self.leaf()
        kind = self.random.random()
        if kind < 0.4:
            (template, function), (text, value) = self.pick(UNARY), self.matrix(depth - 1)
            return template.format(text), function(value)
        if kind < 0.55:
            (template, function), (text, value) = self.pick(BINARY), self.matrix(depth - 1)
            name = self.random.choice("crk")
            return template.format(text, name), function(value, self.dense[name])
        if kind < 0.6:
            text, value = self.matrix(depth - 1)
            other, second = self.matrix(depth - 1)
            condition = f"({text} > {other})"
            return f"ifelse({condition}, {text}, {other})", np.where(value > second, value, second)
        (template, function) = self.pick(BINARY)
        (text, value), (other, second) = self.matrix(depth - 1), self.matrix(depth - 1)
        return template.format(text, other), function(value, second)

    def any(self) -> tuple[str, np.ndarray]:
        text, value = self.matrix(self.random.choice([1, 2, 3]))
        kind = self.random.random()
        if kind < 0.4:
            (template, function) = self.pick(AGGREGATES)
            return template.format(text), np.asarray(function(value))
        if kind < 0.5:
            return f"t({text})", value.T
        if kind < 0.6:
            other, second = self.matrix(1)
            return f"(t({text}) %*% {other})", value.T @ second
        if kind < 0.7:
            return f"({text} %*% t(r))", value @ self.dense["r"].T
        if kind < 0.75:
            other, second = self.matrix(1)
            return f"cbind({text}, {other})", np.hstack([value, second])
        return text, value


@pytest.mark.parametrize("seed", range(SCRIPTS))
def test_expressions_equal_numpys(seed: int) -> None:
    expressions = Expressions(seed)
    pairs = [expressions.any() for _ in range(PER_SCRIPT)]
    lines = [f"y{i} = {text}" for i, (text, _) in enumerate(pairs)]
    script = hr.script("\n".join(lines), compile="always" if seed % 4 == 0 else "never")
    found = script(**expressions.given)
    for i, (text, expected) in enumerate(pairs):
        value = found[f"y{i}"]
        value = value.toarray() if sparse.issparse(value) else np.asarray(value)
        assert value.shape == expected.shape, text
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-9, err_msg=text)
