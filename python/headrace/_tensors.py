"""PyTorch's tensors of CUDA devices. Imported where there are some: PyTorch is optional."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.dlpack import to_dlpack

from headrace import _core
from headrace._arrays import NUMPY_NAMES

# The number of a device to its current stream, without an object around it.
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


def in_place(x: torch.Tensor) -> Any:
    """The tensor for DLPack, in whatever stream is its own; `x.__dlpack__()` takes its time."""
    return to_dlpack(x.contiguous().resolve_neg())


class TensorRunner:
    """Runs a program on tensors of a CUDA device, in the order of PyTorch's current stream.

    Results and temporaries are PyTorch's memory: its allocator knows of all of it, keeps it for the
    streams that use it, and gives graphs theirs (`torch.cuda.graph`).
    """

    def __init__(self, core: _core.Model, device: torch.device) -> None:
        self.core, self.device = core, device
        self.dtypes = [getattr(torch, NUMPY_NAMES[spec[1]]) for spec in core.outputs]
        self.dtypes.append(torch.uint8)  # of temporaries, at -1

    def __call__(self, inputs: list[Any], convert: Callable[[Any, int], Any]) -> list[torch.Tensor]:
        return self.core.enqueue_with(inputs, convert, self.stream(), self.allocate)

    def allocate(self, output: int, shape: tuple[int, ...]) -> tuple[torch.Tensor, int]:
        made = torch.empty(shape, dtype=self.dtypes[output], device=self.device)
        return made, made.data_ptr()

    def stream(self) -> int:
        if _raw_stream is not None:
            return _raw_stream(self.device.index)
        return torch.cuda.current_stream(self.device).cuda_stream

    def wait(self) -> None:
        torch.cuda.current_stream(self.device).synchronize()
