"""Networks on images: classification, segmentation, detection."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def conv_norm(
    inputs: int, outputs: int, size: int = 3, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    conv = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(
            conv_norm(inputs, width, 1),
            nn.ReLU(),
            conv_norm(width, width, 3, stride),
            nn.ReLU(),
            conv_norm(width, 4 * width, 1),
        )
        same = inputs == 4 * width and stride == 1
        self.skip = nn.Identity() if same else conv_norm(inputs, 4 * width, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.path(x) + self.skip(x))


class ResNet50(nn.Module):
    def __init__(self, width: int = 64, classes: int = 1000) -> None:
        super().__init__()
        layers: list[nn.Module] = [
            conv_norm(3, width, 7, 2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        ]
        inputs = width
        for stage, blocks in enumerate((3, 4, 6, 3)):
            for block in range(blocks):
                stride = 2 if stage > 0 and block == 0 else 1
                layers.append(Bottleneck(inputs, width << stage, stride))
                inputs = 4 * (width << stage)
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.classify = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x))


class Excitation(nn.Module):
    """Scales channels by what the whole image says of them."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.down = nn.Conv2d(channels, squeezed, 1)
        self.up = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        scale = functional.adaptive_avg_pool2d(x, 1)
        return x * torch.sigmoid(self.up(functional.silu(self.down(scale))))


class MobileBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, expand: int, size: int, stride: int) -> None:
        super().__init__()
        inner = inputs * expand
        layers: list[nn.Module] = []
        if expand > 1:
            layers += [conv_norm(inputs, inner, 1), nn.SiLU()]
        layers += [conv_norm(inner, inner, size, stride, inner), nn.SiLU()]
        layers += [Excitation(inner, max(inputs // 4, 1)), conv_norm(inner, outputs, 1)]
        self.path = nn.Sequential(*layers)
        self.adds = inputs == outputs and stride == 1

    def forward(self, x: Tensor) -> Tensor:
        return x + self.path(x) if self.adds else self.path(x)


class EfficientNetB0(nn.Module):
    # expansion, outputs, blocks, stride, size of the window
    STAGES = (
        (1, 16, 1, 1, 3),
        (6, 24, 2, 2, 3),
        (6, 40, 2, 2, 5),
        (6, 80, 3, 2, 3),
        (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    )

    def __init__(self, divisor: int = 1, classes: int = 1000) -> None:
        super().__init__()
        inputs = 32 // divisor
        layers: list[nn.Module] = [conv_norm(3, inputs, 3, 2), nn.SiLU()]
        for expand, outputs, blocks, stride, size in self.STAGES:
            for block in range(blocks):
                step = stride if block == 0 else 1
                layers.append(MobileBlock(inputs, outputs // divisor, expand, size, step))
                inputs = outputs // divisor
        layers += [conv_norm(inputs, 4 * inputs, 1), nn.SiLU(), nn.AdaptiveAvgPool2d(1)]
        self.features = nn.Sequential(*layers, nn.Flatten())
        self.classify = nn.Linear(4 * inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x))


class MixerBlock(nn.Module):
    def __init__(self, patches: int, width: int) -> None:
        super().__init__()

        def dense(size: int, inner: int) -> nn.Sequential:
            return nn.Sequential(nn.Linear(size, inner), nn.GELU(), nn.Linear(inner, size))

        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.across, self.within = dense(patches, width // 2), dense(width, 4 * width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.across(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        return x + self.within(self.norms[1](x))


class Mixer(nn.Module):
    def __init__(self, image: int, patch: int, width: int, depth: int, classes: int) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, width, patch, patch)
        patches = (image // patch) ** 2
        self.blocks = nn.Sequential(*(MixerBlock(patches, width) for _ in range(depth)))
        self.norm, self.classify = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x).flatten(2).transpose(1, 2)
        return self.classify(self.norm(self.blocks(x)).mean(dim=1))


def double_conv(inputs: int, outputs: int) -> nn.Sequential:
    first, second = conv_norm(inputs, outputs), conv_norm(outputs, outputs)
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU())


class UNet(nn.Module):
    """Three halvings, and back by transposed convolutions; odd sizes are padded to fit."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        widths = [width << i for i in range(4)]
        self.down = nn.ModuleList(double_conv(a, b) for a, b in zip([3, *widths], widths))
        pairs = list(zip(widths[::-1], widths[-2::-1]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in pairs)
        self.join = nn.ModuleList(double_conv(2 * b, b) for _, b in pairs)
        self.classify = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else functional.max_pool2d(x, 2))
            kept.append(x)
        kept.pop()
        for up, join in zip(self.up, self.join):
            skip, x = kept.pop(), up(x)
            rows, columns = skip.shape[2] - x.shape[2], skip.shape[3] - x.shape[3]
            x = functional.pad(x, [0, columns, 0, rows])
            x = join(torch.cat([skip, x], dim=1))
        return self.classify(x)


class Fcn8s(nn.Module):
    """Scores of three scales, added on the way up to the size of the image."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        widths = [width, 2 * width, 4 * width, 8 * width, 8 * width]
        blocks = [double_conv(a, b) for a, b in zip([3, *widths], widths)]
        self.blocks = nn.ModuleList(nn.Sequential(block, nn.MaxPool2d(2)) for block in blocks)
        self.scores = nn.ModuleList(nn.Conv2d(w, classes, 1) for w in widths[2:])
        self.twice = nn.ModuleList(
            nn.ConvTranspose2d(classes, classes, 4, 2, 1, bias=False) for _ in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        size = x.shape[2:]
        pooled = []
        for block in self.blocks:
            x = block(x)
            pooled.append(x)
        third, fourth, fifth = (s(p) for s, p in zip(self.scores, pooled[2:]))
        joined = self.twice[0](fifth) + fourth
        joined = self.twice[1](joined) + third
        return functional.interpolate(joined, size=size, mode="bilinear", align_corners=False)


class Suppression(torch.autograd.Function):
    """NonMaxSuppression: boxes N x B x 4 and scores N x C x B give rows of (image, class, box)."""

    MOST, OVERLAP, LEAST_SCORE = 20, 0.5, 0.5

    @staticmethod
    def forward(ctx, boxes: Tensor, scores: Tensor) -> Tensor:
        return torch.zeros((3, 3), dtype=torch.int64)  # of the right type; the exporters trace it

    @staticmethod
    def symbolic(g, boxes, scores):
        most = g.op("Constant", value_t=torch.tensor([Suppression.MOST]))
        numbers = (torch.tensor([n]) for n in (Suppression.OVERLAP, Suppression.LEAST_SCORE))
        return g.op(
            "NonMaxSuppression",
            boxes,
            scores,
            most,
            *(g.op("Constant", value_t=n) for n in numbers),
        )


def suppress(boxes: Tensor, scores: Tensor) -> Tensor:
    if not torch.compiler.is_exporting():
        return Suppression.apply(boxes, scores)
    limits = (
        torch.tensor([Suppression.MOST]),
        torch.tensor([Suppression.OVERLAP]),
        torch.tensor([Suppression.LEAST_SCORE]),
    )
    return torch.onnx.ops.symbolic(
        "NonMaxSuppression",
        (boxes, scores, *limits),
        dtype=torch.int64,
        shape=(3, 3),  # of an example; how many are kept depends on the data
        version=18,
    )


class Detector(nn.Module):
    """Boxes and scores at every place of a small feature map, and those that suppression leaves."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        steps = [(3, width), (width, 2 * width), (2 * width, 4 * width)]
        layers = [nn.Sequential(conv_norm(a, b, 3, 2), nn.ReLU()) for a, b in steps]
        self.features = nn.Sequential(*layers)
        self.boxes = nn.Conv2d(4 * width, 4, 1)
        self.scores = nn.Conv2d(4 * width, classes, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.features(x)
        rows = (
            torch.arange(x.shape[2], dtype=torch.float32).view(1, -1, 1).expand(1, -1, x.shape[3])
        )
        columns = torch.arange(x.shape[3], dtype=torch.float32).view(1, 1, -1)
        columns = columns.expand(1, x.shape[2], -1)
        middle = torch.stack([rows, columns], dim=1)
        shift, size = self.boxes(x).split(2, dim=1)
        middle, half = middle + torch.tanh(shift), 1 + torch.exp(torch.tanh(size))
        boxes = torch.cat([middle - half, middle + half], dim=1).flatten(2).transpose(1, 2)
        scores = torch.sigmoid(self.scores(x)).flatten(2)
        kept = suppress(boxes, scores)
        return boxes[kept[:, 0], kept[:, 2]], scores[kept[:, 0], kept[:, 1], kept[:, 2]]
