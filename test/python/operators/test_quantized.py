"""Quantized operators of ONNX, against their definition and ONNX Runtime: exact, whatever the zero points."""

from __future__ import annotations

import headrace as hr
import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_peer import as_list, runtime_results

from cases import graph_text
from cases.policy import assert_close


def build(operator, feeds: dict, constants: dict, outputs: dict, opset=21, **attributes):
    """A model of one node whose inputs are given in order, as feeds or as constants; None is left out."""
    order = attributes.pop("order")
    node = helper.make_node(
        operator,
        [n if n in feeds or n in constants else "" for n in order],
        list(outputs),
        **attributes,
    )
    info = helper.make_tensor_value_info
    code = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        [node],
        "one",
        [info(name, code(array.dtype), array.shape) for name, array in feeds.items()],
        [info(name, code(np.dtype(dtype)), None) for name, dtype in outputs.items()],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def ours(tmp_path, model, feeds):
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return as_list(hr.load(path)(**feeds))


def theirs(model, feeds):
    return runtime_results(model.SerializeToString(), feeds)


def integers(random, shape, dtype) -> np.ndarray:
    """Of the whole range, its ends among them."""
    info = np.iinfo(dtype)
    values = random.integers(info.min, info.max + 1, shape)
    flat = values.reshape(-1)
    flat[::5] = info.min
    flat[2::7] = info.max
    return values.astype(dtype)


def split(random, named: dict, always_fed: set) -> tuple[dict, dict]:
    """Some as feeds, some as constants."""
    feeds, constants = {}, {}
    for name, array in named.items():
        is_fed = name in always_fed or random.random() < 0.4
        (feeds if is_fed else constants)[name] = array
    return feeds, constants


@pytest.mark.parametrize("seed", range(24))
def test_products_of_integers_are_exact(tmp_path, seed):
    random = np.random.default_rng(seed)
    rows, columns, inner = (int(random.choice([1, 2, 5, 17, 33, 64])) for _ in range(3))
    if seed % 6 == 0:
        inner = int(random.choice([0, 385, 1000]))
    batch = ([], [2], [3])[seed % 3]
    a_type, b_type = (random.choice([np.uint8, np.int8]) for _ in range(2))
    named = {
        "a": integers(random, (*batch, rows, inner), a_type),
        "b": integers(random, (inner, columns), b_type),
    }
    if random.random() < 0.8:
        named["az"] = random.choice(integers(random, (9,), a_type), () if seed % 4 else rows)
        named["az"] = np.asarray(named["az"], a_type)
        if batch and named["az"].ndim:
            named["az"] = named["az"][0]
            named["az"] = np.asarray(named["az"], a_type)
    if random.random() < 0.8:
        named["bz"] = np.asarray(
            random.choice(integers(random, (9,), b_type), () if seed % 2 else columns), b_type
        )
    feeds, constants = split(random, named, {"a"})
    model = build("MatMulInteger", feeds, constants, {"y": np.int32}, order=["a", "b", "az", "bz"])
    az = named.get("az", np.zeros((), a_type)).astype(np.int64)
    if az.ndim == 1:
        az = az[:, None]
    bz = named.get("bz", np.zeros((), b_type)).astype(np.int64)
    expected = (named["a"].astype(np.int64) - az) @ (named["b"].astype(np.int64) - bz)
    (found,) = ours(tmp_path, model, feeds)
    np.testing.assert_array_equal(found, expected.astype(np.int32))


@pytest.mark.parametrize("seed", range(16))
def test_convolutions_of_integers_are_exact(tmp_path, seed):
    random = np.random.default_rng(seed)
    groups = int(random.choice([1, 1, 2, 4]))
    channels, features = groups * int(random.choice([1, 3])), groups * int(random.choice([1, 5]))
    size, window = int(random.integers(5, 12)), int(random.choice([1, 2, 3]))
    x_type, w_type = (np.uint8, random.choice([np.uint8, np.int8]))
    named = {
        "x": integers(random, (2, channels, size, size), x_type),
        "w": integers(random, (features, channels // groups, window, window), w_type),
    }
    if random.random() < 0.8:
        named["xz"] = np.asarray(random.choice(integers(random, (9,), x_type)), x_type)
    if random.random() < 0.6:
        named["wz"] = np.asarray(
            random.choice(integers(random, (9,), w_type), () if seed % 2 else features), w_type
        )
    feeds, constants = split(random, named, {"x"})
    pads = [int(random.integers(0, window)) for _ in range(4)]
    strides = [int(s) for s in random.choice([1, 2], 2)]
    model = build(
        "ConvInteger",
        feeds,
        constants,
        {"y": np.int32},
        order=["x", "w", "xz", "wz"],
        pads=pads,
        strides=strides,
        group=groups,
    )
    xz = named.get("xz", np.zeros((), x_type)).astype(np.int64)
    wz = named.get("wz", np.zeros((), w_type)).astype(np.int64)
    x = np.pad(
        named["x"].astype(np.int64) - xz, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3]))
    )
    w = named["w"].astype(np.int64) - (wz.reshape(-1, 1, 1, 1) if wz.ndim else wz)
    views = np.lib.stride_tricks.sliding_window_view(x, (window, window), axis=(2, 3))
    views = views[:, :, :: strides[0], :: strides[1]]
    parts = [
        np.einsum("nchwij,fcij->nfhw", v, f)
        for v, f in zip(np.split(views, groups, 1), np.split(w, groups, 0))
    ]
    (found,) = ours(tmp_path, model, feeds)
    np.testing.assert_array_equal(found, np.concatenate(parts, 1).astype(np.int32))


def scale(random, shape=()) -> np.ndarray:
    return np.asarray(random.uniform(0.001, 0.1, shape), np.float32)


@pytest.mark.parametrize("seed", range(12))
def test_quantized_products_are_onnx_runtimes(tmp_path, seed):
    random = np.random.default_rng(seed)
    rows, columns, inner = (int(random.choice([1, 7, 16, 40])) for _ in range(3))
    a_type, b_type = np.uint8, random.choice([np.uint8, np.int8])
    several = seed % 2 == 0
    named = {
        "a": integers(random, (rows, inner), a_type),
        "as": scale(random),
        "az": np.asarray(random.integers(0, 256), a_type),
        "b": integers(random, (inner, columns), b_type),
        "bs": scale(random, columns if several else ()),
        "bz": np.full(columns if several else (), random.choice([0, 1, 127]), b_type),
        "ys": np.asarray(scale(random) * 200),
        "yz": np.asarray(random.integers(0, 256), a_type),
    }
    feeds, constants = split(random, named, {"a"})
    model = build("QLinearMatMul", feeds, constants, {"y": np.uint8}, order=list(named))
    np.testing.assert_array_equal(ours(tmp_path, model, feeds)[0], theirs(model, feeds)[0])


@pytest.mark.parametrize("seed", range(12))
def test_quantized_convolutions_are_onnx_runtimes(tmp_path, seed):
    random = np.random.default_rng(seed)
    channels, features = (int(random.choice([1, 3, 8, 16])) for _ in range(2))
    w_type = np.int8
    named = {
        "x": integers(random, (1, channels, 9, 9), np.uint8),
        "xs": scale(random),
        "xz": np.asarray(random.choice([0, 3, 128, 255]), np.uint8),
        "w": integers(random, (features, channels, 3, 3), w_type),
        "ws": scale(random, features if seed % 2 else ()),
        "wz": np.zeros(features if seed % 2 else (), w_type),
        "ys": np.asarray(scale(random) * 100),
        "yz": np.asarray(random.integers(0, 256), np.uint8),
        "bias": random.integers(-5000, 5000, features).astype(np.int32),
    }
    feeds = {"x": named["x"]}
    constants = {name: array for name, array in named.items() if name != "x"}
    model = build(
        "QLinearConv", feeds, constants, {"y": np.uint8}, order=list(named), pads=[1, 1, 1, 1]
    )
    np.testing.assert_array_equal(ours(tmp_path, model, feeds)[0], theirs(model, feeds)[0])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
def test_quantizing_rounds_halves_to_even_and_saturates(tmp_path, dtype):
    info = np.iinfo(dtype)
    halves = np.arange(-9, 10, dtype=np.float32) / 2
    x = np.concatenate([halves, np.float32([1e6, -1e6, 3e38, -3e38, np.inf, -np.inf])])
    for zero in (0, info.min, info.max, 5):
        constants = {"s": np.float32(1.0), "z": np.asarray(zero, dtype)}
        model = build("QuantizeLinear", {"x": x}, constants, {"y": dtype}, order=["x", "s", "z"])
        expected = np.clip(np.rint(x.astype(np.float64)) + zero, info.min, info.max).astype(dtype)
        np.testing.assert_array_equal(ours(tmp_path, model, {"x": x})[0], expected)


@pytest.mark.parametrize("operator", ["QuantizeLinear", "DequantizeLinear"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scales_go_along_an_axis(tmp_path, operator, axis):
    random = np.random.default_rng(3)
    count = (4, 6, 5)[axis]
    constants = {"s": scale(random, count), "z": integers(random, (count,), np.int8)}
    if operator == "QuantizeLinear":
        x, result = random.standard_normal((4, 6, 5)).astype(np.float32), np.int8
    else:
        x, result = integers(random, (4, 6, 5), np.int8), np.float32
    model = build(operator, {"x": x}, constants, {"y": result}, order=["x", "s", "z"], axis=axis)
    np.testing.assert_array_equal(ours(tmp_path, model, {"x": x})[0], theirs(model, {"x": x})[0])


@pytest.mark.parametrize("block", [2, 4, 7])
def test_blocks_have_scales_of_their_own(tmp_path, block):
    random = np.random.default_rng(4)
    x = random.standard_normal((3, 14, 2)).astype(np.float32)
    shape = (3, -(-14 // block), 2)
    s, z = scale(random, shape), integers(random, shape, np.int8)
    constants = {"s": s, "z": z}
    blocks = {"order": ["x", "s", "z"], "axis": 1, "block_size": block}
    model = build("QuantizeLinear", {"x": x}, constants, {"y": np.int8}, **blocks)
    wide = [np.repeat(p, block, 1)[:, :14] for p in (s, z.astype(np.float32))]
    expected = np.clip(np.rint(x / wide[0]) + wide[1], -128, 127).astype(np.int8)
    np.testing.assert_array_equal(ours(tmp_path, model, {"x": x})[0], expected)
    back = build("DequantizeLinear", {"x": expected}, constants, {"y": np.float32}, **blocks)
    numbers = (expected.astype(np.int32) - wide[1].astype(np.int32)).astype(np.float32) * wide[0]
    np.testing.assert_array_equal(ours(tmp_path, back, {"x": expected})[0], numbers)


@pytest.mark.parametrize("case", ["both signs", "positive", "negative", "zeros", "empty"])
def test_data_give_their_own_scale(tmp_path, case):
    x = np.random.default_rng(5).standard_normal((7, 11)).astype(np.float32)
    x = {"both signs": x, "positive": abs(x) + 1, "negative": -abs(x) - 1, "zeros": x * 0}.get(
        case, x[:0]
    )
    outputs = {"y": np.uint8, "scale": np.float32, "zero": np.uint8}
    model = build("DynamicQuantizeLinear", {"x": x}, {}, outputs, order=["x"])
    found = ours(tmp_path, model, {"x": x})
    if case == "empty":
        assert found[0].shape == (0, 11)
        return
    for mine, expected in zip(found, theirs(model, {"x": x})):
        np.testing.assert_array_equal(mine, expected)


def test_types_that_do_not_fit_are_named(tmp_path):
    x = np.zeros((2, 2), np.int32)
    model = build("MatMulInteger", {"a": x, "b": x}, {}, {"y": np.int32}, order=["a", "b"])
    with pytest.raises(hr.Error, match=r"input 0 \('a'\): expected 8-bit integers, got i32"):
        ours(tmp_path, model, {"a": x, "b": x})
    y = np.zeros((2, 3), np.uint8)
    model = build(
        "MatMulInteger",
        {"a": y, "b": y.T.copy()},
        {"az": np.zeros(5, np.uint8) + 1},
        {"y": np.int32},
        order=["a", "b", "az"],
    )
    with pytest.raises(hr.Error, match="expected one number or 2, got 5"):
        ours(tmp_path, model, {"a": y, "b": y.T.copy()})


def test_quantized_products_call_the_routine_for_bytes(tmp_path):
    x = np.zeros((256, 256), np.uint8)
    constants = {"b": np.ones((256, 256), np.int8)}
    model = build("MatMulInteger", {"a": x}, constants, {"y": np.int32}, order=["a", "b"])
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    assert "int8.packed_gemm" in hr.load(path).ir("kernels")
    assert hr.load(path).inputs[0].element_type == "u8"


@pytest.mark.parametrize("target", ["cpu:x86-64-v2", "cpu:x86-64-v3", None])
def test_code_for_every_processor_and_packages_compute_the_same(tmp_path, target):
    random = np.random.default_rng(6)
    feeds = {"a": integers(random, (70, 65), np.uint8)}
    constants = {"b": integers(random, (65, 130), np.int8)}
    model = build("MatMulInteger", feeds, constants, {"y": np.int32}, order=["a", "b"])
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    if target:
        compiled = hr.load(path, target=target)
    else:
        hr.write_package(path, tmp_path / "model.hrpkg")
        compiled = hr.load(tmp_path / "model.hrpkg")
    expected = feeds["a"].astype(np.int32) @ constants["b"].astype(np.int32)
    np.testing.assert_array_equal(compiled(feeds["a"]), expected)


def between(operator, numbers: dict, **attributes) -> onnx.ModelProto:
    """A node of floats between DequantizeLinear and QuantizeLinear: `x` first, then weights and bias where given."""
    node, nodes, inputs = helper.make_node, [], ["x"]
    nodes.append(node("DequantizeLinear", ["bytes", "x_scale", "x_zero"], ["x"]))
    for name in ("w", "b"):
        if name in numbers:
            nodes.append(
                node("DequantizeLinear", [name, f"{name}_scale"], [f"{name}_float"], axis=0)
            )
            inputs.append(f"{name}_float")
    nodes.append(node(operator, inputs, ["floats"], **attributes))
    nodes.append(node("QuantizeLinear", ["floats", "y_scale", "y_zero"], ["y"]))
    info, feed = helper.make_tensor_value_info, numbers.pop("bytes")
    graph = helper.make_graph(
        nodes,
        "between",
        [info("bytes", onnx.TensorProto.UINT8, feed.shape)],
        [info("y", onnx.TensorProto.UINT8, None)],
        [onnx.numpy_helper.from_array(array, name) for name, array in numbers.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_bias_of_all_32_bits_does_not_wrap(tmp_path):
    """As quantizers write it for a channel whose weights are next to nothing."""
    scale = np.array([2**-7, 2**-30], np.float32)
    bytes_ = np.full((1, 2, 2, 2), 200, np.uint8)
    numbers = {
        "bytes": bytes_, "x_scale": np.float32(0.125), "x_zero": np.uint8(3),
        "w": np.array([100, 50, 127, 127], np.int8).reshape(2, 2, 1, 1), "w_scale": scale,
        "b": np.array([5, 2**31 - 1], np.int32), "b_scale": scale * np.float32(0.125),
        "y_scale": np.float32(0.0625), "y_zero": np.uint8(7),
    }  # fmt: skip
    (found,) = ours(tmp_path, between("Conv", numbers, kernel_shape=[1, 1]), {"bytes": bytes_})
    assert found[0, 1].tolist() == [[11, 11], [11, 11]]


def test_sums_beyond_32_bits_do_not_wrap(tmp_path):
    bytes_ = np.full((2, 70000), 255, np.uint8)
    numbers = {
        "bytes": bytes_, "x_scale": np.float32(1), "x_zero": np.uint8(0),
        "w": np.full((70000, 3), 127, np.int8), "w_scale": np.float32(2**-10),
        "y_scale": np.float32(2**14), "y_zero": np.uint8(0),
    }  # fmt: skip
    (found,) = ours(tmp_path, between("MatMul", numbers), {"bytes": bytes_})
    assert (found == round(70000 * 255 * 127 / 2**24)).all()


@pytest.mark.parametrize("zeros", [(0, 0), (7, 9)])
def test_long_sums_of_two_computed_factors_do_not_wrap(tmp_path, zeros):
    """Neither factor tells how large the sums become, only their length does."""
    a, b = np.full((2, 70001), 255, np.uint8), np.full((70001, 3), 254, np.uint8)
    node, info = helper.make_node, helper.make_tensor_value_info
    numbers = {"scale": np.float32(2**-10), "a_zero": np.uint8(zeros[0]), "b_zero": np.uint8(zeros[1])}  # fmt: skip
    graph = helper.make_graph(
        [
            node("DequantizeLinear", ["a", "scale", "a_zero"], ["a_float"]),
            node("DequantizeLinear", ["b", "scale", "b_zero"], ["b_float"]),
            node("MatMul", ["a_float", "b_float"], ["y"]),
        ],
        "long",
        [info("a", onnx.TensorProto.UINT8, a.shape), info("b", onnx.TensorProto.UINT8, b.shape)],
        [info("y", onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(array, name) for name, array in numbers.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (found,) = ours(tmp_path, model, {"a": a, "b": b})
    expected = 70001 * (255 - zeros[0]) * (254 - zeros[1]) / 2**20
    assert_close(found, np.full((2, 3), expected))


@pytest.mark.parametrize("form", ["n", "h,w"])
def test_long_sums_of_open_sizes_do_not_wrap(tmp_path, form):
    """A range of one size bounds the sums or, where their length is a product, none does."""
    last = "".join(
        f" {flat} = Reshape({name}, {flat}_shape)" for name, flat in (("a", "af"), ("b", "bf"))
    )
    text = f"""m (uint8[2,{form}] a, uint8[{form},3] b) => (float y) {{
        s = Constant<value = float {{0.0009765625}}>() p = Constant<value = uint8 {{7}}>()
        q = Constant<value = uint8 {{9}}>()
        af_shape = Constant<value = int64[2] {{2,-1}}>() bf_shape = Constant<value = int64[2] {{-1,3}}>()
        {last} c = DequantizeLinear(af, s, p) d = DequantizeLinear(bf, s, q) y = MatMul(c, d) }}"""
    model = hr.load(graph_text.write(tmp_path / "model.onnx", text))
    for n in (50, 70_000, 100, 33_024, 33_026, 90_000):
        sizes = (n,) if form == "n" else (n // 2, 2)
        a, b = np.full((2, *sizes), 255, np.uint8), np.full((*sizes, 3), 254, np.uint8)
        expected = np.full((2, 3), n * (255 - 7) * (254 - 9) / 2**20)
        for found in (model(a, b), model.reference(a, b)):
            assert_close(found, expected)


def test_products_of_nothing_are_0_whatever_the_scale(tmp_path):
    """The product of both scales is infinite, that of the numbers is not."""
    bytes_ = np.full((1, 4), 5, np.uint8)
    numbers = {
        "bytes": bytes_, "x_scale": np.float32(1e30), "x_zero": np.uint8(5),
        "w": np.full((4, 3), 1, np.int8), "w_scale": np.float32(1e30),
        "y_scale": np.float32(1), "y_zero": np.uint8(9),
    }  # fmt: skip
    (found,) = ours(tmp_path, between("MatMul", numbers), {"bytes": bytes_})
    assert found.tolist() == [[9, 9, 9]]


def test_a_bias_of_all_32_bits_does_not_wrap_beside_sums_of_any_size(tmp_path):
    """Of a product of two inputs nobody knows how large it is."""
    feeds = {"a": np.full((1, 100), 255, np.uint8), "b": np.full((100, 1), 255, np.uint8)}
    node, info = helper.make_node, helper.make_tensor_value_info
    constants = {
        "scale": np.float32(0.5), "zero": np.uint8(0),
        "bias": np.array([2**31 - 1], np.int32), "bias_scale": np.float32(0.25),
    }  # fmt: skip
    graph = helper.make_graph(
        [
            node("DequantizeLinear", ["a", "scale", "zero"], ["a_float"]),
            node("DequantizeLinear", ["b", "scale", "zero"], ["b_float"]),
            node("MatMul", ["a_float", "b_float"], ["product"]),
            node("DequantizeLinear", ["bias", "bias_scale"], ["bias_float"]),
            node("Add", ["product", "bias_float"], ["y"]),
        ],
        "biased",
        [info(name, onnx.TensorProto.UINT8, array.shape) for name, array in feeds.items()],
        [info("y", onnx.TensorProto.FLOAT, None)],
        [
            onnx.numpy_helper.from_array(np.asarray(array), name)
            for name, array in constants.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    (found,) = ours(tmp_path, model, feeds)
    assert found == np.float32(100 * 255 * 255 * 0.25 + (2**31 - 1) * 0.25)


def test_the_largest_of_negative_scale_is_the_least_integer(tmp_path):
    bytes_ = np.arange(16, dtype=np.uint8).reshape(1, 1, 4, 4)
    numbers = {"bytes": bytes_, "x_scale": np.float32(-1), "x_zero": np.uint8(8)}
    numbers |= {"y_scale": np.float32(-1), "y_zero": np.uint8(8)}
    (found,) = ours(tmp_path, between("MaxPool", numbers, kernel_shape=[2, 2]), {"bytes": bytes_})
    assert np.array_equal(found, bytes_[:, :, :3, :3])
