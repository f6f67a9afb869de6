"""A wrong command line is told in one line: the word that is wrong, and what was expected."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

BIN = os.environ.get("HEADRACE_BIN")
MODEL = str(Path(__file__).resolve().parents[2] / "examples/digits/digits.onnx")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")

WRONG = [
    ("frobnicate", "unknown command 'frobnicate'; expected run, compile, "),
    ("--frobnicate", "unknown option '--frobnicate' (see headrace --help)"),
    (f"run {MODEL} --rando 0", "unknown option '--rando' (see headrace run --help)"),
    ("machine there", "unexpected argument 'there' (see headrace machine --help)"),
    ("vta", "expected a command: disassemble, run or layers (see headrace vta --help)"),
    ("vta fly", "unknown command 'fly'; expected disassemble, run or layers"),
    ("vta run", "DIR is required (see headrace vta run --help)"),
    (f"run {MODEL} --random zero", "--random: expected an integer of 0 or more, got 'zero'"),
    (f"run {MODEL} --random -1", "--random: expected an integer of 0 or more, got '-1'"),
    (f"run {MODEL} --rtol -1", "--rtol: expected a number of 0 or more, got '-1'"),
    (f"run {MODEL} --threads 0", "--threads: expected an integer from 1 to 4096, got '0'"),
    (f"run {MODEL} --threads two", "expected an integer from 1 to 4096, got 'two'"),
    (f"bench {MODEL} --seconds 0", "--seconds: expected a number from 0.001 to 86400, got '0'"),
    (f"bench {MODEL} --against x", "--against: expected onnxruntime or openvino, got 'x'"),
    (f"explain {MODEL} --grad --memory-budget -5", "expected an integer of 0 or more, got '-5'"),
    (f"compile {MODEL} --emit wasm", "expected package, so, static, object, header, ir or vta"),
    (f"explore {MODEL} --granularity x", "--granularity: expected map or fused, got 'x'"),
    (f"explore {MODEL} --bandwidth 0", "--bandwidth: expected a number above 0, got '0'"),
    (f"quantize {MODEL} --ranges x", "--ranges: expected minmax, mse or percentile, got 'x'"),
    (f"quantize {MODEL} --percentile 9", "--percentile: expected a number from 50 to 100, got '9'"),
    (f"rewrite {MODEL} --max-nodes many", "expected an integer of 0 or more, got 'many'"),
    # Options of the other kind of program.
    (f"run {MODEL} --random 0 -nvargs n=1", f"--nvargs: expected a script (.dml) for this option, got {MODEL}"),
    (f"run {MODEL} --random 0 -stats", "--stats: expected a script (.dml) for this option"),
    (f"compile {MODEL} --result B", "--result: expected a script (.dml) for this option"),
    ("run fit.dml --random 0", "--random: expected a model for this option, got the script fit.dml"),
    ("run fit.dml --recipe r.txt", "--recipe: expected a model for this option"),
    ("explain fit.dml", "fit.dml: expected an ONNX file or a package, got a script; headrace run"),
    ("bench fit.dml", "fit.dml: expected an ONNX file or a package, got a script"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line[-30:] for line, _ in WRONG])
def test_a_wrong_command_line_is_told(line: str, message: str) -> None:
    done = subprocess.run([BIN, *line.split()], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and message in done.stderr, done
    assert done.stderr.count("\n") == 1 and done.stdout == ""


def test_an_operator_that_is_not_there_has_no_reasons() -> None:
    command = [BIN, "explain", MODEL, "--why=nothere"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "--why=nothere: expected an operator" in done.stderr


def test_several_names_to_differentiate_by_do_not_take_the_model() -> None:
    command = [BIN, "explain", "--grad", "--wrt", "image", MODEL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
