"""The shipped digits network and its held-back samples belong together."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "digits"
MODEL = FOLDER / "digits.onnx"


@pytest.fixture
def samples() -> tuple[np.ndarray, np.ndarray]:
    images = np.load(FOLDER / "held_back_images.npy", allow_pickle=False)
    labels = np.load(FOLDER / "held_back_labels.npy", allow_pickle=False)
    return images, labels


def test_file_is_valid_small_and_complete() -> None:
    onnx.checker.check_model(str(MODEL), full_check=True)
    assert MODEL.stat().st_size < 200_000
    (image,) = onnx.load(str(MODEL)).graph.input
    assert image.name == "image"
    assert image.type.tensor_type.shape.dim[0].dim_param == "batch"


def test_samples_are_as_documented(samples: tuple[np.ndarray, np.ndarray]) -> None:
    images, labels = samples
    assert (images.dtype, images.shape) == (np.float32, (16, 1, 8, 8))
    assert (labels.dtype, labels.shape) == (np.int64, (16,))
    assert 0 <= images.min() and images.max() == 1


def test_fifteen_of_sixteen_are_recognised(samples: tuple[np.ndarray, np.ndarray]) -> None:
    images, labels = samples
    session = onnxruntime.InferenceSession(str(MODEL), providers=["CPUExecutionProvider"])
    (logits,) = session.run(None, {"image": images})
    assert int((logits.argmax(axis=1) == labels).sum()) == 15


def test_int8_is_within_a_point_of_float(tmp_path: Path) -> None:
    pytest.importorskip("headrace")
    pytest.importorskip("sklearn")
    command = [sys.executable, str(FOLDER / "quantize.py"), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    exact, *others = (float(number) for number in re.findall(r"([\d.]+)%", done.stdout))
    assert exact > 98 and len(others) == 4
    assert all(exact - other < 1 for other in others)
    assert len(list(tmp_path.glob("*.onnx"))) == 4
