"""The inputs of a run: arrays, and files of rows. Nothing is read before it is needed."""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError, InvalidFileError

Arrays = dict[str, np.ndarray]


@dataclass
class Source:
    """Some inputs: the rows of an array or file.

    `name` tells where results belong: the path of the file below the directory that was given,
    without its ending. `fingerprint` changes with the contents. `is_single` marks one input that was
    given without a dimension for the rows.
    """

    name: str
    fingerprint: str
    open: Callable[[], Arrays]
    origin: str = ""
    is_single: bool = False
    bad_rows: tuple[tuple[int, str], ...] = ()


class Layout:
    """How arrays become inputs of a program: names, types, and shapes of rows."""

    def __init__(self, specs: Sequence[Any], whole: bool) -> None:
        self.specs = specs
        self.whole = whole
        for spec in specs:
            if spec.shape is None or spec.element_type == "string" or "(" in spec.element_type:
                raise InvalidArgumentError(
                    f"input '{spec.name}': expected a numeric tensor, got {spec}"
                )
            if not whole and not spec.shape:
                raise InvalidArgumentError(
                    f"input '{spec.name}': a scalar has no rows; --whole (whole=True) runs the program "
                    "once per file"
                )

    def arranged(
        self, given: Mapping[str, np.ndarray] | np.ndarray, origin: str
    ) -> tuple[Arrays, bool]:
        """The arrays by input name, and whether they are a single row without its dimension."""
        if not isinstance(given, Mapping):
            if len(self.specs) != 1:
                names = ", ".join(f"'{spec.name}'" for spec in self.specs)
                raise InvalidArgumentError(
                    f"{origin}: expected arrays for the inputs {names}, got one without a name"
                )
            given = {self.specs[0].name: given}
        missing = [spec.name for spec in self.specs if spec.name not in given]
        if missing:
            raise InvalidArgumentError(
                f"{origin}: expected an array '{missing[0]}', got {sorted(given)}"
            )
        arrays = {spec.name: np.asarray(given[spec.name]) for spec in self.specs}
        if self.whole:
            return {s.name: self._typed(arrays[s.name], s, origin) for s in self.specs}, True
        single = all(arrays[s.name].ndim == len(s.shape) - 1 for s in self.specs)
        if single:
            arrays = {name: array[np.newaxis] for name, array in arrays.items()}
        arranged = {s.name: self._rows(arrays[s.name], s, origin) for s in self.specs}
        counts = {name: len(array) for name, array in arranged.items()}
        if len(set(counts.values())) > 1:
            raise InvalidArgumentError(
                f"{origin}: expected as many rows for every input, got {counts}"
            )
        return arranged, single

    def _rows(self, array: np.ndarray, spec: Any, origin: str) -> np.ndarray:
        row = spec.shape[1:]
        fixed = all(isinstance(extent, int) for extent in row)
        if (
            array.ndim == 2
            and len(row) != 1
            and fixed
            and array.shape[1] == np.prod(row, dtype=int)
        ):
            array = array.reshape(len(array), *row)  # as tables of numbers hold images
        fits = array.ndim == len(spec.shape) and all(
            not isinstance(extent, int) or extent == found
            for extent, found in zip(row, array.shape[1:])
        )
        if not fits:
            extents = ", ".join(["rows", *map(str, row)])
            raise InvalidArgumentError(
                f"{origin}: expected the shape ({extents}) for the input '{spec.name}', got {array.shape}"
            )
        return self._typed(array, spec, origin)

    @staticmethod
    def _typed(array: np.ndarray, spec: Any, origin: str) -> np.ndarray:
        if array.dtype == spec.dtype or np.can_cast(array.dtype, spec.dtype, "same_kind"):
            return array
        raise InvalidArgumentError(
            f"{origin}: expected values of type {spec.element_type} for the input '{spec.name}', got "
            f"{array.dtype}"
        )


def sources_of(inputs: Any, layout: Layout) -> list[Source]:
    """The inputs in order: arrays are one source; a directory has one per file, sorted by name."""
    if isinstance(inputs, (str, os.PathLike)):
        return _of_different_names(_files(Path(inputs), layout))
    if isinstance(inputs, (list, tuple)) and all(isinstance(i, (str, os.PathLike)) for i in inputs):
        found = [source for path in inputs for source in _files(Path(path), layout)]
        return _of_different_names(found)
    arranged, single = layout.arranged(inputs, "the given arrays")
    return [Source("inputs", "", lambda: arranged, "the given arrays", single and not layout.whole)]


def _of_different_names(sources: list[Source]) -> list[Source]:
    origins: dict[str, str] = {}
    for source in sources:
        if source.name in origins:
            raise InvalidArgumentError(
                f"expected inputs whose names differ in more than their ending, got "
                f"{origins[source.name]} and {source.origin}"
            )
        origins[source.name] = source.origin
    return sources


def _files(path: Path, layout: Layout) -> list[Source]:
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.suffix in READERS and p.is_file())
        if not found:
            raise InvalidArgumentError(f"{path}: expected files ({', '.join(READERS)}), got none")
        sources = [_file(file, file.relative_to(path), layout) for file in found]
    elif path.is_file():
        if path.suffix not in READERS:
            raise InvalidArgumentError(f"{path}: expected one of {', '.join(READERS)}")
        sources = [_file(path, Path(path.name), layout)]
    else:
        raise InvalidArgumentError(f"{path}: expected a file or a directory of inputs, got neither")
    return sources


def _file(path: Path, relative: Path, layout: Layout) -> Source:
    state = path.stat()
    mark = hashlib.sha256(f"{relative}\0{state.st_size}\0{state.st_mtime_ns}".encode()).hexdigest()
    source = Source(str(relative.with_suffix("")), mark, lambda: {}, str(path))

    def read() -> Arrays:
        try:
            given, bad = READERS[path.suffix](path, layout)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InvalidFileError(f"{path}: {reason}") from error
        source.bad_rows = bad
        arranged, single = layout.arranged(given, str(path))
        source.is_single = single and not layout.whole
        return arranged

    source.open = read
    return source


Read = tuple[Mapping[str, np.ndarray] | np.ndarray, tuple[tuple[int, str], ...]]


def _read_npy(path: Path, _: Layout) -> Read:
    return np.load(path, mmap_mode="r", allow_pickle=False), ()


def _read_npz(path: Path, _: Layout) -> Read:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}, ()


def _read_csv(path: Path, layout: Layout) -> Read:
    """A row per line; a first line that is not numeric is a header. Lines that cannot be read are rows
    of NaN and listed, so that the others go on."""
    with open(path, encoding="utf-8-sig") as file:
        lines = [line.strip() for line in file]
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise ValueError("expected lines of numeric values, got an empty file")
    first = 0 if _numbers(lines[0]) is not None else 1
    parsed = [_numbers(line) for line in lines[first:]]
    widths = [len(row) for row in parsed if row is not None]
    if not widths:
        raise ValueError("expected lines of numeric values separated by commas")
    width = max(set(widths), key=widths.count)
    bad = []
    for index, row in enumerate(parsed):
        if row is None or len(row) != width:
            found = "text" if row is None else f"{len(row)} values"
            bad.append((index, f"line {index + first + 1}: expected {width} values, got {found}"))
            parsed[index] = [np.nan] * width
    table = np.array(parsed, np.float64)
    if len(layout.specs) == 1 and layout.specs[0].dtype.kind in "iu":
        table = np.nan_to_num(table)
    return table.astype(layout.specs[0].dtype) if len(layout.specs) == 1 else table, tuple(bad)


def _numbers(line: str) -> list[float] | None:
    try:
        return [float(cell) for cell in line.split(",")]
    except ValueError:
        return None


def _read_parquet(path: Path, layout: Layout) -> Read:
    """Columns by the names of inputs; for a program of one input all columns, side by side."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError("reading Parquet takes pyarrow: pip install pyarrow") from error
    table = pyarrow.parquet.read_table(path)
    names = [spec.name for spec in layout.specs]
    if all(name in table.column_names for name in names):
        return {name: np.array(table[name].to_pylist()) for name in names}, ()
    columns = [table[name].to_numpy() for name in table.column_names]
    return np.stack(columns, axis=1).astype(layout.specs[0].dtype), ()


READERS: dict[str, Callable[[Path, Layout], Read]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}
