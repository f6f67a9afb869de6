"""Schedules of kernels on the CPU as records: every legal one computes the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import headrace as hr
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from cases import graph_text
from cases.policy import assert_close

LEVEL = "cpu:x86-64-v3"
COMMAND = os.environ["HEADRACE_BIN"]
MODELS = ["lenet", "mlp", "softmax", "layernorm", "bert_layer"]


def kernels(path: Path, *options: str) -> list[dict]:
    every = [COMMAND, "explain", str(path), "--to", "schedule", "--json", *options]
    text = subprocess.run(every, check=True, capture_output=True, text=True).stdout
    return [node for node in json.loads(text)["nodes"] if node["kind"] == "kernel"]


def as_recipe(kernel: str, line: str) -> str:
    return f"kernel {kernel}:\n  {line}\n"


def inputs_of(model: hr.Model) -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    shapes = [[d if isinstance(d, int) else 3 for d in spec.shape] for spec in model.inputs]
    return [draw.standard_normal(shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("name", MODELS)
def test_every_alternative_computes_the_same(small_models: Path, name: str) -> None:
    path = small_models / f"{name}.onnx"
    model = hr.load(path)
    inputs = inputs_of(model)
    expected = np.asarray(model(*inputs))
    found = kernels(path)
    tried = 0
    every = bool(os.environ.get("HEADRACE_LARGE_TESTS"))
    for number, kernel in enumerate(found):
        lines = kernel["alternatives"]
        # In CI one of every kernel, another each time.
        for line in lines if every else lines[number % max(len(lines), 1) :][:1]:
            other = hr.load(path, recipe=as_recipe(kernel["id"], line))
            np.testing.assert_allclose(other(*inputs), expected, rtol=1e-4, atol=1e-5, err_msg=line)
            tried += 1
    assert tried >= len(found) // 2 and tried > 0


def test_a_line_says_as_much_as_it_gives(small_models: Path) -> None:
    path = small_models / "mlp.onnx"
    product = next(k for k in kernels(path) if "unroll" in k["recipe"])
    stage = product["recipe"].split(":")[0]
    model = hr.load(path, recipe=as_recipe(product["id"], f"{stage}: tiles rows=2"))
    recipe = next(k for k in model.explain()["kernels"] if k["recipe"])["recipe"]
    assert " by 2 " in recipe, recipe


def test_walks_have_a_schedule(tmp_path: Path) -> None:
    rows = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4096, 64])]
    sums = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 64])]
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["squares"]),
        helper.make_node("ReduceSum", ["squares", "axes"], ["y"]),
    ]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [0])
    graph = helper.make_graph(nodes, "sums", rows, sums, [axes])
    opsets = [helper.make_opsetid("", 17)]
    path = tmp_path / "sums.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    kernel = next(k for k in kernels(path) if ": walk rows=" in k["recipe"])
    stage = kernel["recipe"].split("rows=")[0]
    for rows, prefetch, blocks in [(2, 0, 7), (4, 1, 1), (1, 0, 128)]:
        line = f"{stage}rows={rows} prefetch={prefetch} blocks={blocks} block=0"
        model = hr.load(path, recipe=as_recipe(kernel["id"], line))
        assert any(line in k["recipe"] for k in model.explain()["kernels"])
        inputs = inputs_of(model)
        expected = (inputs[0] ** 2).sum(0, keepdims=True)
        assert_close(model(*inputs), expected, tolerance=1e-4, what=line)
        # What was followed is written, and followed again.
        assert_replays(path, model)
    refused = {
        "blocks=0": "blocks: expected 1 to 1024",
        "blocks=1025": "blocks: expected 1 to 1024",
        "block=64": "block: expected 0, since the number of blocks is fixed",
        "rows=99": "rows: expected 1 to 32",
    }
    for parameter, reason in refused.items():
        line = stage + (parameter if parameter.startswith("rows") else f"rows=2 {parameter}")
        with pytest.raises(hr.InvalidArgumentError, match=reason):
            hr.load(path, recipe=as_recipe(kernel["id"], line)).explain()


def test_blocks_of_walks_have_as_many_rows_as_a_recipe_says(tmp_path: Path) -> None:
    """Two results of the same rows, none of which is a sum over them."""
    wide, narrow = [4000, 64], [4000, 1]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    nodes = [
        helper.make_node("Mul", ["x", "a"], ["xa"]),
        helper.make_node("Mul", ["x", "b"], ["xb"]),
        helper.make_node("ReduceSum", ["xa", "axes"], ["y"]),
        helper.make_node("ReduceSum", ["xb", "axes"], ["z"]),
    ]
    graph = helper.make_graph(
        nodes,
        "rows",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, wide) for name in "xab"],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, narrow) for name in "yz"],
        [axes],
    )
    path = tmp_path / "rows.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    kernel = next(k for k in kernels(path) if ": walk rows=" in k["recipe"])
    assert "blocks=0" in kernel["recipe"]
    stage = kernel["recipe"].split("rows=")[0]
    inputs = inputs_of(hr.load(path))
    expected = hr.load(path)(*inputs)
    for block in (8, 64, 4096):
        line = f"{stage}rows=2 prefetch=0 blocks=0 block={block}"
        model = hr.load(path, recipe=as_recipe(kernel["id"], line))
        assert any(line in k["recipe"] for k in model.explain()["kernels"]), line
        np.testing.assert_allclose(model(*inputs), expected, rtol=1e-5, atol=1e-6, err_msg=line)
        assert_replays(path, model)
    with pytest.raises(
        hr.InvalidArgumentError, match="blocks: expected 0, since blocks have a fix"
    ):
        hr.load(path, recipe=as_recipe(kernel["id"], f"{stage}rows=2 blocks=4")).explain()


def product_of(path: Path) -> tuple[str, str]:
    """The first product with weights: its kernel, and the stage of its line."""
    kernel = next(k for k in kernels(path) if any("columns=" in a for a in k["alternatives"]))
    return kernel["id"], kernel["alternatives"][0].split(":")[0]


def assert_replays(path: Path, model: hr.Model) -> None:
    recipe = model.explain()["recipe"]
    again = hr.load(path, recipe=recipe)
    assert again.explain()["recipe"] == recipe
    # Constants are numbered as they are made.
    first, second = (re.sub(r"resource<\w+>", "", m.ir("schedule")) for m in (model, again))
    assert first == second


@pytest.mark.parametrize("columns", [8, 16, 64, 128])
def test_weights_are_packed_in_the_tiles_of_the_schedule(tmp_path: Path, columns: int) -> None:
    path = tmp_path / "model.onnx"
    write_convolution(path, channels=128, size=6)
    name, stage = product_of(path)
    model = hr.load(path, recipe=as_recipe(name, f"{stage}: tiles rows=2 columns={columns}"))
    assert re.search(rf"^pack conv\S* by {columns}$", model.explain()["recipe"], re.M)
    inputs = inputs_of(model)
    expected = model.reference(*inputs)
    np.testing.assert_allclose(model(*inputs), expected, rtol=1e-4, atol=1e-5)
    assert_replays(path, model)


def test_other_tiles_of_the_weights_are_among_the_alternatives(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    write_convolution(path, channels=128, size=6)
    name, _ = product_of(path)
    lines = [line for k in kernels(path) if k["id"] == name for line in k["alternatives"]]
    listed = {int(found[1]) for line in lines if (found := re.search(r" columns=(\d+) ", line))}
    assert {8, 16, 32, 64} <= listed, lines


def test_a_step_on_packing_counts_before_the_schedule(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    write_convolution(path, channels=128, size=6)
    name, stage = product_of(path)
    pack = re.search(r"^pack (\S+) by", hr.load(path).explain()["recipe"], re.M)
    assert pack
    given = f"pack {pack[1]} by 16\n"
    with pytest.raises(hr.InvalidArgumentError, match="expected 1 to 16, which the weights are"):
        hr.load(path, recipe=given + as_recipe(name, f"{stage}: tiles columns=64")).explain()
    # Columns that do not divide the weights are parts of what is packed.
    for recipe in (
        given + as_recipe(name, f"{stage}: tiles rows=2 columns=8"),
        as_recipe(name, f"{stage}: tiles rows=2 columns=12"),
    ):
        narrow = hr.load(path, recipe=recipe)
        inputs = inputs_of(narrow)
        expected = narrow.reference(*inputs)
        np.testing.assert_allclose(narrow(*inputs), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("panels", [0, 2, 4])
def test_panels_are_fetched_as_far_ahead_as_the_schedule_says(tmp_path: Path, panels: int) -> None:
    path = tmp_path / "model.onnx"
    write_convolution(path, channels=256, size=14)
    name, stage = product_of(path)
    model = hr.load(path, recipe=as_recipe(name, f"{stage}: tiles prefetch={panels}"))
    recipe = model.explain()["recipe"]
    assert f" by {panels}\n" in recipe.split(": prefetch ")[1], recipe
    inputs = inputs_of(model)
    np.testing.assert_allclose(model(*inputs), hr.load(path)(*inputs), rtol=1e-4, atol=1e-5)
    assert_replays(path, model)
    # As far as the cache holds them, and that of a level of CPUs is the same on every machine.
    level = hr.load(path, recipe=as_recipe(name, f"{stage}: tiles prefetch={panels}"), target=LEVEL)
    fetched = "memref.prefetch" in level.ir("buffers")
    assert fetched or panels != 2
    if panels == 0:
        assert not fetched


def openblas_is_here(path: Path) -> bool:
    try:
        return "openblas" in hr.load(path, expansion="openblas").ir("kernels")
    except hr.Error:
        return False


def calls(path: Path, *options: str) -> list[dict]:
    every = [COMMAND, "explain", str(path), "--to", "schedule", "--json", *options]
    text = subprocess.run(every, check=True, capture_output=True, text=True).stdout
    return [node for node in json.loads(text)["nodes"] if node["recipe"].startswith("call: ")]


def test_calls_of_libraries_have_a_schedule(small_models: Path) -> None:
    path = small_models / "bert_layer.onnx"
    if not openblas_is_here(path):
        pytest.skip("OpenBLAS is not on this machine")
    found = calls(path, "--expansion", "openblas")
    assert found
    products = [c for c in found if "gemm" in c["recipe"]]
    assert products
    assert all(c["recipe"].endswith(" rows=0 columns=0 depth=0\n") for c in products)
    model = hr.load(path, expansion="openblas")
    inputs = inputs_of(model)
    expected = model(*inputs)
    cut = [call for call in found if call["alternatives"]]
    assert cut
    for call in cut[:2]:
        line = call["alternatives"][0]
        other = hr.load(path, expansion="openblas", recipe=as_recipe(call["id"], line))
        assert f"kernel {call['id']}:\n  {line}\n" in other.explain()["recipe"]
        np.testing.assert_allclose(other(*inputs), expected, rtol=1e-4, atol=1e-5, err_msg=line)
        assert_replays(path, other)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("call: openblas.sgemm rows=8", "rows: expected 0, or at least 32"),
        ("call: openblas.sgemm columns=31", "columns: expected 0, or at least 32"),
        ("call: openblas.dgemm", "expected openblas.sgemm, which computes with its type"),
        ("call: openblas.sgemm width=8", "expected a parameter of 'openblas.sgemm' (rows, columns"),
        ("call: tiles rows=8", "expected a routine of a library (openblas.sgemm"),
        ("map: openblas.sgemm rows=64", "expected one line such as 'call: openblas.sgemm rows=0"),
    ],
)
def test_calls_that_are_not_legal_are_refused_with_the_reason(
    small_models: Path, line: str, reason: str
) -> None:
    path = small_models / "bert_layer.onnx"
    if not openblas_is_here(path):
        pytest.skip("OpenBLAS is not on this machine")
    name = calls(path, "--expansion", "openblas")[0]["id"]
    with pytest.raises(hr.Error) as error:
        hr.load(path, expansion="openblas", recipe=as_recipe(name, line)).explain()
    assert reason in str(error.value) and name in str(error.value), str(error.value)


def sorted_model(folder: Path) -> Path:
    graph = helper.make_graph(
        [helper.make_node("TopK", ["x", "k"], ["values", "places"], name="best")],
        "sorting",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [300, 50])],
        [
            helper.make_tensor_value_info("values", TensorProto.FLOAT, [300, 7]),
            helper.make_tensor_value_info("places", TensorProto.INT64, [300, 7]),
        ],
        [helper.make_tensor("k", TensorProto.INT64, [1], [7])],
    )
    path = folder / "sorting.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def test_sorting_has_a_schedule(tmp_path: Path) -> None:
    path = sorted_model(tmp_path)
    (call,) = calls(path)
    assert call["recipe"] == "call: sort.f32 lines=0\n"
    assert "call: sort.f32 lines=8" in call["alternatives"]
    inputs = inputs_of(hr.load(path))
    expected = hr.load(path)(*inputs)
    for line in call["alternatives"]:
        other = hr.load(path, recipe=as_recipe(call["id"], line))
        for mine, wanted in zip(other(*inputs), expected, strict=True):
            np.testing.assert_array_equal(mine, wanted, err_msg=line)
        assert_replays(path, other)
    for line, reason in {
        "call: sort.f32 lines=9999999": "expected a number from 0 to 1048576 for 'lines'",
        "call: sort.i64 lines=8": "expected sort.f32, which computes with its type",
        "call: sort.f32 rows=8": r"expected a parameter of 'sort.f32' \(lines\)",
    }.items():
        with pytest.raises(hr.InvalidArgumentError, match=reason):
            hr.load(path, recipe=as_recipe(call["id"], line)).explain()


def test_attention_has_a_schedule(tmp_path: Path) -> None:
    names = ("q", "k", "v")
    shape = [1, 2, 96, 16]
    graph = helper.make_graph(
        [helper.make_node("Attention", names, ["y"], name="attention")],
        "attending",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in names],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    path = tmp_path / "attention.onnx"
    opsets = [helper.make_opsetid("", 23)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    if not openblas_is_here(path):
        pytest.skip("OpenBLAS is not on this machine")
    (call,) = calls(path, "--expansion", "openblas")
    assert call["recipe"] == "call: openblas.attention queries=0 keys=0\n"
    assert "call: openblas.attention queries=32 keys=0" in call["alternatives"]
    model = hr.load(path, expansion="openblas")
    inputs = inputs_of(model)
    expected = model(*inputs)
    for line in call["alternatives"]:
        other = hr.load(path, expansion="openblas", recipe=as_recipe(call["id"], line))
        np.testing.assert_allclose(other(*inputs), expected, rtol=1e-4, atol=1e-5, err_msg=line)
        assert_replays(path, other)
    line = "call: openblas.attention queries=2048 keys=2048"
    with pytest.raises(hr.InvalidArgumentError, match="blocks of at most 1048576 scores"):
        hr.load(path, expansion="openblas", recipe=as_recipe(call["id"], line)).explain()


def test_packing_of_bytes_is_a_choice_of_the_routine(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    weights = draw.integers(-128, 127, (48, 33), dtype=np.int8)
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["x", "w"], ["y"], name="product")],
        "bytes",
        [helper.make_tensor_value_info("x", TensorProto.INT8, [64, 48])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [64, 33])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    path = tmp_path / "bytes.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    call = calls(path, "--expansion", "int8")[0]
    assert call["recipe"] == "call: int8.packed_gemm\n"
    assert call["alternatives"] == ["call: int8.gemm"]
    plain = hr.load(path, expansion="int8", recipe=as_recipe(call["id"], "call: int8.gemm"))
    assert '"int8.gemm"' in plain.ir("kernels")
    x = draw.integers(-128, 127, (64, 48), dtype=np.int8)
    expected = x.astype(np.int32) @ weights.astype(np.int32)
    np.testing.assert_array_equal(plain(x), expected)
    np.testing.assert_array_equal(hr.load(path, expansion="int8")(x), expected)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("tiles rows=9999", "rows: expected at least 1, and a tile of at most"),
        ("tiles columns=0", "columns: expected 1 to"),
        ("tiles cells=0", "cells: expected at least 1"),
        ("tiles pack=2", "pack: expected 0 or 1"),
        ("tiles features=2", "features: expected 0 or 1"),
        ("points vector=8", "expected tiles, or plain"),
        ("walk rows=4", "expected tiles, or plain"),
        ("tiles prefetch=5", "prefetch: expected 0 to 4"),
        ("tiles width=4", "expected a parameter of 'tiles' (rows, columns, cells, pack, features,"),
        ("plain cells=x", "expected a number from 0 to"),
    ],
)
def test_what_is_not_legal_is_refused_with_the_reason(
    small_models: Path, line: str, reason: str
) -> None:
    path = small_models / "mlp.onnx"
    product = next(k for k in kernels(path) if "unroll" in k["recipe"])
    stage = product["recipe"].split(":")[0]
    with pytest.raises(hr.Error) as error:
        hr.load(path, recipe=as_recipe(product["id"], f"{stage}: {line}")).explain()
    assert reason in str(error.value), str(error.value)


def write_convolution(path: Path, channels: int, size: int, groups: int = 1) -> None:
    """Relu, a 3x3 convolution, and a sum of both."""
    draw = np.random.default_rng(0)
    weights = draw.standard_normal((channels, channels // groups, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Relu", ["x"], ["y"], name="relu"),
        helper.make_node("Conv", ["y", "w"], ["z"], name="conv", pads=[1, 1, 1, 1], group=groups),
        helper.make_node("Add", ["y", "z"], ["sum"], name="add"),
        helper.make_node("Tanh", ["sum"], ["out"], name="tanh"),
    ]
    shape = [1, channels, size, size]
    graph = helper.make_graph(
        nodes,
        "convolution",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, shape)],
        [onnx.numpy_helper.from_array(weights / weights[0].size, "w")],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


@pytest.mark.parametrize("size", [2, 5, 14])
@pytest.mark.parametrize("groups", [1, 64])
def test_padding_is_written_by_the_kernel_before_it_or_apart(
    tmp_path: Path, size: int, groups: int
) -> None:
    path = tmp_path / "model.onnx"
    write_convolution(path, channels=64, size=size, groups=groups)
    inside = hr.load(path)
    steps = inside.explain()["recipe"].splitlines()
    assert any(step.startswith("fuse conv/pad into relu") for step in steps), steps
    apart = hr.load(path, recipe="separate conv/pad\n")
    assert "kernel conv/pad:" in apart.explain()["recipe"].splitlines()
    inputs = inputs_of(inside)
    expected = inside.reference(*inputs)
    np.testing.assert_allclose(inside(*inputs), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(apart(*inputs), expected, rtol=1e-4, atol=1e-5)


def test_padding_goes_nowhere_but_to_what_is_padded(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    write_convolution(path, channels=16, size=5)
    with pytest.raises(hr.InvalidArgumentError, match="another kernel computes"):
        hr.load(path, recipe="fuse conv/pad into tanh\n").explain()


def test_many_weights_are_read_once_for_all_rows(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    write_convolution(path, channels=1024, size=4)
    lines = [(k["id"], line) for k in kernels(path) for line in k["alternatives"]]
    name, other = next((name, line) for name, line in lines if "features=0" in line)
    by_features, by_rows = hr.load(path), hr.load(path, recipe=as_recipe(name, other))
    inputs = inputs_of(by_features)
    np.testing.assert_allclose(by_features(*inputs), by_rows(*inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("channels", [32, 40, 88, 104, 192, 200])
def test_windows_of_each_channel_take_full_vectors_with_something_left_over(
    tmp_path: Path, channels: int
) -> None:
    path = tmp_path / "depthwise.onnx"
    weights = np.random.default_rng(0).standard_normal((channels, 1, 5, 5)).astype(np.float32)
    graph = f"""depthwise (float[1,{channels},3,9] x) => (float[1,{channels},3,9] y)
      <float[{channels},1,5,5] w> {{
        y = Conv <group = {channels}, pads = [2, 2, 2, 2]> (x, w)
      }}"""
    model = graph_text.parse(graph)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(model, path)
    kernels_of_it = hr.load(path, target="cpu:x86-64-v4").explain()["kernels"]
    (convolution,) = (k for k in kernels_of_it if k["kind"] == "tiles")
    assert re.search(r"d2\.[tc] 16", convolution["schedule"])
    x = np.random.default_rng(1).standard_normal((1, channels, 3, 9)).astype(np.float32)
    here = hr.load(path)
    np.testing.assert_allclose(here(x), here.reference(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("columns", [18, 20, 24, 36, 37, 41, 53, 60])
@pytest.mark.parametrize("kind", ["float", "double"])
def test_rows_of_tiles_are_whole_vectors_and_a_rest(
    tmp_path: Path, columns: int, kind: str
) -> None:
    path = tmp_path / "product.onnx"
    dtype = np.float32 if kind == "float" else np.float64
    weights = np.random.default_rng(0).standard_normal((25, columns)).astype(dtype)
    graph = f"""<ir_version: 9, opset_import: ["": 17]>
      product ({kind}[19,25] x) => ({kind}[19,{columns}] y) <{kind}[25,{columns}] w> {{
        p = MatMul (x, w)
        s = Sigmoid (p)
        y = Mul (p, s)
      }}"""
    model = onnx.parser.parse_model(graph)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(model, path)
    x = np.random.default_rng(1).standard_normal((19, 25)).astype(dtype)
    for target in ("cpu", "cpu:x86-64-v3", "cpu:x86-64-v2"):
        here = hr.load(path, target=target)
        np.testing.assert_allclose(here(x), here.reference(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("features", [104, 200])
def test_products_take_full_vectors_with_something_left_over(tmp_path: Path, features: int) -> None:
    """With what is behind a convolution in PP-OCR's networks, on values that reach all of its pieces."""
    path = tmp_path / "product.onnx"
    random = np.random.default_rng(0)
    weights = random.standard_normal((features, 16, 1, 1)).astype(np.float32)
    graph = f"""<ir_version: 9, opset_import: ["": 17]>
      product (float[2,3,9,16] x) => (float[2,3,9,{features}] y)
      <float[{features},16,1,1] w, float zero = {{0}}, float three = {{3}}, float six = {{6}}> {{
        image = Transpose <perm = [0, 3, 1, 2]> (x)
        c = Conv (image, w)
        a = Add (c, three)
        k = Clip (a, zero, six)
        m = Mul (c, k)
        d = Div (m, six)
        y = Transpose <perm = [0, 2, 3, 1]> (d)
      }}"""
    model = onnx.parser.parse_model(graph)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(model, path)
    (product,) = hr.load(path, target="cpu:x86-64-v4").explain()["kernels"]
    assert "d1.t 32" in product["schedule"], product["schedule"]
    x = random.standard_normal((2, 3, 9, 16)).astype(np.float32)
    x[0, 0, 0] = np.nan
    x[0, 0, 1, 0] = np.inf
    here = hr.load(path)
    np.testing.assert_allclose(here(x), here.reference(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("features", [3, 6, 17, 20, 22, 24, 25, 30, 37])
def test_selections_on_tiles_of_any_width(tmp_path: Path, features: int) -> None:
    """Vectors whose length is not a power of two are compared and selected from at the next one."""
    path = tmp_path / "selections.onnx"
    random = np.random.default_rng(0)
    weights = random.standard_normal((8, features)).astype(np.float32)
    graph = f"""<ir_version: 9, opset_import: ["": 17]>
      selections (float[29,8] x, float[{features}] b) => (float[29,{features}] y)
      <float[8,{features}] w, float low = {{-0.5}}, float high = {{0.75}}> {{
        p = MatMul (x, w)
        s = Add (p, b)
        k = Clip (s, low, high)
        above = Greater (s, b)
        below = Less (p, low)
        either = Or (above, below)
        t = Where (either, k, p)
        y = Mul (t, s)
      }}"""
    model = onnx.parser.parse_model(graph)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(model, path)
    x = random.standard_normal((29, 8)).astype(np.float32)
    x[3], x[4, 2] = np.nan, -np.inf
    b = random.standard_normal(features).astype(np.float32)
    here = hr.load(path)
    np.testing.assert_allclose(here(x, b), here.reference(x, b), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("channels", [8, 24, 88])
def test_means_over_open_sizes_take_vectors_of_channels(tmp_path: Path, channels: int) -> None:
    path = tmp_path / "mean.onnx"
    graph = f"""<ir_version: 9, opset_import: ["": 17]>
      mean (float[n,h,w,{channels}] x) => (float[n,{channels},1,1] y) {{
        image = Transpose <perm = [0, 3, 1, 2]> (x)
        y = GlobalAveragePool (image)
      }}"""
    onnx.save(onnx.parser.parse_model(graph), path)
    model = hr.load(path, specialize="never")
    assert "tiles" in [kernel["kind"] for kernel in model.explain()["kernels"]]
    for shape in ((2, 3, 5), (3, 2, 2), (1, 1, 7), (2, 17, 31)):
        x = np.random.default_rng(1).standard_normal((*shape, channels)).astype(np.float32)
        np.testing.assert_allclose(model(x), model.reference(x), rtol=1e-5, atol=1e-6)
