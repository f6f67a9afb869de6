"""A third target (test/target/toy) computes a few maps and products; the host does all else.

`headrace-toy` is the command line with one more line: the one that registers it.
"""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from coarse_models import network

BIN = os.environ.get("HEADRACE_BIN")
TOY = BIN and Path(BIN).parents[1] / "test" / "target" / "toy" / "headrace-toy"
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
NETWORKS = [
    "lenet",
    "mlp",
    "resnet18",
    "mobilenet_v2",
    "bert_layer",
    "softmax",
    "layernorm",
    "mish",
]


def run(program: Path | str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, timeout=300
    )


def good(program: Path | str, *arguments: object) -> str:
    done = run(program, *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def report(*arguments: object) -> list[dict]:
    return json.loads(good(TOY, "explain", "--json", *arguments))["kernels"]


def same_results(model: Path, folder: Path, *options: object) -> None:
    arguments = [model, "--random", 3, *options]
    good(BIN, "run", *arguments, "--output", folder / "cpu")
    good(TOY, "run", *arguments, "--target", "toy", "--expect", folder / "cpu", "--rtol=1e-3")


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_gives_the_results_of_the_cpu(name: str, tmp_path: Path) -> None:
    model = network(name, tmp_path)
    same_results(model, tmp_path)
    for kernel in report(model, "--target", "toy"):
        # whatever is not the toy's says why, and nothing else does
        assert (kernel["where"] == "cpu") == bool(kernel["why_not"]), kernel


@pytest.mark.parametrize("batch", [0, 1, 2, 7])
def test_any_size_gives_the_results_of_the_cpu(batch: int, tmp_path: Path) -> None:
    same_results(DIGITS, tmp_path, f"--size=batch={batch}")


def test_kernels_run_where_they_can_and_values_are_copied_between() -> None:
    kernels = report(DIGITS, "--target", "toy")
    where = {
        kernel["operators"][0].rpartition("/")[2]: kernel
        for kernel in kernels
        if kernel["operators"]
    }
    assert where["Conv"]["where"] == "cpu"
    assert where["Conv"]["why_not"] == "reduces by products alone"
    assert where["Gemm"]["where"] == "toy" and where["Gemm"]["why_not"] == ""
    copies = [kernel for kernel in kernels if kernel["kind"] == "copy"]
    assert [copy["name"].rpartition("/")[2] for copy in copies] == [
        "MaxPool to toy",
        "contract to cpu",
    ]
    assert copies[1]["bytes_read"] == copies[1]["bytes_written"] == "40*batch"
    text = good(TOY, "explain", DIGITS, "--target", "toy")
    assert "/features/features.0/Conv/conv runs on cpu: reduces by products alone\n" in text


def test_a_program_of_the_cpu_says_nothing_of_engines() -> None:
    assert " where " not in good(BIN, "explain", DIGITS)
    assert {kernel["where"] for kernel in report(DIGITS)} == {"cpu"}


def onnx_model(path: Path, nodes: list, inputs: dict, outputs: dict, weights: dict) -> Path:
    onnx = pytest.importorskip("onnx")
    helper, number = onnx.helper, onnx.TensorProto.FLOAT

    def values(shapes: dict) -> list:
        return [
            helper.make_tensor_value_info(name, number, shape) for name, shape in shapes.items()
        ]

    graph = helper.make_graph(
        nodes,
        "g",
        values(inputs),
        values(outputs),
        [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def test_a_small_kernel_between_two_of_the_host_stays_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_RATES", "derived")  # on a machine that is slow enough, it does not
    helper = pytest.importorskip("onnx").helper
    model = onnx_model(
        tmp_path / "m.onnx",
        [
            helper.make_node("Softmax", ["x"], ["a"], "first"),
            helper.make_node("MatMul", ["a", "w"], ["b"], "product"),
            helper.make_node("Softmax", ["b"], ["y"], "second"),
        ],
        {"x": [4, 8]},
        {"y": [4, 8]},
        {"w": np.eye(8, dtype=np.float32)[::-1] * 3},
    )
    same_results(model, tmp_path)
    kernels = report(model, "--target", "toy")
    assert {kernel["where"] for kernel in kernels} == {"cpu"}
    (product,) = (kernel for kernel in kernels if kernel["name"] == "product")
    assert product["why_not"].startswith("the copies would take longer than the ")


def test_outputs_may_be_inputs_constants_and_each_other(tmp_path: Path) -> None:
    helper = pytest.importorskip("onnx").helper
    model = onnx_model(
        tmp_path / "m.onnx",
        [
            helper.make_node("Relu", ["x"], ["a"], "relu"),
            helper.make_node("Identity", ["a"], ["b"], "again"),
            helper.make_node("Identity", ["x"], ["same"], "input"),
            helper.make_node("Identity", ["w"], ["weight"], "constant"),
            helper.make_node("Add", ["a", "w"], ["y"], "add"),
        ],
        {"x": [3, 5]},
        {name: [3, 5] for name in ("a", "b", "same", "weight", "y")},
        {"w": np.arange(15, dtype=np.float32).reshape(3, 5)},
    )
    same_results(model, tmp_path)
    assert "toy" in {kernel["where"] for kernel in report(model, "--target", "toy")}


def test_a_program_that_only_moves_data_is_a_devices_own(tmp_path: Path) -> None:
    helper = pytest.importorskip("onnx").helper
    nodes = [helper.make_node("Identity", ["x"], ["y"], "same")]
    model = onnx_model(tmp_path / "m.onnx", nodes, {"x": [3, 5]}, {"y": [3, 5]}, {})
    (copy,) = report(model, "--target", "cuda:sm_90a")
    assert (copy["where"], copy["why_not"]) == ("cuda", "")
    (copy,) = report(model, "--target", "toy")  # whose inputs and outputs are the host's
    assert copy["where"] == "cpu"


def test_networks_are_a_devices_own() -> None:
    kernels = report(DIGITS, "--target", "cuda:sm_90a")
    assert {(kernel["where"], kernel["why_not"]) for kernel in kernels} == {("cuda", "")}


def test_a_package_names_engines_and_has_code_for_each(tmp_path: Path) -> None:
    package = tmp_path / "digits.hrpkg"
    good(TOY, "compile", DIGITS, "--target", "toy", "-o", package)
    with zipfile.ZipFile(package) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        files = set(archive.namelist())
    assert manifest["version"] == 2
    (code,) = manifest["code"]
    assert {code["file"], code["host"]["file"]} <= files
    assert code["architecture"] == "toy" and code["host"]["architecture"] == "x86-64"
    steps = manifest["programs"][0]["versions"][0]["program"]["steps"]
    assert {step["engine"] for step in steps if step["kind"] == "transfer"} == {"toy"}
    assert any("engine" not in step for step in steps)
    for batch in (1, 4):
        options = ["--random", 3, f"--size=batch={batch}"]
        good(BIN, "run", DIGITS, *options, "--output", tmp_path / str(batch))
        good(TOY, "run", package, *options, "--expect", tmp_path / str(batch), "--rtol=1e-3")
    kernels = report(package)
    assert "reduces by products alone" in {kernel["why_not"] for kernel in kernels}
    # and a process without the engine says so
    refused = run(BIN, "run", package, "--random", 3)
    assert refused.returncode == 1
    assert "expected code that runs on this machine" in refused.stderr
    assert "got code for toy 1" in refused.stderr


def test_packages_of_the_cpu_are_of_the_first_format(tmp_path: Path) -> None:
    package = tmp_path / "digits.hrpkg"
    good(BIN, "compile", DIGITS, "-o", package, "--target-cpu", "x86-64-v2")
    with zipfile.ZipFile(package) as archive:
        text = archive.read("manifest.json").decode()
    assert json.loads(text)["version"] == 1 and '"engine"' not in text


def test_its_phases_are_its_own() -> None:
    phases = good(TOY, "explain", "--phases", "--target", "toy")
    assert "loops" in phases and "tiles" not in phases
    text = good(TOY, "explain", DIGITS, "--target", "toy", "--to=loops")
    assert "toy.code" in text and "llvm.func" in text


def test_what_it_has_not_is_refused(tmp_path: Path) -> None:
    recipe = tmp_path / "r"
    recipe.write_text("relu: split i by 4\n")
    done = run(TOY, "run", DIGITS, "--random", 1, "--target", "toy", "--recipe", recipe)
    assert (
        done.returncode == 1
        and "target 'toy' has no stages that a recipe could name" in done.stderr
    )
    assert (
        "unknown target 'toy'" in run(BIN, "run", DIGITS, "--random", 1, "--target", "toy").stderr
    )
