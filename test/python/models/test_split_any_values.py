"""Sequences, optionals and strings in models that are split into several programs."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest

pytest.importorskip("onnx")

from cases.policy import assert_same


def test_sequences_are_lists(load) -> None:
    model = load(
        "m (seq(float[N]) xs, int64 i) => (float[K] y, int64 n, float[J] all) {"
        "  y = SequenceAt(xs, i)  n = SequenceLength(xs)"
        "  all = ConcatFromSequence<axis=0>(xs)"
        "}"
    )
    assert model.inputs[0].element_type == "sequence(f32)"
    xs = [np.array([1, 2], np.float32), np.array([3], np.float32)]
    y, n, everything = model(xs, np.array(-1))
    assert_same(y, xs[1])
    assert_same(n, np.array(2))
    assert_same(everything, np.concatenate(xs))
    with pytest.raises(hr.Error, match=r"SequenceAt.*position 2 is outside a sequence of 2"):
        model(xs, np.array(2))
    with pytest.raises(hr.TypeMismatchError, match="'xs'"):
        model(xs[0], np.array(0))
    with pytest.raises(hr.TypeMismatchError, match=r"xs\[1\]"):
        model([xs[0], np.array([1], np.int32)], np.array(0))


def test_an_empty_optional_is_none(load) -> None:
    model = load("m (optional(float[N]) x) => (bool y) { y = OptionalHasElement(x) }", opset=18)
    assert_same(model(None), np.array(False))
    assert_same(model(np.zeros(2, np.float32)), np.array(True))


def test_getting_nothing_is_an_error(load) -> None:
    model = load("m (optional(float[N]) x) => (float[N] y) { y = OptionalGetElement(x) }", opset=18)
    assert_same(model(np.ones(2, np.float32)), np.ones(2, np.float32))
    with pytest.raises(hr.Error, match=r"OptionalGetElement.*expected a value, got nothing"):
        model(None)


def test_a_session_runs_them_too(tmp_path: Path, load) -> None:
    load("m (seq(float[N]) xs) => (int64 n) { n = SequenceLength(xs) }")
    session = hr.InferenceSession(tmp_path / "model.onnx")
    assert session.get_inputs()[0].type == "seq(tensor(float))"
    (count,) = session.run(None, {"xs": [np.zeros(1, np.float32)] * 3})
    assert_same(count, np.array(3))


def test_strings_are_arrays_of_objects(load) -> None:
    model = load(
        "m (string[N] x, string[1] y) => (string[N] z) { z = StringConcat(x, y) }", opset=20
    )
    assert model.inputs[0].dtype == np.dtype(object)
    found = model(np.array(["a", "ü"]), ["!"])
    assert found.dtype == object
    assert found.tolist() == ["a!", "ü!"]
    with pytest.raises(hr.TypeMismatchError, match="expected strings"):
        model([1, 2], ["!"])
    with pytest.raises(hr.ShapeMismatchError, match="StringConcat"):
        load("m (string[N] x, string[M] y) => (string[K] z) { z = StringConcat(x, y) }", opset=20)(
            ["a", "b", "c"], ["d", "e"]
        )


def test_a_pattern_that_explodes_elsewhere_takes_linear_time(load) -> None:
    model = load(
        'm (string[N] x) => (bool[N] y) { y = RegexFullMatch<pattern="(a+)+b">(x) }', opset=20
    )
    assert_same(model(["a" * 5000, "aab"]), np.array([False, True]))


def test_a_wrong_pattern_is_an_error(load) -> None:
    model = load('m (string[N] x) => (bool[N] y) { y = RegexFullMatch<pattern="(a">(x) }', opset=20)
    with pytest.raises(hr.UnsupportedError, match=r"RegexFullMatch.*'pattern'"):
        model(["a"])


def test_numbers_become_strings_and_come_back(load) -> None:
    model = load(
        "m (float[N] x) => (string[N] s, float[N] y) { s = Cast<to=8>(x) y = Cast<to=1>(s) }"
    )
    x = np.array([0.1, -2, 1e10, np.nan, -np.inf], np.float32)
    text, back = model(x)
    assert text.tolist()[:2] == ["0.1", "-2"]
    assert_same(back, x)
    with pytest.raises(hr.InvalidArgumentError, match="'none'"):
        load("m (string[N] x) => (float[N] y) { y = Cast<to=1>(x) }")(["none"])
