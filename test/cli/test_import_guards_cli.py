"""Sizes for which a model is another program, on the command line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")

from cases import graph_text  # noqa: E402

BIN = os.environ.get("HEADRACE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")

FIRST_THREE = """m (float[n] x) => (float y) {
  s = Constant<value = int64[1] {0}>() e = Constant<value = int64[1] {3}>() y = Slice(x, s, e) }"""
BEST_THREE = """m (float[n] x) => (float y) {
  k = Constant<value = int64[1] {3}>() [best] y, i = TopK(x, k) }"""


def headrace(*arguments) -> subprocess.CompletedProcess[str]:
    command = [BIN, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_run_and_explain_import_again(tmp_path: Path) -> None:
    model = graph_text.write(tmp_path / "model.onnx", FIRST_THREE)
    for option in ((), ("--reference",), ("--specialize", "always")):
        done = headrace("run", model, "--input", "x=2xf32=5,7", *option)
        assert (done.returncode, done.stderr) == (0, "")
        assert "y: f32 2\n[5.0 7.0]" in done.stdout
    done = headrace("explain", model, "--to=import", "--size", "n=2")
    assert (done.returncode, done.stderr) == (0, "") and "tensor<2xf32" in done.stdout
    assert headrace("explain", model, "--size", "n=2").returncode == 0
    assert headrace("explain", model).returncode == 0


def test_compile_takes_the_size(tmp_path: Path) -> None:
    model = graph_text.write(tmp_path / "model.onnx", FIRST_THREE)
    package = tmp_path / "model.hrpkg"
    common = ("compile", model, "-o", package, "--target-cpu", "native")
    assert headrace(*common).returncode == 0
    done = headrace("run", package, "--input", "x=2xf32=5,7")
    assert done.returncode == 1 and "compiled with --size n=2" in done.stderr
    done = headrace(*common, "--size", "n=2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "[5.0 7.0]" in headrace("run", package, "--input", "x=2xf32=5,7").stdout


def test_a_refusal_names_the_node(tmp_path: Path) -> None:
    model = graph_text.write(tmp_path / "model.onnx", BEST_THREE)
    done = headrace("run", model, "--input", "x=2xf32=5,7")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "'best'" in done.stderr and "2 elements of axis 0, asked for 3, for n = 2" in done.stderr
