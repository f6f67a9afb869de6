"""Kernels as planned by predicted time: what planning finds, what recipes make of it, right results."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases.fusion import BY_NAME, Program, weighted_chain
from cases.policy import assert_close

CHAIN = weighted_chain("chain", "float", rows=3000, columns=40)


def load(path: Path, recipe: str = "") -> hr.Model:
    """For a level of CPUs: its rates, and so the plans by predicted time, are the same on every machine."""
    return hr.load(path, recipe=recipe, target="cpu:x86-64-v3")


def kernels(path: Path, recipe: str) -> list[str]:
    """Without those that combine partial results."""
    found = load(path, recipe=recipe).explain()["recipe"].splitlines()
    return [line for line in found if line.startswith("kernel ") and "/combine" not in line]


def test_planning_reads_a_matrix_once_for_two_products_with_it(tmp_path: Path) -> None:
    path = CHAIN.write(tmp_path)
    assert len(kernels(path, "plan kernels greedily")) == 2
    assert len(kernels(path, "plan kernels by-time")) == 1
    assert kernels(path, "") == kernels(path, "plan kernels by-time")


def test_plans_compute_the_same(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X, w, v = (random.standard_normal(shape, "f4") for shape in ((3000, 40), (3000, 1), (40, 1)))
    path = CHAIN.write(tmp_path)
    expected = X.T.astype("f8") @ (w * (X.astype("f8") @ v))
    for recipe in ("plan kernels greedily", "plan kernels by-time"):
        assert_close(hr.load(path, recipe=recipe)(X, w, v), expected, tolerance=2e-3)


@pytest.mark.parametrize("text", ["plan kernels quickly", "plan relu1 greedily"])
def test_other_ways_to_plan_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        hr.Error, match="line 1, column .*: expected (greedily or by-time|'kernels')"
    ):
        hr.load(CHAIN.write(tmp_path), recipe=text).explain()


@pytest.mark.parametrize("program", BY_NAME.values(), ids=BY_NAME)
def test_planned_kernels_are_had_again_by_their_recipe(tmp_path: Path, program: Program) -> None:
    path = program.write(tmp_path)
    model = hr.load(path)
    recipe = model.explain()["recipe"]
    again = hr.load(path, recipe=recipe)
    assert again.explain()["recipe"] == recipe
    assert again.ir("schedule") == hr.load(path).ir("schedule")


@pytest.mark.parametrize("program", BY_NAME.values(), ids=BY_NAME)
def test_what_planning_does_a_line_can_say(tmp_path: Path, program: Program) -> None:
    """Each fusion of a plan alone, with producers joining their readers elsewhere."""
    path = program.write(tmp_path)
    planned = load(path).explain()["recipe"].splitlines()
    for line in (line for line in planned if line.startswith("fuse ")):
        found = load(path, recipe=f"plan kernels greedily\n{line}\n").explain()["recipe"]
        assert line in found.splitlines()


def test_operators_that_a_line_unites_compute_the_same(tmp_path: Path) -> None:
    path = BY_NAME["kmeans_step"].write(tmp_path)
    random = np.random.default_rng(0)
    X, C = (random.standard_normal(shape, "f4") for shape in ((100000, 16), (32, 16)))
    expected = hr.load(path)(X, C)
    recipe = "plan kernels greedily\nfuse count into sums\n"
    for one, other in zip(hr.load(path, recipe=recipe)(X, C), expected):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-3)


GATHER = Program(
    "gather",
    """g (float[256,64] x, int64[256,64] i) => (float[256,64] r) {
      e = GatherElements <axis=1> (x, i)
      q = Exp(e)
      r = Tanh(q)
    }""",
)


def test_functions_are_planned_apart_from_reads_by_index(tmp_path: Path) -> None:
    """Together with those they would be computed an element at a time."""
    path = GATHER.write(tmp_path)
    assert len(kernels(path, "plan kernels greedily")) == 1
    assert len(kernels(path, "")) == 2
    random = np.random.default_rng(0)
    x, i = random.standard_normal((256, 64), "f4"), random.integers(0, 64, (256, 64))
    expected = np.tanh(np.exp(np.take_along_axis(x, i, 1)))
    assert_close(hr.load(path)(x, i), expected)


def test_a_product_walks_rows_only_where_registers_hold_enough_of_them(tmp_path: Path) -> None:
    path = BY_NAME["pairwise_kernel"].write(tmp_path)

    def walks(target: str) -> bool:
        return "\nwalk r along" in hr.load(path, target=target).explain()["recipe"]

    assert walks("cpu:x86-64-v4")
    assert not walks("cpu:x86-64-v3")
