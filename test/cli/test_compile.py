"""Packages on the command line. HEADRACE_BIN is the program's path."""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

BIN = os.environ.get("HEADRACE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
MODEL = DIGITS / "digits.onnx"


def headrace(*arguments, **environment) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


def good(*arguments, **environment) -> str:
    done = headrace(*arguments, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def bad(code: int, *arguments, **environment) -> str:
    done = headrace(*arguments, **environment)
    assert done.returncode == code, done
    assert done.stderr.startswith("headrace: error: ") and done.stderr.count("\n") == 1, done
    return done.stderr


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("package") / "digits.hrpkg"
    assert re.fullmatch(rf"wrote {path} \([\d.]+ kB\)\n", good("compile", MODEL, "-o", path))
    return path


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> Path:
    """Outputs of the model itself, by batch."""
    folder = tmp_path_factory.mktemp("expected")
    for batch in (0, 1, 5):
        good("run", MODEL, "--random", 7, f"--size=batch={batch}", "--output", folder / str(batch))
    return folder


@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_every_level_computes_what_the_model_does(package, expected, level) -> None:
    for batch in (0, 1, 5):
        done = headrace(
            *("run", package, "--random", "7", f"--size=batch={batch}"),
            *("--expect", expected / str(batch)),
            HEADRACE_CPU_LEVEL=level,
        )
        assert done.returncode == 0, done.stderr


def test_explain_and_bench_take_packages(package) -> None:
    report = good("explain", package, "--size", "batch=16")
    assert "Gemm" in report and "phase" not in report
    assert "batch" not in report  # amounts are numbers
    assert "digits.hrpkg" in good("bench", package, "--seconds", "0.01", "--profile")


def test_what_a_package_cannot_do_is_said(package) -> None:
    assert "holds compiled code only" in bad(1, "explain", package, "--to=tiles")
    assert "holds compiled code only" in bad(1, "run", package, "--random", 0, "--reference")
    assert "compiled already" in bad(1, "run", package, "--target", "cpu:x86-64-v2")
    assert "expected the name of a program ('digits')" in bad(1, "run", package, "--program", "x")


def test_sizes_can_be_fixed(tmp_path) -> None:
    path = tmp_path / "two.hrpkg"
    good("compile", MODEL, "-o", path, "--size", "batch=2", "--target-cpu", "native")
    good("run", path, "--random", 0, "--size", "batch=2")
    assert "is not compiled for batch = 3; it serves batch = 2" in bad(
        1, "run", path, "--random", 0, "--size", "batch=3"
    )


def test_several_programs_in_one_package(tmp_path) -> None:
    other = tmp_path / "again.onnx"
    other.write_bytes(MODEL.read_bytes())
    path = tmp_path / "both.hrpkg"
    good("compile", MODEL, other, "-o", path, "--target-cpu", "x86-64-v3")
    good("run", path, "--program", "again", "--random", 0)
    assert "('digits', 'again')" in bad(1, "run", path, "--random", 0)
    # Equal weights and equal kernels are kept once.
    with zipfile.ZipFile(path) as both:
        weights = both.getinfo("weights.bin").file_size
    assert weights < 2 * 40_000
    assert "has a program 'digits' already" in bad(1, "compile", MODEL, MODEL, "-o", path)


def test_packages_are_plain_zips_of_pages(package) -> None:
    with zipfile.ZipFile(package) as files:
        assert files.testzip() is None
        names = files.namelist()
    levels = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
    code = [f"code/{i}-{level}.so" for i, level in enumerate(levels)]
    assert names == ["manifest.json", *code, "weights.bin"]


def test_levels_share_their_weights(package) -> None:
    """Packed for the widest vectors, each constant is there once."""
    with zipfile.ZipFile(package) as files:
        manifest = json.loads(files.read("manifest.json"))
    used: dict[str, list[set[int]]] = {}
    for version in manifest["programs"][0]["versions"]:
        constants = {constant["weights"] for constant in version["program"]["constants"]}
        used.setdefault(str(version["sizes"]), []).append(constants)
    assert len(used) == 3 and all(len(levels) == 3 for levels in used.values())
    assert all(constants == levels[0] for levels in used.values() for constants in levels)


def test_the_same_model_makes_the_same_package(package, tmp_path) -> None:
    again = tmp_path / "digits.hrpkg"
    good("compile", MODEL, "-o", again, HEADRACE_CACHE_DIR="")
    assert again.read_bytes() == package.read_bytes()


def test_code_needs_no_library_and_no_symbol(package, tmp_path) -> None:
    with zipfile.ZipFile(package) as files:
        files.extractall(tmp_path)
    for code in (tmp_path / "code").iterdir():
        dynamic = subprocess.run(["readelf", "-d", code], capture_output=True, text=True).stdout
        assert "NEEDED" not in dynamic
        symbols = subprocess.run(["nm", "-D", code], capture_output=True, text=True).stdout
        assert re.fullmatch(r"[0-9a-f]+ D headrace_code\n", symbols)


def test_wrong_usage(tmp_path) -> None:
    assert "expected a model" in bad(2, "compile")
    assert "unknown CPU 'i486'" in bad(1, "compile", MODEL, "--target-cpu", "i486")
    assert "there is no dynamic dimension 'b'" in bad(
        1, "compile", MODEL, "-o", tmp_path / "x", "--size", "b=1"
    )
    assert "unknown target 'tpu'" in bad(1, "compile", MODEL, "--target", "tpu")
    assert "expected a package, as object files hold no code for devices" in bad(
        1, "compile", MODEL, "--target", "cuda", "--emit", "so", "-o", tmp_path / "x"
    )
    assert "--emit" in bad(2, "compile", MODEL, "--emit", "exe")
    assert "cannot write" in bad(1, "compile", MODEL, "-o", tmp_path / "no" / "x.hrpkg")
    assert "expected a package" in bad(1, "run", MODEL, "--program", "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("target", ["vta", "cuda:sm_80"])
@pytest.mark.parametrize("kinds", ["package,so", "package,header,static", "object"])
def test_what_cannot_be_written_is_said_before_anything_is(target, kinds, tmp_path) -> None:
    command = ["compile", MODEL, "--target", target, "-o", tmp_path / "x", "--emit", kinds]
    assert f"target '{target}': expected a package" in bad(1, *command)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_to_is_said_before_anything_is_compiled(tmp_path) -> None:
    (tmp_path / "file").touch()
    for name, reason in (("no", "does not exist"), ("file", "is a file")):
        message = bad(1, "compile", MODEL, "-o", tmp_path / name / "x.hrpkg")
        assert f"{name}: cannot write to this directory: it {reason}" in message
        assert "compiling" not in message


def test_damaged_packages_are_refused_in_one_line(package, tmp_path) -> None:
    content = bytearray(package.read_bytes())
    path = tmp_path / "bad.hrpkg"
    path.write_bytes(content[: len(content) // 2])
    assert "bad.hrpkg: the file is truncated" in bad(1, "run", path, "--random", 0)
    with zipfile.ZipFile(package) as files:
        weights = files.getinfo("weights.bin").header_offset
    content[weights + 8192] ^= 1
    path.write_bytes(content)
    assert "bad.hrpkg: the package is damaged: the checksum of weights" in bad(
        1, "run", path, "--random", 0, HEADRACE_CPU_LEVEL="x86-64-v2"
    )
    with zipfile.ZipFile(path, "w") as files:
        files.writestr("data.pkl", "a model of something else")
    assert "there is no 'manifest.json' in it" in bad(1, "run", path, "--random", 0)
    np.savez(tmp_path / "arrays.npz", x=np.zeros(3))
    assert "arrays.npz: expected an ONNX model, got a zip archive" in bad(
        1, "run", tmp_path / "arrays.npz"
    )


def test_devices(tmp_path: Path) -> None:
    """Compiled here; without a device, running says in one line what is missing."""
    package = tmp_path / "digits.hrpkg"
    good("compile", MODEL, "--target", "cuda:sm_90a", "-o", package)
    with zipfile.ZipFile(package) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        (code,) = manifest["code"]
        assert (code["architecture"], code["level"]) == ("cuda", "sm_90a")
        images = json.loads(archive.read(code["file"]))
    assert all(".target sm_90a" in image["text"] for image in images)
    steps = manifest["programs"][0]["versions"][0]["program"]["steps"]
    names = {image["name"] for image in images}
    assert all(step["symbol"] in names for step in steps if step["kind"] == "kernel")
    nowhere = {"HEADRACE_CUDA_DRIVER": "/nowhere/libcuda.so.1"}
    missing = "no NVIDIA driver: /nowhere/libcuda.so.1 not found"
    assert missing in bad(1, "run", package, "--random", 0, **nowhere)
    assert missing in bad(
        1, "run", MODEL, "--target", "cuda", "--random", 0, "--size", "batch=2", **nowhere
    )
