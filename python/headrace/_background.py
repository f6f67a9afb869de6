"""Tuning in the background of a program that runs a model."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.errors import Error

if TYPE_CHECKING:
    from headrace._model import Model


class BackgroundTuning:
    """Tunes a model in a process of low priority, for the sizes of its first call, and then gives
    its calls the faster program. No call waits for it.
    """

    def __init__(self, path: str, target: str, load: Callable[[], Model]) -> None:
        self._path, self._target, self._load = path, target, load
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        #: Why there is no faster program; empty while there may be one.
        self.fault = ""

    def called(self, model: Model, values: list[Any]) -> None:
        """A call is about to run; the first one starts the tuning."""
        if self._thread is not None or not self._lock.acquire(blocking=False):
            return
        try:
            if self._thread is None:
                sizes = sizes_of_values(model, values)
                self._thread = threading.Thread(
                    target=self._run, args=(model, values, sizes), daemon=True
                )
                self._thread.start()
        finally:
            self._lock.release()

    def wait(self) -> None:
        """Wait until the tuning has ended."""
        if self._thread is not None:
            self._thread.join()

    def _run(self, model: Model, values: list[Any], sizes: list[int | None]) -> None:
        try:
            self._tune(model, sizes)
            if not self.fault:
                faster = self._load()
                # Compiled here, so that no call has to.
                faster._core.compile(values, faster._convert)
                model._core = faster._core
        except (Error, OSError) as error:
            self.fault = str(error)

    def _tune(self, model: Model, sizes: list[int | None]) -> None:
        given = [f"--size={name}={size}" for name, size in zip(model.symbols, sizes)]
        with tempfile.TemporaryDirectory(prefix="headrace-tune-") as folder:
            log = os.path.join(folder, "log.jsonl")
            words = ["tune", self._path, "--target", self._target, "--log", log, *given]
            self._process = subprocess.Popen(
                [sys.executable, "-m", "headrace", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            atexit.register(self._process.kill)
            os.setpriority(os.PRIO_PROCESS, self._process.pid, 19)
            _, message = self._process.communicate()
            atexit.unregister(self._process.kill)
            if self._process.returncode != 0:
                self.fault = message.decode(errors="replace").strip() or "the tuning was stopped"


def sizes_of_values(model: Model, values: list[Any]) -> list[int | None]:
    """The extents that a call gives to the dynamic dimensions."""
    known: dict[str, int] = {}
    for spec, value in zip(model.inputs, values):
        for name, size in zip(spec.shape or (), getattr(value, "shape", ())):
            if isinstance(name, str):
                known.setdefault(name, int(size))
    return [known.get(name) for name in model.symbols]
