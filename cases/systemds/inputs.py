"""The variables that the recorded scripts start from."""

from __future__ import annotations

import re

import numpy as np

_NAN, _INF = float("nan"), float("inf")


def _sparse(rows: int, cols: int, cells: dict[tuple[int, int], float]) -> np.ndarray:
    matrix = np.zeros((rows, cols))
    for at, value in cells.items():
        matrix[at] = value
    return matrix


# SystemDS keeps a matrix sparse only from five columns on.
MATRICES: dict[str, np.ndarray] = {
    # dense; integers of both signs; what IEEE has in addition to numbers; truth values
    "A": np.array([[1.5, -2, 0.25, 4, -1], [0, 3, -0.5, 2.5, 7], [-3.5, 0.125, 6, -4, 1]]),
    "B": np.array([[2, 0.5, -1, 3, 1], [-2, 3, 4, -0.25, 5], [1, 0.125, -6, 2, -1.5]]),
    "I": np.array([[-7.0, 7, -3, 2, 0], [5, -1, 4, -6, 3], [1, -2, 8, -9, 6]]),
    "N": np.array([[1, _NAN, -2, _INF, 0], [-_INF, 0.5, 3, -1, _NAN], [2, 4, 0, 1, -5]]),
    "L": np.array([[1.0, 0, 1, 1, 0], [0, 0, 1, 1, 1], [1, 1, 0, 1, 0]]),
    # sparse; the same with what IEEE has in addition to numbers; nothing but zeros
    "S": _sparse(3, 5, {(0, 1): 2.5, (1, 4): -3, (2, 1): 1}),
    "T": _sparse(3, 5, {(0, 1): -1, (1, 0): 4, (2, 1): 0.5, (2, 3): 2}),
    "P": _sparse(3, 5, {(0, 2): _NAN, (1, 0): 2, (2, 3): _INF, (2, 4): -_INF}),
    "Z": np.zeros((3, 5)),
    # columns, rows, one cell; K has zeros and signs
    "c": np.array([[2.0], [-1], [0.5]]),
    "k": np.array([[0.0], [-2], [3]]),
    "r": np.array([[1, -2, 0.5, 3, 4]]),
    "m": np.array([[0.0, 1, -1, _NAN, _INF]]),
    "o": np.array([[-2.5]]),
    # for products and systems; a longer column with repetitions, its weights and its groups
    "U": np.array([[1.0, 2], [0, 1], [-1, 3]]),
    "V": np.array([[1.0, 0], [2, 1], [0, 3], [1, 1], [-1, 2]]),
    "Q": np.array([[4.0, 1, 0.5], [1, 3, -1], [0.5, -1, 5]]),
    "v": np.array([[3.0], [1], [4], [1], [5], [9], [2], [6]]),
    "w": np.array([[1.0], [2], [1], [3], [1], [2], [4], [1]]),
    "g": np.array([[1.0], [2], [1], [3], [2], [3], [3], [1]]),
    "h": np.array([[2.0], [1], [2], [1], [3], [1], [1], [2]]),
}

SCALARS: dict[str, int | float | bool | str] = {
    "i2": 2,
    "i3": 3,
    "n3": -3,
    "n7": -7,
    "i0": 0,
    "d2": 2.0,
    "d25": 2.5,
    "n05": -0.5,
    "d0": 0.0,
    "dn": _NAN,
    "di": _INF,
    "ni": -_INF,
    "bt": True,
    "bf": False,
    "st": "text",
}


def used(script: str) -> list[str]:
    """The names of the variables that a script starts from; those of its functions are their own."""
    text = "\n".join(line for line in script.split("\n") if " = function(" not in line)
    names = [*MATRICES, *SCALARS]
    return [name for name in names if re.search(rf"(?<![\w.\"]){name}(?![\w(\"])", text)]


def literal(value: float | bool | str) -> str:
    """The value as a script writes it."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, float) and abs(value) == _INF:
        return "Inf" if value > 0 else "-Inf"
    return repr(value)
