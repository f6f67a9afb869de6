"""Tells what tuning finds, and how fast: strategies compared on the VTA simulator, whose cycles do not depend
on the machine, or tuned kernels next to untuned ones and a library on this CPU.

    ./dev bench tuning [--trials 64] [--seeds 5] [--layers 10]
    ./dev bench tuning --cpu [--trials 64] [--seconds 2]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from bench.workload import ROOT

STRATEGIES = ("learned", "evolution", "random")
STEPS = (8, 16, 32, 64)
#: Convolutions of quantized networks: channels in and out, pixels, window.
LAYERS = [
    (16, 32, 14, 3), (16, 16, 28, 3), (32, 64, 14, 3), (64, 64, 14, 1), (32, 32, 28, 1),
    (64, 32, 7, 3), (64, 128, 7, 1), (16, 64, 28, 1), (48, 48, 14, 3), (32, 16, 28, 3),
]  # fmt: skip
#: Convolutions and products of ResNet-50, MobileNetV2 and BERT.
CONVOLUTIONS = {
    "ResNet-50 3x3, 64, 56": (64, 64, 56, 3, 1),
    "ResNet-50 3x3, 128, 28": (128, 128, 28, 3, 1),
    "ResNet-50 3x3, 512, 7": (512, 512, 7, 3, 1),
    "ResNet-50 1x1, 256 to 64, 56": (256, 64, 56, 1, 1),
    "ResNet-50 1x1, 1024 to 256, 14": (1024, 256, 14, 1, 1),
    "MobileNetV2 depthwise, 96, 56": (96, 96, 56, 3, 96),
    "MobileNetV2 1x1, 32 to 16, 112": (32, 16, 112, 1, 1),
    "MobileNetV2 1x1, 160 to 960, 7": (160, 960, 7, 1, 1),
}
PRODUCTS = {"BERT 128x768x768": (128, 768, 768), "BERT 128x768x3072": (128, 768, 3072)}


def headrace(*words: object, tuned: Path | str = "") -> str:
    binary = os.environ.get("HEADRACE_BIN", str(ROOT / "build/release/bin/headrace"))
    environment = {**os.environ, "HEADRACE_TUNED": str(tuned)}
    command = [binary, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def write(path: Path, nodes: list, constants: dict, shape: list[int], result: list[int]) -> Path:
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return path


def convolution(path: Path, channels: int, out: int, pixels: int, size: int, groups: int) -> Path:
    random = np.random.default_rng(0)
    weights = random.standard_normal((out, channels // groups, size, size)).astype(np.float32)
    node = helper.make_node(
        "Conv", ["x", "w", "b"], ["c"], "conv", pads=[size // 2] * 4, group=groups
    )
    relu = helper.make_node("Relu", ["c"], ["y"], "relu")
    constants = {"w": weights / 20, "b": random.standard_normal(out).astype(np.float32)}
    return write(
        path, [node, relu], constants, [1, channels, pixels, pixels], [1, out, pixels, pixels]
    )


def product(path: Path, rows: int, depth: int, columns: int) -> Path:
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"], "product"),
        helper.make_node("Add", ["p", "b"], ["y"], "bias"),
    ]
    constants = {
        "w": (random.standard_normal((depth, columns)) / 20).astype(np.float32),
        "b": random.standard_normal(columns).astype(np.float32),
    }
    return write(path, nodes, constants, [rows, depth], [rows, columns])


def quantized(path: Path, channels: int, out: int, pixels: int, size: int) -> Path:
    """A convolution of 8-bit integers between pairs of QuantizeLinear and DequantizeLinear."""
    random = np.random.default_rng(0)
    weights = random.integers(-128, 128, (out, channels, size, size)).astype(np.int8)
    constants = {"w": weights, "zero": np.int8(0)}
    constants |= {name: np.float32(2.0**-i) for name, i in [("sx", 5), ("sw", 7), ("sy", 2)]}

    def pair(source: str, scale: str, name: str) -> list:
        return [
            helper.make_node("QuantizeLinear", [source, scale, "zero"], [name + "q"]),
            helper.make_node("DequantizeLinear", [name + "q", scale, "zero"], [name]),
        ]

    nodes = [
        *pair("x", "sx", "xd"),
        helper.make_node("DequantizeLinear", ["w", "sw", "zero"], ["wd"]),
        helper.make_node("Conv", ["xd", "wd"], ["c"], "conv", pads=[size // 2] * 4),
        *pair("c", "sy", "y"),
    ]
    return write(path, nodes, constants, [1, channels, pixels, pixels], [1, out, pixels, pixels])


def best_after(log: Path) -> list[float]:
    """The fewest cycles after each trial, in relation to the compiler's own schedule."""
    best, found = math.inf, []
    for line in log.read_text().splitlines():
        trial = json.loads(line)
        if trial["status"] == "measured":
            best = min(best, trial["us"] / trial["default_us"])
        found.append(best)
    return found


def compare_strategies(folder: Path, trials: int, seeds: int, layers: int) -> None:
    curves: dict[str, list[list[list[float]]]] = {name: [] for name in STRATEGIES}
    for i, layer in enumerate(LAYERS[:layers]):
        model = quantized(folder / f"{i}.onnx", *layer)
        for strategy in STRATEGIES:
            of_layer = []
            for seed in range(seeds):
                log = folder / f"{i}.{strategy}.{seed}"
                words = ("--target", "vta", "--trials", trials, "--seed", seed, "--log", log)
                headrace("tune", model, *words, "--strategy", strategy)
                of_layer.append(best_after(log))
            curves[strategy].append(of_layer)
    print("best so far in relation to the compiler's schedule, geometric mean over the layers;")
    print(f"mean of {seeds} seeds, and the standard deviation between them\n")
    steps = [step for step in STEPS if step <= trials]
    print(f"{'trials':12}" + "".join(f"{step:>18}" for step in steps))
    for strategy, of_layers in curves.items():
        row = f"{strategy:12}"
        for step in steps:
            means = [
                statistics.geometric_mean(
                    seeds_[s][min(step, len(seeds_[s])) - 1] for seeds_ in of_layers
                )
                for s in range(seeds)
            ]
            spread = statistics.stdev(means) if seeds > 1 else 0
            row += f"{statistics.mean(means):>11.4f} ±{spread:.4f}"
        print(row)
    for other in STRATEGIES[1:]:
        better = sum(
            statistics.mean(c[-1] for c in mine) <= statistics.mean(c[-1] for c in theirs)
            for mine, theirs in zip(curves["learned"], curves[other])
        )
        print(
            f"learned is at least as good as {other} on {better} of {len(LAYERS[:layers])} layers"
        )


def milliseconds(model: Path, *words: object, tuned: Path | str = "") -> float:
    report = json.loads(headrace("bench", model, *words, "--json", tuned=tuned))
    return report["systems"][0]["median_us"] / 1000


def compare_kernels(folder: Path, trials: int, seconds: float, threads: int) -> None:
    ratios = []
    print(f"{'kernel':34}{'untuned':>12}{'tuned':>12}{'':>8}{'library':>12}")
    for name, sizes in {**CONVOLUTIONS, **PRODUCTS}.items():
        make = convolution if name in CONVOLUTIONS else product
        path = make(folder / f"{abs(hash(name))}.onnx", *sizes)
        store = folder / "tuned.jsonl"
        generated = ("--expansion", "generated", "--threads", threads)
        words = ("--trials", trials, "--log", folder / "log")
        headrace("tune", path, *generated, *words, tuned=store)
        turns = []
        for _ in range(5):
            turns.append(
                (
                    milliseconds(path, *generated, "--seconds", seconds / 5),
                    milliseconds(path, *generated, "--seconds", seconds / 5, tuned=store),
                    milliseconds(
                        path,
                        "--expansion",
                        "openblas",
                        "--threads",
                        threads,
                        "--seconds",
                        seconds / 5,
                    ),
                )
            )
        untuned, tuned, library = (statistics.median(turn[i] for turn in turns) for i in range(3))
        ratios.append(untuned / tuned)
        print(
            f"{name:34}{untuned:>9.3f} ms{tuned:>9.3f} ms{untuned / tuned:>7.2f}x{library:>9.3f} ms"
        )
    print(f"geometric mean: {statistics.geometric_mean(ratios):.3f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpu", action="store_true", help="kernels on this CPU, against a library")
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--layers", type=int, default=len(LAYERS))
    parser.add_argument("--seconds", type=float, default=2, help="for each kernel with --cpu")
    parser.add_argument("--threads", type=int, default=1, help="of calls with --cpu")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.cpu:
            compare_kernels(Path(folder), options.trials, options.seconds, options.threads)
        else:
            compare_strategies(Path(folder), options.trials, options.seeds, options.layers)


if __name__ == "__main__":
    main()
