"""Checkpoints of a training: parameters, buffers and the optimizer's state in npz files."""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from headrace.distributed._training import Training, as_array, load_state, state_of
from headrace.errors import InvalidArgumentError

#: The last one may be incomplete if the system itself stopped.
_KEPT = 2
_NAME = re.compile(r"step-(\d{8})\.npz")


class Checkpoints:
    """The directory of a training. `plan` is what must not change between its runs."""

    def __init__(self, directory: str | os.PathLike[str], plan: dict[str, Any]) -> None:
        self.directory = Path(directory)
        self.plan = plan
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidArgumentError(f"checkpoint: {directory}: {error.strerror}") from error

    def load(self, training: Training) -> int:
        """The steps that the newest complete checkpoint holds, which the training then has; else 0."""
        for step, path in reversed([*self._files()]):
            try:
                with np.load(path, allow_pickle=False) as file:
                    arrays = {name: file[name] for name in file.files}
                described = json.loads(arrays.pop("description").tobytes())
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                continue
            self._check(path, described["plan"])
            self._restore(path, training, arrays, described["optimizer"])
            return step
        return 0

    def store(self, training: Training, step: int) -> None:
        """Writes beside and renames: a reader never sees half a file under this name."""
        arrays = {f"state.{name}": as_array(t) for name, t in state_of(training.module).items()}
        described = {
            "plan": self.plan,
            "optimizer": _flattened(training.optimizer.state_dict(), "optimizer", arrays),
        }
        arrays["description"] = np.frombuffer(json.dumps(described).encode(), np.uint8)
        contents = io.BytesIO()
        np.savez(contents, **arrays)
        path = self.directory / f"step-{step:08}.npz"
        beside = path.with_suffix(f".{os.getpid()}.part")
        with open(beside, "wb") as file:
            file.write(contents.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        beside.rename(path)
        for _, old in [*self._files()][:-_KEPT]:
            old.unlink(missing_ok=True)

    def _files(self) -> Iterator[tuple[int, Path]]:
        for path in sorted(self.directory.iterdir()):
            if found := _NAME.fullmatch(path.name):
                yield int(found[1]), path

    def _check(self, path: Path, plan: dict[str, Any]) -> None:
        for name, value in self.plan.items():
            if plan.get(name) != value:
                raise InvalidArgumentError(
                    f"checkpoint: {path} is of a training with {name} {plan.get(name)!r}, "
                    f"expected {value!r}"
                )

    def _restore(
        self, path: Path, training: Training, arrays: dict[str, np.ndarray], optimizer: Any
    ) -> None:
        tensors = state_of(training.module)
        stored = {
            name.removeprefix("state."): a for name, a in arrays.items() if name[:6] == "state."
        }
        shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        if shapes != {name: array.shape for name, array in stored.items()}:
            raise InvalidArgumentError(f"checkpoint: {path} is of another module")
        load_state(tensors, stored)
        training.optimizer.load_state_dict(_restored(optimizer, arrays))


def _flattened(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """The value as JSON, with its tensors as names of arrays."""
    import torch

    if isinstance(value, torch.Tensor):
        arrays[name] = as_array(value)
        return {"tensor": name, "type": str(value.dtype).removeprefix("torch.")}
    if isinstance(value, dict):
        items = [[key, _flattened(v, f"{name}.{key}", arrays)] for key, v in value.items()]
        return {"dict": items}  # JSON's own keys are strings alone
    if isinstance(value, (list, tuple)):
        items = [_flattened(v, f"{name}.{i}", arrays) for i, v in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": items}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise InvalidArgumentError(
        f"checkpoint: the optimizer's {name}: expected tensors and numbers, got {type(value).__name__}"
    )


def _restored(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    import torch

    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return torch.from_numpy(arrays[value["tensor"]].copy()).to(getattr(torch, value["type"]))
    if "dict" in value:
        return {key: _restored(item, arrays) for key, item in value["dict"]}
    items = [_restored(item, arrays) for item in value.get("list", value.get("tuple", []))]
    return tuple(items) if "tuple" in value else items
