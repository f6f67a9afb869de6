"""Writes text into an image, with letters made of straight strokes."""

from __future__ import annotations

import numpy as np

# Strokes of each letter: corners x and y on a grid of 5 by 7, from the top left, two digits each.
LETTERS = {
    "A": "062046 1434",
    "B": "003041423303 334445360600",
    "C": "4130100105163645",
    "D": "00304145360600",
    "E": "40000646 0333",
    "F": "400006 0333",
    "G": "41301001051636454323",
    "H": "0006 4046 0343",
    "I": "1030 2026 1636",
    "J": "4045361605",
    "K": "0006 0440 1346",
    "L": "000646",
    "M": "0600234046",
    "N": "06004640",
    "O": "103041453616050110",
    "P": "06003041423303",
    "Q": "103041453616050110 2446",
    "R": "06003041423303 2346",
    "S": "413010010213334445361605",
    "T": "0040 2026",
    "U": "000516364540",
    "V": "002640",
    "W": "0016223640",
    "X": "0046 4006",
    "Y": "002340 2326",
    "Z": "00400646",
    "0": "102031352616050110",
    "1": "112026 1636",
    "2": "01103041420646",
    "3": "01103041423313 334445361605",
    "4": "36300444",
    "5": "400003334445361605",
    "6": "4130100105163645443303",
    "7": "004016",
    "8": "103041423313020110 3344453616050413",
    "9": "0516364541301001021343",
    "-": "1333",
    ".": "1616",
    " ": "",
}
SPACING, BLANK = 6.0, 3.6  # from one letter to the next, and across a blank, in the grid's units
THICKNESS = 0.45


def distances(shape: tuple[int, int], begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Of each pixel from a line, in pixels."""
    y, x = np.indices(shape)
    points = np.stack([x, y], -1) - begin
    line = end - begin
    along = np.clip(points @ line / max(line @ line, 1e-9), 0, 1)
    return np.linalg.norm(points - along[..., None] * line, axis=-1)


def written(text: str, height: int) -> np.ndarray:
    """An image of one line in dark on white, height x width x RGB; capitals are this many pixels high."""
    unknown = sorted(set(text.upper()) - set(LETTERS))
    if unknown:
        raise ValueError(f"expected letters, digits, '-', '.' and blanks, got {unknown[0]!r}")
    unit, margin = height / 6, height / 2
    places = np.cumsum([0, *(BLANK if letter == " " else SPACING for letter in text)])
    size = (2 * height, int(2 * margin + places[-1] * unit))
    distance = np.full(size, np.inf)
    for place, letter in zip(places, text.upper()):
        for stroke in LETTERS[letter].split():
            corners = np.array(list(stroke), float).reshape(-1, 2) + (place, 0)
            corners = corners * unit + margin
            for begin, end in zip(corners, corners[1:]):
                np.minimum(distance, distances(size, begin, end), out=distance)
    ink = np.clip(THICKNESS * unit - distance + 0.5, 0, 1)
    return np.rint(255 - 225 * ink[..., None]).astype(np.uint8).repeat(3, axis=2)
