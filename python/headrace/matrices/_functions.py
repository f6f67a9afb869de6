"""Lazy matrices from files."""

from __future__ import annotations

import os
from typing import Any

from headrace.errors import InvalidArgumentError, IoError, UnsupportedError
from headrace.matrices._graph import Node
from headrace.matrices._matrix import Matrix, matrix

#: Files of tables, which pyarrow reads, by their endings.
_TABLES = {".parquet": "parquet", ".arrow": "feather", ".feather": "feather"}


def read(path: str | os.PathLike[str], **options: Any) -> Matrix:
    """A lazy matrix of a file: csv, text, MatrixMarket, libsvm, npy or binary blocks, and with
    pyarrow Parquet and Arrow.

    The options are those of `read` in scripts: `format`, `header`, `sep`, `rows`, `cols`,
    `naStrings`. The file is read once, when its matrix or its shape is needed first; a table of
    Parquet or Arrow is read at once.

    >>> np.savetxt("weights.csv", [[1.0, 2.0], [3.0, 4.0]], delimiter=",")
    >>> float(hr.read("weights.csv").sum())
    10.0
    """
    name = os.path.abspath(os.fspath(path))
    if (kind := _TABLES.get(os.path.splitext(name)[1])) is not None:
        if options:
            raise InvalidArgumentError(f"{name}: expected no options, got {', '.join(options)}")
        return matrix(_table(name, kind))
    operands: list[tuple[str, Any]] = [("", name)]
    operands += [(key, value) for key, value in options.items()]
    return Matrix((Node("read", operands, keeps=True), 0), None)


def _table(name: str, kind: str) -> Any:
    import importlib

    try:
        module = importlib.import_module(f"pyarrow.{kind}")
    except ImportError as error:
        raise UnsupportedError(f"{name}: reading {kind} files takes the package pyarrow") from error
    try:
        return module.read_table(name)
    except (OSError, ValueError) as error:
        raise IoError(f"{name}: cannot read the table: {error}") from error
