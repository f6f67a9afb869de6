"""Packages of models that are split into several programs, run by the runtime library alone."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx writes the models")
import headrace as hr  # noqa: E402
from c_interface import BIN, CError, CProgram  # noqa: E402
from coarse_models import good  # noqa: E402

from cases import graph_text  # noqa: E402

pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")

# Scores are a convolution of the image; boxes lie on a grid of the image's size.
DETECTOR = """
m (float[1,3,H,W] image, float[1,N,4] boxes) => (float[K,4] kept, int64[K,3] indices)
  <float[2,3,1,1] w = {1, -1, 2, -2, 1, 1}, int64[3] flat = {1, 2, -1}, int64[1] most = {50},
   float[1] overlap = {0.5}, float[1] least = {0.1}, int64[1] last = {-1}, int64[1] two = {2},
   int64[1] three = {3}, int64[1] one = {1}, int64[2] rows = {-1, 4}>
{
  scores4 = Conv(image, w)
  scores = Reshape(scores4, flat)
  probable = Sigmoid(scores)
  indices = NonMaxSuppression(boxes, probable, most, overlap, least)
  columns = Slice(indices, two, three, one)
  number = Squeeze(columns, one)
  list = Reshape(boxes, rows)
  picked = Gather(list, number)
  kept = Mul(picked, picked)
}
"""


def sample(height: int, width: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    corners = rng.uniform(0, 10, (1, height * width, 2))
    sizes = rng.uniform(0.5, 3, (1, height * width, 2))
    boxes = np.concatenate([corners, corners + sizes], axis=-1).astype(np.float32)
    return {
        "image": rng.standard_normal((1, 3, height, width)).astype(np.float32),
        "boxes": boxes,
    }


def compiled(
    tmp_path: Path, text: str, samples: list[Mapping[str, np.ndarray]], *options: str
) -> tuple[Path, Path]:
    model = graph_text.write(tmp_path / "model.onnx", text)
    given = []
    for i, feeds in enumerate(samples):
        for name, array in feeds.items():
            path = tmp_path / f"{name}{i}.npy"
            np.save(path, array)
            given += ["--input", f"{name}=@{path}"]
    package = tmp_path / "model.hrpkg"
    good("compile", model, "--target-cpu", "native", *given, *options, "-o", package)
    return model, package


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("detector")
    return compiled(folder, DETECTOR, [sample(4, 4, 0), sample(6, 8, 1), sample(5, 7, 2)])


def test_a_detector_answers_sizes_that_the_trial_never_saw(detector) -> None:
    path, package = detector
    model, program = hr.load(path), CProgram(package)
    assert model.is_split
    counts = set()
    for height, width, seed in [(9, 11, 3), (4, 9, 4), (12, 5, 5), (6, 8, 6), (2, 3, 7)]:
        feeds = sample(height, width, seed)
        got = program.run(feeds)
        expected = dict(zip(("kept", "indices"), model(**feeds), strict=True))
        np.testing.assert_array_equal(got["indices"], expected["indices"])
        np.testing.assert_allclose(got["kept"], expected["kept"], rtol=1e-5)
        counts.add(len(got["indices"]))
    assert len(counts) > 2, "the number of boxes depends on the data"


def test_python_and_the_command_line_run_it_too(detector, tmp_path: Path) -> None:
    path, package = detector
    feeds = sample(7, 6, 8)
    kept, indices = hr.load(path)(**feeds)
    loaded = hr.load(package)
    got_kept, got_indices = loaded(**feeds)
    np.testing.assert_array_equal(got_indices, indices)
    np.testing.assert_allclose(got_kept, kept, rtol=1e-5)
    for name, array in feeds.items():
        np.save(tmp_path / f"{name}.npy", array)
    given = [f"--input={name}=@{tmp_path}/{name}.npy" for name in feeds]
    good("run", package, *given, "--output", tmp_path / "out")
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "indices.npy"), indices)


def test_inputs_are_checked(detector) -> None:
    program = CProgram(detector[1])
    feeds = sample(4, 4, 0)
    with pytest.raises(CError, match="input 'image': expected rank 4, got 3x4x4"):
        program.run({**feeds, "image": feeds["image"][0]})
    with pytest.raises(CError, match="input 'boxes': expected size 4 in dimension 2"):
        program.run({**feeds, "boxes": feeds["boxes"][:, :, :3]})


AXES = "m (float[N,M] x, int64[1] axes) => (float[A,B] y) { e = Exp(x) y = ReduceSum(e, axes) }"


def test_a_value_that_chooses_a_program_has_one_for_each_value_met(tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3) / 8
    samples = [{"x": x, "axes": np.array([0])}, {"x": x.T, "axes": np.array([1])}]
    _, package = compiled(tmp_path, AXES, samples)
    program = CProgram(package)
    for axis in (0, 1):
        (got,) = program.run({"x": x, "axes": np.array([axis])}).values()
        np.testing.assert_allclose(got, np.exp(x).sum(axis, keepdims=True), rtol=1e-5)
    with pytest.raises(CError) as caught:
        program.run({"x": x, "axes": np.array([-1])})
    message = str(caught.value)
    assert "ReduceSum" in message
    assert "value 'axes': expected [" in message
    assert "got [-1]" in message


EXPAND = "m (float[1] x, int64[2] shape) => (float[A,B] y) { r = Expand(x, shape) y = Exp(r) }"


def test_values_that_only_shape_the_program_become_inputs(tmp_path: Path) -> None:
    x = np.array([0.5], np.float32)
    samples = [{"x": x, "shape": np.array(shape)} for shape in ((2, 3), (4, 5), (6, 2))]
    _, package = compiled(tmp_path, EXPAND, samples)
    program = CProgram(package)
    for shape in ((7, 3), (3, 8), (10, 10), (1, 4)):
        (got,) = program.run({"x": x, "shape": np.array(shape)}).values()
        np.testing.assert_allclose(got, np.full(shape, np.exp(x)), rtol=1e-5)


LOOP = """
m (int64 count, float[N] x) => (float[N] y) <bool yes = {1}> {
  y = Loop(count, yes, x) <body = b (int64 i, bool c, float[N] s) => (bool d, float[N] t) {
    d = Identity(c) h = Add(s, x) t = Mul(h, h)
  }>
}
"""


def test_loops_run_from_a_package(tmp_path: Path) -> None:
    samples = [{"count": np.array(2), "x": np.full(size, 0.5, np.float32)} for size in (3, 4, 5)]
    _, package = compiled(tmp_path, LOOP, samples)
    x = np.linspace(0, 0.5, 9, dtype=np.float32)
    expected = x
    for _ in range(3):
        expected = (expected + x) ** 2
    (got,) = CProgram(package).run({"count": np.array(3), "x": x}).values()
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_the_header_has_a_function_of_the_dynamic_dimensions(tmp_path: Path) -> None:
    text = "m (float[2,N] x) => (float[K] y) { i = NonZero(x) r = Transpose(i) y = GatherND(x, r) }"
    compiled(tmp_path, text, [], "--emit=package,header")
    header = (tmp_path / "model.h").read_text()
    assert (
        "headrace_status model_run(const headrace_program *program, int64_t N, const float *x, "
        "headrace_result **result)"
    ) in header
    assert "x_shape[] = {2, N}" in header


def test_without_samples_random_numbers_of_several_sizes_are_tried(tmp_path: Path) -> None:
    text = "m (float[N] x) => (float[K] y) { i = NonZero(x) r = Transpose(i) y = GatherND(x, r) }"
    _, package = compiled(tmp_path, text, [])
    x = np.array([0, 2, 0, 3, 4], np.float32)
    (got,) = CProgram(package).run({"x": x}).values()
    np.testing.assert_array_equal(got, [2, 3, 4])


def test_dimensions_with_restricted_extents_are_named(tmp_path: Path) -> None:
    model = graph_text.write(
        tmp_path / "model.onnx",
        "m (float[N,M] x, int64[1] a) => (float[K] y) { y = ReduceSum<keepdims=0>(x, a) }",
    )
    given = []
    for i, columns in enumerate((3, 5)):
        np.save(tmp_path / f"x{i}.npy", np.ones((4, columns), np.float32))
        given += ["--input", f"x=@{tmp_path}/x{i}.npy", "--input", "a=1xi64=0"]
    command = [BIN, "compile", model, "--target-cpu", "native", *given, "-o", tmp_path / "m.hrpkg"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    notes = [line for line in result.stdout.splitlines() if line.startswith("note: ")]
    assert len(notes) == 1
    assert "input 'x', dimension 0 ('N'): the package serves 4; samples of" in notes[0]
