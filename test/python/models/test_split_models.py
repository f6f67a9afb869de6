"""Models that are split into several programs: which are, what they report and refuse, packages of them."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from cases.policy import assert_close, assert_same


def test_a_model_without_data_dependence_is_one_program(load) -> None:
    model = load("m (float[N,3] x) => (float[N,3] y) { y = Relu(x) }")
    assert not model.is_split


def test_axes_and_shapes_may_be_inputs(load) -> None:
    model = load(
        "m (float[N,M] x, int64[1] axes, int64[K] shape) => (float s, float r)"
        "{ s = ReduceSum(x, axes)  r = Reshape(x, shape) }"
    )
    assert model.is_split
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for axis in (0, 1, 0):
        total, reshaped = model(x, np.array([axis]), np.array([3, -1]))
        assert_same(total, x.sum(axis=axis, keepdims=True))
        assert_same(reshaped, x.reshape(3, 2))


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
        assert_same(y, -x[:count])
        assert_same(n, np.array([count]))
        assert_same(model.reference(x)[0], -x[:count])


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
        assert_same(model(np.ones((rows, 4), np.float32), np.array([-1, 4])).shape, (rows, 4))
    assert model.compiled_versions <= 16 * 2


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
    # The compiler follows the recipe that it wrote.
    assert kernels(hr.load(model, recipe=fused.explain()["recipe"])) == 1
    with pytest.raises(hr.InvalidArgumentError, match="line 1: expected a node.*got 'z'"):
        hr.load(model, recipe="separate z")


def test_functions_of_the_model_are_written_out(load) -> None:
    model = load(
        "m (float[N] x) => (float[N] y) { y = mine.twice(x) }",
        imports=', "mine" : 1',
        functions='<domain: "mine", opset_import: ["" : 17]> twice (a) => (b) { b = Add(a, a) }',
    )
    assert not model.is_split
    x = np.arange(3, dtype=np.float32)
    assert_same(model(x), x + x)


def test_reports_on_one_program_are_refused_in_one_sentence(load) -> None:
    model = load("m (float[N] x, int64[1] a) => (float y) { y = ReduceSum<keepdims=0>(x, a) }")
    with pytest.raises(hr.UnsupportedError, match="split into several programs"):
        model.ir("kernels")


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


def test_dimensions_without_names_get_some(load) -> None:
    model = load("m (float[?,8] x, int64[1] a) => (float[K] y) { r = Exp(x) y = ReduceSum(r, a) }")
    assert model.inputs[0].shape == ("x_dim0", 8)
    (kernel,) = model.explain(x_dim0=5)["kernels"]
    assert kernel["bytes_written"] == 5 * 8 * 4
    assert_same(model(np.zeros((3, 8), np.float32), np.array([0])), np.full((1, 8), 3, np.float32))


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
    assert_same(model(np.ones(6, np.float32), np.array([3, -1])).shape, (3, 2))


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
        assert_same(loaded(np.zeros(shape, np.float32)), np.ones(shape, np.float32))


def test_a_package_answers_as_the_model_does(load, tmp_path: Path) -> None:
    model = load("m (float[N] x, int64[1] a) => (float y) { y = ReduceSum<keepdims=0>(x, a) }")
    axis = np.array([0])
    samples = [{"x": np.ones(size, np.float32), "a": axis} for size in (3, 5)]
    package = tmp_path / "model.hrpkg"
    hr.write_package(tmp_path / "model.onnx", package, processors=["native"], samples=samples)
    packaged = hr.load(package)
    assert packaged.is_split
    assert [str(spec) for spec in packaged.inputs] == [str(spec) for spec in model.inputs]
    for size in (0, 1, 2, 7):
        x = np.arange(size, dtype=np.float32)
        assert_same(packaged(x, axis), model(x, axis))
    with pytest.raises(hr.UnsupportedError, match=r"expected \[0\].*got \[-1\]"):
        packaged(np.ones(3, np.float32), np.array([-1]))
    for name in samples[0]:
        with pytest.raises(hr.MissingInputError, match=f"expected an input '{name}'"):
            few = [{key: value for key, value in samples[0].items() if key != name}]
            hr.write_package(tmp_path / "model.onnx", package, samples=few)


def test_a_package_serves_all_sizes_that_its_nodes_allow(load, tmp_path: Path) -> None:
    """Halved and doubled, an image has its size again if that is even; the batch may be anything."""
    model = load(
        "m (float[N,1,H,W] x, int64[1] a) => (float[K,1,H,W] y) {"
        "  p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)"
        "  twice = Constant<value_floats=[1.0,1.0,2.0,2.0]>()"
        '  u = Resize<mode="nearest">(p, , twice)'
        "  s = Add(u, x)"
        "  y = ReduceSum(s, a) }"
    )
    axis = np.array([0])
    shapes = [(32, 1, 64, 96), (64, 1, 128, 192)]
    samples = [{"x": np.ones(shape, np.float32), "a": axis} for shape in shapes]
    package = tmp_path / "model.hrpkg"
    hr.write_package(tmp_path / "model.onnx", package, processors=["native"], samples=samples)
    packaged = hr.load(package)
    for shape in ((3, 1, 10, 6), (5, 1, 64, 22)):
        x = np.random.default_rng(0).random(shape).astype(np.float32)
        assert_close(packaged(x, axis), model(x, axis))
    with pytest.raises(hr.UnsupportedError, match="not compiled for f32 of 3x1x9x6"):
        packaged(np.ones((3, 1, 9, 6), np.float32), axis)


def test_a_package_takes_and_returns_numbers(load, tmp_path: Path) -> None:
    load("m (string[N] x) => (string[N] y) { y = StringConcat(x, x) }", opset=20)
    with pytest.raises(hr.UnsupportedError, match="input 'x': expected a numeric tensor"):
        hr.write_package(tmp_path / "model.onnx", tmp_path / "model.hrpkg")
