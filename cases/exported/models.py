"""The exported networks: how each is made, its inputs at several sizes, and which sizes are dynamic."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from cases.exported import images, sequences
from cases.networks import randomise_norms

Feeds = dict[str, np.ndarray]
Sizes = tuple[int, ...]
OPSETS = {"torchscript": 17, "dynamo": 18}


@dataclass(frozen=True)
class Exported:
    """`feeds` makes the inputs of some sizes; `open_sizes` names the dynamic dimensions of each."""

    name: str
    make: Callable[[bool], nn.Module]  # small, or as published
    feeds: Callable[[np.random.Generator, bool, Sizes], Feeds]
    open_sizes: dict[str, dict[int, str]]
    small_sizes: tuple[Sizes, ...]
    full_sizes: tuple[Sizes, ...]
    outputs: tuple[str, ...] = ("output",)
    image_shape: Sizes = ()  # of images that batch statistics are taken from
    exporters: tuple[str, ...] = ("torchscript", "dynamo")

    def sizes(self, small: bool) -> tuple[Sizes, ...]:
        return self.small_sizes if small else self.full_sizes

    def inputs(self, small: bool, sizes: Sizes) -> Feeds:
        return self.feeds(np.random.default_rng(1 + sum(sizes)), small, sizes)

    def build(self, small: bool) -> nn.Module:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(zlib.crc32(self.name.encode()))
            module = self.make(small)
            if self.image_shape:
                randomise_norms(module, self.image_shape)
        return module.eval()

    def export(self, path: Path, exporter: str, small: bool) -> None:
        feeds = self.inputs(small, self.sizes(small)[0])
        arguments = tuple(torch.from_numpy(feed) for feed in feeds.values())
        options: dict = {"input_names": list(feeds), "output_names": list(self.outputs)}
        if exporter == "dynamo":
            dims = {
                n: torch.export.Dim(n) for axes in self.open_sizes.values() for n in axes.values()
            }
            shapes = [
                {axis: dims[n] for axis, n in self.open_sizes.get(feed, {}).items()}
                for feed in feeds
            ]
            # a module with *arguments takes them as one
            options["dynamic_shapes"] = self.shapes_as_taken(shapes)
            options["verbose"] = False
        else:
            options["dynamic_axes"] = self.open_sizes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # each exporter warns of its own inner workings
            torch.onnx.export(
                self.build(small),
                arguments,
                str(path),
                dynamo=exporter == "dynamo",
                opset_version=OPSETS[exporter],
                external_data=False,
                **options,
            )

    def shapes_as_taken(self, shapes: list) -> tuple:
        return (shapes[0], tuple(shapes[1:])) if self.name == "gpt" else tuple(shapes)


def noise(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.standard_normal(shape, dtype=np.float32)


def image_feeds(random: np.random.Generator, small: bool, sizes: Sizes) -> Feeds:
    batch, rows, columns = sizes
    return {"image": noise(random, batch, 3, rows, columns)}


def bert_feeds(random: np.random.Generator, small: bool, sizes: Sizes) -> Feeds:
    mask = np.ones(sizes, np.int64)
    mask[:, sizes[1] - sizes[1] // 4 :] = 0
    words = 100 if small else 30522
    kinds = (np.arange(sizes[1]) >= sizes[1] // 2).astype(np.int64) * np.ones(sizes, np.int64)
    return {"ids": random.integers(0, words, sizes), "kinds": kinds, "mask": mask}


GPT = {True: (100, 64, 32, 2, 2), False: (50257, 1024, 768, 12, 12)}


def gpt_feeds(random: np.random.Generator, small: bool, sizes: Sizes) -> Feeds:
    batch, new, past = sizes
    words, _, width, heads, depth = GPT[small]
    feeds: Feeds = {"ids": random.integers(0, words, (batch, new))}
    for layer in range(depth):
        for kind in ("keys", "values"):
            feeds[f"{kind}{layer}"] = noise(random, batch, heads, past, width // heads)
    return feeds


def gpt_open(depth: int) -> dict[str, dict[int, str]]:
    cache = {
        f"{kind}{i}": {0: "batch", 2: "past"} for i in range(depth) for kind in ("keys", "values")
    }
    return {"ids": {0: "batch", 1: "new"}} | cache


def dlrm_feeds(random: np.random.Generator, small: bool, sizes: Sizes) -> Feeds:
    tables, rows = (4, 50) if small else (26, 10000)
    return {
        "dense": noise(random, *sizes, 13),
        "sparse": random.integers(0, rows, (*sizes, tables)),
    }


def tagger_feeds(random: np.random.Generator, small: bool, sizes: Sizes) -> Feeds:
    return {"ids": random.integers(0, 100 if small else 10000, sizes)}


def sound_feeds(random: np.random.Generator, small: bool, sizes: Sizes) -> Feeds:
    return {"sound": noise(random, sizes[0], 1, sizes[1])}


BATCH = {"image": {0: "batch"}}
ANY_IMAGE = {"image": {0: "batch", 2: "rows", 3: "columns"}}
SMALL_IMAGES = ((2, 64, 64), (1, 64, 64), (3, 64, 64))
FULL_IMAGES = ((2, 224, 224), (1, 224, 224), (4, 224, 224))


def mixer(small: bool) -> nn.Module:
    return images.Mixer(64, 16, 32, 2, 10) if small else images.Mixer(224, 16, 512, 8, 1000)


MODELS = {
    model.name: model
    for model in (
        Exported(
            "resnet50",
            lambda small: images.ResNet50(8, 10) if small else images.ResNet50(),
            image_feeds,
            BATCH,
            SMALL_IMAGES,
            FULL_IMAGES,
            image_shape=(1, 3, 64, 64),
        ),
        Exported(
            "efficientnet_b0",
            lambda small: images.EfficientNetB0(4, 10) if small else images.EfficientNetB0(),
            image_feeds,
            BATCH,
            SMALL_IMAGES,
            FULL_IMAGES,
            image_shape=(1, 3, 64, 64),
        ),
        Exported("mixer", mixer, image_feeds, BATCH, SMALL_IMAGES, FULL_IMAGES),
        Exported(
            "unet",
            lambda small: images.UNet(4, 3) if small else images.UNet(32, 3),
            image_feeds,
            ANY_IMAGE,
            ((2, 32, 48), (1, 32, 32), (1, 37, 51)),
            ((2, 128, 160), (1, 128, 128), (1, 135, 161)),
            image_shape=(1, 3, 32, 32),
        ),
        Exported(
            "fcn8s",
            lambda small: images.Fcn8s(4, 5) if small else images.Fcn8s(64, 21),
            image_feeds,
            ANY_IMAGE,
            ((2, 64, 96), (1, 64, 64), (1, 96, 160)),
            ((2, 128, 160), (1, 128, 128), (1, 192, 224)),
            image_shape=(1, 3, 64, 64),
        ),
        Exported(
            "detector",
            lambda small: images.Detector(4, 3) if small else images.Detector(32, 20),
            image_feeds,
            ANY_IMAGE,
            ((2, 64, 96), (1, 64, 64), (3, 40, 72)),
            ((2, 224, 224), (1, 320, 256), (3, 160, 192)),
            ("boxes", "scores"),
            image_shape=(1, 3, 64, 64),
        ),
        Exported(
            "bert",
            lambda small: (
                sequences.Bert(100, 64, 32, 2, 2)
                if small
                else sequences.Bert(30522, 512, 768, 12, 12)
            ),
            bert_feeds,
            {name: {0: "batch", 1: "length"} for name in ("ids", "kinds", "mask")},
            ((2, 16), (1, 7), (3, 33)),
            ((2, 64), (1, 128), (4, 33)),
            ("hidden", "pooled"),
        ),
        Exported(
            "gpt",
            lambda small: sequences.Decoder(*GPT[small]),
            gpt_feeds,
            gpt_open(2),
            ((2, 3, 5), (1, 1, 9), (1, 1, 10), (2, 7, 2)),
            ((2, 3, 5), (1, 1, 63), (1, 1, 64), (1, 64, 2)),
            ("scores", *(f"new_{kind}{i}" for i in range(2) for kind in ("keys", "values"))),
        ),
        Exported(
            "dlrm",
            lambda small: (
                sequences.Dlrm(13, 4, 50, 8) if small else sequences.Dlrm(13, 26, 10000, 64)
            ),
            dlrm_feeds,
            {"dense": {0: "batch"}, "sparse": {0: "batch"}},
            ((4,), (1,), (9,)),
            ((128,), (1,), (512,)),
        ),
        Exported(
            "wavenet",
            lambda small: (
                sequences.WaveNet(8, 16, 2, 4) if small else sequences.WaveNet(64, 256, 3, 10)
            ),
            sound_feeds,
            {"sound": {0: "batch", 2: "length"}},
            ((2, 40), (1, 33), (1, 100)),
            ((1, 4000), (2, 1000), (1, 8000)),
        ),
        Exported(
            "tagger",
            lambda small: (
                sequences.Tagger(100, 16, 5) if small else sequences.Tagger(10000, 256, 17)
            ),
            tagger_feeds,
            {"ids": {0: "batch", 1: "length"}},
            ((2, 9), (1, 5), (3, 21)),
            ((2, 40), (1, 64), (8, 30)),
        ),
    )
}
