#!/usr/bin/env python3
"""Tell the types of files by their bytes, with the network of Magika.

    python file_types.py [FILE ...]

Without names, it looks at files of this repository. Needs Headrace's Python package and NumPy; fetches the network
(magika 1.0.3, 3 MB) into a cache at the first run.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import fetch
import headrace as hr
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SHOWN = (
    "README.md",
    "dev",
    "CMakePresets.json",
    "pyproject.toml",
    "src/driver/models/Model.cpp",
    "examples/digits/classify.py",
    "examples/digits/digits.onnx",
    "examples/digits/held_back_images.npy",
    "docs/images/times.svg",
)


class Types:
    """The network with its settings: how many bytes it looks at, and what its outputs stand for."""

    def __init__(self, folder: Path) -> None:
        settings = json.loads((folder / "config.min.json").read_text())
        self.labels: list[str] = settings["target_labels_space"]
        self.least: dict[str, float] = settings["thresholds"]
        self.otherwise: float = settings["medium_confidence_threshold"]
        self.begin, self.end = settings["beg_size"], settings["end_size"]
        self.block, self.padding = settings["block_size"], settings["padding_token"]
        self.shortest = settings["min_file_size_for_dl"]
        self.model = hr.load(folder / "model.onnx")

    def features(self, first: bytes, last: bytes) -> np.ndarray:
        """The first and the last bytes, blanks around the content left out."""
        begin = first.lstrip()[: self.begin]
        end = last.rstrip()[-self.end :]
        result = np.full(self.begin + self.end, self.padding, np.int32)
        result[: len(begin)] = list(begin)
        result[len(result) - len(end) :] = list(end)
        return result

    def of(self, paths: list[Path]) -> list[tuple[str, float]]:
        """A label and how sure the network is of it, for each file."""
        ends = [self.read_ends(path) for path in paths]
        scores = self.model(np.stack([self.features(*pair) for pair in ends]))
        return [self.judge(first, row) for (first, _), row in zip(ends, scores)]

    def read_ends(self, path: Path) -> tuple[bytes, bytes]:
        with path.open("rb") as file:
            first = file.read(self.block)
            file.seek(-min(self.block, file.seek(0, os.SEEK_END)), os.SEEK_END)
            return first, file.read()

    def judge(self, first: bytes, scores: np.ndarray) -> tuple[str, float]:
        if len(first) < self.shortest:
            return ("empty" if not first else "too short to tell"), 1.0
        best = int(scores.argmax())
        label, score = self.labels[best], float(scores[best])
        if score >= self.least.get(label, self.otherwise):
            return label, score
        is_text = all(byte >= 32 or byte in b"\t\n\f\r" for byte in first)
        return f"some {'text' if is_text else 'data'}, perhaps {label}", score


def main() -> None:
    names = sys.argv[1:] or SHOWN
    paths = [Path(name) if sys.argv[1:] else ROOT / name for name in names]
    types = Types(fetch.fetched_or_exit("magika"))
    try:
        found = types.of(paths)
    except OSError as error:
        sys.exit(f"error: {error.filename}: cannot read the file: {error.strerror}")
    width = max(map(len, names))
    for name, (label, score) in zip(names, found):
        print(f"{name:<{width}}   {label}   {100 * score:.1f}%")


if __name__ == "__main__":
    main()
