"""Arrays on CUDA devices: taken and handed on in place, by DLPack, in the order of streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace import _core
from headrace._arrays import (
    NUMPY_NAMES,
    from_output,
    is_torch,
    numpy_dtype,
    raise_type_mismatch,
    to_storage,
)
from headrace.errors import TypeMismatchError

CUDA = 2  # DLPack's number for it
DEFAULT_STREAM = 1


class DeviceArray:
    """An output on a CUDA device.

    Other libraries use it in place (`torch.from_dlpack(y)`, `cupy.from_dlpack(y)`); `np.asarray(y)`
    copies it to host memory.
    """

    def __init__(self, core: _core.DeviceArray) -> None:
        self._core = core

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._core.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type, as NumPy's."""
        return numpy_dtype(self._core.element_type)

    @property
    def device(self) -> int:
        """The number of the device."""
        return self._core.device

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self._core.device

    def __dlpack__(self, *, stream: int | None = None, **_: Any) -> Any:
        return self._core.dlpack(DEFAULT_STREAM if stream is None else stream)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array on a device cannot be read without a copy")
        array = from_output(self._core.to_numpy(), self._core.element_type)
        return array if dtype is None else array.astype(dtype, copy=False)

    def __repr__(self) -> str:
        kind = f"{self._core.element_type}[{', '.join(map(str, self.shape))}]"
        return f"<headrace.DeviceArray {kind} on device {self.device}>"


def to_cuda(array: Any) -> DeviceArray:
    """A copy of the array on the CUDA device that programs run on.

    Raises `UnsupportedError` if there is no device.

    >>> logits = digits.to("cuda")(hr.to_cuda(images))  # logits is on the device, too
    """
    host = np.ascontiguousarray(array)
    names = {name: element_type for element_type, name in NUMPY_NAMES.items()}
    if host.dtype.name not in names:
        raise TypeMismatchError(f"expected an array of numbers, got {host.dtype}")
    element_type = names[host.dtype.name]
    bits = to_storage(host, element_type)
    return DeviceArray(_core.to_device(bits, element_type))


def is_on_cuda(value: Any) -> bool:
    place = getattr(value, "__dlpack_device__", None)
    return place is not None and int(place()[0]) == CUDA


def run(
    core: _core.Model, values: Sequence[Any], convert: Callable[[Any, int], Any]
) -> list[Any] | None:
    """The outputs on the device if an input is on it: PyTorch tensors, in the order of PyTorch's
    current stream, if an input is one, else `DeviceArray`s. None if all inputs are in host memory.
    """
    there = [value for value in values if is_on_cuda(value)]
    if not there:
        return None
    # PyTorch and we free arrays in the stream's order; others may do so at any time.
    wait = any(not is_torch(value) and not isinstance(value, DeviceArray) for value in there)
    if any(map(is_torch, there)):
        from headrace import _tensors

        return _tensors.run(core, values, convert, wait)
    inputs = list(values)
    for i, (name, element_type, _) in enumerate(core.inputs):
        if is_on_cuda(inputs[i]):
            check_type(inputs[i], name, element_type)
            inputs[i] = inputs[i].__dlpack__(stream=DEFAULT_STREAM)
    return [DeviceArray(output) for output in core.enqueue(inputs, convert, DEFAULT_STREAM, wait)]


def check_type(value: Any, name: str, element_type: str) -> None:
    found = str(value.dtype).removeprefix("torch.")
    if found != NUMPY_NAMES[element_type]:
        raise_type_mismatch(name, NUMPY_NAMES[element_type], found)
