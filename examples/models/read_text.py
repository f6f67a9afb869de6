#!/usr/bin/env python3
"""Read text in an image, with the networks of PP-OCR: where it is, which way up, and what it says.

    python read_text.py [LINE ...] [--image PICTURE.npy] [--save PICTURE.ppm]

Draws the lines (of letters and digits; every other one is turned upside down) and reads them back; or reads an image
of height x width x RGB in bytes, whose lines are horizontal. Needs Headrace's Python package and NumPy; fetches the
networks (rapidocr_onnxruntime 1.4.4, 15 MB) into a cache at the first run.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import fetch
import headrace as hr
import numpy as np
from strokes import written

LINES = ("DATA MOVEMENT", "READS UPSIDE DOWN", "HEADRACE 2048")
LETTER_HEIGHT = 32
TEXT_FROM = 0.3  # a pixel of at least this probability is text
BOX_FROM = 0.5  # and a box of at least this one, on average
TURNED_FROM = 0.9


@dataclass(frozen=True)
class Box:
    left: int
    top: int
    right: int
    bottom: int

    def of(self, picture: np.ndarray) -> np.ndarray:
        return picture[self.top : self.bottom, self.left : self.right]


def drawn(lines: list[str]) -> np.ndarray:
    """The lines below each other, every other one upside down."""
    rows = [written(line, LETTER_HEIGHT) for line in lines]
    rows = [row[::-1, ::-1] if number % 2 else row for number, row in enumerate(rows)]
    width = max(row.shape[1] for row in rows)
    padded = [
        np.pad(r, ((0, 0), (0, width - r.shape[1]), (0, 0)), constant_values=255) for r in rows
    ]
    return np.concatenate(padded)


def resized(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """Linear in between pixels."""
    for axis, size in ((0, height), (1, width)):
        places = (np.arange(size) + 0.5) * picture.shape[axis] / size - 0.5
        places = np.clip(places, 0, picture.shape[axis] - 1)
        low = np.floor(places).astype(int)
        high = np.minimum(low + 1, picture.shape[axis] - 1)
        part = (places - low).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        picture = picture.take(low, axis) * (1 - part) + picture.take(high, axis) * part
    return picture


def as_input(picture: np.ndarray) -> np.ndarray:
    """As the networks take it: batch x BGR x height x width, from -1 to 1."""
    return (picture[None, ..., ::-1].transpose(0, 3, 1, 2) / 127.5 - 1).astype(np.float32)


def spots(mask: np.ndarray) -> list[np.ndarray]:
    """The connected regions of a mask: rows and columns of their pixels."""
    left = {(int(y), int(x)) for y, x in np.argwhere(mask)}
    result = []
    while left:
        region = [left.pop()]
        for y, x in region:  # grows while it is walked through
            near = {(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)} & left
            left -= near
            region += near
        result.append(np.array(region).T)
    return result


def find_boxes(detector: hr.Model, picture: np.ndarray) -> list[Box]:
    """Boxes around text, line by line."""
    height, width = picture.shape[:2]
    sizes = [max(32, round(size / 32) * 32) for size in (height, width)]
    text = detector(as_input(resized(picture, *sizes)))[0, 0]
    scale_y, scale_x = height / sizes[0], width / sizes[1]
    boxes = []
    for y, x in spots(text >= TEXT_FROM):
        rows, columns = np.ptp(y) + 1, np.ptp(x) + 1
        if min(rows, columns) < 3 or text[y, x].mean() < BOX_FROM:
            continue
        # The network marks the core of a line, which the line itself surpasses by so much.
        margin = 1.6 * rows * columns / (2 * (rows + columns))
        boxes.append(
            Box(
                max(0, int((x.min() - margin) * scale_x)),
                max(0, int((y.min() - margin) * scale_y)),
                min(width, int((x.max() + 1 + margin) * scale_x)),
                min(height, int((y.max() + 1 + margin) * scale_y)),
            )
        )
    return sorted(boxes, key=lambda box: ((box.top + box.bottom) // (2 * LETTER_HEIGHT), box.left))


def is_upside_down(direction: hr.Model, line: np.ndarray) -> bool:
    """Takes 192 pixels, padded with grey where the line is shorter."""
    width = min(192, round(48 * line.shape[1] / line.shape[0]))
    batch = np.zeros((1, 3, 48, 192), np.float32)
    batch[..., :width] = as_input(resized(line, 48, width))
    return bool(direction(batch)[0, 1] >= TURNED_FROM)


def read_line(recognizer: hr.Model, alphabet: list[str], line: np.ndarray) -> tuple[str, float]:
    """The text and how sure the network is. It gives a letter for every few columns: one that is repeated counts once,
    number 0 stands between letters."""
    width = max(48, round(48 * line.shape[1] / line.shape[0]))
    scores = recognizer(as_input(resized(line, 48, width)))[0]
    best = scores.argmax(axis=1)
    kept = (best != 0) & (best != np.concatenate([[0], best[:-1]]))
    text = "".join(alphabet[number - 1] for number in best[kept])
    return text, float(scores.max(axis=1)[kept].mean()) if kept.any() else 0.0


def read_text(folder: Path, picture: np.ndarray) -> list[tuple[Box, bool, str, float]]:
    """Boxes, whether they are upside down, their text and how sure that is."""
    detector = hr.load(folder / "ch_PP-OCRv4_det_infer.onnx")
    direction = hr.load(folder / "ch_ppocr_mobile_v2.0_cls_infer.onnx")
    recognizer = hr.load(folder / "ch_PP-OCRv4_rec_infer.onnx")
    alphabet = [*recognizer.metadata["character"].split("\n"), " "]
    result = []
    for box in find_boxes(detector, picture):
        line = box.of(picture)
        turned = is_upside_down(direction, line)
        upright = line[::-1, ::-1] if turned else line
        result.append((box, turned, *read_line(recognizer, alphabet, upright)))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("lines", nargs="*", default=LINES, help="to draw and read")
    parser.add_argument("--image", type=Path, help="a picture to read instead")
    parser.add_argument("--save", type=Path, help="write the picture that was drawn")
    arguments = parser.parse_args()
    try:
        if arguments.image:
            picture = np.load(arguments.image, allow_pickle=False)
        else:
            picture = drawn(arguments.lines)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8:
        parser.error(
            f"--image: expected bytes of [height, width, 3], got {picture.dtype} {picture.shape}"
        )
    if arguments.save:
        header = f"P6 {picture.shape[1]} {picture.shape[0]} 255\n".encode()
        arguments.save.write_bytes(header + picture.tobytes())
    folder = fetch.fetched_or_exit("rapidocr_onnxruntime")
    for box, turned, text, score in read_text(folder, picture):
        place = f"x {box.left} to {box.right}, y {box.top} to {box.bottom}"
        print(f"{text!r}   {100 * score:.1f}%   {place}{', upside down' if turned else ''}")


if __name__ == "__main__":
    main()
