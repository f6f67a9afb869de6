"""Models whose shapes, control flow or values depend on data: they run in stages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import headrace as hr
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from cases import graph_text  # noqa: E402
from cases.policy import assert_close


@pytest.fixture
def load(tmp_path: Path):
    """A model from the text of its graph."""

    def make(text: str, **options: Any) -> hr.Model:
        return hr.load(graph_text.write(tmp_path / "model.onnx", text, **options))

    return make


def same(found, expected) -> None:
    np.testing.assert_array_equal(found, expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype


# Values that a program is made for


def test_a_model_without_data_dependence_is_one_program(load) -> None:
    model = load("m (float[N,3] x) => (float[N,3] y) { y = Relu(x) }")
    assert not model.staged


def test_axes_and_shapes_may_be_inputs(load) -> None:
    model = load(
        "m (float[N,M] x, int64[1] axes, int64[K] shape) => (float s, float r)"
        "{ s = ReduceSum(x, axes)  r = Reshape(x, shape) }"
    )
    assert model.staged
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for axis in (0, 1, 0):
        total, reshaped = model(x, np.array([axis]), np.array([3, -1]))
        same(total, x.sum(axis=axis, keepdims=True))
        same(reshaped, x.reshape(3, 2))


def test_values_in_the_middle_of_a_graph_are_waited_for(load) -> None:
    model = load(
        "m (float[N] x) => (float[K] y, int64[1] n) {"
        "  zero = Constant<value_float=0.0>()"
        "  positive = Greater(x, zero)"
        "  ones = Cast<to=7>(positive)"
        "  n = ReduceSum(ones)"
        "  start = Sub(n, n)"
        "  part = Slice(x, start, n)"
        "  y = Neg(part)"
        "}"
    )
    for x in ([1, -2, 3, -4], [1, 2, 3], [-1, -2], [5]):
        x = np.array(x, dtype=np.float32)
        count = int((x > 0).sum())
        y, n = model(x)
        same(y, -x[:count])
        same(n, np.array([count]))
        same(model.reference(x)[0], -x[:count])


def test_a_plan_is_used_again_and_the_number_kept_is_bounded(load) -> None:
    model = load(
        "m (float[N,4] x, int64[2] shape) => (float y) { r = Reshape(x, shape) y = Exp(r) }"
    )
    x = np.ones((2, 4), np.float32)
    model(x, np.array([4, 2]))
    assert model.compiled_versions == 1
    for _ in range(3):
        model(x, np.array([4, 2]))
    assert model.compiled_versions == 1
    for rows in range(1, 40):
        same(model(np.ones((rows, 4), np.float32), np.array([-1, 4])).shape, (rows, 4))
    assert model.compiled_versions <= 16 * 2


def test_sizes_that_change_share_one_program_from_the_second_on(load) -> None:
    model = load("m (float[N] x, int64[1] axes) => (float y) { r = Unsqueeze(x, axes) y = Exp(r) }")
    for size in range(2, 12):
        same(model(np.zeros(size, np.float32), np.array([0])), np.ones((1, size), np.float32))
    assert model.compiled_versions == 2


def kernels(model: hr.Model) -> int:
    model(np.ones(8, np.float32), np.array([0]))
    return len(model.explain()["kernels"])


def test_a_recipe_speaks_of_the_nodes_of_all_programs(tmp_path: Path) -> None:
    model = helper.make_model(
        helper.make_graph(
            [
                helper.make_node("Exp", ["x"], ["e"], "a"),
                helper.make_node("Relu", ["e"], ["r"], "b"),
                helper.make_node("ReduceSum", ["r", "axes"], ["s"], "c"),
            ],
            "m",
            [
                helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"]),
                helper.make_tensor_value_info("axes", TensorProto.INT64, [1]),
            ],
            [helper.make_tensor_value_info("s", TensorProto.FLOAT, [1])],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    fused = hr.load(model)
    assert kernels(fused) == 1
    assert kernels(hr.load(model, recipe="separate b")) == 2
    # What the compiler wrote is what it follows.
    assert kernels(hr.load(model, recipe=fused.explain()["recipe"])) == 1
    with pytest.raises(hr.InvalidArgumentError, match="line 1: expected a node.*got 'z'"):
        hr.load(model, recipe="separate z")


# Control flow


def test_if_takes_values_from_around_it(load) -> None:
    model = load(
        "m (bool c, float[N] x) => (float[N] y) {"
        "  z = Neg(x)"
        "  y = If(c) <then_branch = a () => (float[N] p) { p = Add(x, z) },"
        "             else_branch = b () => (float[N] q) { q = Mul(x, z) }>"
        "}"
    )
    x = np.array([1, 2, 3], np.float32)
    same(model(np.array(True), x), x - x)
    same(model(np.array(False), x), -x * x)
    same(model.reference(np.array(False), x), -x * x)


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
        same(y, expected)
        same(w, np.array([1, 2, 3, 4], np.float32))
    assert "Concat" not in str(model.explain())


def test_a_constant_node_that_is_wrong_is_an_error_where_it_runs(load) -> None:
    model = load(
        f"m (bool c, float[N,2] x) => (float y) {WEIGHTS} {{"
        "  y = If(c) <then_branch = t () => (float p) { m = Reshape(a, odd) p = MatMul(x, m) },"
        "             else_branch = e () => (float q) { q = Neg(x) }>"
        "}"
    )
    x = np.ones((1, 2), np.float32)
    same(model(np.array(False), x), -x)
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
    same(last, steps[-1])
    same(collected, np.array(steps[1:], np.float32).reshape(count, 2))


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
    same(last, x.sum(axis=0))
    same(sums, np.cumsum(x, axis=0))


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


# Sequences and optionals


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
    same(y, xs[1])
    same(n, np.array(2))
    same(everything, np.concatenate(xs))
    with pytest.raises(hr.Error, match=r"SequenceAt.*position 2 is outside a sequence of 2"):
        model(xs, np.array(2))
    with pytest.raises(hr.TypeMismatchError, match="'xs'"):
        model(xs[0], np.array(0))
    with pytest.raises(hr.TypeMismatchError, match=r"xs\[1\]"):
        model([xs[0], np.array([1], np.int32)], np.array(0))


def test_an_empty_optional_is_none(load) -> None:
    model = load("m (optional(float[N]) x) => (bool y) { y = OptionalHasElement(x) }", opset=18)
    same(model(None), np.array(False))
    same(model(np.zeros(2, np.float32)), np.array(True))


def test_getting_nothing_is_an_error(load) -> None:
    model = load("m (optional(float[N]) x) => (float[N] y) { y = OptionalGetElement(x) }", opset=18)
    same(model(np.ones(2, np.float32)), np.ones(2, np.float32))
    with pytest.raises(hr.Error, match=r"OptionalGetElement.*expected a value, got nothing"):
        model(None)


# Sizes that data decide


@pytest.mark.parametrize("shape", [(3, 4), (0,), (5,), (2, 0, 3), (2, 1, 3)])
def test_nonzero_is_numpys(load, shape: tuple[int, ...]) -> None:
    sizes = ",".join("ABC"[: len(shape)])
    model = load(f"m (float[{sizes}] x) => (int64[R,K] y) {{ n = NonZero(x) y = Neg(n) }}")
    x = np.random.default_rng(0).integers(-1, 2, shape).astype(np.float32)
    same(model(x), -np.array(np.nonzero(x)))


def test_unique_sorts_or_keeps_the_order(load) -> None:
    x = np.array([2.0, 1.0, 1.0, 3.0, 4.0, 3.0], np.float32)
    names = "(float[N] x) => (float[K] y, int64[K] i, int64[N] j, int64[K] k)"
    y, i, j, k = load(f"m {names} {{ y, i, j, k = Unique(x) }}")(x)
    for found, expected in zip((y, i, j, k), np.unique(x, True, True, True)):
        same(found, expected)
    y, i, _, _ = load(f"m {names} {{ y, i, j, k = Unique<sorted=0>(x) }}")(x)
    same(y, np.array([2, 1, 3, 4], np.float32))
    same(i, np.array([0, 1, 3, 4]))


def test_compress_outside_of_the_axis_is_an_error(load) -> None:
    model = load("m (float[N] x, bool[M] c) => (float[K] y) { y = Compress<axis=0>(x, c) }")
    x = np.arange(3, dtype=np.float32)
    same(model(x, np.array([True, False, True])), x[[0, 2]])
    same(model(x, np.array([False])), x[:0])
    with pytest.raises(hr.Error, match=r"Compress.*position 3 is outside a size of 3"):
        model(x, np.array([False, False, False, True]))


# Strings


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
    same(model(["a" * 5000, "aab"]), np.array([False, True]))


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
    same(back, x)
    with pytest.raises(hr.InvalidArgumentError, match="'none'"):
        load("m (string[N] x) => (float[N] y) { y = Cast<to=1>(x) }")(["none"])


# What stages cannot do, and what they show


def test_functions_of_the_model_are_written_out(load) -> None:
    model = load(
        "m (float[N] x) => (float[N] y) { y = mine.twice(x) }",
        imports=', "mine" : 1',
        functions='<domain: "mine", opset_import: ["" : 17]> twice (a) => (b) { b = Add(a, a) }',
    )
    assert not model.staged
    x = np.arange(3, dtype=np.float32)
    same(model(x), x + x)


def test_reports_on_one_program_are_refused_in_one_sentence(load) -> None:
    model = load("m (float[N] x, int64[1] a) => (float y) { y = ReduceSum<keepdims=0>(x, a) }")
    for ask in (lambda: model.ir("kernels"), lambda: model.weights):
        with pytest.raises(hr.UnsupportedError, match="split into several programs"):
            ask()


def test_a_package_answers_as_the_model_does(load, tmp_path: Path) -> None:
    model = load("m (float[N] x, int64[1] a) => (float y) { y = ReduceSum<keepdims=0>(x, a) }")
    axis = np.array([0])
    samples = [{"x": np.ones(size, np.float32), "a": axis} for size in (3, 5)]
    package = tmp_path / "model.hrpkg"
    hr.write_package(tmp_path / "model.onnx", package, processors=["native"], samples=samples)
    packaged = hr.load(package)
    assert packaged.staged
    assert [str(spec) for spec in packaged.inputs] == [str(spec) for spec in model.inputs]
    for size in (0, 1, 2, 7):
        x = np.arange(size, dtype=np.float32)
        same(packaged(x, axis), model(x, axis))
    with pytest.raises(hr.UnsupportedError, match=r"expected \[0\].*got \[-1\]"):
        packaged(np.ones(3, np.float32), np.array([-1]))
    for name in samples[0]:
        with pytest.raises(hr.MissingInputError, match=f"expected an input '{name}'"):
            few = [{key: value for key, value in samples[0].items() if key != name}]
            hr.write_package(tmp_path / "model.onnx", package, samples=few)


def test_a_package_takes_and_returns_numbers(load, tmp_path: Path) -> None:
    load("m (string[N] x) => (string[N] y) { y = StringConcat(x, x) }", opset=20)
    with pytest.raises(hr.UnsupportedError, match="input 'x': expected a numeric tensor"):
        hr.write_package(tmp_path / "model.onnx", tmp_path / "model.hrpkg")


def test_a_report_before_a_run_shows_what_sizes_tell(load) -> None:
    model = load("m (float[N] x, int64[1] a) => (float y) { r = Exp(x) y = ReduceSum(r, a) }")
    report = model.explain()
    assert [kernel["operators"] for kernel in report["kernels"]] == [["Exp_r"]]
    (unknown,) = report["known_after_run"]
    assert "ReduceSum" in unknown["node"] and unknown["reason"] == "needs the value of 'a'"
    model(np.ones(4, np.float32), np.array([0]))
    report = model.explain()
    assert all(kernel["name"].startswith("region 1: ") for kernel in report["kernels"])
    assert report["known_after_run"] == []


def test_a_report_before_a_run_is_for_the_given_sizes(load) -> None:
    model = load(
        "m (float[N,8] x) => (float[M,8] y) {"
        "  zero = Constant<value_float=0.0>()"
        "  e = Exp(x)"
        "  s = ReduceMax<keepdims=0>(e)"
        "  c = Greater(s, zero)"
        "  y = If(c) <then_branch = a () => (float[P,8] p) { p = Sqrt(e) },"
        "             else_branch = b () => (float[Q,8] q) { n = NonZero(e) q = Tile(e, n) }>"
        "}"
    )
    report = model.explain(N=5)
    assert report["before"]["operations"] > 0
    written = [kernel["bytes_written"] for kernel in report["kernels"]]
    assert 5 * 8 * 4 in written
    assert any("host" in unknown["reason"] for unknown in report["known_after_run"])
    assert not model.compiled_versions


def test_inputs_are_checked_against_what_is_declared(load) -> None:
    model = load(
        "m (float[N,2] x, float[N] z, int64[1] a) => (float y) { s = ReduceSum(x, a) y = Add(s, z) }"
    )
    x, z, a = np.ones((3, 2), np.float32), np.ones(3, np.float32), np.array([0])
    for wrong, match in (
        ((x.astype(np.float64), z, a), "'x'"),
        ((x[:, :1], z, a), "'x'.*size 2"),
        ((x[0], z, a), "'x'.*rank 2"),
        ((x, z[:2], a), "'z'.*size 3 of 'N'"),
    ):
        with pytest.raises(hr.Error, match=match):
            model(*wrong)


def test_a_real_fault_names_its_node(load) -> None:
    model = load("m (float[N] x, int64[K] shape) => (float y) { y = Reshape(x, shape) }")
    with pytest.raises(hr.Error, match="Reshape"):
        model(np.ones(6, np.float32), np.array([4, -1]))
    same(model(np.ones(6, np.float32), np.array([3, -1])).shape, (3, 2))


def test_a_session_runs_them_too(tmp_path: Path, load) -> None:
    load("m (seq(float[N]) xs) => (int64 n) { n = SequenceLength(xs) }")
    session = hr.InferenceSession(tmp_path / "model.onnx")
    assert session.get_inputs()[0].type == "seq(tensor(float))"
    (count,) = session.run(None, {"xs": [np.zeros(1, np.float32)] * 3})
    same(count, np.array(3))


def test_a_tensor_of_unknown_rank_is_taken_as_it_comes(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Exp", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    loaded = hr.load(path)
    assert loaded.inputs[0].shape is None
    for shape in ((), (3,), (2, 3)):
        same(loaded(np.zeros(shape, np.float32)), np.ones(shape, np.float32))


# Sizes that a program is made for


def test_a_range_over_free_sizes_is_part_of_one_program(load) -> None:
    model = load(
        "m (float[N,M] x) => (int64[K] up, int64[K] down, int64[L] even)"
        "<int64 zero = {0}, int64 one = {1}, int64 minus = {-1}, int64 two = {2}> {"
        "  sizes = Shape(x)  n = Gather(sizes, zero)  m = Gather(sizes, one)  end = Add(n, m)"
        "  up = Range(n, end, one)  down = Range(m, zero, minus)  even = Range(zero, end, two)"
        "}"
    )
    assert not model.staged
    for n, m in ((2, 3), (5, 1), (1, 0), (4, 4)):
        up, down, even = model(np.zeros((n, m), np.float32))
        same(up, np.arange(n, n + m))
        same(down, np.arange(m, 0, -1))
        same(even, np.arange(0, n + m, 2))


def test_sizes_that_fit_as_multiples_alone_share_a_program(load) -> None:
    model = load(
        "m (float[1,1,H,W] x) => (float[1,1,A,B] y) {"
        "  half = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)"
        "  back = Concat<axis=2>(half, half)  wide = Concat<axis=3>(back, back)"
        "  y = Add(x, wide)"
        "}"
    )
    assert model.staged  # x has the size of `wide` where both sizes are even
    random = np.random.default_rng(0)
    for rows, columns in ((4, 8), (8, 4), (12, 16), (16, 4), (2, 6)):
        x = random.standard_normal((1, 1, rows, columns), dtype=np.float32)
        half = x.reshape(1, 1, rows // 2, 2, columns // 2, 2).max(axis=(3, 5))
        same(model(x), x + np.tile(half, (1, 1, 2, 2)))
    assert model.compiled_versions <= 4
    with pytest.raises(hr.ShapeMismatchError, match="do not broadcast"):
        model(np.zeros((1, 1, 5, 4), np.float32))


def test_open_sizes_of_different_names_may_be_equal(load) -> None:
    model = load("m (float[N] x, float[M] y) => (float[K] z) { z = Add(x, y) }")
    for n in (3, 1, 7):
        same(model(np.full(n, 2, np.float32), np.ones(n, np.float32)), np.full(n, 3, np.float32))
    with pytest.raises(hr.ShapeMismatchError, match="do not broadcast"):
        model(np.zeros(3, np.float32), np.zeros(4, np.float32))


@pytest.mark.parametrize("end", [10**9, 2**31 - 1, 2**31, 2**63 - 1])
def test_a_slice_to_a_far_end_takes_any_size(load, end: int) -> None:
    model = load(
        f"m (float[N] x) => (float[M] y) <int64[1] one = {{1}}, int64[1] end = {{{end}}},"
        " int64[1] zero = {0}> { y = Slice(x, one, end, zero) }"
    )
    for n in (1, 2, 9):
        x = np.arange(n, dtype=np.float32)
        same(model(x), x[1:])


def test_pads_of_several_axes_are_known_where_shapes_are(load) -> None:
    model = load(
        "m (float[N,C] x) => (float[A,B] y) <int64[4] given = {1, 2, 3, 0}, int64[2] pairs = {-1, 2},"
        " int64[1] last = {-1}, int64[1] far = {-9223372036854775807}, int64[1] zero = {0}> {"
        "  apart = Reshape(given, pairs)  turned = Slice(apart, last, far, zero, last)"
        "  columns = Transpose<perm=[1, 0]>(turned)  pads = Reshape(columns, last)  y = Pad(x, pads)"
        "}"
    )
    assert not model.staged
    x = np.ones((2, 3), np.float32)
    same(model(x), np.pad(x, ((3, 0), (1, 2))))


# Sizes that the data decide


def best_boxes(boxes: np.ndarray, scores: np.ndarray, most: int, overlap: float) -> list[int]:
    """Greedily, as the standard has it."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if len(kept) == most:
            break
        low, high = (
            np.maximum(boxes[i, :2], boxes[kept, :2]),
            np.minimum(boxes[i, 2:], boxes[kept, 2:]),
        )
        shared = np.prod(np.maximum(high - low, 0), axis=1)
        if not (shared / (areas[i] + areas[kept] - shared) > overlap).any():
            kept.append(int(i))
    return kept


@pytest.mark.parametrize(("most", "overlap"), [(7, 0.5), (200, 0.2)])
def test_boxes_of_many_classes_are_suppressed_apart(load, most: int, overlap: float) -> None:
    model = load(
        "m (float[B,N,4] boxes, float[B,C,N] scores, int64[1] most, float[1] overlap)"
        " => (int64[K,3] kept) { kept = NonMaxSuppression(boxes, scores, most, overlap) }"
    )
    random = np.random.default_rng(2)
    corner = random.random((2, 200, 2), dtype=np.float32) * 4
    boxes = np.concatenate([corner, corner + 1], axis=2)
    scores = random.integers(0, 50, (2, 30, 200)).astype(np.float32)  # many are equal
    kept = model(boxes, scores, np.array([most]), np.array([overlap], np.float32))
    expected = [
        [b, c, i]
        for b in range(2)
        for c in range(30)
        for i in best_boxes(boxes[b], scores[b, c], most, overlap)
    ]
    same(kept, np.array(expected))


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
