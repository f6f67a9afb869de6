"""What data-parallel training computes on a part of a batch; imported by workers, never sent to them."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError

Arrays = dict[str, np.ndarray]

_CAPABILITIES = {"x86-64-v4": "avx512", "x86-64-v3": "avx2"}

#: The replicas of this process, by the key of their run. A process serves one run after the other.
_replicas: dict[str, Replica] = {}


@dataclass
class Training:
    """What `train` trains: a module, its loss, and the optimizer of the module's parameters.

    `loss(module, *arrays)`, or `loss(module, **arrays)` if the data is a dict, returns the mean loss
    of the rows it is given. `compiled=False` leaves the module to eager mode.
    """

    module: Any
    loss: Callable[..., Any]
    optimizer: Any
    compiled: bool = True


@dataclass
class Partial:
    """The sum over some shards of a batch, each weighted by its rows: loss, gradients, and buffers
    such as running statistics."""

    loss: float
    gradients: Arrays
    buffers: Arrays

    def add(self, other: Partial) -> None:
        self.loss += other.loss
        for name, value in other.gradients.items():
            if name in self.gradients:
                self.gradients[name] += value
            else:
                self.gradients[name] = value
        for name, value in other.buffers.items():
            if value.dtype.kind == "f":  # a count is that of the first shard
                self.buffers[name] += value


def tree_sum(partials: Sequence[Partial]) -> Partial:
    """Neighbours are added first, then their sums, and so on. The sum of any aligned group of a power
    of two is a part of this tree, so the result does not depend on who adds which group."""
    left = [*partials]
    while len(left) > 1:
        for first, second in zip(left[::2], left[1::2]):
            first.add(second)
        left = left[::2]
    return left[0]


def make(source: str, text: str | None, seed: int) -> Training:
    """Calls the user's function `module:function`, or that of a file whose `text` is given."""
    import torch

    where, _, function = source.rpartition(":")
    if text is None:
        found = importlib.import_module(where)
    else:
        name = f"headrace_training_{abs(hash(text)):x}"
        if name not in sys.modules:
            spec = importlib.util.spec_from_loader(name, loader=None, origin=where)
            assert spec is not None
            made = importlib.util.module_from_spec(spec)
            made.__file__ = where
            sys.modules[name] = made
            try:
                exec(compile(text, where, "exec"), made.__dict__)
            except BaseException:
                del sys.modules[name]
                raise
        found = sys.modules[name]
    if not callable(getattr(found, function, None)):
        raise InvalidArgumentError(f"{source}: expected a function '{function}' in {where}")
    torch.manual_seed(seed)
    training = getattr(found, function)()
    if not isinstance(training, Training):
        raise InvalidArgumentError(
            f"{source}: expected a headrace.distributed.Training, got {type(training).__name__}"
        )
    return training


@dataclass(frozen=True)
class Setting:
    """What all workers of a run have in common, so that each computes the same bits: the run's key,
    the CPU level, the rates by which kernels are chosen, and the user's function."""

    key: str
    level: str
    rates: str
    source: tuple[str, str | None]


def run_shards(
    setting: Setting,
    state: Mapping[str, np.ndarray],
    shards: Sequence[Any],
    weights: Sequence[float],
    seeds: Sequence[int],
) -> Partial:
    """Loss and gradients of some neighbouring shards, from the parameters and buffers of `state`."""
    replica = _replica(setting)
    return tree_sum(
        [
            replica.run(state, shard, weight, seed)
            for shard, weight, seed in zip(shards, weights, seeds)
        ]
    )


def _replica(setting: Setting) -> Replica:
    if setting.key not in _replicas:
        rates = os.memfd_create("headrace-rates")  # as long as the process: it reads the file late
        os.write(rates, setting.rates.encode())
        os.environ["HEADRACE_RATES"] = f"/proc/{os.getpid()}/fd/{rates}"
        os.environ["HEADRACE_CPU_LEVEL"] = setting.level
        os.environ["HEADRACE_THREADS"] = "1"  # tasks share the cores
        # Operators that run in PyTorch are as equal on all nodes as compiled ones.
        os.environ["ATEN_CPU_CAPABILITY"] = _CAPABILITIES.get(setting.level, "default")
        import torch

        torch.set_num_threads(1)
        _replicas.clear()
        _replicas[setting.key] = Replica(make(*setting.source, 0))
    return _replicas[setting.key]


class Replica:
    """A copy of the module whose parameters are those of the step."""

    def __init__(self, training: Training) -> None:
        import torch

        self.training = training
        self.module = training.module.train()
        # Programs for dynamic sizes would depend on the sizes that this process saw before.
        self.called = (
            torch.compile(self.module, backend="headrace", dynamic=False)
            if training.compiled
            else self.module
        )
        self.parameters = {
            name: value for name, value in self.module.named_parameters() if value.requires_grad
        }
        self.state = state_of(self.module)

    def run(self, state: Mapping[str, np.ndarray], shard: Any, weight: float, seed: int) -> Partial:
        import torch

        load_state(self.state, state)
        torch.manual_seed(seed)
        for value in self.parameters.values():
            value.grad = None
        if isinstance(shard, dict):
            tensors = {name: torch.from_numpy(array.copy()) for name, array in shard.items()}
            loss = self.training.loss(self.called, **tensors)
        else:
            loss = self.training.loss(self.called, *[torch.from_numpy(a.copy()) for a in shard])
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise InvalidArgumentError(f"loss: expected a tensor of one element, got {_kind(loss)}")
        loss.backward()
        gradients = {
            name: as_array(value.grad * weight)
            for name, value in self.parameters.items()
            if value.grad is not None
        }
        buffers = {
            name: as_array(value * weight if value.is_floating_point() else value)
            for name, value in self.module.named_buffers()
        }
        return Partial(float(loss.detach()) * weight, gradients, buffers)


def _kind(loss: Any) -> str:
    shape = getattr(loss, "shape", None)
    return type(loss).__name__ if shape is None else f"a tensor of shape {tuple(shape)}"


def state_of(module: Any) -> dict[str, Any]:
    """Parameters and buffers by name."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def as_array(tensor: Any) -> np.ndarray:
    """A copy; NumPy has no bfloat16, whose sums are those of float32."""
    import torch

    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    return tensor.cpu().contiguous().numpy().copy()


def load_state(tensors: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    import torch

    with torch.no_grad():
        for name, tensor in tensors.items():
            # Arrays from Ray's object store are read-only, which from_numpy warns of.
            tensor.copy_(torch.from_numpy(np.array(arrays[name], copy=True)).reshape(tensor.shape))
