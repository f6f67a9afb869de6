"""Runs a program on PyTorch's tensors, which it reads and hands over in place."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.dlpack import to_dlpack

from headrace import _core
from headrace._tensors import TensorRunner
from headrace.torch._context import TYPES
from headrace.torch._prepare import Known


class Runnable:
    """A program that is called with tensors of a device and yields tensors there."""

    def __init__(self, model: _core.Model, device: torch.device) -> None:
        self.model = model
        self.on_device = TensorRunner(model, device) if device.type == "cuda" else None
        self.dtypes = [TYPES[dtype] for _, dtype, _ in model.outputs]
        self.halves = [i for i, (_, dtype, _) in enumerate(model.outputs) if dtype == "bf16"]

    def __call__(
        self, inputs: list[torch.Tensor], known: Known | None = None, place: int = 0
    ) -> list[torch.Tensor]:
        """`known`: inputs that are prepared, from `place` on."""
        if self.on_device:
            return self.on_device(inputs, known, place)
        if known:
            inputs[place:place] = known.values

        def copied(_: Any, index: int) -> torch.Tensor:
            """For what cannot be read in place: a misaligned view."""
            return inputs[index].detach().clone()

        arrays = self.model.run([as_capsule(x) for x in inputs], copied)
        outputs = [torch.from_numpy(array) for array in arrays]
        for i in self.halves:
            outputs[i] = outputs[i].view(torch.bfloat16)
        return outputs


def as_capsule(x: torch.Tensor) -> Any:
    """The tensor in place, for DLPack; `x.__dlpack__()` does the same, but takes its time."""
    return to_dlpack(x.contiguous().resolve_neg())
