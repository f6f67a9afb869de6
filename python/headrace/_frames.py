"""Frames of scripts: tables with a type for each column, as dicts of NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError

_KINDS = {"b": "BOOLEAN", "i": "INT64", "u": "INT64", "f": "FP64"}
_DTYPES = {"INT32": np.int64, "INT64": np.int64, "FP32": np.float64, "FP64": np.float64}


def is_frame(value: Any) -> bool:
    """Whether the value is a dict of columns, or a table of pandas or another that is like one."""
    return isinstance(value, Mapping) or (hasattr(value, "columns") and hasattr(value, "iloc"))


def to_parts(name: str, value: Any) -> tuple[str, int, list[tuple[str, str, list[str | None]]]]:
    """The frame as the executor of scripts takes it."""
    columns = [(str(key), _column(value[key])) for key in value]
    lengths = {len(cells) for _, (_, cells) in columns}
    if len(lengths) > 1:
        raise InvalidArgumentError(
            f"variable '{name}': expected columns of one length, got {sorted(lengths)}"
        )
    rows = lengths.pop() if lengths else 0
    return "frame", rows, [(key, kind, cells) for key, (kind, cells) in columns]


def _column(values: Any) -> tuple[str, list[str | None]]:
    array = np.asarray(values)
    kind = _KINDS.get(array.dtype.kind)
    if kind is None:
        return "STRING", [None if _is_missing(cell) else str(cell) for cell in array.tolist()]
    return kind, [str(cell) for cell in array.tolist()]


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and cell != cell)


def from_parts(columns: list[tuple[str, str, list[str | None]]]) -> dict[str, np.ndarray]:
    """The frame as a dict: strings are objects, None for a cell without a value."""
    return {name: _array(kind, cells) for name, kind, cells in columns}


def _array(kind: str, cells: list[str | None]) -> np.ndarray:
    if kind == "BOOLEAN":
        return np.array([cell == "TRUE" for cell in cells], bool)
    if kind in _DTYPES:
        missing = "nan" if kind.startswith("FP") else "0"
        return np.array([missing if cell is None else cell for cell in cells]).astype(_DTYPES[kind])
    result = np.empty(len(cells), object)
    result[:] = cells
    return result
