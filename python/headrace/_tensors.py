"""PyTorch's tensors of CUDA devices. Imported where there are some: PyTorch is optional."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from headrace import _core
from headrace._arrays import NUMPY_NAMES, is_torch
from headrace._device import check_type, is_on_cuda
from headrace.errors import InvalidArgumentError

# The number of a device to its current stream, without an object around it.
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


class TensorRunner:
    """Runs a program on tensors of a CUDA device, in the order of PyTorch's current stream.

    Results and temporaries are PyTorch's memory: its allocator knows of all of it, keeps it for the
    streams that use it, and gives graphs theirs (`torch.cuda.graph`).
    """

    def __init__(self, core: _core.Model, device: torch.device) -> None:
        self.enqueue, self.device = core.enqueue_at, device
        self.dtypes = [getattr(torch, NUMPY_NAMES[spec[1]]) for spec in core.outputs]
        self.dtypes.append(torch.uint8)  # of temporaries, at -1

    def __call__(
        self, tensors: Sequence[torch.Tensor], known: Any = None, place: int = 0
    ) -> list[torch.Tensor]:
        """Of the declared types; those not on the device, or not in C order, are copied.

        `known` has the pointers and shapes of further inputs, from `place` on.
        """
        inputs = [self.there(x).contiguous().resolve_neg() for x in tensors]
        pointers = [x.data_ptr() for x in inputs]
        shapes = [x.shape for x in inputs]
        if known is not None:
            pointers[place:place] = known.pointers
            shapes[place:place] = known.shapes
        return self.enqueue(pointers, shapes, self.stream(), self.allocate)

    def there(self, x: torch.Tensor) -> torch.Tensor:
        return x if x.is_cuda else x.to(self.device, non_blocking=True)

    def allocate(self, output: int, shape: tuple[int, ...]) -> tuple[torch.Tensor, int]:
        made = torch.empty(shape, dtype=self.dtypes[output], device=self.device)
        return made, made.data_ptr()

    def stream(self) -> int:
        if _raw_stream is not None:
            return _raw_stream(self.device.index)
        return torch.cuda.current_stream(self.device).cuda_stream


def run(
    core: _core.Model, values: Sequence[Any], convert: Callable[[Any, int], Any], wait: bool
) -> list[torch.Tensor]:
    """With arrays of any kind and place, of which one is a tensor on the device."""
    device = torch.device("cuda", _core.cuda_device())
    tensors = [
        as_tensor(value, name, element_type, device, lambda value, i=i: convert(value, i))
        for i, (value, (name, element_type, _)) in enumerate(zip(values, core.inputs))
    ]
    outputs = TensorRunner(core, device)(tensors)
    if wait:
        torch.cuda.current_stream(device).synchronize()
    return outputs


def as_tensor(
    value: Any, name: str, element_type: str, device: torch.device, convert: Callable[[Any], Any]
) -> torch.Tensor:
    if not is_on_cuda(value):
        array = convert(value)
        tensor = array if is_torch(array) else torch.from_numpy(array)
        return tensor.view(torch.bfloat16) if element_type == "bf16" else tensor
    check_type(value, name, element_type)
    tensor = value.detach() if is_torch(value) else torch.from_dlpack(value)
    if tensor.device != device:
        raise InvalidArgumentError(
            f"input '{name}': expected a tensor on '{device}' (the variable HEADRACE_CUDA_DEVICE), "
            f"got one on '{tensor.device}'"
        )
    return tensor
