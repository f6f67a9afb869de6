"""Quantized models on the VTA accelerator: `--target vta`, equal to the CPU and to integers in NumPy."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx writes the models")
import vta_networks
import vta_reference as reference
from onnx import TensorProto, helper
from vta_networks import Network

ROOT = Path(__file__).resolve().parents[2]
BIN = os.environ.get("HEADRACE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")
large = pytest.mark.skipif(
    not os.environ.get("HEADRACE_LARGE_TESTS"), reason="takes longer: set HEADRACE_LARGE_TESTS=1"
)
CONFIGURATIONS = ("block16", "block32", "batch2")


def target(configuration: str) -> str:
    return f"vta:{ROOT / 'examples' / 'vta' / configuration}.json"


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [str(BIN), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)


def good(*words: object) -> str:
    done = run(*words)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def outputs(
    model: Path, feeds: dict[str, np.ndarray], folder: Path, *words: object
) -> dict[str, np.ndarray]:
    folder.mkdir(exist_ok=True)
    inputs: list[object] = []
    for name, value in feeds.items():
        np.save(folder / f"{name}.feed.npy", value)
        inputs += ["--input", f"{name}=@{folder / name}.feed.npy"]
    good("run", model, *inputs, "--output", folder, *words)
    names = [path for path in folder.glob("*.npy") if not path.name.endswith(".feed.npy")]
    return {path.stem: np.load(path) for path in names}


def explained(model: Path, *words: object) -> list[dict]:
    return json.loads(good("explain", model, "--json", *words))["kernels"]


def on_vta(kernels: list[dict]) -> list[str]:
    return [k["name"] for k in kernels if k["where"] == "vta" and k["kind"] != "copy"]


def check(network: Network, folder: Path, configuration: str = "block16") -> list[dict]:
    """Results are those of integers in NumPy, and of the CPU, bit by bit."""
    model = network.write(folder / "model.onnx")
    got = outputs(model, network.feeds, folder / "vta", "--target", target(configuration))
    cpu = outputs(model, network.feeds, folder / "cpu")
    assert set(got) == set(network.expected)
    for name, wanted in network.expected.items():
        np.testing.assert_array_equal(got[name], cpu[name])
        if wanted.dtype == np.int8:
            np.testing.assert_array_equal(got[name], wanted)
        else:
            np.testing.assert_allclose(got[name], wanted, rtol=1e-5, atol=1e-6)
    kernels = explained(model, "--target", target(configuration))
    # Every product is the accelerator's, and no layout changes between two of its kernels.
    assert set(network.products) <= set(on_vta(kernels))
    return kernels


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_a_network_of_all_operators_is_equal_on_every_configuration(
    tmp_path: Path, configuration: str
) -> None:
    n = Network(1)
    x = n.conv(n.input(2, 3, 12, 12, floats=True), 10)
    left = n.conv(x, 24, stride=2, relu=False, per_channel=True)
    right = n.conv(x, 24, stride=2, size=1, relu=False)
    y = n.pool(n.add(left, right, relu=True))
    n.output(n.dense(n.flatten(y), 10, relu=True))
    n.output(y)
    check(n, tmp_path, configuration)


@pytest.mark.parametrize("batch", [1, 2, 3, 5])
def test_any_number_of_images_and_rows_is_taken(tmp_path: Path, batch: int) -> None:
    n = Network(batch)
    x = n.conv(n.input(batch, 1, 7, 5), 17)
    n.output_softmax(n.dense(n.dense(n.flatten(x), 33, relu=True), 10))
    check(n, tmp_path, "batch2")


@pytest.mark.parametrize(
    "form", ["residual", "groups", "depthwise", "dilation", "wide stride", "overlap"]
)
def test_forms_of_windows(tmp_path: Path, form: str) -> None:
    n = Network(3)
    x = n.input(1, 16, 9, 7)
    if form == "residual":
        y = n.conv(x, 16, size=5, residual=x)
    elif form == "groups":
        y = n.conv(x, 32, groups=2)
    elif form == "depthwise":
        y = n.conv(x, 16, groups=16)
    elif form == "dilation":
        y = n.conv(x, 8, dilation=2)
    elif form == "wide stride":
        y = n.conv(x, 8, size=1, stride=3)
    else:
        y = n.pool(x, 3, 2, 1)
    n.output(y)
    check(n, tmp_path)


def test_a_chain_of_layers_stays_in_the_layout_of_the_accelerator(tmp_path: Path) -> None:
    n = Network(4)
    x = n.input(1, 20, 8, 8)
    for _ in range(3):
        x = n.conv(x, 20)
    n.output(x)
    kernels = check(n, tmp_path)
    where = [k["where"] for k in kernels if k["kind"] != "copy"]
    first, last = where.index("vta"), len(where) - where[::-1].index("vta")
    assert where[first:last] == ["vta"] * 3


def test_a_sum_joins_one_of_the_products_whose_integers_it_alone_reads(tmp_path: Path) -> None:
    n = Network(12)
    x = n.input(1, 4, 6, 6)
    left, right = n.conv(x, 8, relu=False), n.conv(x, 8, size=1, relu=False)
    n.output(n.add(left, right, relu=True))
    assert on_vta(check(n, tmp_path)) == n.products[::-1]


def test_a_flattened_image_goes_into_a_dense_layer_as_it_lies(tmp_path: Path) -> None:
    n = Network(5)
    n.output(n.dense(n.flatten(n.conv(n.input(1, 3, 6, 6), 20)), 10))
    kernels = check(n, tmp_path)
    assert on_vta(kernels) == n.products


def test_sums_of_coarser_and_finer_scales_are_aligned_by_shifts(tmp_path: Path) -> None:
    n = Network(6)
    x, y = n.input(1, 5, 4, 3, exponent=-9), n.input(1, 5, 4, 3, exponent=-4)
    n.output(n.add(x, y))
    n.output(n.add(y, x, relu=True))
    assert len(on_vta(check(n, tmp_path))) == 2


def test_float_results_are_the_hosts_and_say_why(tmp_path: Path) -> None:
    n = Network(7)
    n.output_softmax(n.dense(n.input(2, 12), 5))
    reasons = {k["name"]: k["why_not"] for k in check(n, tmp_path) if k["where"] == "cpu"}
    of_the_softmax = {why for name, why in reasons.items() if name.startswith("probabilities")}
    assert of_the_softmax == {"its results are not 8-bit integers"}
    assert all(reasons.values())


@pytest.mark.parametrize("seed", range(6))
def test_random_networks(tmp_path: Path, seed: int) -> None:
    n = Network(100 + seed)
    choose = n.random.integers
    x = n.input(
        int(choose(1, 4)),
        int(choose(1, 40)),
        int(choose(5, 12)),
        int(choose(5, 12)),
        floats=bool(choose(2)),
    )
    shapes: dict[tuple, vta_networks.Value] = {}
    for _ in range(5):
        kind = choose(5)
        if kind == 0 and min(x.integers.shape[2:]) >= 3:
            x = n.pool(x, size=int(choose(2, 4)), stride=int(choose(1, 3)))
        elif kind == 1 and x.integers.shape in shapes:
            x = n.add(x, shapes[x.integers.shape], relu=bool(choose(2)))
        else:
            x = n.conv(
                x,
                int(choose(1, 40)),
                size=int(choose(0, 2)) * 2 + 1,
                stride=int(choose(1, 3)),
                relu=bool(choose(2)),
                bias=bool(choose(2)),
                per_channel=bool(choose(2)),
            )
        shapes[x.integers.shape] = x
    n.output(x)
    if choose(2):
        n.output(n.dense(n.flatten(x), int(choose(1, 20))))
    check(n, tmp_path, CONFIGURATIONS[seed % 3])


def single(
    nodes: list[onnx.NodeProto],
    shape: tuple,
    constants: dict[str, np.ndarray],
    kind=TensorProto.INT8,
) -> onnx.ModelProto:
    """A graph from x to y, both integers."""
    inits = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    x = helper.make_tensor_value_info("x", kind, shape)
    y = helper.make_tensor_value_info("y", kind, None)
    graph = helper.make_graph(nodes, "g", [x], [y], inits)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def product_model(
    scale: float = 2**-7, result: float = 2**-3, weights=None, zero: int = 0
) -> onnx.ModelProto:
    w = np.arange(-20, 28).reshape(4, 3, 2, 2).astype(np.int8) if weights is None else weights
    constants = {
        "sx": np.float32(2**-5),
        "sw": np.float32(scale),
        "sy": np.float32(result),
        "z": np.int8(0),
        "zx": np.int8(zero),
        "w": w,
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "sx", "zx"], ["xf"], name="dx"),
        helper.make_node("DequantizeLinear", ["w", "sw", "z"], ["wf"], name="dw"),
        helper.make_node("Conv", ["xf", "wf"], ["c"], name="conv1"),
        helper.make_node("QuantizeLinear", ["c", "sy", "z"], ["y"], name="qy"),
    ]
    return single(nodes, (1, 3, 6, 6), constants)


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"scale": 0.0123}, "power of two"),
        ({"result": 0.3}, "scale 0.3 is not a power of two: requantization cannot be a shift"),
    ],
)
def test_scales_other_than_powers_of_two_are_left_to_the_host_with_the_reason(
    tmp_path: Path, change: dict, reason: str
) -> None:
    kernels = explained(saved(product_model(**change), tmp_path), "--target", "vta")
    assert on_vta(kernels) == []
    assert any(reason in k["why_not"] for k in kernels), kernels


def test_a_zero_point_becomes_part_of_the_bias(tmp_path: Path) -> None:
    model = saved(product_model(zero=-7), tmp_path)
    feeds = {"x": np.random.default_rng(0).integers(-128, 128, (1, 3, 6, 6)).astype(np.int8)}
    assert on_vta(explained(model, "--target", "vta")) == ["conv1"]
    got = outputs(model, feeds, tmp_path / "vta", "--target", "vta")
    np.testing.assert_array_equal(got["y"], outputs(model, feeds, tmp_path / "cpu")["y"])


@pytest.mark.parametrize("zero", [0, 120, 128, 255])
@pytest.mark.parametrize("pads", [0, 1])
def test_numbers_without_signs_are_taken_as_they_are_less_128(
    tmp_path: Path, zero: int, pads: int
) -> None:
    random = np.random.default_rng(zero)
    constants = {
        "sx": np.float32(2**-5),
        "sw": np.float32(2**-7),
        "sy": np.float32(2**-3),
        "zx": np.uint8(zero),
        "zw": np.int8(0),
        "zy": np.uint8(77),
        "w": random.integers(-127, 128, (5, 3, 3, 3)).astype(np.int8),
        "b": random.integers(-1000, 1000, 5).astype(np.int32),
    }
    words = ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"]
    nodes = [helper.make_node("QLinearConv", words, ["y"], name="conv1", pads=[pads] * 4)]
    model = saved(single(nodes, (1, 3, 6, 6), constants, TensorProto.UINT8), tmp_path)
    feeds = {"x": random.integers(0, 256, (1, 3, 6, 6)).astype(np.uint8)}
    got = outputs(model, feeds, tmp_path / "vta", "--target", "vta")
    np.testing.assert_array_equal(got["y"], outputs(model, feeds, tmp_path / "cpu")["y"])
    # Zeros around an image are no 0 in DRAM: it is padded before, or not taken.
    taken = on_vta(explained(model, "--target", "vta"))
    assert taken == ([] if pads == 1 and zero == 0 else ["conv1"])


def test_products_in_integers_with_floats_between_are_taken(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    constants = {
        "w": (2 * random.integers(-60, 60, (18, 5, 3, 3))).astype(np.int8),
        "b": random.integers(-5000, 5000, (18, 1, 1)).astype(np.int32),
        "m": (2.0 ** random.integers(-13, -9, (1, 18, 1, 1))).astype(np.float32),
        "s": np.float32(2**-4),
        "z": np.int8(0),
        "w2": random.integers(-127, 128, (18 * 9, 7)).astype(np.int8),
        "m2": np.float32(2**-11),
    }
    node = helper.make_node
    nodes = [
        node("ConvInteger", ["x", "w"], ["c"], name="conv1", pads=[1] * 4),
        node("Add", ["c", "b"], ["cb"], name="bias"),
        node("Cast", ["cb"], ["cf"], name="cast", to=TensorProto.FLOAT),
        node("Mul", ["cf", "m"], ["cm"], name="mul"),
        node("Relu", ["cm"], ["r"], name="relu"),
        node("QuantizeLinear", ["r", "s", "z"], ["q"], name="quantize"),
        node("MaxPool", ["q"], ["p"], name="pool1", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["p"], ["f"], name="flat"),
        node("MatMulInteger", ["f", "w2"], ["g"], name="dense1"),
        node("Cast", ["g"], ["gf"], name="cast2", to=TensorProto.FLOAT),
        node("Mul", ["gf", "m2"], ["gm"], name="mul2"),
        node("QuantizeLinear", ["gm", "s", "z"], ["y"], name="quantize2"),
    ]
    model = saved(single(nodes, (3, 5, 6, 6), constants), tmp_path)
    feeds = {"x": random.integers(-128, 128, (3, 5, 6, 6)).astype(np.int8)}
    got = outputs(model, feeds, tmp_path / "vta", "--target", target("batch2"))
    np.testing.assert_array_equal(got["y"], outputs(model, feeds, tmp_path / "cpu")["y"])
    assert on_vta(explained(model, "--target", "vta")) == ["conv1", "pool1", "dense1"]


def test_open_sizes_are_the_hosts_until_they_are_given(tmp_path: Path) -> None:
    n = Network(8)
    n.output(n.conv(n.input(1, 4, 5, 5), 4))
    model = onnx.load(n.write(tmp_path / "model.onnx"))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    path = saved(model, tmp_path)
    kernels = explained(path, "--target", "vta")
    assert on_vta(kernels) == []
    assert any("dynamic dimensions" in k["why_not"] for k in kernels)
    assert on_vta(explained(path, "--target", "vta", "--size", "batch=3")) == n.products


def small() -> Network:
    n = Network(9)
    x = n.conv(n.input(1, 16, 10, 10), 32)
    n.output(n.conv(x, 16, stride=2))
    return n


def blocked(x: np.ndarray, machine: reference.Machine) -> bytes:
    """[batch, channels, height, width] in blocks of the machine, with zeros where they are over."""
    b, c = machine.batch, machine.block
    x = np.pad(x, ((0, -x.shape[0] % b), (0, -x.shape[1] % c), (0, 0), (0, 0)))
    n, channels, height, width = x.shape
    x = x.reshape(n // b, b, channels // c, c, height, width)
    return x.transpose(0, 2, 4, 5, 1, 3).tobytes()


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_the_files_of_a_model_run_in_another_simulator(tmp_path: Path, configuration: str) -> None:
    n = small()
    model = n.write(tmp_path / "model.onnx")
    good(
        "compile", model, "--target", target(configuration), "--emit=vta", "-o", tmp_path / "files"
    )
    program = reference.Program(tmp_path / "files")
    roles = [b["role"] for b in program.buffers.values() if b["role"] != "weight"]
    assert sorted(roles) == ["input", "output", "temporary"]
    buffers = {b["role"]: b for b in program.buffers.values()}
    given, place = blocked(n.feeds["x0"], program.machine), buffers["input"]
    end = place["offset"] + place["bytes"]
    assert len(given) == place["bytes"]
    program.dram = program.dram[: place["offset"]] + given + program.dram[end:]
    result = reference.unpack(program.run(), buffers["output"])
    np.testing.assert_array_equal(result, n.expected["y0"])
    np.save(tmp_path / "x.npy", n.feeds["x0"])
    feed = f"{buffers['input']['name']}=@{tmp_path / 'x.npy'}"
    done = run("vta", "run", tmp_path / "files", "--input", feed, "--output", tmp_path / "results")
    assert done.returncode == 0, done
    result = np.load(next((tmp_path / "results").glob("*.npy")))
    np.testing.assert_array_equal(result, n.expected["y0"])


def test_steps_of_the_host_between_stand_in_the_files_by_name(tmp_path: Path) -> None:
    n = Network(10)
    x = n.conv(n.input(1, 4, 6, 6), 4)
    floats = n.node("Tanh", n.dequantized(x.name, x.exponent), name="tanh")
    scale, zero = n.constant(np.float32(2**-7)), n.constant(np.int8(0))
    integers = np.clip(np.rint(np.tanh(x.integers * 2.0**x.exponent) * 128), -128, 127)
    x = vta_networks.Value(
        integers.astype(np.int64), -7, n.node("QuantizeLinear", floats, scale, zero, name="squash")
    )
    n.output(n.conv(x, 4))
    model = n.write(tmp_path / "model.onnx")
    good("compile", model, "--target", "vta", "--emit=vta", "-o", tmp_path / "files")
    runs = json.loads((tmp_path / "files" / "buffers.json").read_text())["runs"]
    assert runs[0]["engine"] == runs[-1]["engine"] == "vta"
    assert "squash" in [r.get("step") for r in runs]


def test_a_package_runs_again(tmp_path: Path) -> None:
    n = small()
    model = n.write(tmp_path / "model.onnx")
    package = tmp_path / "model.hrpkg"
    good("compile", model, "--target", "vta", "-o", package)
    got = outputs(package, n.feeds, tmp_path / "out")
    np.testing.assert_array_equal(got["y0"], n.expected["y0"])
    assert on_vta(explained(package)) == n.products


def test_a_recipe_is_followed_byte_by_byte_and_refused_with_the_reason(tmp_path: Path) -> None:
    model = small().write(tmp_path / "model.onnx")
    words = ("explain", model, "--target", "vta")
    good(*words, "--recipe-out", tmp_path / "first")
    good(*words, "--recipe", tmp_path / "first", "--recipe-out", tmp_path / "second")
    first = (tmp_path / "first").read_text()
    assert first == (tmp_path / "second").read_text()
    code = good(*words, "--to=commands")
    assert code == good(*words, "--to=commands", "--recipe", tmp_path / "first")
    assert 'vta.command "GEMM' in code
    lines = first.splitlines()
    tiles = [i for i, line in enumerate(lines) if line.strip().startswith("tile ")]
    lines[tiles[0]] = "  tile batch=1 rows=10 columns=10 out=2 in=10000"
    (tmp_path / "wrong").write_text("\n".join(lines) + "\n")
    refused = run(*words, "--recipe", tmp_path / "wrong")
    assert refused.returncode != 0
    assert "kernel 'conv" in refused.stderr


def test_other_schedules_give_the_same_results(tmp_path: Path) -> None:
    n = small()
    model = n.write(tmp_path / "model.onnx")
    good("explain", model, "--target", "vta", "--recipe-out", tmp_path / "recipe")
    text = (tmp_path / "recipe").read_text()
    lines = [line for line in text.splitlines() if "vthread" not in line]
    changed = [
        "  tile batch=1 rows=1 columns=5 out=1 in=1" if "tile " in line else line for line in lines
    ]
    (tmp_path / "changed").write_text("\n".join(changed) + "\n")
    words = ("--target", "vta", "--recipe", tmp_path / "changed")
    got = outputs(model, n.feeds, tmp_path / "out", *words)
    np.testing.assert_array_equal(got["y0"], n.expected["y0"])


def nodes(model: Path, phase: str) -> dict[str, dict]:
    found = json.loads(good("explain", model, "--target", "vta", "--to", phase, "--json"))
    return {node["id"]: node for node in found["nodes"]}


def test_alternatives_are_other_schedules_that_are_followed_with_the_same_results(
    tmp_path: Path,
) -> None:
    n = small()
    model = n.write(tmp_path / "model.onnx")
    scheduled = nodes(model, "schedule")
    recipe = ""
    for name in n.products:
        own, others = scheduled[name]["recipe"], scheduled[name]["alternatives"]
        assert 1 < len(others) == len(set(others)) <= 16
        assert own.startswith("tile ")
        assert own not in others
        lines = others[-1].splitlines()
        recipe += "".join(f"{line}\n" for line in [f"kernel {name}:", *(f"  {s}" for s in lines)])
    (tmp_path / "recipe").write_text(recipe)
    words = ("--target", "vta", "--recipe", tmp_path / "recipe")
    good("explain", model, *words, "--recipe-out", tmp_path / "followed")
    followed = (tmp_path / "followed").read_text()
    for name in n.products:
        assert scheduled[name]["alternatives"][-1].splitlines()[0] in followed
    got = outputs(model, n.feeds, tmp_path / "out", *words)
    np.testing.assert_array_equal(got["y0"], n.expected["y0"])


@pytest.mark.parametrize("phase", ["import", "simplify", "layout", "kernels", "commands"])
def test_every_phase_is_a_graph(tmp_path: Path, phase: str) -> None:
    n = small()
    found = nodes(n.write(tmp_path / "model.onnx"), phase)
    assert "output:y0" in found
    # Kernels of the host are not scheduled for the accelerator.
    host = [node for name, node in found.items() if "/transpose" in name]
    assert not any("tile " in line for node in host for line in node["alternatives"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", ["JSON"]),
        ("{}", ["LOG_"]),
        ('{"LOG_BATCH": 99}', ["LOG_"]),
    ],
)
def test_wrong_configurations_are_refused_by_name(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    (tmp_path / "wrong.json").write_text(text)
    model = small().write(tmp_path / "model.onnx")
    for file in ("wrong.json", "missing.json"):
        done = run("run", model, "--random", "0", "--target", f"vta:{tmp_path / file}")
        assert done.returncode != 0
        assert file in done.stderr
        if file == "wrong.json":
            assert all(word in done.stderr for word in words), done.stderr


def test_times_are_split_by_engine(tmp_path: Path) -> None:
    model = small().write(tmp_path / "model.onnx")
    words = ("bench", model, "--target", "vta", "--profile", "--seconds", "0.1", "--rounds", "1")
    text = good(*words)
    assert "times as fast at most" in text
    kernels = {k["name"]: k for k in json.loads(good(*words, "--json"))["kernels"]}
    for name in small().products:
        cycles = int(kernels[name]["notes"].split()[0])
        assert kernels[name]["where"] == "vta"
        assert kernels[name]["time_us"] == pytest.approx(cycles / 100)
        assert kernels[name]["predicted_us"] == pytest.approx(cycles / 100)


@large
def test_resnet18_is_equal_to_integers(tmp_path: Path) -> None:
    n = Network(5)
    vta_networks.resnet(n, 1, 224, 64, (2, 2, 2, 2), 1000)
    model = n.write(tmp_path / "model.onnx")
    got = outputs(model, n.feeds, tmp_path / "vta", "--target", "vta")
    np.testing.assert_array_equal(got["y0"], n.expected["y0"])
    assert set(n.products) <= set(on_vta(explained(model, "--target", "vta")))


def test_a_small_residual_network_is_equal_to_integers(tmp_path: Path) -> None:
    n = Network(11)
    vta_networks.resnet(n, 2, 32, 8, (1, 2), 10)
    check(n, tmp_path)
