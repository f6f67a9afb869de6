"""Data-parallel training: batches are cut into shards, whose gradients workers compute and a tree of
fixed order adds."""

from __future__ import annotations

import hashlib
import inspect
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from headrace.distributed._checkpoint import Checkpoints
from headrace.distributed._cluster import RETRIES, Cluster, ClusterError, cause, connect
from headrace.distributed._training import (
    Partial,
    Setting,
    Training,
    as_array,
    load_state,
    make,
    run_shards,
    state_of,
    tree_sum,
)
from headrace.errors import Error, InvalidArgumentError

Progress = Callable[[int, int, float, float], None]


class TrainingError(Error):
    """A step of a training failed wherever it ran."""


@dataclass
class TrainReport:
    """The report of a training: the module with its trained parameters, the loss of each step of
    this run, and the step at which it continued."""

    module: Any
    losses: list[float] = field(default_factory=list)
    resumed: int = 0
    seconds: float = 0.0
    nodes: int = 0

    def __str__(self) -> str:
        loss = f", loss {self.losses[-1]:.6g}" if self.losses else ""
        resumed = f", continued at step {self.resumed}" if self.resumed else ""
        return (
            f"{len(self.losses)} steps on {self.nodes} nodes in {self.seconds:.1f} s{loss}{resumed}"
        )


def train(
    training: str | Callable[[], Training],
    data: Any,
    *,
    batch: int,
    epochs: int = 1,
    shards: int = 8,
    seed: int = 0,
    workers: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 100,
    cluster: str = "auto",
    insecure: bool = False,
    progress: Progress | None = None,
) -> TrainReport:
    """Train a PyTorch module on the machines of a Ray cluster; returns a `TrainReport`.

    `training` is a function without arguments that returns a `Training`: an importable one, or
    "package.module:function", which every node imports, or "file.py:function", whose text travels.
    `data` is a dict or a sequence of arrays, or of npy files, whose first dimension counts the rows.

    Each batch of `batch` rows, drawn in an order that `seed` fixes, is cut into `shards` parts.
    Their gradients are weighted by rows and added in a fixed order, so losses and parameters are the
    same bit for bit on any number of workers. Batch normalization and dropout are per shard.

    With `checkpoint`, a directory, the state is stored after every `every` steps and at the end, and
    a training that was interrupted continues from there when it is repeated, with the result that it
    would have had. A lost worker costs the time of its shards. `progress` is called with the steps
    done, all steps, the loss, and the seconds since the start. An example is in docs/distributed.md.
    """
    start = time.monotonic()
    for name, value in {"batch": batch, "epochs": epochs, "shards": shards, "every": every}.items():
        if value < 1:
            raise InvalidArgumentError(f"{name}: expected 1 or more, got {value}")
    source = _source_of(training)
    rows = _Rows(data)
    made = make(*source, seed)
    plan = {
        "training": source[0],
        "rows": rows.count,
        "batch": batch,
        "shards": shards,
        "seed": seed,
    }
    run = _Run(made, source, rows, plan)
    report = TrainReport(made.module)
    checkpoints = None if checkpoint is None else Checkpoints(checkpoint, plan)
    if checkpoints is not None:
        report.resumed = checkpoints.load(made)
    steps = epochs * math.ceil(rows.count / batch)
    if report.resumed >= steps:
        return report
    with connect(cluster, insecure) as connected:
        report.nodes = len(connected.nodes)
        done = report.resumed
        try:
            for loss in run.steps(connected, workers, range(done, steps)):
                done += 1
                report.losses.append(loss)
                if checkpoints is not None and (done % every == 0 or done == steps):
                    checkpoints.store(made, done)
                if progress is not None:
                    progress(done, steps, loss, time.monotonic() - start)
        except (KeyboardInterrupt, ClusterError):
            if checkpoints is not None and done > report.resumed:
                checkpoints.store(made, done)
            raise
    report.seconds = time.monotonic() - start
    return report


def _source_of(training: str | Callable[[], Training]) -> tuple[str, str | None]:
    """Where workers find the function, and the text of its file if they cannot import it."""
    if callable(training):
        name = training.__qualname__
        if "." in name:
            raise InvalidArgumentError(f"training: expected a function of a module, got '{name}'")
        module = training.__module__
        training = (
            f"{module}:{name}" if module != "__main__" else f"{inspect.getfile(training)}:{name}"
        )
    where, separator, name = training.rpartition(":")
    if not separator or not name.isidentifier():
        raise InvalidArgumentError(
            f"training: expected 'package.module:function' or 'file.py:function', got '{training}'"
        )
    if not where.endswith(".py"):
        return training, None
    try:
        return training, Path(where).read_text()
    except OSError as error:
        raise InvalidArgumentError(f"training: {where}: {error.strerror}") from error


class _Rows:
    """Arrays with equally many rows, as a dict or in order."""

    def __init__(self, data: Any) -> None:
        named = data if isinstance(data, Mapping) else dict(enumerate(data))
        self.arrays = {name: _opened(value) for name, value in named.items()}
        self.is_named = isinstance(data, Mapping)
        counts = {name: len(a) if a.ndim else 0 for name, a in self.arrays.items()}
        if len({*counts.values()}) != 1 or not max(counts.values(), default=0):
            raise InvalidArgumentError(
                f"data: expected arrays of equally many rows, at least one, got {counts or 'none'}"
            )
        self.count = next(iter(counts.values()))

    def take(self, rows: np.ndarray) -> Any:
        order = np.sort(rows)  # a mapped file is read forward
        taken = {name: np.ascontiguousarray(a[order]) for name, a in self.arrays.items()}
        return taken if self.is_named else [*taken.values()]


def _opened(value: Any) -> np.ndarray:
    if isinstance(value, (str, os.PathLike)):
        try:
            return np.load(value, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise InvalidArgumentError(f"data: {os.fspath(value)}: {error}") from error
    return value if isinstance(value, np.ndarray) else np.asarray(value)


class _Run:
    """Steps of a training: the optimizer runs here, gradients are computed by tasks."""

    def __init__(
        self, training: Training, source: tuple[str, str | None], rows: _Rows, plan: dict[str, Any]
    ) -> None:
        self.training, self.source, self.rows = training, source, rows
        self.batch, self.shards, self.seed = plan["batch"], plan["shards"], plan["seed"]
        self.key = hashlib.sha256(repr((source, os.getpid(), id(self))).encode()).hexdigest()
        self.state = state_of(training.module)
        self.parameters = dict(training.module.named_parameters())
        self.buffers = dict(training.module.named_buffers())

    def steps(self, cluster: Cluster, workers: int | None, numbers: range) -> Iterator[float]:
        remote = cluster.ray.remote(num_cpus=1, max_retries=RETRIES)(run_shards)
        setting = Setting(self.key, cluster.level, _rates(cluster.level), self.source)
        group = 1  # of shards in a task: a power of two, for the tree
        while -(-self.shards // group) > max(1, workers or cluster.cpus):
            group *= 2
        for step in numbers:
            partial = self._gathered(cluster, remote, setting, group, step)
            self._update(partial)
            yield partial.loss

    def _gathered(
        self, cluster: Cluster, remote: Any, setting: Setting, group: int, step: int
    ) -> Partial:
        ray = cluster.ray
        state = ray.put({name: as_array(value) for name, value in self.state.items()})
        rows = [part for part in np.array_split(self._batch(step), self.shards) if len(part)]
        total = sum(map(len, rows))
        futures = []
        for first in range(0, len(rows), group):
            parts = rows[first : first + group]
            seeds = [self._seed(step, first + index) for index in range(len(parts))]
            futures.append(
                remote.remote(setting, state,
                              [self.rows.take(part) for part in parts],
                              [len(part) / total for part in parts], seeds)
            )  # fmt: skip
        try:
            return tree_sum([_writable(partial) for partial in ray.get(futures)])
        except ray.exceptions.RayTaskError as error:
            raise TrainingError(f"step {step}: {cause(error)}") from error
        except ray.exceptions.WorkerCrashedError as error:
            raise TrainingError(
                f"step {step}: the worker ended {RETRIES + 1} times: {cause(error)}"
            ) from error
        except ray.exceptions.RayError as error:
            raise ClusterError(f"the cluster lost step {step}: {cause(error)}") from error

    def _batch(self, step: int) -> np.ndarray:
        epoch, place = divmod(step, math.ceil(self.rows.count / self.batch))
        order = np.random.default_rng((self.seed, epoch)).permutation(self.rows.count)
        return order[place * self.batch : (place + 1) * self.batch]

    def _seed(self, step: int, shard: int) -> int:
        return int(np.random.SeedSequence((self.seed, step, shard)).generate_state(1)[0])

    def _update(self, partial: Partial) -> None:
        import torch

        for name, value in self.parameters.items():
            gradient = partial.gradients.get(name)
            value.grad = (
                None
                if gradient is None
                else torch.from_numpy(gradient).reshape(value.shape).to(value.dtype)
            )
        self.training.optimizer.step()
        load_state(self.buffers, partial.buffers)


def _rates(level: str) -> str:
    """This machine's rates, by which all workers choose their kernels."""
    command = [sys.executable, "-m", "headrace", "machine", "--json"]
    environment = {**os.environ, "HEADRACE_CPU_LEVEL": level, "HEADRACE_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(f"headrace machine: {done.stderr.strip()}")
    return done.stdout


def _writable(partial: Partial) -> Partial:
    """Arrays from Ray's object store are read-only."""
    return Partial(
        partial.loss,
        {name: np.array(value) for name, value in partial.gradients.items()},
        {name: np.array(value) for name, value in partial.buffers.items()},
    )
