"""headrace quantize on the command line. HEADRACE_BIN is the program's path."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

from cases.quantized_networks import build, samples

BIN = os.environ.get("HEADRACE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
MODEL, IMAGES = DIGITS / "digits.onnx", DIGITS / "held_back_images.npy"


def headrace(*arguments, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN, *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=folder
    )


def good(*arguments, folder: Path | None = None) -> str:
    done = headrace(*arguments, folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def bad(code: int, *arguments) -> str:
    done = headrace(*arguments)
    assert done.returncode == code, done
    assert done.stderr.startswith("headrace: error: ") and done.stderr.count("\n") == 1, done
    return done.stderr


def test_a_quantized_model_recognises_as_many_digits(tmp_path):
    path = tmp_path / "q.onnx"
    report = good("quantize", MODEL, "--calibrate", IMAGES, "-o", path, "--scales", "po2")
    assert "4 operators in int8, 3 keep their scale, 0 float; 16 samples" in report
    assert f"wrote {path}" in report and "2^-" in report
    good("run", path, "--input", f"@{IMAGES}", "--output", tmp_path)
    answers = np.load(tmp_path / "logits.npy").argmax(axis=1)
    labels = np.load(DIGITS / "held_back_labels.npy")
    assert (answers == labels).sum() >= 15


def test_the_file_is_named_after_the_model_where_no_name_is_given(tmp_path):
    good("quantize", MODEL, "--calibrate", IMAGES, folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["digits.int8.onnx"]


def test_inputs_are_given_by_name_or_in_order(tmp_path):
    model = build("two_inputs", 0)
    onnx.save(model, tmp_path / "m.onnx")
    for name, array in samples(model, 12).items():
        np.save(tmp_path / f"{name}.npy", array)
    x, y = tmp_path / "x.npy", tmp_path / "y.npy"
    quantize = ("quantize", tmp_path / "m.onnx", "-o", tmp_path / "q.onnx", "--json")
    forms = ([f"x=@{x}", f"y=@{y}"], [f"y={y}", f"x={x}"], [x, y], [f"@{x}", f"@{y}"])
    reports = []
    for form in forms:
        options = [word for text in form for word in ("--calibrate", text)]
        reports.append(json.loads(good(*quantize, *options)))
    assert all(report == reports[0] for report in reports)
    assert reports[0]["samples"] == 12
    assert [line["form"] for line in reports[0]["operators"]] == ["int8", "int8", "float"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([MODEL], 2, "expected samples of the model's inputs: --calibrate FILE.npy"),
        (["--calibrate", IMAGES], 2, "expected a model"),
        (["nix.onnx", "--calibrate", IMAGES], 1, "nix.onnx: cannot open the file"),
        ([MODEL, "--calibrate", "nix.npy"], 1, "nix.npy"),
        ([MODEL, "--calibrate", f"picture=@{IMAGES}"], 1, "no input 'picture'; it has 'image'"),
        ([MODEL, "--calibrate", IMAGES, "--calibrate", IMAGES], 1, "has only 1 input, 'image'"),
        ([MODEL, "--calibrate", DIGITS / "held_back_labels.npy"], 1, "expected f32, got i64"),
        ([MODEL, "--calibrate", IMAGES, "--weights", "row"], 2, "--weights"),
        ([MODEL, "--calibrate", IMAGES, "--percentile", 20], 2, "--percentile"),
        ([MODEL, "--calibrate", IMAGES, "--float", "nix"], 1, "to leave float, got 'nix'"),
    ],
)
def test_errors_are_one_line(tmp_path, arguments, code, message):
    path = tmp_path / "q.onnx"
    assert message in bad(code, "quantize", *arguments, "-o", path)
    assert not path.exists()


def test_nothing_is_written_where_the_folder_is_missing(tmp_path):
    error = bad(1, "quantize", MODEL, "--calibrate", IMAGES, "-o", tmp_path / "no" / "q.onnx")
    assert str(tmp_path / "no") in error
