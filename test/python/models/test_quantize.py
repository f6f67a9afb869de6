"""Models quantized after training: against NumPy bit for bit, ONNX Runtime, and the float model."""

from __future__ import annotations

import itertools

import headrace as hr
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from cases.policy import assert_close
from cases.quantized_networks import (
    NETWORKS,
    Evaluation,
    NetworkBuilder,
    build,
    build_random,
    samples,
)

CHOICES = [
    {"weights": weights, "scales": scales}
    for weights, scales in itertools.product(["tensor", "channel"], ["float", "po2"])
]
ids = ["-".join(choice.values()) for choice in CHOICES]


def quantized(tmp_path, model: onnx.ModelProto, calibration, **choices):
    """The report, the path of the quantized model, and that model."""
    source, target = tmp_path / "float.onnx", tmp_path / "int8.onnx"
    onnx.save(model, source)
    report = hr.quantize(source, calibration, target, **choices)
    onnx.checker.check_model(str(target), full_check=True)
    return report, target, onnx.load(target)


def ours(path, feeds: dict) -> list[np.ndarray]:
    results = hr.load(path)(**feeds)
    return list(results) if isinstance(results, tuple) else [results]


def theirs(path, feeds: dict) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options).run(None, feeds)


def constants(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}


def scales_of(model: onnx.ModelProto) -> list[np.ndarray]:
    numbers = constants(model)
    kinds = ("QuantizeLinear", "DequantizeLinear")
    return [numbers[node.input[1]] for node in model.graph.node if node.op_type in kinds]


def output_scale(model: onnx.ModelProto, output: str) -> float | None:
    """The step between the values that an output of integers can have."""
    for node in model.graph.node:
        if node.output[0] == output and node.op_type == "DequantizeLinear":
            return float(constants(model)[node.input[1]])
    return None


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("choices", CHOICES, ids=ids)
def test_results_are_those_of_the_definition_and_a_step_from_onnx_runtime(tmp_path, name, choices):
    """Products, biases and rounding bit for bit; the other system may multiply by one scale less."""
    seed = sorted(NETWORKS).index(name)
    model = build(name, seed)
    _, path, written = quantized(tmp_path, model, samples(model, 40, seed), **choices)
    feeds = samples(model, 5, seed + 100)
    expected = Evaluation(written).run(feeds)
    results = zip(model.graph.output, ours(path, feeds), expected, theirs(path, feeds))
    for output, found, right, other in results:
        step = output_scale(written, output.name)
        if step:
            np.testing.assert_array_equal(found, right)
        else:
            np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6)
        assert np.abs(found - other).max() <= (step or 0.02) * 1.001


@pytest.mark.parametrize("seed", range(10))
def test_random_networks_are_those_of_the_definition(tmp_path, seed):
    model = build_random(seed)
    choices = CHOICES[seed % len(CHOICES)]
    _, path, written = quantized(tmp_path, model, samples(model, 30, seed), **choices)
    feeds = samples(model, 3, seed + 50)
    found = ours(path, feeds)[0]
    step = output_scale(written, model.graph.output[0].name)
    # The mean is rounded in another order, which may decide between two integers.
    assert np.abs(found - Evaluation(written).run(feeds)[0]).max() <= step * 1.001
    assert np.abs(found - theirs(path, feeds)[0]).max() <= 2 * step


def test_a_whole_network_with_powers_of_two_equals_onnx_runtime(tmp_path, small_models):
    path, target = small_models / "resnet18.onnx", tmp_path / "int8.onnx"
    (shape,) = (
        [dim.dim_value for dim in value.type.tensor_type.shape.dim][1:]
        for value in onnx.load(path).graph.input
    )
    x = np.random.default_rng(0).standard_normal((6, *shape)).astype(np.float32)
    report = hr.quantize(path, x, target, scales="po2")
    forms = [line["form"] for line in report["operators"]]
    assert forms.count("int8") == 29 and forms.count("float") == 1
    step = report["operators"][-1]["output_scale"]
    found, right = hr.load(target)(x), theirs(target, {"input": x})[0]
    assert np.abs(found - right).max() <= step


@pytest.mark.parametrize("name", ["plain_cnn", "residual", "depthwise", "two_inputs"])
@pytest.mark.parametrize("channels", [False, True])
def test_models_that_onnx_runtime_quantized_are_computed_in_integers(tmp_path, name, channels):
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.samples = iter([samples(build(name, 1), 20)])

        def get_next(self):
            return next(self.samples, None)

    source, target = tmp_path / "float.onnx", tmp_path / "theirs.onnx"
    model = build(name, 1)
    onnx.save(model, source)
    quantization.quantize_static(
        source,
        target,
        Reader(),
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=channels,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
    )
    feeds = samples(model, 4, 3)
    found, right = ours(target, feeds)[0], theirs(target, feeds)[0]
    step = np.abs(right).max() / 100
    assert np.abs(found - right).max() <= 2 * step
    program = hr.load(target).ir("simplify").splitlines()
    products = [line for line in program if "hr.conv" in line or "hr.contract" in line]
    assert products and all("accumulator = i32" in line for line in products)


@pytest.mark.parametrize("name", NETWORKS)
def test_results_stay_near_the_float_model(tmp_path, name):
    model = build(name, 3)
    feeds = samples(model, 64)
    report, path, _ = quantized(tmp_path, model, feeds)
    for right, found, line in zip(
        theirs(tmp_path / "float.onnx", feeds), ours(path, feeds), report["outputs"]
    ):
        noise = 10 * np.log10((right**2).sum() / ((right - found) ** 2).sum())
        assert noise > 20
        assert line["sqnr_db"] == pytest.approx(noise, abs=0.05)


@pytest.mark.parametrize("weights", ["tensor", "channel"])
def test_scales_are_powers_of_two_where_asked(tmp_path, weights):
    model = build("residual", 1)
    _, _, written = quantized(tmp_path, model, samples(model, 30), scales="po2", weights=weights)
    numbers = np.concatenate([scale.reshape(-1) for scale in scales_of(written)])
    fractions, _ = np.frexp(numbers)
    assert len(numbers) > 10 and (fractions == 0.5).all()


def test_a_power_of_two_has_the_least_error_not_the_next_above(tmp_path):
    b = NetworkBuilder(0)
    model = b.model(
        b.node("MatMul", b.input("x", ["n", 4]), b.constant(np.eye(4, dtype=np.float32)))
    )
    x = np.random.default_rng(0).uniform(-1, 1, (4000, 4)).astype(np.float32)
    x[0, 0] = 1.02  # one number needs 2^-6, all others fit 2^-7
    report, _, _ = quantized(tmp_path, model, x, scales="po2", weights="tensor")
    assert report["operators"][0]["input_scales"] == [2.0**-7]
    report, _, _ = quantized(tmp_path, model, x, scales="po2", weights="tensor", ranges="minmax")
    assert report["operators"][0]["input_scales"] == [2.0**-6]


@pytest.mark.parametrize("choices", CHOICES, ids=ids)
def test_weights_and_biases_are_their_nearest_integers(tmp_path, choices):
    b = NetworkBuilder(4)
    model = b.model(b.conv(b.input("x", ["n", 3, 6, 6]), 3, 9))
    report, _, written = quantized(tmp_path, model, samples(model, 20), **choices)
    before, after = constants(model), constants(written)
    scale = np.float32(report["operators"][0]["weight_scales"])
    column = scale.reshape(-1, 1, 1, 1)
    integers = next(a for n, a in after.items() if a.dtype == np.int8 and a.ndim == 4)
    np.testing.assert_array_equal(integers, np.clip(np.rint(before["c0"] / column), -127, 127))
    assert integers.min() >= -127
    bias = next(a for a in after.values() if a.dtype == np.int32)
    sums = np.float32(report["operators"][0]["input_scales"][0]) * scale
    np.testing.assert_array_equal(bias, np.rint(before["c1"] / sums))


def test_batch_normalization_is_folded(tmp_path):
    model = build("residual", 2)
    report, _, written = quantized(tmp_path, model, samples(model, 30))
    kinds = {node.op_type for node in written.graph.node}
    assert "BatchNormalization" not in kinds
    units = [line["operators"] for line in report["operators"] if line["form"] == "int8"]
    assert units == [["Conv", "Relu"], ["Conv", "Relu"], ["Conv"], ["Add", "Relu"], ["Gemm"]]


def test_what_concat_joins_has_one_scale(tmp_path):
    model = build("concatenated", 2)
    _, _, written = quantized(tmp_path, model, samples(model, 30))
    makers = {n.output[0]: n for n in written.graph.node}
    (concat,) = (n for n in written.graph.node if n.op_type == "Concat")
    joined = {makers[name].input[1] for name in concat.input}
    (after,) = (
        n
        for n in written.graph.node
        if n.op_type == "QuantizeLinear" and n.input[0] == concat.output[0]
    )
    assert joined == {after.input[1]}


def test_products_are_computed_in_integers(tmp_path):
    model = build("plain_cnn", 0)
    _, path, _ = quantized(tmp_path, model, samples(model, 30))
    program = hr.load(path).ir("simplify")
    products = [line for line in program.splitlines() if "hr.conv" in line or "hr.contract" in line]
    assert len(products) == 3
    assert all("xi8" in line and line.rstrip().split("->")[-1].count("i32") for line in products)
    pools = [line for line in program.splitlines() if "hr.pool" in line]
    assert pools and all("xi8" in line for line in pools)


def qdq_conv(bias: np.ndarray, bias_scale: float | None) -> onnx.ModelProto:
    """A convolution of integers with zero points; its bias is int32 with a scale, or float."""
    b = NetworkBuilder(12)
    weight = b.constant(b.random.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8))
    half, zero = b.constant(np.array(0.5, np.float32)), b.constant(np.array(3, np.uint8))
    integers = b.node("QuantizeLinear", b.input("x", ["n", 3, 6, 5]), half, zero)
    x = b.node("DequantizeLinear", integers, half, zero)
    scales = b.constant(np.array([0.25, 0.5, 1, 2], np.float32))
    w = b.node(
        "DequantizeLinear", weight, scales, b.constant(np.array([0, 1, -2, 5], np.int8)), axis=0
    )
    added = b.constant(bias)
    if bias_scale is not None:
        added = b.node("DequantizeLinear", added, b.constant(np.array(bias_scale, np.float32)))
    return b.model(b.node("Conv", x, w, added, pads=[1, 0, 0, 1], strides=[2, 1]))


@pytest.mark.parametrize("scale", [None, 0.125, 0.7])
def test_biases_of_any_scale_are_added(tmp_path, scale):
    numbers = np.array([5, -70, 900, 3])
    model = qdq_conv(numbers.astype(np.int32 if scale else np.float32), scale)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    feeds = {"x": (samples(model, 3)["x"] * 30).astype(np.float32)}
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options)
    assert_close(ours(path, feeds)[0], session.run(None, feeds)[0])


def test_shared_weights_stay_shared(tmp_path):
    b = NetworkBuilder(5)
    x = b.input("x", ["n", 8])
    weight = b.weight(8, 8)
    model = b.model(b.node("MatMul", b.node("Relu", b.node("MatMul", x, weight)), weight))
    _, path, written = quantized(tmp_path, model, samples(model, 20))
    assert sum(a.dtype == np.int8 and a.ndim == 2 for a in constants(written).values()) == 1
    feeds = samples(model, 4, 9)
    np.testing.assert_array_equal(ours(path, feeds)[0], Evaluation(written).run(feeds)[0])


def test_channels_of_zeros_keep_their_bias(tmp_path):
    b = NetworkBuilder(6)
    weight = b.random.standard_normal((5, 8)).astype(np.float32)
    weight[2] = 0
    bias = np.array([0, 1, 7.5, -3, 0], np.float32)
    model = b.model(
        b.node("Gemm", b.input("x", ["n", 8]), b.constant(weight), b.constant(bias), transB=1)
    )
    feeds = samples(model, 50)
    for choices in CHOICES:
        report, path, _ = quantized(tmp_path, model, feeds, **choices)
        assert report["outputs"][0]["sqnr_db"] > 25
        step = report["operators"][0]["output_scale"]
        np.testing.assert_allclose(ours(path, feeds)[0][:, 2], 7.5, atol=step)


@pytest.mark.parametrize("weights", ["tensor", "channel"])
def test_weights_of_zeros_alone_and_inputs_of_zeros_alone(tmp_path, weights):
    b = NetworkBuilder(6)
    zeros = b.constant(np.zeros((4, 3), np.float32))
    bias = b.constant(np.array([1, -2, 0.25], np.float32))
    model = b.model(b.node("Gemm", b.input("x", ["n", 4]), zeros, bias))
    x = np.zeros((9, 4), np.float32)
    _, path, _ = quantized(tmp_path, model, x, weights=weights)
    np.testing.assert_allclose(ours(path, {"x": x})[0], [[1, -2, 0.25]] * 9, atol=0.02)


def test_a_large_bias_beside_small_weights_fits_32_bits(tmp_path):
    b = NetworkBuilder(6)
    weight = np.full((4, 3), 1e-9, np.float32)
    bias = b.constant(np.array([1e6, -3e5, 12], np.float32))
    model = b.model(b.node("Gemm", b.input("x", ["n", 4]), b.constant(weight), bias))
    feeds = samples(model, 9)
    _, path, written = quantized(tmp_path, model, feeds, weights="tensor", scales="po2")
    assert max(np.abs(a).max() for a in constants(written).values() if a.dtype == np.int32) <= 2**30
    assert_close(ours(path, feeds)[0][:, 0], 1e6, tolerance=0.01)


def test_half_precision_models_keep_their_interface(tmp_path):
    b = NetworkBuilder(7)
    b.inputs.append(helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT16, ["n", 6]))
    weight = b.constant(b.random.standard_normal((6, 5)).astype(np.float16))
    model = b.model(b.node("Relu", b.node("MatMul", "x", weight)))
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    model = onnx.shape_inference.infer_shapes(model)
    x = np.random.default_rng(0).standard_normal((30, 6)).astype(np.float16)
    report, path, _ = quantized(tmp_path, model, x)
    (found,) = ours(path, {"x": x})
    assert found.dtype == np.float16 and report["outputs"][0]["sqnr_db"] > 25
    assert [line["form"] for line in report["operators"]].count("int8") == 1


def test_operators_without_integers_stay_float_with_a_reason(tmp_path):
    b = NetworkBuilder(8)
    x = b.node("Sigmoid", b.conv(b.input("x", ["n", 3, 6, 6]), 3, 4))
    model = b.model(b.node("Add", b.conv(x, 4, 4), b.constant(np.ones(1, np.float32))))
    report, path, written = quantized(tmp_path, model, samples(model, 20))
    reasons = {
        line["operators"][0]: line["reason"]
        for line in report["operators"]
        if line["form"] == "float"
    }
    assert reasons == {"Sigmoid": "no integer implementation", "Add": "it adds a constant"}
    feeds = samples(model, 3, 1)
    for found, right in zip(ours(path, feeds), theirs(path, feeds)):
        np.testing.assert_allclose(found, right, atol=0.05)


def test_nodes_stay_float_where_asked(tmp_path):
    model = build("plain_cnn", 0)
    names = [node.name for node in model.graph.node if node.op_type == "Conv"]
    report, _, _ = quantized(tmp_path, model, samples(model, 20), keep_float=names[:1])
    lines = {line["name"]: line for line in report["operators"]}
    assert lines[names[0]]["reason"] == "left float as asked"
    assert lines[names[1]]["form"] == "int8"


def test_integer_arithmetic_of_shapes_is_left_alone(tmp_path):
    b = NetworkBuilder(9)
    x = b.input("x", ["n", 4, 6])
    batch = b.node("Add", b.node("Shape", x, end=2), b.node("Shape", x, end=2))
    batch = b.node("Sub", batch, b.node("Shape", x, end=2))
    flat = b.node(
        "Reshape",
        x,
        b.node(
            "Concat", b.node("Slice", batch, *slice_of(b, 0, 1)), b.constant(np.array([-1])), axis=0
        ),
    )
    model = b.model(b.node("MatMul", flat, b.weight(24, 5)))
    report, path, written = quantized(tmp_path, model, samples(model, 20))
    assert [line["form"] for line in report["operators"] if line["operators"] == ["Add"]] == []
    feeds = samples(model, 3, 2)
    np.testing.assert_allclose(ours(path, feeds)[0], theirs(path, feeds)[0], atol=0.05)


def test_shapes_that_depend_on_data(tmp_path):
    b = NetworkBuilder(1)
    flat = b.node("Flatten", b.node("Relu", b.conv(b.input("x", ["n", 3, 6, 6]), 3, 4)))
    model = b.model(b.node("MatMul", flat, b.weight(144, 5)))
    b.nodes.append(helper.make_node("NonZero", [flat], ["places"]))
    places = helper.make_tensor_value_info("places", onnx.TensorProto.INT64, [2, None])
    model.graph.node.append(b.nodes[-1])
    model.graph.output.append(places)
    feeds = samples(model, 10)
    report, path, _ = quantized(tmp_path, model, feeds)
    assert [line["name"] for line in report["outputs"]] == [model.graph.output[0].name]
    for found, right in zip(ours(path, feeds), theirs(path, feeds)):
        np.testing.assert_array_equal(found, right)


def test_graphs_inside_of_nodes_stay_float_and_read_what_they_read(tmp_path):
    floats = onnx.TensorProto.FLOAT
    branches = [
        helper.make_graph(
            [helper.make_node(operator, inputs, ["result"])],
            "branch",
            [],
            [helper.make_tensor_value_info("result", floats, None)],
        )
        for operator, inputs in (("Add", ["inner", "inner"]), ("Identity", ["inner"]))
    ]
    b = NetworkBuilder(2)
    x = b.input("x", ["n", 8])
    b.nodes.append(helper.make_node("MatMul", [x, b.weight(8, 8)], ["inner"], "first"))
    zero = b.constant(np.array(0, np.float32))
    condition = b.node("Greater", b.node("ReduceSum", x, keepdims=0), zero)
    chosen = b.node("If", condition, then_branch=branches[0], else_branch=branches[1])
    model = b.model(b.node("MatMul", chosen, b.weight(8, 3)))
    feeds = samples(model, 10)
    report, path, _ = quantized(tmp_path, model, feeds)
    assert [line["form"] for line in report["operators"]] == ["int8", *["float"] * 3, "int8"]
    step = report["operators"][-1]["output_scale"]
    assert np.abs(ours(path, feeds)[0] - theirs(path, feeds)[0]).max() <= step


def slice_of(b: NetworkBuilder, start: int, end: int) -> list[str]:
    return [b.constant(np.array([value], np.int64)) for value in (start, end)]


def test_fixed_batches_and_runs_of_their_own(tmp_path):
    b = NetworkBuilder(10)
    model = b.model(b.conv(b.input("x", [4, 3, 6, 6]), 3, 4))
    data = samples(model, 12)["x"]
    cut, _, _ = quantized(tmp_path, model, data)
    runs, _, _ = quantized(tmp_path, model, data.reshape(3, 4, 3, 6, 6))
    assert cut["operators"] == runs["operators"]
    assert (cut["samples"], runs["samples"]) == (12, 3)
    with pytest.raises(hr.ShapeMismatchError, match="a multiple of 4 samples.*got 10"):
        quantized(tmp_path, model, data[:10])


def test_old_operator_sets_have_a_scale_for_the_tensor_only(tmp_path):
    model = build("residual", 1, opset=11)
    feeds = samples(model, 10)
    with pytest.raises(hr.UnsupportedError, match="operator set 13 or newer .* got 11"):
        quantized(tmp_path, model, feeds)
    _, path, _ = quantized(tmp_path, model, feeds, weights="tensor")
    assert np.abs(ours(path, feeds)[0] - theirs(path, feeds)[0]).max() < 0.1


def test_external_data_is_read_and_large_models_write_it(tmp_path):
    model = build("mlp", 0)
    feeds = samples(model, 20)
    _, path, _ = quantized(tmp_path, model, feeds)
    apart = tmp_path / "apart.onnx"
    onnx.save(model, apart, save_as_external_data=True, location="apart.bin", size_threshold=0)
    hr.quantize(apart, feeds, tmp_path / "same.onnx")
    assert (tmp_path / "same.onnx").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("calibration", "error", "message"),
    [
        (np.zeros((0, 3, 12, 12), np.float32), hr.InvalidArgumentError, "expected samples, got none"),
        (np.zeros((5, 3, 12), np.float32), hr.ShapeMismatchError, "expected f32 nx3x12x12.*got 5x3x12"),
        (np.zeros((5, 3, 12, 11), np.float32), hr.ShapeMismatchError, "got 5x3x12x11"),
        (np.zeros((5, 3, 12, 12)), hr.TypeMismatchError, "expected f32, got f64"),
        (np.full((5, 3, 12, 12), np.nan, np.float32), hr.InvalidArgumentError, "value 'x': expected finite values"),
        ({"y": np.zeros((5, 3, 12, 12), np.float32)}, hr.InvalidArgumentError, "no input 'y'; it has 'x'"),
        ([], hr.MissingInputError, "input 'x' is missing"),
        ([np.zeros((5, 3, 12, 12), np.float32)] * 2, hr.InvalidArgumentError, "has only 1 input"),
    ],
)  # fmt: skip
def test_calibration_data_that_does_not_fit_is_refused(tmp_path, calibration, error, message):
    source = tmp_path / "float.onnx"
    onnx.save(build("plain_cnn", 0), source)
    with pytest.raises(error, match=message):
        hr.quantize(source, calibration, tmp_path / "int8.onnx")
    assert not (tmp_path / "int8.onnx").exists()


def test_models_that_cannot_be_quantized_are_refused(tmp_path):
    model = build("plain_cnn", 0)
    _, path, _ = quantized(tmp_path, model, samples(model, 10))
    with pytest.raises(hr.InvalidModelError, match="not quantized yet"):
        hr.quantize(path, samples(model, 10), tmp_path / "twice.onnx")
    b = NetworkBuilder(0)
    onnx.save(b.model(b.node("Sigmoid", b.input("x", ["n", 3]))), path)
    with pytest.raises(hr.UnsupportedError, match="expected operators to quantize"):
        hr.quantize(path, np.zeros((2, 3), np.float32), tmp_path / "none.onnx")
    b = NetworkBuilder(0)
    weight = np.full((3, 3), np.nan, np.float32)
    onnx.save(b.model(b.node("MatMul", b.input("x", ["n", 3]), b.constant(weight))), path)
    with pytest.raises(hr.InvalidModelError, match="'c0': expected finite values, got nan"):
        hr.quantize(path, np.zeros((2, 3), np.float32), tmp_path / "nan.onnx")


def test_choices_that_do_not_exist_are_refused(tmp_path):
    model = build("mlp", 0)
    for choice in ({"weights": "row"}, {"scales": "log"}, {"ranges": "all"}):
        with pytest.raises(hr.InvalidArgumentError, match=f"{next(iter(choice))}: expected one of"):
            quantized(tmp_path, model, samples(model, 4), **choice)
    with pytest.raises(hr.InvalidArgumentError, match="name of a node to leave float, got 'nix'"):
        quantized(tmp_path, model, samples(model, 4), keep_float=["nix"])
