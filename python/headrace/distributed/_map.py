"""Batch inference: a program over many inputs, on all machines of a cluster."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from headrace._load import load, write_package
from headrace._model import Model
from headrace.distributed._cluster import RETRIES, Cluster, ClusterError, cause, connect
from headrace.distributed._inputs import Arrays, Layout, Source, sources_of
from headrace.distributed._results import Directory
from headrace.errors import Error, InvalidArgumentError, InvalidFileError, UnsupportedError

#: The inputs of a task. It does not depend on the cluster: neither do the results.
_TASK_BYTES = 16 << 20
_MAX_TASK_ROWS = 4096
#: Rows that a program with a dynamic batch computes together.
_BATCH = 32


@dataclass(frozen=True)
class Failure:
    """An input without a result: its file, its row (None for the whole file), and the reason."""

    origin: str
    row: int | None
    reason: str

    def __str__(self) -> str:
        place = self.origin if self.row is None else f"{self.origin}, row {self.row}"
        return f"{place}: {self.reason}"


@dataclass(frozen=True)
class Result:
    """The outputs of some rows of a source: its name, the first row, arrays by output name."""

    source: str
    start: int
    outputs: Arrays
    failures: tuple[Failure, ...] = ()


@dataclass
class MapReport:
    """The report of a run into a directory: inputs computed now, inputs of an earlier run,
    failures.
    """

    computed: int = 0
    resumed: int = 0
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    nodes: int = 0

    def __str__(self) -> str:
        text = f"{self.computed} inputs on {self.nodes} nodes in {self.seconds:.1f} s"
        if self.resumed:
            text += f"; {self.resumed} files were there"
        return text + (f"; {len(self.failures)} failed" if self.failures else "")


Progress = Callable[[int, int, float], None]


def map(
    program: str | os.PathLike[str],
    inputs: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    cluster: str = "auto",
    batch: int | None = None,
    whole: bool = False,
    ordered: bool = True,
    insecure: bool = False,
    progress: Progress | None = None,
) -> MapReport | Iterator[Result] | Any:
    """Run a program on many inputs, on the machines of a Ray cluster.

    `program` is an ONNX model or a package. `inputs` is a file or directory (npy, npz, csv,
    Parquet), a list of those, an array or a dict of arrays with one input per row of the first
    dimension, or a `ray.data.Dataset`. With `whole`, each file is one call of the program.

    With `output`, results are written to that directory as npy files, and a `MapReport` is
    returned; an interrupted run continues when it is repeated. Without `output`, returns an
    iterator of `Result`, in the order of the inputs, or in the order of completion if `ordered` is
    false; for a Dataset, a Dataset. Inputs that fail are listed, and the others continue.

    `cluster` is the address of a cluster, or "auto": that of RAY_ADDRESS, else a new cluster on
    this machine. `batch` is the number of rows that are computed together. `progress` is called
    with the number of inputs done, the number known so far, and the seconds since the start.

    >>> inputs = "examples/digits/held_back_images.npy"
    >>> report = hr.distributed.map("examples/digits/digits.onnx", inputs, "logits")
    """
    if batch is not None and batch < 1:
        raise InvalidArgumentError(f"batch: expected 1 or more, got {batch}")
    job = _Job(program, batch, whole)
    if type(inputs).__module__.startswith("ray.data"):
        return _map_dataset(job, inputs)
    sources = sources_of(inputs, job.layout)
    run = _Run(job, sources, ordered, progress or (lambda *_: None))
    if output is None:
        return run.results(cluster, insecure)
    return run.into(Directory(output, job.key, job.mode), cluster, insecure)


class _Job:
    """The program as it travels: the bytes of a package, or of the model if it cannot be packaged."""

    def __init__(self, program: str | os.PathLike[str], batch: int | None, whole: bool) -> None:
        path = Path(program)
        model = load(path)
        if not isinstance(model, Model):
            raise InvalidArgumentError(f"{path}: expected a model, got a script")
        self.layout = Layout(model.inputs, whole)
        self.whole = whole
        self.contents = _contents(path)
        self.key = hashlib.sha256(self.contents.tobytes()).hexdigest()
        first = [] if whole else [spec.shape[0] for spec in model.inputs]
        counts = {extent for extent in first if isinstance(extent, int)}
        if len(counts) > 1:
            raise InvalidArgumentError(
                f"{path}: expected inputs with equally many rows, got {sorted(counts)}; --whole "
                "(whole=True) runs the program once per file"
            )
        self.is_fixed = bool(counts)
        self.batch = counts.pop() if counts else batch or _BATCH
        self.mode = {"batch": self.batch, "whole": whole}

    def task_rows(self, arrays: Arrays) -> int:
        """How many rows a task of a source takes: a multiple of the batch."""
        row = max(1, sum(a[:1].nbytes for a in arrays.values()))
        rows = min(_TASK_BYTES // row, _MAX_TASK_ROWS)
        return max(1, rows // self.batch) * self.batch


def _contents(path: Path) -> np.ndarray:
    data = np.fromfile(path, np.uint8)
    if data[:2].tobytes() == b"PK":  # a package is a zip archive
        return data
    with tempfile.TemporaryDirectory(prefix="headrace-map-") as folder:
        package = Path(folder) / "program.hrpkg"
        try:
            write_package(path, package)
        except UnsupportedError:  # a model in stages: compiled where it runs
            return data
        return np.fromfile(package, np.uint8)


@dataclass
class _Task:
    """Rows of a source that are under way or done."""

    source: Source
    start: int
    rows: int
    future: Any
    outputs: Arrays | None = None
    failed: tuple[tuple[int, str], ...] = ()


class _Run:
    """Tasks for the rows of all sources: as many at once as keep the cluster busy."""

    def __init__(self, job: _Job, sources: list[Source], ordered: bool, progress: Progress) -> None:
        self.job, self.sources, self.ordered = job, sources, ordered
        self.progress = progress
        self.failures: list[Failure] = []
        self.done = self.known = 0
        self.nodes = 0
        self.start = time.monotonic()

    def results(self, address: str, insecure: bool) -> Iterator[Result]:
        with connect(address, insecure) as cluster:
            for task in self._tasks(cluster, lambda source, start: False):
                failures = tuple(self._failures(task.source, task.failed, task.start))
                outputs = task.outputs or {}
                if task.source.is_single:
                    outputs = {name: values[0] for name, values in outputs.items()}
                yield Result(task.source.name, task.start, outputs, failures)
            for failure in [f for f in self.failures if f.row is None]:
                yield Result(failure.origin, 0, {}, (failure,))

    def into(self, directory: Directory, address: str, insecure: bool) -> MapReport:
        report = MapReport()
        for source in self.sources:
            if (failed := directory.is_done(source)) is not None:
                report.resumed += 1
                report.failures += self._failures(source, failed, 0)
        left = [source for source in self.sources if directory.is_done(source) is None]
        self.sources = left
        if left:
            with connect(address, insecure) as cluster:
                self._store(cluster, directory)
        report.computed, report.nodes = self.done, self.nodes
        report.failures += self.failures
        report.seconds = time.monotonic() - self.start
        return report

    def _store(self, cluster: Cluster, directory: Directory) -> None:
        """Stores each task's results as they come; a source is finished after its last task."""
        self.ordered = False  # files have the order
        self._finish = lambda source: self.failures.extend(
            self._failures(source, directory.finish(source, self.job.whole), 0)
        )
        for task in self._tasks(cluster, directory.has_task):
            directory.store_task(
                task.source, task.start, task.rows, task.outputs or {}, list(task.failed)
            )
            self._complete(task.source)

    _finish: Callable[[Source], None] = staticmethod(lambda source: None)

    def _complete(self, source: Source) -> None:
        """Counts a task that is done or was found; finishes its source after the last one."""
        self._open[id(source)] -= 1
        if self._open[id(source)] == 0:
            self._finish(source)

    def _failures(self, source: Source, failed: Any, start: int) -> list[Failure]:
        single = source.is_single or self.job.whole
        return [Failure(source.origin, None if single else start + row, reason)
                for row, reason in failed]  # fmt: skip

    def _tasks(self, cluster: Cluster, is_stored: Callable[[Source, int], bool]) -> Iterator[_Task]:
        """The tasks with their results, at most a few per core under way or waiting for their turn."""
        ray = cluster.ray
        self.nodes = len(cluster.nodes)
        self._open: dict[int, int] = {}
        program = ray.put(self.job.contents)  # travels to a node once
        pending = self._submitted(cluster, program, is_stored)
        window: list[_Task] = []
        most = 2 * cluster.cpus + 2
        exhausted = False
        while window or not exhausted:
            while not exhausted and len(window) < most:
                task = next(pending, None)
                exhausted = task is None
                if task is not None:
                    window.append(task)
            if not window:
                break
            under_way = [task.future for task in window if task.future is not None]
            if under_way:
                ready, _ = ray.wait(under_way, num_returns=1, timeout=1.0)
                for task in [t for t in window if any(t.future is f for f in ready)]:
                    self._collect(ray, task)
            self.progress(self.done, self.known, time.monotonic() - self.start)
            done = [task for task in window if task.future is None]
            if self.ordered:
                done = done[
                    : next((i for i, t in enumerate(window) if t.future is not None), len(done))
                ]
            for task in done:
                window.remove(task)
                yield task

    def _submitted(
        self, cluster: Cluster, program: Any, is_stored: Callable[[Source, int], bool]
    ) -> Iterator[_Task]:
        from headrace.distributed import _worker

        remote = cluster.ray.remote(num_cpus=1, max_retries=RETRIES)
        run_rows, run_whole = remote(_worker.run_rows), remote(_worker.run_whole)
        common = (program, self.job.key, cluster.level)
        for source in self.sources:
            try:
                arrays = source.open()
            except (InvalidFileError, InvalidArgumentError) as error:
                self.failures.append(
                    Failure(source.origin, None, _without(str(error), source.origin))
                )
                continue
            rows = 1 if self.job.whole else len(next(iter(arrays.values())))
            size = 1 if self.job.whole else self.job.task_rows(arrays)
            starts = range(0, rows, size)
            self.known += rows
            self._open[id(source)] = len(starts)
            if not starts:
                self.failures.append(Failure(source.origin, None, "expected rows, got none"))
            for start in starts:
                stop = min(start + size, rows)
                if is_stored(source, start):
                    self.done += stop - start
                    self._complete(source)
                elif self.job.whole:
                    yield _Task(source, 0, 1, run_whole.remote(*common, arrays))
                else:
                    part = {name: np.ascontiguousarray(a[start:stop], self._type(name))
                            for name, a in arrays.items()}  # fmt: skip
                    future = run_rows.remote(*common, part, self.job.batch, self.job.is_fixed)
                    yield _Task(source, start, stop - start, future)

    def _type(self, name: str) -> np.dtype:
        return next(spec.dtype for spec in self.job.layout.specs if spec.name == name)

    def _collect(self, ray: Any, task: _Task) -> None:
        """Takes a task's results. A task that failed however often it was tried fails its inputs."""
        try:
            task.outputs, failed = ray.get(task.future)
        except ray.exceptions.RayTaskError as error:
            original = error.cause if isinstance(error.cause, (ValueError, Error)) else None
            if original is not None:
                raise InvalidArgumentError(f"{task.source.origin}: {original}") from None
            raise ClusterError(f"{task.source.origin}: {cause(error)}") from error
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError) as error:
            reason = f"the worker ended {RETRIES + 1} times: {cause(error)}"
            task.outputs, failed = {}, [(row, reason) for row in range(task.rows)]
        except ray.exceptions.RayError as error:
            raise ClusterError(f"the cluster lost a result: {cause(error)}") from error
        bad = [(row - task.start, reason) for row, reason in task.source.bad_rows
               if task.start <= row < task.start + task.rows]  # fmt: skip
        task.future, task.failed = None, tuple(sorted({**dict(failed), **dict(bad)}.items()))
        self.done += task.rows


def _without(message: str, origin: str) -> str:
    return message.removeprefix(f"{origin}: ")


def _map_dataset(job: _Job, dataset: Any) -> Any:
    """A Dataset of the outputs: Ray streams the rows through processes that keep the program."""
    from headrace.distributed import _worker

    names = [spec.name for spec in job.layout.specs]
    contents, key, batch, is_fixed = job.contents, job.key, job.batch, job.is_fixed
    return dataset.map_batches(
        _worker.run_batch,
        batch_size=batch,
        fn_args=(contents, key, names, batch, is_fixed),
    )
