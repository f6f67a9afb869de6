"""The benchmark networks, in plain torch.nn, and the list of them.

`MODELS[name].build(small)` gives a network in inference mode whose weights depend on the name only.
Batch-normalization statistics differ in every channel, so folding them wrongly shows in the result.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn


class LeNet(nn.Module):
    """Two 5x5 convolutions with pooling and three dense layers, on 28x28 grey images."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(16 * 5 * 5, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, 10),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x))


def mlp(*widths: int) -> nn.Sequential:
    """Dense layers with ReLU between them."""
    layers: list[nn.Module] = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def conv_norm(
    inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    """A convolution without bias that keeps the size (up to the stride), then batch normalization."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    )


class BasicBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut, projected by 1x1 where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv_norm(inputs, outputs, 3, stride), nn.ReLU(), conv_norm(outputs, outputs, 3)
        )
        same_shape = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same_shape else conv_norm(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


class ResNet18(nn.Module):
    """A 7x7 stem, four stages of two basic blocks, global pooling, one dense layer."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            conv_norm(3, width, 7, 2), nn.ReLU(), nn.MaxPool2d(3, stride=2, padding=1)
        )
        stages: list[nn.Module] = []
        inputs = width
        for stage in range(4):
            outputs = width << stage
            stages += [
                BasicBlock(inputs, outputs, stride=1 if stage == 0 else 2),
                BasicBlock(outputs, outputs, stride=1),
            ]
            inputs = outputs
        self.stages = nn.Sequential(*stages)
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.stages(self.stem(x)))


class InvertedResidual(nn.Module):
    """Widen by 1x1, filter each channel by 3x3, narrow by 1x1; added to its input if shapes agree."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        widen = [] if expansion == 1 else [conv_norm(inputs, hidden, 1), nn.ReLU6()]
        self.body = nn.Sequential(
            *widen,
            conv_norm(hidden, hidden, 3, stride, groups=hidden),
            nn.ReLU6(),
            conv_norm(hidden, outputs, 1),
        )
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x) if self.residual else self.body(x)


class MobileNetV2(nn.Module):
    """Seventeen inverted residuals between a strided 3x3 stem and a wide 1x1 head."""

    # expansion, channels, repeats, stride of the first
    STAGES = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )

    def __init__(self, divide_width: int, classes: int) -> None:
        super().__init__()
        inputs = 32 // divide_width
        blocks: list[nn.Module] = [conv_norm(3, inputs, 3, 2), nn.ReLU6()]
        for expansion, channels, repeats, first_stride in self.STAGES:
            outputs = channels // divide_width
            for index in range(repeats):
                stride = first_stride if index == 0 else 1
                blocks.append(InvertedResidual(inputs, outputs, stride, expansion))
                inputs = outputs
        head = 1280 // divide_width
        blocks += [conv_norm(inputs, head, 1), nn.ReLU6()]
        self.features = nn.Sequential(*blocks)
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(head, classes)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x))


class BertLayer(nn.Module):
    """One encoder layer: self-attention, then two dense layers with GELU; normalized after each sum."""

    def __init__(self, hidden: int, heads: int, inner: int, tokens: int) -> None:
        super().__init__()
        self.by_head = (-1, tokens, heads, hidden // heads)
        self.merged = (-1, tokens, hidden)
        self.scale = math.sqrt(hidden // heads)
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.project = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden, eps=1e-12)
        self.inner = nn.Sequential(nn.Linear(hidden, inner), nn.GELU(), nn.Linear(inner, hidden))
        self.output_norm = nn.LayerNorm(hidden, eps=1e-12)

    def attend(self, x: Tensor) -> Tensor:
        query = self.query(x).reshape(self.by_head).permute(0, 2, 1, 3)
        key = self.key(x).reshape(self.by_head).permute(0, 2, 3, 1)
        value = self.value(x).reshape(self.by_head).permute(0, 2, 1, 3)
        weights = torch.softmax(query @ key / self.scale, dim=-1)
        return (weights @ value).permute(0, 2, 1, 3).reshape(self.merged)

    def forward(self, x: Tensor) -> Tensor:
        x = self.attention_norm(x + self.project(self.attend(x)))
        return self.output_norm(x + self.inner(x))


@dataclass(frozen=True)
class Model:
    """A network of the benchmark: how to make it, and its input in full and in small."""

    name: str
    about: str
    make: Callable[[bool], nn.Module]
    full_shape: tuple[int, ...]
    small_shape: tuple[int, ...]
    dynamic_batch: bool = True

    def shape(self, small: bool) -> tuple[int, ...]:
        return self.small_shape if small else self.full_shape

    def build(self, small: bool = False) -> nn.Module:
        seed = zlib.crc32(self.name.encode())
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed)
            module = self.make(small)
            randomise_norms(module, self.shape(small))
        return module.eval()


def randomise_norms(module: nn.Module, shape: tuple[int, ...]) -> None:
    """Give every normalization its own numbers; batch statistics stay near the true ones.

    Statistics drawn freely would let activations grow or vanish through a deep network, so they are
    taken from random inputs first and then disturbed.
    """
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d | nn.LayerNorm):
            layer.weight.uniform_(0.5, 1.5)
            layer.bias.normal_(0.0, 0.2)
    batch_norms = [layer for layer in module.modules() if isinstance(layer, nn.BatchNorm2d)]
    if not batch_norms:
        return
    for layer in batch_norms:
        layer.momentum = 1.0  # the statistics of the last batch alone
    module.train()(torch.randn(8, *shape[1:]))
    for layer in batch_norms:
        layer.momentum = 0.1
        deviation = layer.running_var.sqrt()
        layer.running_mean.add_(deviation * torch.randn_like(deviation) * 0.1)
        layer.running_var.mul_(torch.empty_like(deviation).uniform_(0.7, 1.4))


def _list(*models: Model) -> dict[str, Model]:
    return {model.name: model for model in models}


MODELS = _list(
    Model("lenet", "LeNet-5 with ReLU", lambda small: LeNet(), (1, 1, 28, 28), (1, 1, 28, 28)),
    Model(
        "mlp",
        "dense layers 784-512-256-10",
        lambda small: mlp(64, 32, 16, 10) if small else mlp(784, 512, 256, 10),
        (1, 784),
        (1, 64),
    ),
    Model(
        "resnet18",
        "ResNet-18",
        lambda small: ResNet18(16, 10) if small else ResNet18(64, 1000),
        (1, 3, 224, 224),
        (1, 3, 32, 32),
    ),
    Model(
        "mobilenet_v2",
        "MobileNetV2",
        lambda small: MobileNetV2(4, 10) if small else MobileNetV2(1, 1000),
        (1, 3, 224, 224),
        (1, 3, 64, 64),
    ),
    Model(
        "bert_layer",
        "one encoder layer of BERT-base",
        lambda small: BertLayer(64, 4, 256, 16) if small else BertLayer(768, 12, 3072, 128),
        (1, 128, 768),
        (1, 16, 64),
    ),
    Model("mish", "Mish", lambda small: nn.Mish(), (8, 32, 224, 224), (2, 4, 8, 8), False),
    Model(
        "softmax",
        "softmax over the last dimension",
        lambda small: nn.Softmax(dim=-1),
        (8, 16, 512, 512),
        (2, 2, 8, 16),
        False,
    ),
    Model(
        "layernorm",
        "layer normalization over the last dimension",
        lambda small: nn.LayerNorm(32 if small else 1024),
        (8, 512, 1024),
        (2, 8, 32),
        False,
    ),
)
