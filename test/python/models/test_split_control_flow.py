"""If, Loop and Scan of models that are split into several programs."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest

pytest.importorskip("onnx")

from cases import graph_text
from cases.policy import assert_close, assert_same


def test_if_takes_values_from_around_it(load) -> None:
    model = load(
        "m (bool c, float[N] x) => (float[N] y) {"
        "  z = Neg(x)"
        "  y = If(c) <then_branch = a () => (float[N] p) { p = Add(x, z) },"
        "             else_branch = b () => (float[N] q) { q = Mul(x, z) }>"
        "}"
    )
    x = np.array([1, 2, 3], np.float32)
    assert_same(model(np.array(True), x), x - x)
    assert_same(model(np.array(False), x), -x * x)
    assert_same(model.reference(np.array(False), x), -x * x)


WEIGHTS = "<float[2] a = {1,2}, float[2] b = {3,4}, int64[2] s = {2,2}, int64[2] odd = {3,2}>"


def test_nodes_that_only_move_constants_run_once(load) -> None:
    model = load(
        f"m (bool c, float[N,2] x) => (float y, float[4] w) {WEIGHTS} {{"
        "  w = Concat<axis=0>(a, b)"
        "  y = If(c) <then_branch = t () => (float p) { m = Reshape(w, s) p = MatMul(x, m) },"
        "    else_branch = e () => (float q)"
        "      { v = Concat<axis=0>(b, a) m = Reshape(v, s) q = MatMul(x, m) }>"
        "}"
    )
    x = np.array([[1, -1], [2, 3]], np.float32)
    weights = np.array([[1, 2], [3, 4]], np.float32)
    for c, expected in ((True, x @ weights), (False, x @ weights[::-1]), (True, x @ weights)):
        y, w = model(np.array(c), x)
        assert_same(y, expected)
        assert_same(w, np.array([1, 2, 3, 4], np.float32))
    assert "Concat" not in str(model.explain())


def test_a_constant_node_that_is_wrong_is_an_error_where_it_runs(load) -> None:
    model = load(
        f"m (bool c, float[N,2] x) => (float y) {WEIGHTS} {{"
        "  y = If(c) <then_branch = t () => (float p) { m = Reshape(a, odd) p = MatMul(x, m) },"
        "             else_branch = e () => (float q) { q = Neg(x) }>"
        "}"
    )
    x = np.ones((1, 2), np.float32)
    assert_same(model(np.array(False), x), -x)
    with pytest.raises(hr.Error, match="Reshape"):
        model(np.array(True), x)


LOOP = (
    "m (int64 n, float[2] x) => (float[2] last, float[K,2] all) {"
    "  t = Constant<value = bool {1}>()"
    "  last, all = Loop(n, t, x) <body = b (int64 i, bool c, float[2] v)"
    "     => (bool d, float[2] w, float[2] s)"
    "     { d = Identity(c) f = Cast<to=1>(i) w = Add(v, f) s = Identity(w) }>"
    "}"
)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_loops_carry_values_and_collect_others(load, count: int) -> None:
    x = np.array([1, 2], np.float32)
    steps = [x]
    for i in range(count):
        steps.append(steps[-1] + np.float32(i))
    last, collected = load(LOOP)(np.array(count), x)
    assert_same(last, steps[-1])
    assert_same(collected, np.array(steps[1:], np.float32).reshape(count, 2))


def test_a_body_is_compiled_once(load) -> None:
    model = load(LOOP)
    model(np.array(50), np.zeros(2, np.float32))
    assert model.compiled_versions == 1


@pytest.mark.parametrize("name", ["HEADRACE_MAX_ITERATIONS", "HEADRACE_MOST_ITERATIONS"])
def test_a_loop_without_end_is_ended(load, monkeypatch, name: str) -> None:
    """The second name is deprecated."""
    monkeypatch.setenv(name, "1000")
    model = load(
        "m (float x) => (float y) {"
        "  t = Constant<value = bool {1}>()"
        "  y = Loop(, t, x) <body = b (int64 i, bool c, float v) => (bool d, float w)"
        "     { d = Identity(c) w = Identity(v) }>"
        "}"
    )
    with pytest.raises(hr.Error, match=r"Loop.*expected loops to end"):
        model(np.float32(1))


def test_a_limit_that_is_no_number_is_refused(load, monkeypatch) -> None:
    monkeypatch.setenv("HEADRACE_MAX_ITERATIONS", "many")
    with pytest.raises(hr.InvalidArgumentError, match="HEADRACE_MAX_ITERATIONS"):
        load(LOOP)(np.array(1), np.zeros(2, np.float32))


def test_scan_goes_through_its_inputs(load) -> None:
    model = load(
        "m (float[2] s, float[N,2] x) => (float[2] last, float[N,2] sums) {"
        "  last, sums = Scan<num_scan_inputs=1, body = b (float[2] a, float[2] e)"
        "     => (float[2] t, float[2] o) { t = Add(a, e) o = Identity(t) }>(s, x)"
        "}"
    )
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    last, sums = model(np.zeros(2, np.float32), x)
    assert_same(last, x.sum(axis=0))
    assert_same(sums, np.cumsum(x, axis=0))


def test_a_value_that_no_graph_around_has_is_an_error(load) -> None:
    with pytest.raises(hr.InvalidModelError, match="'nowhere'"):
        load(
            "m (bool c, float[2] x) => (float[2] y) {"
            "  y = If(c) <then_branch = a () => (float[2] p) { p = Neg(nowhere) },"
            "             else_branch = b () => (float[2] q) { q = Neg(x) }>"
            "}"
        )


def test_a_body_of_another_number_of_inputs_is_an_error(load) -> None:
    model = load(
        "m (int64 n, float x) => (float y) {"
        "  y = Loop(n, , x) <body = b (int64 i, bool c) => (bool d, float w)"
        "     { d = Identity(c) w = Cast<to=1>(i) }>"
        "}"
    )
    with pytest.raises(hr.InvalidModelError, match=r"Loop.*'body'.*3 inputs.*2"):
        model(np.array(1), np.float32(1))


def test_scans_of_sequences_of_different_lengths(tmp_path: Path) -> None:
    """In version 8; results of shorter ones end in zeros."""
    onnxruntime = pytest.importorskip("onnxruntime")
    text = (
        "m (int64[b] lengths, float[b,2] start, float[b,n,2] x) => (float[b,2] last, float[b,n,2] sums) {"
        "  last, sums = Scan<num_scan_inputs=1, body = g (float[2] a, float[2] e) => (float[2] s, float[2] t)"
        "    { s = Add(a, e) t = Mul(s, s) }>(lengths, start, x) }"
    )
    path = graph_text.write(tmp_path / "model.onnx", text, opset=8)
    model, peer = hr.load(path), onnxruntime.InferenceSession(path)
    rng = np.random.default_rng(0)
    for lengths in ([3, 1, 4], [4, 4, 4], [2, 2, 1]):
        start, x = (
            rng.standard_normal((3, 2), np.float32),
            rng.standard_normal((3, 4, 2), np.float32),
        )
        feeds = {"lengths": np.array(lengths), "start": start, "x": x}
        for ours, theirs in zip(model(**feeds), peer.run(None, feeds)):
            assert_close(ours, theirs)
