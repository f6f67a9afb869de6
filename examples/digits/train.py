#!/usr/bin/env python3
"""Train a small convolutional network on scikit-learn's 8x8 digits and export it as ONNX.

Writes next to this file:
  digits.onnx              the network; input "image" [batch, 1, 8, 8], output "logits" [batch, 10]
  held_back_images.npy     float32 [16, 1, 8, 8], samples the training never saw
  held_back_labels.npy     int64 [16], their digits

Needs torch, scikit-learn, onnx and onnxruntime. Takes a few seconds on a CPU.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

SEED = 7
EPOCHS = 60
BATCH = 64
HELD_BACK = 16
MIN_ACCURACY = 0.97


class DigitsNet(nn.Module):
    """Two convolutions with pooling, then two dense layers."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(32 * 2 * 2, 64), nn.ReLU(), nn.Linear(64, 10)
        )

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(image))


class Split:
    """Images scaled to [0, 1] and their labels, in three parts that share no sample."""

    def __init__(self) -> None:
        data = load_digits()
        images = (data.images / 16.0).astype(np.float32)[:, None]
        labels = data.target.astype(np.int64)
        train_images, test_images, train_labels, test_labels = train_test_split(
            images, labels, test_size=0.25, random_state=SEED, stratify=labels
        )
        self.train = train_images, train_labels
        self.held_back = test_images[:HELD_BACK], test_labels[:HELD_BACK]
        self.test = test_images[HELD_BACK:], test_labels[HELD_BACK:]


def train(images: np.ndarray, labels: np.ndarray) -> DigitsNet:
    torch.manual_seed(SEED)
    net = DigitsNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(x)).split(BATCH):
            loss = nn.functional.cross_entropy(net(x[chosen]), y[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    return net.eval()


def export(net: DigitsNet, path: Path) -> None:
    torch.onnx.export(
        net,
        (torch.zeros(2, 1, 8, 8),),
        str(path),
        dynamo=False,
        opset_version=17,
        input_names=["image"],
        output_names=["logits"],
        dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}},
    )
    onnx.checker.check_model(str(path), full_check=True)


def accuracy(path: Path, images: np.ndarray, labels: np.ndarray) -> float:
    """The accuracy of the exported file, not of the network in memory."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (logits,) = session.run(None, {"image": images})
    return float((logits.argmax(axis=1) == labels).mean())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent, help="folder to write into"
    )
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)  # one order of summation, so a machine gives one result

    split = Split()
    net = train(*split.train)
    export(net, out / "digits.onnx")
    np.save(out / "held_back_images.npy", split.held_back[0], allow_pickle=False)
    np.save(out / "held_back_labels.npy", split.held_back[1], allow_pickle=False)

    test = accuracy(out / "digits.onnx", *split.test)
    held_back = accuracy(out / "digits.onnx", *split.held_back)
    print(f"test accuracy {test:.4f} ({len(split.test[1])} samples)")
    print(f"held back     {held_back:.4f} ({HELD_BACK} samples)")
    if test < MIN_ACCURACY:
        raise SystemExit(f"error: expected a test accuracy of {MIN_ACCURACY}, got {test:.4f}")


if __name__ == "__main__":
    main()
