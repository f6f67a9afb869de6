"""Lazy matrices from files."""

from __future__ import annotations

import os
from typing import Any

from headrace.matrices._graph import Node
from headrace.matrices._matrix import Matrix


def read(path: str | os.PathLike[str], **options: Any) -> Matrix:
    """A lazy matrix of a file: csv, text, MatrixMarket, libsvm, npy, binary blocks, Parquet, Arrow.

    The options are those of `read` in scripts: `format`, `header`, `sep`, `rows`, `cols`,
    `naStrings`. The file is read once, when its matrix or its shape is needed first.

    >>> np.savetxt("weights.csv", [[1.0, 2.0], [3.0, 4.0]], delimiter=",")
    >>> float(hr.read("weights.csv").sum())
    10.0
    """
    name = os.path.abspath(os.fspath(path))
    operands: list[tuple[str, Any]] = [("", name)]
    operands += [(key, value) for key, value in options.items()]
    return Matrix((Node("read", operands, keeps=True), 0), None)
