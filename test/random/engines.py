"""Engines for random programs: the Python package, or the command line of any build."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Protocol

import ml_dtypes
import numpy as np

Arrays = dict[str, np.ndarray]


class Refused(Exception):
    """The compiler says that it cannot."""


class Engine(Protocol):
    """One model; both ways give its results by name."""

    def compiled(self, feeds: Arrays) -> Arrays: ...

    def reference(self, feeds: Arrays) -> Arrays: ...


class Package:
    def __init__(self, path: Path) -> None:
        import headrace

        try:
            self.model = headrace.load(path)
        except headrace.UnsupportedError as error:
            raise Refused(str(error)) from error

    def compiled(self, feeds: Arrays) -> Arrays:
        import headrace

        try:
            return self.model.run_dict(feeds)
        except headrace.UnsupportedError as error:
            raise Refused(str(error)) from error

    def reference(self, feeds: Arrays) -> Arrays:
        results = self.model.reference(**feeds)
        listed = results if isinstance(results, tuple) else (results,)
        return {spec.name: value for spec, value in zip(self.model.outputs, listed)}

    def violation(self, feeds: Arrays) -> str:
        """What is beyond the numeric policy, kernels included; "" if nothing is."""
        import headrace

        report = headrace.verify(self.model, feeds)
        return "" if report.holds else str(report)


class Command:
    """`program` is a built command. What its sanitizers find are lines on its standard error."""

    def __init__(self, program: str, path: Path) -> None:
        self.program, self.path = program, path

    def compiled(self, feeds: Arrays) -> Arrays:
        return self.run(feeds)

    def reference(self, feeds: Arrays) -> Arrays:
        return self.run(feeds, "--reference")

    def run(self, feeds: Arrays, *options: str) -> Arrays:
        with tempfile.TemporaryDirectory() as folder:
            arguments = [self.program, "run", str(self.path), "--output", f"{folder}/out", *options]
            for name, value in feeds.items():
                np.save(f"{folder}/{name}.npy", value)
                arguments += ["--input", f"{name}=@{folder}/{name}.npy"]
            done = subprocess.run(arguments, capture_output=True, text=True, errors="replace")
            if done.returncode == 1 and len(done.stderr.splitlines()) == 1:
                raise Refused(done.stderr.strip())
            if done.returncode != 0:
                raise RuntimeError(f"exit status {done.returncode}\n{done.stderr}")
            files = Path(folder, "out").glob("*.npy")
            return {file.stem: self.read(file) for file in files}

    @staticmethod
    def read(file: Path) -> np.ndarray:
        array = np.load(file)
        return array.view(ml_dtypes.bfloat16) if array.dtype == np.dtype("V2") else array
