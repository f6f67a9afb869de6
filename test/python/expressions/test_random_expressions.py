"""Random expressions, compared with the same formula evaluated point by point in Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

hypothesis = pytest.importorskip("hypothesis")
import headrace as hr  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

EXAMPLES = settings(max_examples=25, deadline=None, derandomize=True, database=None)


class Formula:
    """A formula that runs on expressions and on numbers alike."""

    def __init__(self, draw, extents, reduced):
        self.extents = extents
        self.reduced = reduced
        self.guarded = draw(st.booleans())
        self.kind = draw(st.sampled_from(["sum", "max", "prod"]))
        self.reads = []
        coefficient = st.integers(-2, 2)
        for _ in range(draw(st.integers(1, 3))):
            rank = draw(st.integers(1, 2))
            indices = []
            for _ in range(rank):
                index = [draw(coefficient) for _ in extents]
                low = sum(min(0, c * (e - 1)) for c, e in zip(index, extents))
                high = sum(max(0, c * (e - 1)) for c, e in zip(index, extents))
                # Inside, or beyond either end by up to two where a condition stands around it.
                slack = draw(st.integers(-2, 2)) if self.guarded else 0
                size = max(1, high - low + 1 + draw(st.integers(0, 2)))
                indices.append((index, slack - low, size if slack <= 0 else max(1, size - 1)))
            self.reads.append(indices)
        self.uses_position = draw(st.booleans())

    def shapes(self):
        return [tuple(size for _, _, size in indices) for indices in self.reads]

    def value(self, tensors, point, ops):
        total = point[0] * 0.25 if self.uses_position else 0.5
        for tensor, indices in zip(tensors, self.reads):
            position = [
                sum((c * p for c, p in zip(index, point)), start) for index, start, _ in indices
            ]
            conditions = [(at >= 0, at < size) for at, (_, _, size) in zip(position, indices)]
            needs_guard = self.guarded or any(
                start + sum(max(0, c * (e - 1)) for c, e in zip(index, self.extents)) >= size
                or start + sum(min(0, c * (e - 1)) for c, e in zip(index, self.extents)) < 0
                for index, start, size in indices
            )
            if needs_guard:
                flat = [condition for pair in conditions for condition in pair]
                total = total + ops.guarded(flat, tensor, position)
            else:
                total = total * ops.read(tensor, position) + 1.0
        return total


class Expressions:
    def read(self, tensor, position):
        return tensor[tuple(position)]

    def guarded(self, conditions, tensor, position):
        return hr.select(hr.all(*conditions), tensor[tuple(position)], 0.0)


class Numbers:
    def read(self, array, position):
        return array[tuple(position)]

    def guarded(self, conditions, array, position):
        return array[tuple(position)] if all(conditions) else 0.0


@st.composite
def formulas(draw):
    rank = draw(st.integers(1, 3))
    extents = [draw(st.integers(1, 5)) for _ in range(rank)]
    return Formula(draw, extents, draw(st.integers(0, rank - 1)))


@EXAMPLES
@given(formulas(), st.integers(0, 2**31))
def test_affine_expressions(formula, seed):
    tensors = [
        hr.placeholder(shape, "f64", name=f"T{i}") for i, shape in enumerate(formula.shapes())
    ]
    kept = len(formula.extents) - formula.reduced
    axes = [hr.axis(extent, name=f"r{i}") for i, extent in enumerate(formula.extents[kept:])]

    def body(*point):
        value = formula.value(tensors, [*point, *axes], Expressions())
        if not axes:
            return hr.exp(value) if formula.kind == "sum" else value
        return {"sum": hr.sum, "prod": hr.prod, "max": hr.max}[formula.kind](value, axis=axes)

    program = hr.compile(hr.compute(tuple(formula.extents[:kept]), body, name="C"))
    rng = np.random.default_rng(seed)
    arrays = [rng.uniform(-1, 1, shape) for shape in formula.shapes()]
    values = np.empty(formula.extents)
    for point in itertools.product(*map(range, formula.extents)):
        values[point] = formula.value(arrays, list(point), Numbers())
    over = tuple(range(kept, len(formula.extents)))
    if over:
        expected = {"sum": np.sum, "prod": np.prod, "max": np.max}[formula.kind](values, axis=over)
    else:
        expected = np.exp(values) if formula.kind == "sum" else values
    used = program.inputs
    feeds = [array for i, array in enumerate(arrays) if f"T{i}" in {spec.name for spec in used}]
    for found in (program(*feeds), program.reference(*feeds)):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
