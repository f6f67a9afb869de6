"""Traces of sessions: what each step of each run took, for chrome://tracing and Perfetto."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any

from headrace.errors import IoError


class Trace:
    """Events of one session, written to a file when it ends."""

    def __init__(self, prefix: str) -> None:
        folder = os.path.dirname(prefix) or "."
        if not os.path.isdir(folder):
            raise IoError(f"{prefix}: cannot write a trace: there is no directory '{folder}'")
        self.start = time.perf_counter_ns()
        self.start_monotonic = time.monotonic_ns()
        now = time.time()
        stamp = time.strftime("%Y-%m-%d_%H-%M-%S", time.localtime(now))
        self._path = f"{prefix}_{stamp}_{int(now * 1000) % 1000:03}.json"
        self._events: list[dict[str, Any]] = []

    def add(self, category: str, name: str, begin: int, microseconds: float, **arguments: Any):
        """An event that began at a time of `time.perf_counter_ns`."""
        self._events.append(
            {
                "cat": category,
                "pid": os.getpid(),
                "tid": threading.get_native_id(),
                "ts": round((begin - self.start) / 1000, 3),
                "dur": round(microseconds, 3),
                "ph": "X",
                "name": name,
                "args": arguments,
            }
        )

    def add_run(self, begin: int, steps: list[Any]) -> None:
        """A run that has just ended, with its steps one after the other, as they run then."""
        end = time.perf_counter_ns()
        self.add("Session", "model_run", begin, (end - begin) / 1000)
        at = end - sum(int(step[3] * 1000) for step in steps)
        for name, operators, routine, microseconds, bytes_, operations, runs in steps:
            self.add(
                "Node",
                name,
                at,
                microseconds,
                operators=operators,
                routine=routine,
                bytes=bytes_,
                operations=operations,
                runs=runs,
            )
            at += int(microseconds * 1000)

    def write(self) -> str:
        """Writes the file, whole or not at all, and names it."""
        partial = f"{self._path}.{os.getpid()}"
        try:
            with open(partial, "w") as file:
                json.dump(self._events, file, indent=0)
            os.replace(partial, self._path)
        except OSError as error:
            raise IoError(f"{self._path}: cannot write the trace: {error.strerror}") from error
        return self._path
