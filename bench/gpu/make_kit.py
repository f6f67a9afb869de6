#!/usr/bin/env python3
"""Make the kit for a GPU machine: packages compiled here, the runtime library, and what runs them; on
request the compiler, too, as a Python package for that machine's Python.

The machine needs an NVIDIA driver and python3 with NumPy; with PyTorch there, everything is timed
next to it. It needs no compiler, no LLVM and no network.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tarfile
from pathlib import Path

import headrace as hr
import numpy as np
import torch
from torch import nn

from bench.gpu import write_operators
from bench.models.make import export
from cases.gpu.onnx_models import write_formula
from cases.gpu.programs import CASES, Case
from cases.networks import MODELS

root = Path(__file__).resolve().parents[2]
# Modules of the package `cases` that the kit's programs import.
SHARED = ("__init__.py", "networks.py", "gpu/__init__.py", "gpu/formulas.py", "gpu/programs.py")


def coarse(module: nn.Module) -> nn.Module:
    """Weights of few bits, so that a network of 45 MB travels as 10: their values do not matter.

    Batch normalization scales by powers of two, so that it stays so when it is folded away.
    """
    with torch.no_grad():
        for layer in module.modules():
            if isinstance(layer, nn.BatchNorm2d):
                power = torch.round(torch.log2(layer.running_var) / 2)
                layer.running_var.copy_(4.0**power - layer.eps)
                layer.weight.copy_(2.0 ** torch.round(torch.log2(layer.weight)))
            elif isinstance(layer, nn.Conv2d | nn.Linear):
                grain = 2.0 ** torch.floor(torch.log2(layer.weight.abs().max() / 32))
                layer.weight.copy_(torch.round(layer.weight / grain) * grain)
    return module


def write_network(case: Case, path: Path, kit: Path) -> None:
    """The network, and on the kit its inputs and what the CPU makes of them."""
    model = MODELS[case.network]
    export(model, coarse(model.build()), path, small=False)
    values = np.random.default_rng(0).integers(-128, 128, case.inputs[0]).astype(np.float32) / 64
    np.save(kit / f"{case.name}.input.npy", values)
    np.save(kit / f"{case.name}.output.npy", hr.load(path)(values))


def make(kit: Path, target: str, chosen: list[Case]) -> int:
    """The cases into the kit; how many were left out."""
    models = kit.parent / "gpu-models"
    models.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(kit, ignore_errors=True)
    kit.mkdir()
    made = []
    for case in chosen:
        path = models / f"{case.name}.onnx"
        print(f"{case.name}: ", end="", flush=True)
        try:
            if case.network:
                write_network(case, path, kit)
            else:
                write_formula(case, path)
            package = kit / f"{case.name}.hrpkg"
            sizes = {"batch": case.inputs[0][0]} if case.network else {}
            hr.write_package(
                path,
                package,
                target=target,
                expansion=case.expansion,
                sizes=sizes,
                recipe=case.recipe,
            )
        except hr.Error as error:
            print(f"left out: {error}")
            continue
        made.append(case.name)
        print(f"{package.stat().st_size / 1e6:.2f} MB")
    (kit / "cases.json").write_text(json.dumps(made))
    here = Path(__file__).parent
    for name in (
        "check_operators.py",
        "device_time.py",
        "peers.py",
        "runtime.py",
        "run.py",
    ):
        shutil.copy(here / name, kit)
    (kit / "cases/gpu").mkdir(parents=True)
    for name in SHARED:
        shutil.copy(root / "cases" / name, kit / "cases" / name)
    return len(chosen) - len(made)


def add_compiler(kit: Path, build: Path) -> None:
    """The package with LLVM inside, as wheels have it, and the tests of PyTorch's tensors."""
    left_out = shutil.ignore_patterns("__pycache__", "_core*.so")
    shutil.copytree(build / "python", kit / "python", ignore=left_out)
    (extension,) = (build / "wheel/headrace").glob("_core*.so")
    shutil.copy(extension, kit / "python/headrace")
    shutil.copytree(root / "test/gpu", kit / "tests", ignore=shutil.ignore_patterns(".*", "__*"))
    shutil.copy(root / "cases/torch_models.py", kit / "cases")
    shutil.copy(root / "examples/digits/digits.onnx", kit / "tests")
    for name in ("torch_times.py", "models.py"):
        shutil.copy(root / "bench/gpu" / name, kit)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="cases to include (default: all)")
    parser.add_argument("--library", type=Path, required=True, help="libheadrace_runtime.so")
    parser.add_argument("--tests", type=Path, required=True, help="the runtime's tests on a device")
    parser.add_argument("--out", type=Path, default=root / "build/gpu-kit")
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--compiler", type=Path, help="a build whose package to bring along")
    arguments = parser.parse_args()
    left_out = make(
        arguments.out,
        arguments.target,
        [case for case in CASES if not arguments.cases or case.name in arguments.cases],
    )
    if not arguments.cases:
        left_out += write_operators.write(arguments.out, arguments.target)
    shutil.copy(arguments.library.resolve(), arguments.out / "libheadrace_runtime.so")
    shutil.copy(arguments.tests, arguments.out / "gpu_tests")
    if arguments.compiler:
        add_compiler(arguments.out, arguments.compiler)
    archive = arguments.out.with_suffix(".tar.xz")
    # Packages are compressed already; the compiler shrinks to a third.
    with tarfile.open(archive, "w:xz", preset=6 if arguments.compiler else 1) as tar:
        tar.add(arguments.out, "gpu-kit")
    print(f"wrote {archive} ({archive.stat().st_size / 2**20:.1f} MiB)")
    if left_out:
        print(f"{left_out} programs could not be compiled and are not in it")
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
