"""The systems that are timed, one small class each.

Constructing a peer imports its package, so a missing one raises ImportError there. `load` readies a
workload, `run` answers it once; both count towards the time to the first answer.
"""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bench.workload import Feeds, Workload


class Peer(Protocol):
    name: str
    version: str

    def __init__(self, threads: int) -> None: ...
    def load(self, workload: Workload) -> None: ...
    def run(self, feeds: Feeds) -> list[np.ndarray]: ...


def as_arrays(answer: Any) -> list[np.ndarray]:
    """The outputs in order, whether they came alone, in a sequence or by name."""
    if isinstance(answer, dict):
        answer = list(answer.values())
    if not isinstance(answer, list | tuple):
        answer = [answer]
    return [np.asarray(output) for output in answer]


class Headrace:
    name = "Headrace"

    def __init__(self, threads: int) -> None:
        os.environ["HEADRACE_THREADS"] = str(threads)
        import headrace

        if not hasattr(headrace, "load"):  # a directory of that name imports as an empty package
            raise ImportError("headrace is not built: no function 'load' in the module found")
        self.load_file = headrace.load
        self.version = getattr(headrace, "__version__", "unknown")

    def load(self, workload: Workload) -> None:
        self.model = self.load_file(str(workload.path))

    def run(self, feeds: Feeds) -> list[np.ndarray]:
        return as_arrays(self.model(**feeds))


class OnnxRuntime:
    name = "ONNX Runtime"

    def __init__(self, threads: int) -> None:
        import onnxruntime

        self.package = onnxruntime
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1
        self.version = onnxruntime.__version__

    def load(self, workload: Workload) -> None:
        self.session = self.package.InferenceSession(
            str(workload.path), self.options, providers=["CPUExecutionProvider"]
        )

    def run(self, feeds: Feeds) -> list[np.ndarray]:
        return self.session.run(None, feeds)


class OpenVino:
    name = "OpenVINO"

    def __init__(self, threads: int) -> None:
        import openvino

        self.core = openvino.Core()
        self.settings = {
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
        }
        self.version = importlib.metadata.version("openvino")

    def load(self, workload: Workload) -> None:
        self.model = self.core.compile_model(str(workload.path), "CPU", self.settings)

    def run(self, feeds: Feeds) -> list[np.ndarray]:
        answer = self.model(feeds, share_inputs=True, share_outputs=True)
        return [answer[output] for output in self.model.outputs]


class TorchEager:
    name = "PyTorch"

    def __init__(self, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        self.torch = torch
        self.version = torch.__version__

    def load(self, workload: Workload) -> None:
        if workload.module is None:
            raise LookupError(f"no PyTorch network for {Path(workload.path).name}")
        self.module = workload.module

    def run(self, feeds: Feeds) -> list[np.ndarray]:
        with self.torch.inference_mode():
            return as_arrays(self.module(*map(self.torch.from_numpy, feeds.values())))


class TorchInductor(TorchEager):
    name = "Inductor"

    def load(self, workload: Workload) -> None:
        super().load(workload)
        self.torch._dynamo.reset()
        self.module = self.torch.compile(self.module, dynamic=False)


PEERS: tuple[type[Peer], ...] = (Headrace, OnnxRuntime, OpenVino, TorchEager)
INDUCTOR: type[Peer] = TorchInductor
