#!/usr/bin/env python3
"""Compile the network in digits.onnx, classify digits it has never seen, and show what it costs.

    python classify.py [--count 8]

Needs Headrace's Python package and NumPy.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import headrace as hr
import numpy as np

FOLDER = Path(__file__).resolve().parent
SIZE = 8  # an image is 8 x 8 pixels
PER_ROW = 4
GAP = "   "
CALLS = 300


class Ink:
    """The characters to draw with: blocks, or ASCII where the terminal's encoding lacks them."""

    def __init__(self, encoding: str) -> None:
        self.greys, self.line, self.right, self.wrong, self.times = " ░▒▓█", "─", "✓", "✗", "×"
        try:
            "".join(vars(self).values()).encode(encoding)
        except UnicodeEncodeError:
            self.greys, self.line, self.right, self.wrong, self.times = " .:o#", "-", "+", "-", "x"

    def picture(self, image: np.ndarray) -> list[str]:
        """One line per row of pixels; a pixel is two characters wide, which is about square."""
        levels = np.rint(image * (len(self.greys) - 1)).astype(int)
        return ["".join(self.greys[level] * 2 for level in row) for row in levels]

    def caption(self, answer: int, label: int) -> str:
        mark = self.right if answer == label else f"{self.wrong} it is {label}"
        return f"says {answer} {mark}".center(2 * SIZE)


def show_pictures(ink: Ink, images: np.ndarray, answers: np.ndarray, labels: np.ndarray) -> None:
    for start in range(0, len(images), PER_ROW):
        row = slice(start, start + PER_ROW)
        for lines in zip(*(ink.picture(image[0]) for image in images[row])):
            print(GAP + GAP.join(lines).rstrip())
        captions = map(ink.caption, answers[row], labels[row])
        print(GAP + GAP.join(captions).rstrip() + "\n")


def time_per_call(model: hr.Model, images: np.ndarray) -> float:
    """The median in microseconds."""
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        model(images)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def show_costs(ink: Ink, report: hr.Explanation, microseconds: float, batch: int) -> None:
    before, after = report["before"], report["after"]

    def row(title: str, key: str, unit: str = "") -> list[str]:
        gain = f"{before[key] / after[key]:.1f} {ink.times} less" if after[key] else "all gone"
        return [title, f"{before[key]:,}{unit}", f"{after[key]:,}{unit}", gain]

    rows = [
        ["", "operator by operator", "compiled", ""],
        row("kernels", "kernels"),
        row("bytes moved", "bytes_moved", " B"),
        row("intermediates", "intermediate_bytes", " B"),
        [f"time per call, {batch} digits", "", f"{microseconds:,.0f} us", ""],
    ]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        f"{title:<{widths[0]}}   {first:>{widths[1]}}   {second:>{widths[2]}}   {gain:>{widths[3]}}"
        for title, first, second, gain in rows
    ]
    lines.insert(1, ink.line * len(lines[0]))
    print("\n".join(GAP + line.rstrip() for line in lines))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=8, help="how many digits to show (up to 16)")
    count: int = parser.parse_args().count
    images = np.load(FOLDER / "held_back_images.npy", allow_pickle=False)
    labels = np.load(FOLDER / "held_back_labels.npy", allow_pickle=False)
    if not 1 <= count <= len(images):
        parser.error(f"--count: expected 1 to {len(images)}, got {count}")

    start = time.perf_counter()
    model = hr.load(FOLDER / "digits.onnx")
    answers = model(images).argmax(axis=1)
    first_answer = (time.perf_counter() - start) * 1e3

    ink = Ink(sys.stdout.encoding)
    print(f"\n{GAP}digits.onnx read, compiled and run in {first_answer:.0f} ms\n")
    show_pictures(ink, images[:count], answers[:count], labels[:count])
    right = int((answers == labels).sum())
    print(f"{GAP}{right} of {len(labels)} digits kept back from the training are recognised.\n")
    report = model.explain(batch=len(images))
    show_costs(ink, report, time_per_call(model, images), len(images))
    print()


if __name__ == "__main__":
    main()
