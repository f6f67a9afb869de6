#!/usr/bin/env python3
"""Times forward and backward of PyTorch modules: eager mode, Inductor and Headrace, turn by turn.

Usage: ./dev bench training [--only NAME] [--rounds N] [--threads N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from cases.networks import LeNet

Step = Callable[[], None]


class Mish(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.tanh(F.softplus(x))


def workloads() -> dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]]:
    return {
        "mish 8x32x224x224": (Mish, (8, 32, 224, 224)),
        "softmax 8x16x512x512": (lambda: nn.Softmax(-1), (8, 16, 512, 512)),
        "layer norm 8x512x1024": (lambda: nn.LayerNorm(1024), (8, 512, 1024)),
        "LeNet, batch 64": (LeNet, (64, 1, 28, 28)),
        "MLP, batch 64": (
            lambda: nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)),
            (64, 784),
        ),
        "encoder layer 4x128x256": (
            lambda: nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True),
            (4, 128, 256),
        ),
    }


def step(module: nn.Module, run: Callable, x: torch.Tensor, weight: torch.Tensor) -> Step:
    """Forward and backward, with the gradient of the input."""

    def once() -> None:
        module.zero_grad(set_to_none=True)
        x.grad = None
        torch.autograd.backward(run(x), weight)

    return once


def ready(name: str, create: Callable[[], nn.Module], shape: tuple[int, ...]) -> Step:
    torch.manual_seed(0)
    module = create()
    x = torch.randn(shape, requires_grad=True)
    with torch.no_grad():
        weight = torch.randn_like(module(x))
    run = module if name == "eager" else torch.compile(module, backend=name, fullgraph=True)
    once = step(module, run, x, weight)
    for _ in range(3):
        once()
    return once


# How long threads of another system may go on waiting busily for their next loop.
SETTLING_SECONDS = 0.02


def measure(steps: dict[str, Step], rounds: int) -> dict[str, float]:
    """Milliseconds: the median of each, taken turn by turn."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, once in steps.items():
            settled = time.perf_counter() + SETTLING_SECONDS
            once()  # brings its own threads and data back
            while time.perf_counter() < settled:
                once()
            start = time.perf_counter()
            once()
            times[name].append((time.perf_counter() - start) * 1000)
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAME", help="workloads whose name contains this")
    parser.add_argument("--rounds", type=int, default=20, help="turns of each system")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of each system")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    import headrace

    headrace.set_threads(options.threads)
    print(f"forward + backward, {options.threads} threads, milliseconds (median)")
    print(f"{'':26}{'eager':>10}{'inductor':>10}{'headrace':>10}{'best / ours':>13}")
    for label, (create, shape) in workloads().items():
        if options.only and options.only not in label:
            continue
        torch._dynamo.reset()
        steps = {name: ready(name, create, shape) for name in ("eager", "inductor", "headrace")}
        found = measure(steps, options.rounds)
        ratio = min(found["eager"], found["inductor"]) / found["headrace"]
        numbers = "".join(f"{found[name]:10.2f}" for name in steps)
        print(f"{label:26}{numbers}{ratio:13.2f}", flush=True)


if __name__ == "__main__":
    main()
