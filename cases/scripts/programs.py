"""Random programs in the scripts' language, with the values that NumPy gives for their variables."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from cases.scripts.operations import AGGREGATES, BINARY, OF_COLUMNS, SCALARS, UNARY, Operation

SIZES = (0, 1, 1, 2, 3, 4, 7, 31)
# Larger values are brought back: rounding errors stay comparable.
LARGEST = 1e3


@dataclass
class Value:
    text: str
    value: np.ndarray | float
    exact: bool


@dataclass
class Program:
    text: str
    inputs: dict[str, np.ndarray]
    expected: dict[str, np.ndarray | float]


def _has_special(value: np.ndarray | float) -> bool:
    return not bool(np.all(np.isfinite(value)))


class Programs:
    """Makes one program. Every statement leaves a variable of its own, so that each is compared."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.matrices: dict[str, Value] = {}
        self.scalars: dict[str, Value] = {"k": Value("k", 1.5, True)}
        self.lines: list[str] = ["k = 1.5"]
        self.functions: list[str] = []
        sizes = self.random.sample(SIZES, 3)
        self.inputs: dict[str, np.ndarray] = {}
        for i in range(self.random.randint(3, 6)):
            rows, cols = self.random.choice(sizes), self.random.choice(sizes)
            density = self.random.choice((0.0, 0.1, 0.3, 1.0))
            # Quarters: sums of a few are exact.
            cells = self.numbers.integers(-16, 17, (rows, cols)) / 4
            cells = cells * (self.numbers.random((rows, cols)) < density)
            self.inputs[f"X{i}"] = cells
            self.matrices[f"X{i}"] = Value(f"X{i}", cells, True)

    def make(self, statements: int) -> Program:
        kinds = (
            [self.assign] * 6
            + [self.scalar] * 2
            + [self.product, self.product, self.bind, self.bind, self.part, self.part]
            + [
                self.assign_part,
                self.loop,
                self.branch,
                self.repeat,
                self.call,
                self.entries,
                self.rows_in_parallel,
                self.invariants,
            ]
        )
        with np.errstate(all="ignore"):
            for _ in range(statements):
                self.random.choice(kinds)()
        expected = {name: v.value for name, v in (self.matrices | self.scalars).items()}
        return Program("\n".join([*self.functions, *self.lines]), self.inputs, expected)

    # --- Values --------------------------------------------------------------------------------

    def pick(self) -> Value:
        return self.random.choice(list(self.matrices.values()))

    def applied(self, operation: Operation, *operands: Value) -> Value | None:
        """None if a rounding error would decide the result."""
        exact = all(operand.exact for operand in operands)
        special = any(_has_special(operand.value) for operand in operands)
        if operation.needs_exact and (not exact or special):
            return None
        value = operation.value(*(operand.value for operand in operands))
        text = operation.text.format(*(operand.text for operand in operands))
        return self.bounded(Value(text, value, exact and operation.exact))

    @staticmethod
    def bounded(value: Value) -> Value:
        if np.any(np.abs(value.value) > LARGEST):
            text = f"({value.text} / (abs({value.text}) / 1000 + 1))"
            return Value(text, value.value / (np.abs(value.value) / 1000 + 1), False)
        return value

    def other(self, like: Value) -> Value:
        """Another operand: of the same size, or one that is repeated."""
        rows, cols = like.value.shape
        fitting = [
            v
            for v in self.matrices.values()
            if v.value.shape in {(rows, cols), (1, cols), (rows, 1), (1, 1)}
        ]
        literal = Value("2", 2.0, True)
        return self.random.choice([*fitting, *fitting, *self.scalars.values(), literal])

    def expression(self, depth: int) -> Value:
        if depth == 0:
            return self.pick()
        operand = self.expression(depth - 1)
        kind = self.random.random()
        if kind < 0.45:
            found = self.applied(self.random.choice(UNARY), operand)
        elif kind < 0.8:
            found = self.applied(self.random.choice(BINARY), operand, self.other(operand))
        else:
            table = AGGREGATES + (OF_COLUMNS if operand.value.shape[1] else [])
            found = self.applied(self.random.choice(table), operand)
        return found or operand

    def keep(self, value: Value) -> str:
        name = f"m{len(self.matrices)}"
        self.lines.append(f"{name} = {value.text}")
        self.matrices[name] = Value(name, np.array(value.value, float), value.exact)
        return name

    def keep_scalar(self, value: Value) -> None:
        name = f"s{len(self.scalars)}"
        self.lines.append(f"{name} = {value.text}")
        self.scalars[name] = Value(name, value.value, value.exact)

    # --- Statements ----------------------------------------------------------------------------

    def assign(self) -> None:
        self.keep(self.expression(self.random.choice((1, 1, 2, 3))))

    def scalar(self) -> None:
        found = self.applied(
            self.random.choice(SCALARS), self.expression(self.random.choice((0, 1, 2)))
        )
        if found:
            self.keep_scalar(found)

    def product(self) -> None:
        left, right = self.expression(self.random.choice((0, 0, 1))), self.pick()
        a, b = left.value, right.value
        if a.shape[1] == b.shape[0]:
            self.keep(self.bounded(Value(f"({left.text} %*% {right.text})", a @ b, False)))
        elif a.shape[0] == b.shape[0]:
            self.keep(self.bounded(Value(f"(t({left.text}) %*% {right.text})", a.T @ b, False)))
        elif a.shape[1] == b.shape[1]:
            self.keep(self.bounded(Value(f"({left.text} %*% t({right.text}))", a @ b.T, False)))

    def bind(self) -> None:
        first = self.expression(self.random.choice((0, 1)))
        axis = self.random.randint(0, 1)
        fitting = [
            v
            for v in self.matrices.values()
            if v.value.shape[1 - axis] == first.value.shape[1 - axis]
        ]
        parts = (
            [first, *self.random.choices(fitting, k=self.random.randint(1, 2))]
            if fitting
            else [first]
        )
        if self.random.random() < 0.3:
            count = first.value.shape[1 - axis]
            shape = (1, count) if axis == 0 else (count, 1)
            parts.append(Value(f"matrix(1, {shape[0]}, {shape[1]})", np.ones(shape), True))
        self.random.shuffle(parts)
        text = f"{'rc'[axis]}bind({', '.join(part.text for part in parts)})"
        exact = all(part.exact for part in parts)
        self.keep(Value(text, np.concatenate([part.value for part in parts], axis=axis), exact))

    def span(self, size: int) -> tuple[str, slice]:
        first = self.random.randint(1, size)
        last = self.random.randint(first, size)
        pick = self.random.random()
        if pick < 0.3:
            return "", slice(None)
        return (
            (str(first), slice(first - 1, first))
            if pick < 0.5
            else (f"{first}:{last}", slice(first - 1, last))
        )

    def part(self) -> None:
        whole = self.pick()
        if whole.value.size:
            (rows, at), (cols, to) = (self.span(size) for size in whole.value.shape)
            self.keep(Value(f"{whole.text}[{rows}, {cols}]", whole.value[at, to], whole.exact))

    def assign_part(self) -> None:
        whole = self.pick()
        if not whole.value.size:
            return
        (rows, at), (cols, to) = (self.span(size) for size in whole.value.shape)
        shape = whole.value[at, to].shape
        fitting = [v for v in self.matrices.values() if v.value.shape == shape]
        part = self.random.choice(
            [*fitting, Value(f"matrix(0, {shape[0]}, {shape[1]})", np.zeros(shape), True)]
        )
        value = whole.value.copy()
        value[at, to] = part.value
        exact = whole.exact and part.exact
        name = self.keep(Value(whole.text, value, exact))
        self.lines.append(f"{name}[{rows}, {cols}] = {part.text}")

    def loop(self) -> None:
        start, count = self.pick(), self.random.randint(1, 4)
        value = start.value
        for i in range(1, count + 1):
            value = value / 2 + i * np.sum(value) / (value.size + 1)
        name = self.keep(Value(start.text, value, False))
        step = f"{name} = {name} / 2 + i * sum({name}) / (length({name}) + 1)"
        self.lines.append(f"for (i in 1:{count}) {{ {step} }}")

    def invariants(self) -> None:
        """A loop with a product that is the same in every iteration, or only in some."""
        start, factor = self.pick(), self.pick()
        count, change = self.random.randint(3, 5), self.random.randint(2, 9)
        value, a = start.value, factor.value
        name = self.keep(Value(start.text, value, False))
        self.lines.append(f"a = {factor.text}")
        step = f"{name} = {name} / 2 + i * g / (1 + abs(g))"
        product, whole = "t(a) %*% a", lambda a: a.T @ a
        if self.random.random() < 0.5:
            product, whole = (
                "exp(-abs(a)) %*% (t(a) %*% a)",
                lambda a: np.exp(-np.abs(a)) @ (a.T @ a),
            )
        self.lines.append(
            f"for (i in 1:{count}) {{ if (i == {change}) {{ a = a + i }}; g = sum({product}); {step} }}"
        )
        for i in range(1, count + 1):
            a = a + i if i == change else a
            g = np.sum(whole(a))
            value = value / 2 + i * g / (1 + abs(g))
        self.matrices[name] = Value(name, value, False)

    def branch(self) -> None:
        exact = [v for v in self.scalars.values() if v.exact and not _has_special(v.value)]
        condition, (yes, no) = self.random.choice(exact), (self.expression(1), self.expression(1))
        chosen = yes if condition.value > 2 else no
        name = self.keep(Value("matrix(0, 1, 1)", chosen.value, yes.exact and no.exact))
        self.lines.append(
            f"if ({condition.text} > 2) {{ {name} = {yes.text} }} else {{ {name} = {no.text} }}"
        )

    def repeat(self) -> None:
        """A matrix that grows, until a counter stops it."""
        part, count = self.pick(), self.random.randint(1, 3)
        name = self.keep(Value(part.text, np.concatenate([part.value] * (count + 1)), part.exact))
        self.lines.append(
            f"c = 0; while (c < {count}) {{ {name} = rbind({name}, {part.text}); c = c + 1 }}"
        )

    def call(self) -> None:
        """A function of two results, of which some calls read one."""
        operand = self.pick()
        name = f"f{len(self.functions)}"
        self.functions.append(
            f"{name} = function(Matrix[Double] A, Double b = 3) return (Matrix[Double] B, Double s) "
            f"{{ B = A * b; s = sum(B) }}"
        )
        value = operand.value * 3
        if self.random.random() < 0.5:
            self.keep(self.bounded(Value(f"{name}({operand.text})", value, operand.exact)))
            return
        result = f"m{len(self.matrices)}"
        self.lines.append(f"[{result}, total] = {name}(A = {operand.text}, b = 3)")
        self.matrices[result] = Value(result, value, operand.exact)
        self.keep_scalar(Value("total", float(np.sum(value)), False))

    def entries(self) -> None:
        first, second = self.pick(), self.random.choice(list(self.scalars.values()))
        self.lines.append(f"l = append(list(a={first.text}), {second.text})")
        self.keep(Value('as.matrix(l["a"])', first.value, first.exact))
        self.keep_scalar(Value("as.scalar(l[2])", second.value, second.exact))

    def rows_in_parallel(self) -> None:
        whole = self.pick()
        if not whole.value.size:
            return
        rows = whole.value.shape[0]
        value = whole.value + np.arange(1.0, rows + 1).reshape(-1, 1)
        name = self.keep(Value(whole.text, value, False))
        self.lines.append(
            f"parfor (i in 1:{rows}) {{ own = {whole.text}[i, ] + i; {name}[i, ] = own }}"
        )


def random_program(seed: int) -> Program:
    made = Programs(seed)
    return made.make(made.random.randint(4, 14))
