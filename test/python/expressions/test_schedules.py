"""Schedules of tensor expressions: every step, its rejection, and equal results."""

from __future__ import annotations

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close

N, M, K = 24, 32, 40


def product(n=N, m=M, k=K):
    A = hr.placeholder((n, k), "f32", name="A")
    B = hr.placeholder((k, m), "f32", name="B")
    r = hr.axis(k, name="r")
    C = hr.compute((n, m), lambda i, j: hr.sum(A[i, r] * B[r, j], axis=r), name="C")
    return A, B, C, r


def scaled_sum():
    X = hr.placeholder((N, M), "f32", name="X")
    D = hr.compute((N, M), lambda i, j: X[i, j] * 2.0 + 1.0, name="D")
    E = hr.compute((N, M), lambda i, j: hr.exp(D[i, j]) - X[i, j], name="E")
    return X, D, E


@pytest.fixture
def arrays():
    random = np.random.default_rng(0)
    return random.random((N, K), "f4"), random.random((K, M), "f4")


RECIPES = {
    "split": "C: split i by 5 -> io ii",
    "tile": "C: tile i j by 4 8",
    "reorder": "C: reorder r i j",
    "fuse": "C: fuse i j -> ij\nC: parallel ij",
    "parallel": "C: parallel i",
    "unroll": "C: split r by 4 -> ro ri\nC: unroll ri",
    "vectorize": "C: tile i j by 4 16\nC: reorder i.o j.o r i.i j.i\nC: unroll i.i\nC: vectorize j.i",
    "pack": "C: tile i j by 4 16\nC: reorder j.o i.o r i.i j.i\n"
    "C: pack B at j.o\nC: unroll i.i\nC: vectorize j.i",
    "cache_read": "C: cache_read B -> B.local\nB.local: compute_at C i",
    "cache_write": "C: cache_write -> C.local\nC.local: compute_at C i",
}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_change_no_result(name, arrays):
    _, _, C, _ = product()
    recipe = RECIPES[name]
    schedule = hr.schedule(C).apply(recipe)
    for given in (recipe, schedule, schedule.recipe):
        assert_close(hr.compile(C, recipe=given)(*arrays), arrays[0] @ arrays[1])


def test_steps_are_appended_to_a_recipe(arrays, tmp_path):
    _, B, C, r = product()
    s = hr.schedule(C)
    stage = s[C]
    assert stage.loops == ("i", "j", "r") and s["C"].loops == stage.loops
    io, ii = stage.split("i", 4)
    jo, ji = stage.split("j", 16)
    stage.reorder(jo, io, r, ii, ji)
    stage.pack(B, at=jo)
    stage.unroll(ii)
    stage.vectorize(ji)
    assert stage.loops == (jo, io, "r", ii, ji)
    assert s.recipe.splitlines()[0].strip() == "C: split i by 4 -> i.o i.i"
    s.save(tmp_path / "product.recipe")

    _, _, other, _ = product(48, 64, 8)
    again = hr.schedule(other).load(tmp_path / "product.recipe")
    assert again.recipe == s.recipe
    a, b = np.ones((48, 8), "f4"), np.ones((8, 64), "f4")
    assert (hr.compile(other, recipe=again)(a, b) == 8).all()
    assert_close(hr.compile(C, recipe=s)(*arrays), arrays[0] @ arrays[1])


def test_a_stage_is_computed_inside_another():
    _, D, E = scaled_sum()
    s = hr.schedule(E)
    s[E].parallel("i")
    s[D].compute_at(E, "i")
    x = np.linspace(-1, 1, N * M, dtype="f4").reshape(N, M)
    f = hr.compile(E, recipe=s)
    assert_close(f(x), np.exp(x * 2 + 1) - x)
    assert len(f.explain()["kernels"]) == 1


def blur(height=30, width=40):
    """Means of three neighbours along rows, then along columns."""
    X = hr.placeholder((height + 2, width + 2), "f32", name="X")
    bx = hr.compute(
        (height + 2, width), lambda i, j: (X[i, j] + X[i, j + 1] + X[i, j + 2]) / 3.0, name="bx"
    )
    by = hr.compute(
        (height, width), lambda i, j: (bx[i, j] + bx[i + 1, j] + bx[i + 2, j]) / 3.0, name="by"
    )
    return bx, by


@pytest.mark.parametrize(
    "recipe",
    [
        "bx: compute_at by i",
        "by: split i by 4 -> io ii\nby: parallel io\nbx: compute_at by io",
        "by: split i by 5 -> io ii\nbx: compute_at by io",
        "by: tile i j by 2 16\nby: unroll i.i\nby: vectorize j.i\nbx: compute_at by j.o\n"
        "bx: vectorize j",
        "by: reorder j i\nby: split j by 8 -> jo ji\nby: reorder jo i ji\nby: vectorize ji\n"
        "bx: compute_at by jo\nbx: vectorize j",
        "bx: compute_at by",
    ],
)
def test_a_stage_that_is_read_at_shifted_places_is_computed_inside_another(recipe):
    _, by = blur()
    x = np.random.default_rng(0).random((32, 42), "f4")
    rows = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) / 3
    f = hr.compile(by, recipe=recipe)
    assert_close(f(x), (rows[:-2] + rows[1:-1] + rows[2:]) / 3)
    assert len(f.explain()["kernels"]) == 1


def test_a_result_of_the_program_is_not_computed_inside_another():
    bx, by = blur()
    with pytest.raises(hr.InvalidArgumentError, match="'bx' is needed completely: it is a result"):
        hr.schedule([bx, by]).apply("bx: compute_at by i")


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("D: parallel i", "no stage 'D'"),
        ("C: parallel k", "'k'"),
        ("C: parallel r", "reduction"),
        ("C: split i by 0", "0"),
        ("C: reorder i j", "r"),
        ("C: reorder i i r", "i"),
        ("C: fuse i r -> x", "r"),
        ("C: vectorize i", "i"),
        ("C: pack Z at i", "Z"),
        ("C: whirl i", "whirl"),
    ],
)
def test_illegal_steps_are_refused_and_change_nothing(step, reason):
    _, _, C, _ = product()
    s = hr.schedule(C)
    s[C].parallel("i")
    before = s.recipe, s["C"].loops
    with pytest.raises(hr.InvalidArgumentError, match=reason):
        s.apply(step)
    assert (s.recipe, s["C"].loops) == before


def test_a_recipe_that_cannot_be_carried_out_is_an_error():
    X = hr.placeholder((N, M), "f32", name="X")
    s = hr.axis(M, name="s")
    farthest = hr.reducer(lambda a, b: hr.select(abs(a) > abs(b), a, b), identity=0.0)
    Y = hr.compute((N,), lambda i: farthest(X[i, s], axis=s), name="Y")
    f = hr.compile(Y, recipe="Y: vectorize s")
    with pytest.raises(hr.Error, match="'Y'.* cannot be carried out: .*'Y: vectorize s': .*order"):
        f(np.zeros((N, M), "f4"))


def test_reductions_of_the_users_become_vectors_across_results():
    X = hr.placeholder((N, 4 * M), "f32", name="X")
    r = hr.axis(N, name="r")
    farthest = hr.reducer(lambda a, b: hr.select(abs(a) > abs(b), a, b), identity=0.0)
    Y = hr.compute((4 * M,), lambda j: farthest(X[r, j], axis=r), name="Y")
    f = hr.compile(Y)
    x = np.random.default_rng(0).standard_normal((N, 4 * M), "f4")
    expected = np.take_along_axis(x, np.abs(x).argmax(0)[None], 0)[0]
    np.testing.assert_array_equal(f(x), expected)
    (kernel,) = f.explain()["kernels"]
    assert kernel["kind"] == "tiles" and not kernel["notes"]


def test_mistakes():
    _, _, C, _ = product()
    with pytest.raises(hr.TypeMismatchError, match="hr.schedule: expected tensors"):
        hr.schedule(3)
    with pytest.raises(hr.InvalidArgumentError, match="'Q'"):
        hr.schedule(C)["Q"]
    with pytest.raises(hr.TypeMismatchError, match="axis"):
        hr.schedule(C)[C].parallel(3)
    nameless = hr.axis(4)
    with pytest.raises(hr.InvalidArgumentError, match="with a name"):
        hr.schedule(C)[C].parallel(nameless)
