"""The C and C++ examples: built with a plain compiler, against the runtime library alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
BIN = os.environ.get("HEADRACE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")
BUILD = Path(BIN).resolve().parents[1] if BIN else Path()
LIBRARY = BUILD / "lib"


def run(*command, **settings) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


def with_library() -> dict[str, str]:
    return {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("package")
    emit = "package,so,static,object,header,ir"
    run(BIN, "compile", DIGITS / "digits.onnx", "-o", path / "digits", f"--emit={emit}")
    return path


def test_cpp_example_classifies_as_python_does(folder, tmp_path) -> None:
    program = tmp_path / "classify"
    run(
        *("g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", ROOT / "examples/cpp/classify.cpp"),
        *(f"-I{ROOT}/include", f"-L{LIBRARY}", "-lheadrace_runtime", "-o", program),
    )
    images, labels = DIGITS / "held_back_images.npy", DIGITS / "held_back_labels.npy"
    printed = run(program, folder / "digits.hrpkg", images, env=with_library())
    found = np.array([int(line) for line in printed.split()])
    hr = pytest.importorskip("headrace")
    expected = hr.load(DIGITS / "digits.onnx")(np.load(images)).argmax(axis=1)
    np.testing.assert_array_equal(found, expected)
    assert np.mean(found == np.load(labels)) > 0.9
    # Several processes share a package.
    processes = [
        subprocess.Popen(
            [program, folder / "digits.hrpkg", images],
            stdout=subprocess.PIPE,
            text=True,
            env=with_library(),
        )
        for _ in range(2)
    ]
    assert [process.communicate()[0] for process in processes] == [printed, printed]


@pytest.mark.parametrize(
    "link", [["libdigits.a"], ["digits.o"], ["-L.", "-ldigits", "-Wl,-rpath,."]], ids=str
)
@pytest.mark.parametrize(
    "compiler", [["gcc", "-std=c99"], ["g++", "-std=c++17", "-x", "c++"]], ids=str
)
def test_typed_example(folder, compiler, link) -> None:
    run(
        *(*compiler, "-Wall", "-Wextra", "-Werror", ROOT / "examples/cpp/typed.c", "-x", "none"),
        *("-I.", f"-I{ROOT}/include", *link, f"-L{LIBRARY}", "-lheadrace_runtime", "-o", "typed"),
        cwd=folder,
    )
    printed = run("./typed", cwd=folder, env=with_library())
    found = [float(value) for value in re.findall(r"\d: (\S+)", printed)]
    hr = pytest.importorskip("headrace")
    image = np.zeros((1, 1, 8, 8), np.float32)
    image[..., 3:5] = 1
    expected = hr.load(DIGITS / "digits.onnx")(image)[0]
    np.testing.assert_allclose(found, expected, atol=2e-4)


def test_exported_network_runs_in_c(tmp_path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    expected = run(
        sys.executable, ROOT / "examples/cpp/export_tagger.py", "tagger.pt2", cwd=tmp_path
    )
    run(BIN, "compile", "tagger.pt2", "-o", "tagger", "--emit=static,header", cwd=tmp_path)
    run(
        *("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", ROOT / "examples/cpp/tag.c"),
        *(
            "-I.",
            f"-I{ROOT}/include",
            "libtagger.a",
            f"-L{LIBRARY}",
            "-lheadrace_runtime",
            "-o",
            "tag",
        ),
        cwd=tmp_path,
    )
    found = run("./tag", cwd=tmp_path, env=with_library())
    assert found == expected and len(set(found.split())) > 1


def test_objects_show_one_symbol(folder) -> None:
    assert run("nm", "-g", "--format=just-symbols", folder / "digits.o").split() == ["digits_image"]
    assert run("nm", "-D", "--format=just-symbols", folder / "libdigits.so").split() == [
        "digits_image"
    ]


def test_ir_is_the_code_of_every_level(folder) -> None:
    text = (folder / "digits.mlir").read_text()
    assert text.count("// digits for x86-64-v") == 3 and "llvm.func" in text


def test_runtime_needs_the_system_only() -> None:
    """The dependencies that docs/packages.md promises, and no others."""
    library = LIBRARY / "libheadrace_runtime.so"
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", library))
    allowed = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
    assert set(needed) <= allowed
    symbols = run("objdump", "-T", library)
    versions = {
        tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", symbols)
    }
    assert max(versions) <= (2, 34)
    compiler = {
        tuple(map(int, version.split("."))) for version in re.findall(r"GLIBCXX_([\d.]+)", symbols)
    }
    assert max(compiler) <= (3, 4, 30)
    exported = run("nm", "-D", "--defined-only", "--format=just-symbols", library).split()
    assert exported and all(name.startswith("headrace_") for name in exported)


def test_runtime_and_package_are_small(folder) -> None:
    library = (LIBRARY / "libheadrace_runtime.so").stat().st_size
    for page in ("README.md", "docs/packages.md"):
        (stated,) = re.findall(r"(\d\.\d) MB", (ROOT / page).read_text().split("## ")[0])
        assert library < (float(stated) + 0.3) * 1e6, page
    assert library + (folder / "digits.hrpkg").stat().st_size < 5_000_000


def test_find_package(tmp_path) -> None:
    if not shutil.which("cmake"):
        pytest.skip("cmake is not installed")
    run("cmake", "--install", BUILD, "--prefix", tmp_path / "installed", "--component", "runtime")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(example CXX)\n"
        "find_package(Headrace 0.1 REQUIRED)\nset(CMAKE_CXX_STANDARD 17)\n"
        f"add_executable(classify {ROOT}/examples/cpp/classify.cpp)\n"
        "target_link_libraries(classify Headrace::runtime)\n"
    )
    prefix = f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}"
    run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build", prefix)
    run("cmake", "--build", tmp_path / "build")
    done = subprocess.run([tmp_path / "build" / "classify"], capture_output=True, text=True)
    assert done.returncode == 2 and "usage: classify" in done.stderr
