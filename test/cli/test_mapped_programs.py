"""Models compiled for ordinary targets from the terms they were mapped to: `--accelerator FILE`."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from coarse_models import (
    BIN,
    MACHINES,
    classic,
    good,
    helper,
    interrupted,
    machine,
    network,
    random_weights,
    results,
    run,
    written,
)

pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")
SHIPPED = ["vector-64", "vector-128"]


def shipped(name: str) -> Path:
    return MACHINES / f"{name}.json"


def check_equal(model: Path, file: Path, folder: Path, *options: object) -> None:
    """What is compiled from the chosen term computes what the model does."""
    expected = results(model, folder / "direct", *options)
    got = results(model, folder / "mapped", *options, f"--accelerator={file}")
    np.testing.assert_allclose(
        got, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max(initial=0)
    )


def products(model: Path, *options: object) -> list[str]:
    """The matrix products of the program that is compiled."""
    text = good("explain", model, "--to=simplify", *options)
    return [line for line in text.splitlines() if "hr.contract" in line or "hr.conv" in line]


@pytest.mark.parametrize("name", SHIPPED)
def test_lenet_compiles_for_the_cpu_from_its_chosen_term(name, tmp_path):
    model = network("lenet", tmp_path)
    check_equal(model, shipped(name), tmp_path, "--size=batch=2")


def test_the_program_is_in_tiles_of_the_machine(tmp_path):
    model, file = classic(tmp_path), machine(tmp_path, 48, 80)
    tiles = products(model, f"--accelerator={file}")
    assert tiles and all("48x80xf32" in line and "hr.conv" not in line for line in tiles)
    assert any("hr.conv" in line for line in products(model))


@pytest.mark.parametrize("name", SHIPPED)
def test_lenet_compiles_for_devices_from_its_chosen_term(name, tmp_path):
    model, package = network("lenet", tmp_path), tmp_path / "lenet.hrpkg"
    good(
        *("compile", model, "--target", "cuda:sm_90a", "--size", "batch=2"),
        *("--accelerator", shipped(name), "-o", package),
    )
    with zipfile.ZipFile(package) as archive:
        images = json.loads(archive.read("code/0-sm_90a.json"))
    assert images
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations if spec else []:
        assembler = Path(folder) / "cuda_nvcc/bin/ptxas"
        for image in images if assembler.exists() else []:
            code = tmp_path / "kernel.ptx"
            code.write_text(image["text"])
            command = [assembler, "--gpu-name", "sm_90a", code, "-o", tmp_path / "out"]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_any_batch_gives_the_results_of_the_model(batch, tmp_path):
    check_equal(classic(tmp_path), machine(tmp_path, 48, 80), tmp_path, f"--size=batch={batch}")


def test_a_package_runs_the_mapped_program_on_the_cpu(tmp_path):
    model, package = network("mlp", tmp_path), tmp_path / "mlp.hrpkg"
    options = ["--target-cpu", "x86-64-v3", "--accelerator", shipped("vector-64")]
    good("compile", model, *options, "-o", package)
    expected = results(model, tmp_path / "direct", "--size=batch=2")
    got = results(package, tmp_path / "packaged", "--size=batch=2")
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)
    done = run("run", package, "--random", 1, "--accelerator", shipped("vector-64"))
    assert done.returncode == 1 and "compiled already" in done.stderr


def test_what_the_machine_lacks_stays_as_it_is(tmp_path):
    model, file = interrupted(tmp_path), machine(tmp_path, 16, 16)
    check_equal(model, file, tmp_path, "--size=batch=3")
    assert "math.erf" in good("explain", model, "--to=simplify", f"--accelerator={file}")
    without = machine(tmp_path / "..", 16, 16, vectors=["VVAdd"])
    check_equal(model, without, tmp_path / "without", "--size=batch=3")


def matrices(folder: Path) -> Path:
    """Products of matrices with matrices, and a maximum of rows of open number."""
    weights = random_weights(w=(20, 24))
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Transpose", ["p"], ["q"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["p", "q"], ["r"]),
        helper.make_node("Concat", ["r", "p"], ["s"], axis=2),
        helper.make_node("ReduceMax", ["s"], ["y"], axes=[1], keepdims=0),
    ]
    return written(folder / "matrices.onnx", nodes, {"x": ["batch", 7, 20]}, ["batch", 31], weights)


def test_products_of_matrices_are_written_as_such(tmp_path):
    check_equal(matrices(tmp_path), shipped("matrix-16"), tmp_path, "--size=batch=2")


def test_bench_shows_both_programs(tmp_path):
    model = network("mlp", tmp_path)
    options = ["--size=batch=2", "--seconds", 0.1, "--rounds", 2]
    told = json.loads(
        good("bench", model, "--json", *options, "--accelerator", shipped("vector-64"))
    )
    mapped, direct = told["systems"]
    assert (mapped["name"], direct["name"]) == ("headrace, mapped to vector-64", "headrace")
    assert mapped["median_us"] > 0 and direct["median_us"] > 0
    assert direct["max_abs_error"] < 1e-4
    text = good("bench", model, *options, "--accelerator", shipped("vector-64"))
    assert "mapped to vector-64" in text and "peers" not in text


def test_a_file_that_is_no_machine_is_named(tmp_path):
    model = interrupted(tmp_path)
    for file, message in (
        (tmp_path / "nowhere.json", "nowhere.json: cannot open"),
        (model, f"{model}: the file is not JSON"),
    ):
        for command in (("run", model, "--random", 1), ("explain", model), ("compile", model)):
            done = run(*command, "--accelerator", file)
            assert done.returncode == 1 and message in done.stderr, done
