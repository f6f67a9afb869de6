"""The directory that results are written to: each input exactly once, whatever interrupts the run.

    DIR/headrace-map.json      which program and how many rows per task: what a run that resumes needs
    DIR/done.jsonl             a line for each source that is complete, with its failures
    DIR/NAME.npy               its outputs by row; NAME.OUTPUT.npy if the program has several
    DIR/.partial/KEY/START.npz results of its tasks until all of them exist

Every file appears under its name when it is complete, so what is there can be trusted.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from headrace.distributed._inputs import Source
from headrace.distributed._worker import missing_rows
from headrace.errors import InvalidArgumentError, IoError

Arrays = dict[str, np.ndarray]
Failures = list[tuple[int, str]]

_MANIFEST = "headrace-map.json"
_JOURNAL = "done.jsonl"


class Directory:
    """Results in files; a second run with the same program continues where the first one stopped."""

    def __init__(self, path: str | os.PathLike[str], program: str, mode: dict[str, object]) -> None:
        self.path = Path(path)
        about = {"version": 1, "program": program, **mode}
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            manifest = self.path / _MANIFEST
            if manifest.exists():
                if json.loads(manifest.read_text()) != about:
                    raise InvalidArgumentError(
                        f"{path}: expected a new directory, or that of the same program and options, "
                        f"got results of another run (described in {_MANIFEST})"
                    )
            elif any(self.path.iterdir()):
                raise InvalidArgumentError(f"{path}: expected a new or empty directory for results")
            else:
                _replace(manifest, json.dumps(about).encode())
            self._done = dict(self._journal())
        except OSError as error:
            raise IoError(f"{path}: {error.strerror}") from error
        except ValueError as error:
            if isinstance(error, InvalidArgumentError):
                raise
            raise IoError(f"{path}: {_MANIFEST} or {_JOURNAL} is damaged: {error}") from error

    def _journal(self) -> Iterator[tuple[str, dict]]:
        """The complete lines; removes a last one that a crash cut off."""
        file = self.path / _JOURNAL
        text = file.read_bytes() if file.exists() else b""
        complete = text[: text.rfind(b"\n") + 1]
        if len(complete) < len(text):
            os.truncate(file, len(complete))
        for line in complete.splitlines():
            entry = json.loads(line)
            yield entry["source"], entry

    def is_done(self, source: Source) -> Failures | None:
        """The failures of a source that an earlier run completed; None for any other."""
        entry = self._done.get(source.name)
        if entry is None or entry["fingerprint"] != source.fingerprint:
            return None
        return [(row, reason) for row, reason in entry["failed"]]

    def _folder(self, source: Source) -> Path:
        key = hashlib.sha256(f"{source.name}\0{source.fingerprint}".encode()).hexdigest()[:32]
        return self.path / ".partial" / key

    def has_task(self, source: Source, start: int) -> bool:
        return (self._folder(source) / f"{start}.npz").exists()

    def store_task(
        self, source: Source, start: int, rows: int, outputs: Arrays, failed: Failures
    ) -> None:
        buffer = io.BytesIO()
        about = json.dumps({"rows": rows, "failed": failed, "names": [*outputs]}).encode()
        arrays = {f"output{i}": values for i, values in enumerate(outputs.values())}
        np.savez(buffer, about=np.frombuffer(about, np.uint8), **arrays)
        folder = self._folder(source)
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / f"{start}.npz", buffer.getvalue())

    def finish(self, source: Source, is_whole: bool) -> Failures:
        """Joins the results of a source's tasks, and returns all of its failures."""
        folder = self._folder(source)
        starts = sorted(int(file.stem) for file in folder.glob("*.npz"))
        tasks = [_stored(folder / f"{start}.npz") for start in starts]
        rows = sum(about["rows"] for about, _ in tasks)
        failed = [(start + row, reason) for start, (about, _) in zip(starts, tasks)
                  for row, reason in about["failed"]]  # fmt: skip
        first = next((outputs for _, outputs in tasks if outputs), {})
        for name, like in first.items():
            shapes = {outputs[name].shape[1:] for _, outputs in tasks if outputs}
            if not is_whole and len(shapes) > 1:
                raise InvalidArgumentError(
                    f"{source.origin}: output '{name}': expected rows of one shape, got "
                    f"{sorted(shapes)}; --whole (whole=True) runs the program once per file"
                )
            file = self._output(source, name, len(first))
            if is_whole or source.is_single:
                _save(file, like if is_whole else like[0])
                continue
            self._join(file, starts, tasks, name, rows)
        entry = {
            "source": source.name,
            "fingerprint": source.fingerprint,
            "rows": rows,
            "failed": failed,
        }
        with open(self.path / _JOURNAL, "a") as journal:
            journal.write(json.dumps(entry) + "\n")
            journal.flush()
            os.fsync(journal.fileno())
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            folder.parent.rmdir()
        return failed

    def _output(self, source: Source, name: str, count: int) -> Path:
        safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
        file = self.path / (source.name + (".npy" if count == 1 else f".{safe}.npy"))
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    @staticmethod
    def _join(file: Path, starts: list[int], tasks: list, name: str, rows: int) -> None:
        like = next(outputs[name] for _, outputs in tasks if outputs)
        made = file.with_name(f".{file.name}.{os.getpid()}.tmp")
        try:
            joined = np.lib.format.open_memmap(made, "w+", like.dtype, (rows, *like.shape[1:]))
            for start, (about, outputs) in zip(starts, tasks):
                values = outputs[name] if outputs else missing_rows(about["rows"], like)
                joined[start : start + about["rows"]] = values
            joined.flush()
            del joined
            made.replace(file)
        finally:
            made.unlink(missing_ok=True)


def _stored(file: Path) -> tuple[dict, Arrays]:
    with np.load(file, allow_pickle=False) as stored:
        about = json.loads(stored["about"].tobytes())
        return about, {name: stored[f"output{i}"] for i, name in enumerate(about["names"])}


def _save(file: Path, values: np.ndarray) -> None:
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    _replace(file, buffer.getvalue())


def _replace(file: Path, contents: bytes) -> None:
    made = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        made.write_bytes(contents)
        made.replace(file)
    finally:
        made.unlink(missing_ok=True)
