"""Regions of images, also such as lie next to the image, are larger than it, or empty: ONNX Runtime's answers."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases import graph_text

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

REGIONS = np.array(
    [
        [0, 0, 5, 7], [1.5, 2.25, 3, 3.5], [0, 0, 40, 30], [-20, -30, 25, 60], [-300, 2, 800, 4], [3, 3, 3, 3],
        [9, 9, 30, 30], [-8, -9, -4, -3], [5, 4, 2, 1], [0.4, -1, 6.6, 9.5], [-1000, -2000, 3000, 2500],
    ],
    np.float32,
)  # fmt: skip
IMAGES = np.random.default_rng(0).standard_normal((3, 2, 7, 9)).astype(np.float32)
BATCHES = np.arange(len(REGIONS)) % 3


def check(path: Path, inputs: dict[str, np.ndarray], peer: Path) -> None:
    model = hr.load(path)
    (expected,) = runtime.InferenceSession(peer).run(None, inputs)
    for found in (model(**inputs), model.reference(**inputs)):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sizes", ["3,2,7,9", "n,c,h,w"])
@pytest.mark.parametrize("ratio", [0, 1, 3])
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("places", ["half_pixel", "output_half_pixel"])
def test_roi_align(tmp_path: Path, places: str, mode: str, ratio: int, sizes: str) -> None:
    attributes = (
        f'coordinate_transformation_mode = "{places}", mode = "{mode}", output_height = 3, output_width = 2, '
        f"sampling_ratio = {ratio}, spatial_scale = 0.75"
    )
    text = f"""m (float[{sizes}] x, float[k,4] rois, int64[k] batches) => (float y) {{
        y = RoiAlign<{attributes}>(x, rois, batches) }}"""
    path = graph_text.write(tmp_path / "model.onnx", text, opset=16)
    check(path, {"x": IMAGES, "rois": REGIONS, "batches": BATCHES}, path)


@pytest.mark.parametrize("sizes", ["3,2,7,9", "n,c,h,w"])
@pytest.mark.parametrize("opset", [1, 22])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_max_roi_pool(tmp_path: Path, scale: float, opset: int, sizes: str) -> None:
    attributes = f"pooled_shape = [3, 2], spatial_scale = {scale}"
    text = f"m (float[{sizes}] x, float[k,5] rois) => (float y) {{ y = MaxRoiPool<{attributes}>(x, rois) }}"
    path = graph_text.write(tmp_path / "model.onnx", text, opset=opset)
    peer = graph_text.write(tmp_path / "peer.onnx", text, opset=7)  # ONNX Runtime has no other
    rois = np.concatenate([BATCHES[:, None], REGIONS], 1).astype(np.float32)
    check(path, {"x": IMAGES, "rois": rois}, peer)


@pytest.mark.parametrize("dtype, element", [(np.float64, "double"), (np.float16, "float16")])
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_roi_align_in_a_package_and_in_every_type(
    tmp_path: Path, mode: str, dtype: type, element: str
) -> None:
    """Regions with an adaptive number of samples run on the host, except in packages."""
    text = f"""m ({element}[3,2,7,9] x, {element}[k,4] rois, int64[k] batches) => ({element} y) {{
        y = RoiAlign<mode = "{mode}", output_height = 2, output_width = 3, sampling_ratio = 0>(x, rois, batches) }}"""
    path = graph_text.write(tmp_path / "model.onnx", text, opset=16)
    hr.write_package(path, tmp_path / "model.hrpkg", processors=["native"])
    model, packaged = hr.load(path), hr.load(tmp_path / "model.hrpkg")
    assert model.is_split and not packaged.is_split
    inputs = {"x": IMAGES.astype(dtype), "rois": REGIONS[:4].astype(dtype), "batches": BATCHES[:4]}
    tolerance = 1e-10 if dtype == np.float64 else 4e-3
    np.testing.assert_allclose(model(**inputs), packaged(**inputs), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"batches": np.array([0, 3])}, "index 3 is outside a size of 3"),
        ({"rois": REGIONS[:3]}, "an image index per region"),
        ({"x": IMAGES[:, :, :0]}, "expected images with elements"),
    ],
)
def test_regions_that_do_not_fit(tmp_path: Path, change: dict, message: str) -> None:
    text = "m (float[n,c,h,w] x, float[k,4] rois, int64[l] batches) => (float y) { y = RoiAlign(x, rois, batches) }"
    model = hr.load(graph_text.write(tmp_path / "model.onnx", text, opset=16))
    inputs = {"x": IMAGES, "rois": REGIONS[:2], "batches": BATCHES[:2], **change}
    with pytest.raises(hr.Error, match=message):
        model(**inputs)
