"""One package, four ways to run it: C, C++, Python and the command line give the same result."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from cases.policy import assert_close

ROOT = Path(__file__).resolve().parents[2]
BIN = os.environ.get("HEADRACE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")
LIBRARY = (Path(BIN).resolve().parents[1] if BIN else Path()) / "lib"
TYPES = {np.dtype(np.float32): 11, np.dtype(np.float64): 12}
PUBLISHED = ROOT / "build" / "systemds-scripts" / "scripts" / "builtin"


def run(*command, **settings) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("programs")
    flags = [f"-I{ROOT}/include", f"-L{LIBRARY}", "-lheadrace_runtime"]
    strict = ["-Wall", "-Wextra", "-Werror"]
    here = Path(__file__).parent
    run("gcc", "-std=c11", *strict, here / "run_package.c", *flags, "-o", folder / "c")
    run("g++", "-std=c++17", *strict, here / "run_package.cpp", *flags, "-o", folder / "cpp")
    return [folder / "c", folder / "cpp"]


def check_everywhere(package: Path, inputs: dict[str, np.ndarray], output: str, programs) -> None:
    hr = pytest.importorskip("headrace")
    folder = package.parent
    loaded = hr.load(package)
    found = loaded(**inputs)
    expected = np.asarray(found[output] if isinstance(loaded, hr.Script) else found)

    words, options = [], []
    for name, array in inputs.items():
        array.tofile(folder / f"{name}.raw")
        np.save(folder / f"{name}.npy", array)
        words += [TYPES[array.dtype], array.ndim, *array.shape, folder / f"{name}.raw"]
        options += ["--input", f"{name}=@{folder / name}.npy"]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY)}
    for program in programs:
        run(program, package, folder / "out.raw", *words, env=environment)
        raw = np.fromfile(folder / "out.raw", expected.dtype)
        np.testing.assert_array_equal(raw.reshape(expected.shape), expected)
    run(BIN, "run", package, *options, "--output", folder / "out")
    np.testing.assert_array_equal(np.load(folder / "out" / f"{output}.npy"), expected)


@pytest.mark.parametrize("name", ["resnet18", "bert_layer"])
def test_models(small_models, programs, tmp_path, name) -> None:
    hr = pytest.importorskip("headrace")
    package = tmp_path / f"{name}.hrpkg"
    run(BIN, "compile", small_models / f"{name}.onnx", "--target-cpu", "native", "-o", package)
    original = hr.load(small_models / f"{name}.onnx")
    (spec,) = original.inputs
    shape = [2 if isinstance(size, str) else size for size in spec.shape]
    data = np.random.default_rng(0).standard_normal(shape).astype(spec.dtype)
    check_everywhere(package, {spec.name: data}, original.outputs[0].name, programs)
    np.testing.assert_allclose(hr.load(package)(data), original(data), rtol=1e-4, atol=1e-4)


def test_digits(programs, tmp_path) -> None:
    digits = ROOT / "examples" / "digits"
    package = tmp_path / "digits.hrpkg"
    run(BIN, "compile", digits / "digits.onnx", "-o", package)
    images = np.load(digits / "held_back_images.npy")[:5]
    check_everywhere(package, {"image": images}, "logits", programs)


def regression_data(rows: int, columns: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    x = random.standard_normal((rows, columns))
    return {"X": x, "y": x @ random.standard_normal((columns, 1))}


def test_script(programs, tmp_path) -> None:
    """Tried with one size, run with others."""
    sample, data = regression_data(200, 4), regression_data(3000, 12)
    options = []
    for name, array in sample.items():
        np.savetxt(tmp_path / f"{name}.csv", array, delimiter=",")
        options += ["--input", f"{name}=@{tmp_path / name}.csv"]
    script = ROOT / "examples" / "scripts" / "regression.dml"
    package = tmp_path / "regression.hrpkg"
    run(BIN, "compile", script, *options, "--result", "B", "-o", package)
    check_everywhere(package, data, "B", programs)
    hr = pytest.importorskip("headrace")
    exact = np.linalg.lstsq(data["X"], data["y"], rcond=None)[0]
    assert_close(hr.load(package)(**data)["B"], exact, tolerance=1e-6)


@pytest.mark.skipif(
    not PUBLISHED.is_dir(), reason="bench/scripts/fetch_systemds_scripts.py has not been run"
)
def test_lmcg(programs, tmp_path) -> None:
    hr = pytest.importorskip("headrace")
    script = tmp_path / "lm.dml"
    script.write_text("B = lmCG(X=X, y=y, icpt=1, reg=1e-7, tol=1e-7, verbose=FALSE)")
    package = tmp_path / "lm.hrpkg"
    folders = [PUBLISHED]
    hr.write_script_package(
        script, package, inputs=regression_data(100, 3), results=["B"], script_path=folders
    )
    data = regression_data(2000, 20)
    check_everywhere(package, data, "B", programs)
    expected = hr.script(script, script_path=folders)(**data)["B"]
    np.testing.assert_allclose(hr.load(package)(**data)["B"], expected, rtol=1e-9, atol=1e-12)


def test_script_with_arguments_and_files(tmp_path) -> None:
    """Files that it reads and writes are named by arguments, in a trial nothing is written."""
    script = tmp_path / "scale.dml"
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "twice.dml").write_text(
        "twice = function(matrix[double] x) return (matrix[double] y) { y = 2 * x }"
    )
    script.write_text(
        'source("parts/twice.dml") as parts\n'
        'Y = parts::twice(read($X)); print("sum " + sum(Y)); write(Y, $Y, format="csv")\n'
    )
    x = np.arange(12.0).reshape(4, 3)
    np.savetxt(tmp_path / "X.csv", x, delimiter=",")
    package, out = tmp_path / "scale.hrpkg", tmp_path / "Y.csv"
    arguments = ["-nvargs", f"X={tmp_path / 'X.csv'}", f"Y={out}"]
    printed = run(BIN, "compile", script, "-o", package, *arguments)
    assert "sum" not in printed and not out.exists()
    script.unlink()
    assert "sum 132" in run(BIN, "run", package, *arguments)
    np.testing.assert_array_equal(np.loadtxt(out, delimiter=","), 2 * x)
