"""Kernels that run depth first, slice by slice."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases import graph_text

GRAPH = """net (float[{n},8,20,20] x, float[8,8,1,1] w, float[8,8,3,3] v, float[8,1,3,3] d) => (float[?,?,?,?] y) {{
    a = Conv (x, w)
    b = Relu (a)
    c = Conv <pads = [1, 1, 1, 1]> (b, v)
    e = Conv <group = 8, pads = [1, 1, 1, 1]> (c, d)
    f = Add (e, b)
    y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (f)
  }}"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return graph_text.write(tmp_path / "net.onnx", GRAPH.format(n=6), opset=17)


def feeds(images: int = 6) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    shapes = {"x": (images, 8, 20, 20), "w": (8, 8, 1, 1), "v": (8, 8, 3, 3), "d": (8, 1, 3, 3)}
    return {name: random.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}


def sliceable(path: Path) -> list[str]:
    """Names of the kernels that can run on two of six images at a time."""
    names = []
    for kernel in hr.load(path).explain()["kernels"]:
        try:
            hr.load(path, recipe=f"slice {kernel['name']} by 2\n").explain()
        except hr.Error:
            continue
        names.append(kernel["name"])
    return names


@pytest.mark.parametrize("images", [1, 2, 3])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_results_are_those_of_whole_kernels(path: Path, images: int, threads: int) -> None:
    names = sliceable(path)
    assert len(names) >= 2
    recipe = "".join(f"slice {name} by {images}\n" for name in names)
    sliced = hr.load(path, recipe=recipe, threads=threads)
    for name in names:
        assert f"slice {name} by {images}\n" in sliced.explain()["recipe"]
    assert np.array_equal(sliced(**feeds()), hr.load(path)(**feeds()))


def test_a_dynamic_batch_runs_image_by_image(tmp_path: Path) -> None:
    path = graph_text.write(tmp_path / "net.onnx", GRAPH.format(n="batch"), opset=17)
    names = []
    for kernel in hr.load(path).explain()["kernels"]:
        try:
            hr.load(path, recipe=f"slice {kernel['name']} by 1\n").explain()
        except hr.Error:
            continue
        names.append(kernel["name"])
    assert names
    recipe = "".join(f"slice {name} by 1\n" for name in names)
    sliced = hr.load(path, recipe=recipe, specialize="never")
    for images in (2, 3, 7):
        expected = hr.load(path)(**feeds(images))
        assert np.array_equal(sliced(**feeds(images)), expected)


def test_slices_that_do_not_divide_are_refused(path: Path) -> None:
    name = sliceable(path)[0]
    with pytest.raises(hr.Error, match=f"'slice {name} by 4': expected a divisor of 6"):
        hr.load(path, recipe=f"slice {name} by 4\n").explain()
    with pytest.raises(hr.Error, match="there is no kernel 'nothing'"):
        hr.load(path, recipe="slice nothing by 2\n").explain()


def test_packages_run_in_slices(path: Path, tmp_path: Path) -> None:
    recipe = "".join(f"slice {name} by 1\n" for name in sliceable(path))
    package = tmp_path / "net.hrpkg"
    hr.write_package(path, package, recipe=recipe)
    assert np.array_equal(hr.load(package)(**feeds()), hr.load(path)(**feeds()))
