#!/usr/bin/env python3
"""Quantize the network in digits.onnx to int8 and compare how many digits it recognises.

    python quantize.py [--out FOLDER]

The scales come from 256 training images; the accuracy is that on the test and held-back images,
which neither training nor calibration has seen. Needs Headrace's Python package, NumPy and
scikit-learn.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import headrace as hr
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FOLDER = Path(__file__).resolve().parent
SEED = 7  # of train.py: the same images are for training here
CALIBRATION = 256
CHOICES = {
    "int8": {},
    "int8, a scale for each tensor": {"weights": "tensor"},
    "int8, powers of two": {"scales": "po2"},
    "int8, powers of two, for each tensor": {"scales": "po2", "weights": "tensor"},
}


def images() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images to calibrate with, images to test with, and the labels of these."""
    data = load_digits()
    scaled = (data.images / 16.0).astype(np.float32)[:, None]
    train, test, _, labels = train_test_split(
        scaled, data.target, test_size=0.25, random_state=SEED, stratify=data.target
    )
    return train[:CALIBRATION], test, labels


def accuracy(path: Path, test: np.ndarray, labels: np.ndarray) -> float:
    return float((hr.load(path)(test).argmax(axis=1) == labels).mean())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="folder to keep the quantized networks in")
    out: Path | None = parser.parse_args().out
    calibration, test, labels = images()
    source = FOLDER / "digits.onnx"
    with tempfile.TemporaryDirectory() as scratch:
        folder = out or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{'':38} {'accuracy':>8} {'SQNR':>8} {'file':>8}")
        print(f"{'float':38} {accuracy(source, test, labels):8.2%} {'':8} {size(source)}")
        for title, choices in CHOICES.items():
            path = folder / ("_".join(["digits_int8", *choices.values()]) + ".onnx")
            report = hr.quantize(source, calibration, path, **choices)
            noise = report["outputs"][0]["sqnr_db"]
            print(f"{title:38} {accuracy(path, test, labels):8.2%} {noise:5.1f} dB {size(path)}")


def size(path: Path) -> str:
    return f"{path.stat().st_size / 1e3:5.1f} kB"


if __name__ == "__main__":
    main()
