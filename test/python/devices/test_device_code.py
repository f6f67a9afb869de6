"""Code for CUDA devices: every operator has some, and NVIDIA's own assembler accepts it and keeps its values in registers."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import zipfile
from pathlib import Path

import headrace as hr
import onnx
import pytest

from cases.gpu import operators
from cases.gpu.programs import CASES, Case

MATRICES = [case for case in CASES if "matmul" in case.name or "batched" in case.name]
OPEN_SIZES = [
    Case("rows", "matmul", (("rows", 1024), (1024, 1024))),
    Case("all", "matmul", (("rows", "depth"), ("depth", "columns"))),
    Case("odd", "matmul", (("rows", 769), (769, 3001))),
    Case("epilogue", "dense", (("rows", 768), (768, 3072), (3072,))),
    Case("bf16", "matmul", (("rows", 1024), (1024, 1024)), "bf16"),
    Case("softmax", "softmax", (("rows", "columns"),)),
    Case("layernorm", "layernorm", (("rows", 1001), (1001,), (1001,))),
]
# Operators with loops that carry more than kernels of a device can: the host runs those.
ON_THE_HOST = set(
    "CumSum CumProd Det GRU LSTM RNN Scatter ScatterElements ScatterND TensorScatter".split()
)


@pytest.fixture(scope="module")
def assembler() -> Path:
    package = importlib.util.find_spec("nvidia")
    for folder in package.submodule_search_locations if package else []:
        path = Path(folder) / "cuda_nvcc/bin/ptxas"
        if path.exists():
            return path
    pytest.skip("NVIDIA's assembler is not installed (requirements/gpu.txt)")


def functions(case: Case, architecture: str, assembler: Path, folder: Path) -> dict[str, str]:
    """The assembler's report on each function of the case's program."""
    from cases.gpu.onnx_models import write_formula

    model, package = folder / "model.onnx", folder / "model.hrpkg"
    write_formula(case, model)
    hr.write_package(
        model,
        package,
        target=f"cuda:{architecture}",
        expansion=case.expansion,
        recipe=case.recipe,
    )
    with zipfile.ZipFile(package) as archive:
        images = json.loads(archive.read(f"code/0-{architecture}.json"))
    said = {}
    for image in images:
        code = folder / "kernel.ptx"
        code.write_text(image["text"])
        command = [assembler, "--verbose", "--gpu-name", architecture, code, "-o", folder / "out"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        for name, text in re.findall(
            r"entry function '(\w+)'(.*?Used.*?\n)", result.stderr, re.DOTALL
        ):
            said[name] = text
    return said


def check(case: Case, architecture: str, assembler: Path, folder: Path) -> None:
    found = functions(case, architecture, assembler, folder)
    assert found or case.expansion != "generated"
    spills = {name: text for name, text in found.items() if " 0 bytes spill stores" not in text}
    assert not spills


@pytest.mark.parametrize("case", [c for c in CASES if not c.network], ids=lambda c: c.name)
def test_newest_devices(case, assembler, tmp_path):
    check(case, "sm_90a", assembler, tmp_path)


@pytest.mark.parametrize("case", MATRICES, ids=lambda c: c.name)
def test_older_devices(case, assembler, tmp_path):
    check(case, "sm_80", assembler, tmp_path)


@pytest.mark.parametrize("case", OPEN_SIZES, ids=lambda c: c.name)
def test_open_sizes(case, assembler, tmp_path):
    check(case, "sm_90a", assembler, tmp_path)


def launches(program: dict) -> set[tuple[str, str]]:
    """The kernels a program launches: the code's name, and the function in it."""
    return {
        (step["symbol"], launch["function"])
        for step in program["steps"]
        if step["kind"] == "kernel"
        for launch in step.get("launches", [])
    }


def compiled_cases() -> list:
    """One case of every operator, and all of them with HEADRACE_LARGE_TESTS."""
    if os.environ.get("HEADRACE_LARGE_TESTS"):
        return list(operators.cases(random=40))
    first = {case.name.split("-")[0]: case for case in reversed(list(operators.cases(random=0)))}
    return [*first.values(), *list(operators.cases(random=10))[-10:]]


@pytest.mark.parametrize("case", compiled_cases(), ids=lambda c: c.name)
def test_operators_compile(case, tmp_path):
    """All launches are in the code, which keeps its values in registers; their results are
    checked where there is a device."""
    package = tmp_path / "model.hrpkg"
    model = case.save(tmp_path)
    hr.write_package(model, package, target="cuda:sm_90a")
    with zipfile.ZipFile(package) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        images = json.loads(archive.read("code/0-sm_90a.json"))
    programs = [version["program"] for version in manifest["programs"][0]["versions"]]
    launched = set().union(*(launches(program) for program in programs))
    entries = {
        (image["name"], function)
        for image in images
        for function in re.findall(r"\.entry (\w+)\(", image["text"])
    }
    assert launched == entries
    # Views and constants take no kernel, and results without elements none that is launched.
    kernels = [
        step for program in programs for step in program["steps"] if step["kind"] == "kernel"
    ]
    computes = [step for step in kernels if step.get("engine") == "cuda"]
    is_empty = any(buffer["bytes"] == 0 for program in programs for buffer in program["buffers"])
    assert launched or not computes or is_empty
    if len(computes) < len(kernels):
        nodes = {node.op_type for node in onnx.load(model).graph.node}
        assert nodes & ON_THE_HOST, nodes
    assert all(".local" not in image["text"] for image in images)
