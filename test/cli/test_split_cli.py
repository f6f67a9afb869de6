"""Models that are split into several programs, on the command line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")

from cases import graph_text  # noqa: E402

BIN = os.environ.get("HEADRACE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")


@pytest.fixture
def write(tmp_path: Path):
    def make(text: str, opset: int = 20) -> Path:
        return graph_text.write(tmp_path / "model.onnx", text, opset)

    return make


def headrace(*arguments) -> subprocess.CompletedProcess[str]:
    command = [BIN, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


CONCAT = "m (string[N] x, string[1] y) => (string[N] z) { z = StringConcat(x, y) }"
LENGTH = "m (seq(float[N]) xs) => (seq(float[N]) ys, int64 n) { n = SequenceLength(xs) ys = Identity(xs) }"
RESHAPE = "m (float[2,3] x, int64[2] s) => (float[A,B] y) { e = Exp(x) y = Reshape(e, s) }"


def test_strings_are_given_by_comma(write) -> None:
    model = write(CONCAT)
    done = headrace("run", model, "--input", "x=2xstring=a,b", "--input", "y=1xstring=,!")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "z: string 2\n  a,!\n  b,!\n"
    done = headrace("run", model, "--input", "x=3xstring=a,b", "--input", "y=1xstring=!")
    assert done.returncode == 1
    assert "expected 3 strings for shape 3, got 2" in done.stderr


def test_a_sequence_takes_one_option_for_each_element(write) -> None:
    model = write(LENGTH)
    done = headrace("run", model, "--input", "xs=2xf32=1,2", "--input", "xs=1xf32=3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "ys[1]: f32 1\n[3.0]" in done.stdout
    done = headrace("run", model)
    assert done.returncode == 1
    assert "input 'xs' is missing: expected sequence(f32)" in done.stderr


def test_stages_answer_like_the_reference_and_are_written(write, tmp_path: Path) -> None:
    model, given = write(RESHAPE), ("--random", "0", "--input", "s=2xi64=3,2")
    assert headrace("run", model, *given, "--reference", "--output", tmp_path / "o").returncode == 0
    done = headrace("run", model, *given, "--expect", tmp_path / "o")
    assert done.returncode == 0
    assert "y matches" in done.stdout


def test_explain_names_what_runs_on_the_host(write) -> None:
    done = headrace("explain", write(LENGTH))
    assert done.returncode == 0
    assert "split into several programs" in done.stdout
    assert "SequenceLength node of output 'n'" in done.stdout


def test_a_trial_run_that_fails_is_one_sentence(write, tmp_path: Path) -> None:
    done = headrace("compile", write(RESHAPE), "-o", tmp_path / "model.hrpkg")
    assert done.returncode == 1
    assert "model.onnx: a trial run failed: Reshape node of output 'y'" in done.stderr
    assert "--input" in done.stderr
    assert done.stderr.count("\n") == 1


def test_bench_times_programs_and_what_runs_between_them(write) -> None:
    given = ("--seconds", "0.05", "--rounds", "1", "--profile", "--json")
    done = headrace("bench", write(RESHAPE), "--input", "s=2xi64=3,2", *given)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["systems"][0]["calls"] > 0
    assert found["bytes_moved"] > 0
    (exp,) = [kernel for kernel in found["kernels"] if "Exp" in str(kernel)]
    assert exp["name"].startswith("region 1: ")
    assert exp["predicted_us"] > 0

    loop = """m (float[4] x, int64 n) => (float[4] y) <bool go = {1}> {
      y = Loop (n, go, x) <body = b (int64 i, bool c, float[4] s) => (bool k, float[4] t) {
        k = Identity(c)
        t = Sin(s)
      }>
    }"""
    done = headrace("bench", write(loop), "--input", "n=i64=5", *given)
    assert (done.returncode, done.stderr) == (0, "")
    kernels = json.loads(done.stdout)["kernels"]
    assert any("between programs" in kernel["notes"] for kernel in kernels)
    assert any("5 times" in kernel["notes"] for kernel in kernels)


def test_bench_times_models_of_sequences(write) -> None:
    given = ("--input", "xs=2xf32=1,2", "--input", "xs=1xf32=3", "--seconds", "0.05")
    done = headrace("bench", write(LENGTH), *given, "--against", "onnxruntime")
    assert done.returncode == 0, done.stderr
    assert "on xs a sequence of 2" in done.stdout
    assert "left out: baselines support only numeric tensors as inputs and outputs" in done.stdout


def test_maps_are_shown_and_given_as_keys_and_values(tmp_path: Path) -> None:
    zip_map, cast_map = tmp_path / "zip.onnx", tmp_path / "cast.onnx"
    helper = onnx.helper
    types = [helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)]
    types.append(helper.make_map_type_proto(onnx.TensorProto.STRING, types[0]))
    types.append(helper.make_sequence_type_proto(types[1]))
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]

    def save(path: Path, op: str, given, found, **attributes) -> None:
        node = helper.make_node(op, ["x"], ["y"], domain="ai.onnx.ml", **attributes)
        values = [helper.make_value_info(n, t) for n, t in (("x", given), ("y", found))]
        graph = helper.make_graph([node], "m", values[:1], values[1:])
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        path.write_bytes(model.SerializeToString())

    save(zip_map, "ZipMap", types[0], types[2], classlabels_strings=["no", "yes"])
    found = headrace("run", zip_map, "--input", "x=1x2xf32=0.25,0.75")
    assert found.returncode == 0, found.stderr
    assert "y[0]: a map of 2" in found.stdout
    assert "yes" in found.stdout and "0.75" in found.stdout

    save(cast_map, "DictVectorizer", types[1], types[0], string_vocabulary=["b", "a"])
    given = ("--input", "x=2xstring=a,b", "--input", "x=2xf32=3,4")
    found = headrace("run", cast_map, *given)
    assert found.returncode == 0, found.stderr
    assert "y: f32 1x2" in found.stdout
    assert headrace("run", cast_map, *given[:2], "--input", "x=3xf32=1,2,3").returncode != 0
