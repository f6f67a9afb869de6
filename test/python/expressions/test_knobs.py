"""Knobs in schedules: spaces, their points, and programs at a point."""

from __future__ import annotations

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close

N, M, K = 24, 32, 40


@pytest.fixture
def arrays():
    random = np.random.default_rng(0)
    return random.random((N, K), "f4"), random.random((K, M), "f4")


def product(n=N):
    A = hr.placeholder((n, K), "f32", name="A")
    B = hr.placeholder((K, M), "f32", name="B")
    r = hr.axis(K, name="r")
    return hr.compute((n, M), lambda i, j: hr.sum(A[i, r] * B[r, j], axis=r), name="C")


def tuned(C):
    """Tile sizes, an order of loops, and directives that may be left out."""
    s = hr.schedule(C)
    s[C].tile(["i", "j"], [hr.knob([4, 6, 8], name="rows"), hr.knob([16, 32], name="columns")])
    orders = [("i.o", "j.o", "r", "i.i", "j.i"), ("j.o", "i.o", "r", "i.i", "j.i")]
    s[C].reorder(hr.knob(orders, name="order"))
    s[C].unroll(hr.knob(["i.i", None], name="unrolled"))
    s[C].vectorize("j.i")
    return s


def test_a_space_has_every_combination_of_its_knobs():
    space = tuned(product()).space()
    assert space.knobs["rows"] == (4, 6, 8)
    points = list(space)
    assert space.size == len(points) == 3 * 2 * 2 * 2
    assert len({space.recipe(point) for point in points}) == len(points)


def test_every_point_computes_the_same(arrays):
    C = product()
    s = tuned(C)
    for point in s.space().sample(6, seed=1):
        assert_close(hr.compile(C, recipe=s.at(point))(*arrays), arrays[0] @ arrays[1])


def test_a_schedule_takes_the_first_values(arrays):
    C = product()
    s = tuned(C)
    first = {name: values[0] for name, values in s.space().knobs.items()}
    assert s.recipe == s.at(first)
    assert_close(hr.compile(C, recipe=s)(*arrays), arrays[0] @ arrays[1])


def test_none_leaves_out_a_directive():
    s = tuned(product())
    first = {name: values[0] for name, values in s.space().knobs.items()}
    assert "unroll" in s.at(first)
    assert "unroll" not in s.at({**first, "unrolled": None})


def test_a_knob_in_two_directives_is_one_knob():
    C = product()
    s, rows = hr.schedule(C), hr.knob([4, 8])
    s[C].split("i", rows)
    s[C].split("j", rows)
    assert s.space().knobs == {"C.i": (4, 8)}
    assert s.at({"C.i": 8}) == "C: split i by 8 -> i.o i.i\nC: split j by 8 -> j.o j.i\n"


def test_knobs_without_names_are_named_after_their_loops():
    C = product()
    s = hr.schedule(C)
    s[C].tile(["i", "j"], [hr.knob([4, 8]), hr.knob([16, 32])])
    s[C].split("r", hr.knob([4, 5]))
    s[C].parallel(hr.knob(["i.o", None]))
    assert list(s.space().knobs) == ["C.i", "C.j", "C.r", "C.parallel"]


def test_samples_are_legal_and_repeat():
    space = tuned(product()).space()
    points = space.sample(5, seed=3)
    assert points == space.sample(5, seed=3) and len(points) == 5
    assert points != space.sample(5, seed=4)
    assert all(not space.unsupported_reason(point) for point in points)
    assert len(space.sample(1000)) == space.size


def test_illegal_points_are_left_out_with_their_reason():
    C = product()
    s = hr.schedule(C)
    s[C].parallel(hr.knob(["i", "r"], name="threads"))
    space = s.space()
    assert [point["threads"] for point in space] == ["i"]
    assert "r" in space.unsupported_reason({"threads": "r"})
    with pytest.raises(hr.Error, match=r"threads='r': .*'r'"):
        space.recipe({"threads": "r"})


def test_a_program_is_timed_at_points_of_its_space(arrays):
    C = product()
    kernel = hr.compile(C, recipe=tuned(C))
    points = kernel.space().sample(2)
    assert all(kernel.time(point) > 0 for point in points)
    assert kernel.time(points[0], *arrays) > 0
    assert kernel.time(points[0], B=arrays[1], A=arrays[0]) > 0


def test_dynamic_shapes_are_timed_on_given_arrays(arrays):
    C = product(hr.var("n"))
    kernel = hr.compile(C, recipe=tuned(C))
    (point,) = kernel.space().sample(1)
    with pytest.raises(hr.InvalidArgumentError, match="input 'A', whose shape is dynamic"):
        kernel.time(point)
    assert kernel.time(point, *arrays) > 0


@pytest.mark.parametrize(
    "point, message",
    [
        ({}, "expected a value for 'C.i', got none"),
        ({"C.i": 5}, "knob 'C.i': expected one of 4, 8, got 5"),
        ({"C.i": 4.0}, "knob 'C.i': expected one of 4, 8, got 4.0"),
        ({"C.i": 4, "x": 1}, "expected values for 'C.i', got 'x'"),
        (4, "expected a dict of values for 'C.i', got int"),
    ],
)
def test_points_outside_the_space_are_rejected(point, message):
    C = product()
    s = hr.schedule(C)
    s[C].split("i", hr.knob([4, 8]))
    kernel = hr.compile(C, recipe=s)
    for use in (s.at, kernel.space().unsupported_reason, kernel.time):
        with pytest.raises(hr.Error, match=message):
            use(point)


@pytest.mark.parametrize(
    "values, message",
    [
        ([], "expected a value to choose from, got none"),
        ([4, 8, 4], "expected each value once, got 4 twice"),
        (4, "expected a list of values, got 4"),
        ("i", "expected a list of values, got 'i'"),
    ],
)
def test_knobs_need_values(values, message):
    with pytest.raises(hr.Error, match=message):
        hr.knob(values)


def test_directives_reject_values_that_do_not_fit():
    C = product()
    s = hr.schedule(C)
    with pytest.raises(hr.Error, match=r"C.i=0: .*0"):
        s[C].split("i", hr.knob([0, 4]))
    with pytest.raises(hr.TypeMismatchError, match="expected an integer, got 'four'"):
        s[C].split("i", hr.knob(["four"]))
    s[C].split("i", hr.knob([4], name="rows"))
    with pytest.raises(hr.InvalidArgumentError, match="expected one knob of this name"):
        s[C].split("j", hr.knob([8], name="rows"))
    assert s.recipe == "C: split i by 4 -> i.o i.i\n"


def test_programs_without_knobs_have_no_space():
    C = product()
    with pytest.raises(hr.InvalidArgumentError, match="'C': expected a schedule with a knob"):
        hr.compile(C).space()
    with pytest.raises(hr.InvalidArgumentError, match="expected a directive with hr.knob"):
        hr.schedule(C).space()


def test_launches_have_knobs():
    C = product()
    s = hr.schedule(C, target="cuda:sm_90a")
    s[C].launch("product", tileM=hr.knob([32, 48, 64]), tileN=hr.knob([32, 64]))
    space = s.space()
    assert space.knobs == {"C.tileM": (32, 48, 64), "C.tileN": (32, 64)}
    assert "shared evenly by threads" in space.unsupported_reason({"C.tileM": 48, "C.tileN": 32})
    assert len(list(space)) == 4
    assert "tileM=64 tileN=32" in s.at({"C.tileM": 64, "C.tileN": 32})
