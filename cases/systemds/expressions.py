"""Random expressions over the matrices of 3 x 5, whose sizes always fit."""

from __future__ import annotations

import random
from collections.abc import Iterator

from cases.systemds.functions import AGGREGATES, BINARY, SCALARS, UNARY


class Expressions:
    """Random expressions: matrices of 3 x 5 that sizes always fit."""

    def __init__(self, seed: int, matrices: str = "AABIISSTTLZ") -> None:
        self.random = random.Random(seed)
        self.matrices = matrices

    def scalar(self, depth: int) -> str:
        pick = self.random.random()
        if depth == 0 or pick < 0.3:
            return self.random.choice([*SCALARS[:7], "2", "0.5", "-1", "3"])
        if pick < 0.6:
            function = self.random.choice(("sum", "mean", "min", "max", "nrow", "ncol", "length"))
            return f"{function}({self.name() if function[0] in 'nl' else self.matrix(depth - 1)})"
        template = self.random.choice([*BINARY[:6], *BINARY[15:17]])
        return "(" + template.format(self.scalar(depth - 1), self.scalar(depth - 1)) + ")"

    def name(self) -> str:
        return self.random.choice(self.matrices)

    def matrix(self, depth: int) -> str:
        pick = self.random.random()
        if depth == 0 or pick < 0.1:
            return self.random.choice([*self.matrices, "(U %*% t(V))"])
        if pick < 0.35:
            template = self.random.choice(
                [t for t in UNARY if t not in ("exp({})", "sinh({})", "cosh({})")]
            )
            return "(" + template.format(self.matrix(depth - 1)) + ")"
        template = self.random.choice(BINARY)
        if pick < 0.7:
            return "(" + template.format(self.matrix(depth - 1), self.matrix(depth - 1)) + ")"
        operands = [
            self.matrix(depth - 1),
            self.random.choice(["c", "r", "k", self.scalar(1), self.scalar(depth - 1)]),
        ]
        if self.random.random() < 0.3:
            operands.reverse()
        if pick < 0.9:
            return "(" + template.format(*operands) + ")"
        return f"ifelse({self.matrix(depth - 1)}, {operands[0]}, {operands[1]})"

    def any(self) -> str:
        text = self.matrix(self.random.choice((1, 2, 2, 3)))
        pick = self.random.random()
        if pick < 0.45:
            return f"{self.random.choice(AGGREGATES)}({text})"
        if pick < 0.5:
            return f"{text} %*% {self.random.choice(['V', 't(r)', 't(A)', 't(S)'])}"
        if pick < 0.55:
            return f"t({text}) %*% {self.random.choice(['c', 'U', 'S', 'A'])}"
        if pick < 0.6:
            return f"{self.random.choice(['cbind', 'rbind'])}({text}, {self.matrix(1)})"
        return text


def random_expressions(count: int) -> Iterator[str]:
    for seed in range(count):
        yield f"y = {Expressions(seed).any()}"
