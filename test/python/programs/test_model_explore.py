"""Model.explore: task graphs of programs that have no file."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import pytest

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits" / "digits.onnx"


def product() -> hr.Model:
    n, m, k = hr.var("n m k")
    a = hr.placeholder((n, k), "f32", name="A")
    b = hr.placeholder((k, m), "f32", name="B")
    r = hr.axis(k, name="r")
    c = hr.compute((n, m), lambda i, j: hr.sum(a[i, r] * b[r, j], axis=r), name="C")
    return hr.compile(hr.compute((n, m), lambda i, j: hr.max(c[i, j], 0.0), name="D"))


def test_a_product_of_two_inputs_is_cut_along_each_of_its_axes() -> None:
    report = product().explore(pes=[4], n=6, m=5, k=7)
    contraction, whole = report["explorations"]
    assert contraction["name"] == "C" and whole["name"] == "D"
    counts = {
        outcome["implementation"]: sum(task["points"] > 0 for task in outcome["tasks"])
        for outcome in contraction["outcomes"]
    }
    assert counts == {"mv": 5, "op": 7, "lmv": 6}
    for outcome in whole["outcomes"]:
        assert sum(task["points"] for task in outcome["tasks"]) == 6 * 5 * 7 + 6 * 5
        assert outcome["deadlock"] == "" and outcome["simulated"] <= outcome["bound"]


def test_kernels_hold_the_maps_that_follow() -> None:
    report = product().explore(pes=[4], granularity="fused", n=6, m=5, k=7)
    (table, *_) = report["explorations"]
    for outcome in table["outcomes"]:
        assert sum(task["points"] for task in outcome["tasks"]) == 6 * 5 * 7 + 6 * 5
        assert {"C", "D"} <= {name for task in outcome["tasks"] for name in task["operators"]}


def test_shares_keep_the_work_and_the_number_of_tasks_small() -> None:
    report = product().explore(pes=[4], tasks=2, n=6, m=4, k=8)
    for outcome in report["explorations"][0]["outcomes"]:
        cut = [task for task in outcome["tasks"] if task["points"] > 0]
        assert len(cut) <= 2 and sum(task["points"] for task in cut) == 6 * 4 * 8


def test_a_loaded_model_is_explored_and_every_schedule_runs() -> None:
    report = hr.load(DIGITS).explore(pes=[16], search=4, batch=1)
    for outcome in report["explorations"][-1]["outcomes"]:
        assert outcome["simulated"] == pytest.approx(outcome["makespan"], rel=0.05)
        assert outcome["makespan"] * 16 >= outcome["work"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "expected values of all sizes for exploration, got none of 'n', 'k', 'm'"),
        ({"n": 0, "m": 1, "k": 1}, "expected at least 1 element"),
        ({"n": 1, "m": 1, "k": 1, "pes": []}, "pes: expected integers"),
        ({"n": 1, "m": 1, "k": 1, "pes": [0]}, "pes: expected integers"),
        ({"n": 1, "m": 1, "k": 1, "tasks": 0}, "tasks: expected 1 to"),
        ({"n": 1, "m": 1, "k": 1, "search": 0}, "search: expected 1 to"),
        ({"n": 1, "m": 1, "k": 1, "granularity": "fine"}, "granularity: expected 'map' or 'fused'"),
        ({"n": 1, "m": 1, "k": 1, "convention": "x"}, "convention: expected 'tight' or 'slide'"),
        ({"rows": 1}, "got 'rows'"),
    ],
)
def test_requests_that_cannot_be_met_are_refused(options: dict, message: str) -> None:
    with pytest.raises(hr.Error, match=message):
        product().explore(**options)
