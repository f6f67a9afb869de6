"""The architectures that `bench/zoo/run.py` compiles, small configurations, by family."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

Inputs = dict[str, torch.Tensor]

#: The families, each with the package that it needs.
PACKAGES = {
    "plain": "torch",
    "torchvision": "torchvision",
    "transformers": "transformers",
    "timm": "timm",
}


@dataclass(frozen=True)
class Architecture:
    """`make` has random weights; `inputs` are positional if their names are numbers."""

    family: str
    name: str
    make: Callable[[], nn.Module]
    inputs: Callable[[], Inputs]

    @property
    def full_name(self) -> str:
        return f"{self.family}/{self.name}"


def architectures() -> dict[str, Architecture]:
    """Of the families whose packages are installed."""
    found: dict[str, Architecture] = {}
    for family, package in PACKAGES.items():
        if importlib.util.find_spec(package):
            module = importlib.import_module(f"cases.torch_zoo.{family}_models")
            found |= {each.full_name: each for each in module.architectures()}
    return found


def call(module: Callable[..., Any], inputs: Inputs) -> Any:
    named = {name: value for name, value in inputs.items() if not name.isdigit()}
    return module(*(value for name, value in inputs.items() if name.isdigit()), **named)


def image(size: int, batch: int = 2, channels: int = 3) -> Callable[[], Inputs]:
    return lambda: {"0": torch.randn(batch, channels, size, size)}
