#!/usr/bin/env python3
"""The block of EfficientNet that docs/optimize.md works through: PyTorch's eager mode next to this compiler.

Usage: python -m bench.mbconv [--batch 8] [--pixels 224] [--seconds 5]

Prints kernels, bytes and the time on one thread, of the forward program alone and of forward and backward. For PyTorch,
a kernel is an operator that computes (views and allocations do not count), and its bytes are those of its operands and
results. Both have the gradients by the image and all weights, and are timed in turns.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import headrace as hr
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper
from torch.utils._python_dispatch import TorchDispatchMode

from examples.optimize.mbconv import mbconv


class CountKernels(TorchDispatchMode):
    """Counts operators that compute, and the bytes of their operands and results."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels = self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        tensors = [
            *torch.utils._pytree.tree_leaves((args, kwargs)),
            *torch.utils._pytree.tree_leaves(result),
        ]
        tensors = [value for value in tensors if isinstance(value, torch.Tensor)]
        is_view = torch.Tag.pointwise not in function.tags and function.is_view
        allocates = function.__name__.split(".")[0] in (
            "empty",
            "empty_like",
            "detach",
            "empty_strided",
        )
        if not is_view and not allocates:
            self.kernels += 1
            self.bytes += sum(value.numel() * value.element_size() for value in tensors)
        return result


class Block:
    """The graph of the ONNX file in PyTorch's operators."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.weights = {
            weight.name: torch.from_numpy(numpy_helper.to_array(weight).copy())
            for weight in model.graph.initializer
        }

    def norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        scale, bias, mean, variance = (self.weights[f"{name}.{i}"] for i in range(4))
        return F.batch_norm(x, mean, variance, scale, bias)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        w = self.weights
        x = F.conv2d(x, w["depthwise.weight"], padding=1, groups=x.shape[1])
        x = F.silu(self.norm(x, "norm"))
        squeezed = F.silu(F.conv2d(F.adaptive_avg_pool2d(x, 1), w["squeeze.weight"]))
        gate = torch.sigmoid(F.conv2d(squeezed, w["excite.weight"]))
        return self.norm(F.conv2d(x * gate, w["project.weight"]), "project/norm")


def time_of(call: Callable[[], object], seconds: float) -> float:
    """Milliseconds, the median."""
    call()
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def counted(call: Callable[[], object]) -> tuple[int, int]:
    with CountKernels() as counts:
        call()
    return counts.kernels, counts.bytes


def row(name: str, kernels: int, moved: int, milliseconds: float) -> None:
    print(f"{name:32} {kernels:7} {moved / 1e6:10.0f} {milliseconds:10.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--pixels", type=int, default=224)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--output", default="mbconv.onnx", help="where the model is written")
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = mbconv(options.batch, options.pixels)
    onnx.save(model, options.output)
    block = Block(model)
    image = torch.randn(options.batch, 32, options.pixels, options.pixels)
    learned = [name for name in block.weights if not name.endswith((".2", ".3"))]

    def forward() -> None:
        with torch.no_grad():
            block(image)

    def forward_backward() -> None:
        inputs = [
            image.requires_grad_(),
            *(block.weights[name].requires_grad_() for name in learned),
        ]
        torch.autograd.grad(block(image).sum(), inputs)
        for value in inputs:
            value.requires_grad_(False)

    print(f"{'':32} {'kernels':>7} {'MB':>10} {'ms':>10}")
    for name, call, grad in (
        ("forward", forward, False),
        ("forward and backward", forward_backward, True),
    ):
        guided = hr.optimize(
            hr.load(Path(options.output)), grad=grad, wrt=["x", *learned] if grad else ()
        )
        kernels, moved = counted(call)
        row(f"{name}: PyTorch", kernels, moved, time_of(call, options.seconds))
        figures = guided.figures
        [microseconds] = guided.measure(options.seconds)
        row(f"{name}: Headrace", figures["kernels"], figures["bytes"], microseconds / 1e3)


if __name__ == "__main__":
    sys.exit(main())
