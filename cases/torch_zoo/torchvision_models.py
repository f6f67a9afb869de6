"""Architectures of torchvision."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from cases.torch_zoo import Architecture, image

#: The size of images, and options of the constructor.
MODELS: dict[str, tuple[int, dict[str, Any]]] = {
    "alexnet": (64, {}),
    "convnext_tiny": (64, {}),
    "densenet121": (64, {}),
    "efficientnet_b0": (64, {}),
    "efficientnet_v2_s": (64, {}),
    "googlenet": (64, {"aux_logits": False, "init_weights": False}),
    "inception_v3": (96, {"aux_logits": False, "init_weights": False}),
    "maxvit_t": (224, {"input_size": (224, 224)}),
    "mnasnet0_5": (64, {}),
    "mobilenet_v2": (64, {}),
    "mobilenet_v3_small": (64, {}),
    "regnet_y_400mf": (64, {}),
    "resnet18": (64, {}),
    "resnet50": (64, {}),
    "resnext50_32x4d": (64, {}),
    "shufflenet_v2_x0_5": (64, {}),
    "squeezenet1_1": (64, {}),
    "swin_t": (64, {}),
    "swin_v2_t": (64, {}),
    "vgg11_bn": (64, {}),
    "vit_b_32": (64, {"image_size": 64}),
    "wide_resnet50_2": (64, {}),
    "deeplabv3_mobilenet_v3_large": (64, {"weights_backbone": None}),
    "fcn_resnet50": (64, {"weights_backbone": None}),
    "lraspp_mobilenet_v3_large": (64, {"weights_backbone": None}),
}

VIDEOS = ("mc3_18", "r3d_18", "r2plus1d_18")


def architectures() -> Iterator[Architecture]:
    models = package().models
    for name, (size, options) in MODELS.items():
        constructor = getattr(models, name, None) or getattr(models.segmentation, name)
        yield Architecture("torchvision", name, made(constructor, options), image(size))
    for name in ("resnet18", "mobilenet_v2", "convnext_tiny"):
        yield Architecture(
            "torchvision",
            f"{name}, channels last",
            channels_last(getattr(models, name)),
            lambda: {"0": torch.randn(2, 3, 64, 64).to(memory_format=torch.channels_last)},
        )
    for name in VIDEOS:
        yield Architecture(
            "torchvision",
            name,
            made(getattr(models.video, name), {}),
            lambda: {"0": torch.randn(1, 3, 8, 32, 32)},
        )


def made(constructor: Callable[..., nn.Module], options: dict[str, Any]) -> Callable[[], nn.Module]:
    return lambda: constructor(weights=None, **options)


def channels_last(constructor: Callable[..., nn.Module]) -> Callable[[], nn.Module]:
    return lambda: constructor(weights=None).to(memory_format=torch.channels_last)


_libraries: list[torch.library.Library] = []


def package() -> Any:
    """torchvision, also if its operators cannot be loaded, as those built for CUDA without CUDA.

    These architectures use none of them, but torchvision's import asks for their names.
    """
    while True:
        try:
            return importlib.import_module("torchvision")
        except RuntimeError as error:
            missing = re.fullmatch(r"operator torchvision::(\w+) does not exist", str(error))
            if not missing:
                raise
            library = torch.library.Library("torchvision", "FRAGMENT")
            library.define(f"{missing[1]}(Tensor x) -> Tensor")
            _libraries.append(library)
            for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
                del sys.modules[name]
