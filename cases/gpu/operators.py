"""Operators on a device: small programs with inputs.

Those of the tests of ONNX operators, each kind of kernel at sizes around the boundaries of its tiles, and
random graphs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx import helper

from cases.graphs.onnx_graphs import generate
from cases.graphs.values import Program, epsilon
from cases.operators.case import Case, normal, one
from cases.operators.compute import compute_cases
from cases.operators.movement import movement_cases

RANDOM_GRAPHS = 300
ROW_LENGTHS = (1, 2, 3, 7, 31, 32, 33, 100, 128, 509, 1000, 1025, 1536, 2047, 2048, 4100, 9001)
LONG_ROWS = (40_000, 65_536)
MATRICES = (
    (1, 1, 1),
    (3, 5, 7),
    (16, 16, 16),
    (17, 33, 65),
    (63, 64, 65),
    (64, 16, 130),
    (100, 147, 64),
    (128, 128, 128),
    (129, 15, 127),
    (130, 200, 72),
    (257, 256, 511),
    (300, 321, 129),
)
CONVOLUTIONS = (  # channels, size, kernels, window, stride, padding, groups
    (3, 20, 16, 7, 2, 3, 1),
    (16, 14, 24, 3, 1, 1, 1),
    (24, 9, 20, 1, 1, 0, 1),
    (17, 11, 19, 3, 2, 1, 1),
    (16, 12, 16, 3, 1, 1, 16),
    (8, 10, 12, 3, 1, 1, 4),
    (64, 15, 64, 3, 1, 1, 1),
)


@dataclass
class RandomGraph:
    """A program of the random tests, as a case."""

    program: Program

    @property
    def name(self) -> str:
        return f"random_{self.program.seed}"

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        return self.program.feeds

    def save(self, folder: Path) -> Path:
        model = onnx.ModelProto()
        model.CopyFrom(self.program.model)
        dims = [d for value in model.graph.input for d in value.type.tensor_type.shape.dim]
        # A package has versions for all mixtures of 0, 1 and more of at most two dynamic dimensions.
        if len({d.dim_param for d in dims if d.dim_param}) > 2:
            for value in model.graph.input:
                shape = self.inputs[value.name].shape if value.name in self.inputs else ()
                for d, size in zip(value.type.tensor_type.shape.dim, shape):
                    d.dim_value = size
        onnx.save(model, folder / "model.onnx")
        return folder / "model.onnx"

    def tolerances(self) -> list[float]:
        """How far each output may be off, or infinity where NaN and the largest numbers meet rounding."""
        allowed = []
        for output in self.program.model.graph.output:
            error = self.program.tolerances[output.name]
            dtype = self.program.types[output.name]
            odd = output.name in self.program.special and error > 0
            allowed.append(float("inf") if odd else 8 * error * epsilon(dtype))
        return allowed


def random_graphs(count: int) -> Iterator[RandomGraph]:
    """Random programs with inputs; without any they are constants, which no device computes."""
    programs = (generate(seed) for seed in itertools.count())
    with_inputs = (program for program in programs if program.feeds)
    yield from map(RandomGraph, itertools.islice(with_inputs, count))


def cases(random: int = RANDOM_GRAPHS) -> Iterator[Case | RandomGraph]:
    yield from compute_cases()
    yield from movement_cases()
    yield from rows()
    yield from reductions()
    yield from products()
    yield from heads()
    yield from convolutions()
    yield from random_graphs(random)


def varied(*shape: int) -> np.ndarray:
    """Numbers that come again, at other places of every row: a kit of them is small."""
    return np.resize(normal(997), shape)


def rows() -> Iterator[Case]:
    for length in ROW_LENGTHS:
        for kind in (np.float32, np.float16):
            label = f"{length}_{np.dtype(kind).name}"
            yield one("Softmax", varied(5, length).astype(kind), label=label, axis=-1)
        x, scale, bias = varied(3, 4, length), varied(length), varied(length)
        yield one("LayerNormalization", x, scale, bias, label=f"{length}", axis=-1)
        yield one("ReduceMax", varied(4, length), label=f"{length}", axes=[1], keepdims=0)
        open_sizes = {0: ["rows", "columns"]}
        yield one("Softmax", varied(6, length), label=f"{length}_open", axis=-1, free=open_sizes)
    for length in LONG_ROWS:
        yield one("Softmax", varied(3, length), label=f"{length}", axis=-1)
        yield one("ReduceSum", varied(40, length), np.array([1]), constants=(1,), label=f"{length}")


def reductions() -> Iterator[Case]:
    """Along every set of dimensions: few and many results, lying along what is reduced or across."""
    shapes = ((3, 5, 7, 9), (40, 3, 17, 66), (2, 300, 33, 4))
    for shape, count in itertools.product(shapes, (1, 2, 3, 4)):
        for axes in itertools.combinations(range(4), count):
            label = "x".join(map(str, shape)) + "_over_" + "".join(map(str, axes))
            yield one("ReduceMean", varied(*shape), label=label, axes=list(axes), keepdims=0)
            if count == 2:
                yield one("ReduceL2", varied(*shape), label=label, axes=list(axes))
    yield one("ReduceSum", varied(1009, 1013), label="everything", keepdims=0)
    yield one("ReduceMin", varied(100_003), label="everything", keepdims=0)


def products() -> Iterator[Case]:
    kinds = (np.float32, np.float16, ml_dtypes.bfloat16, np.float64)
    for (m, k, n), kind in itertools.product(MATRICES, kinds):
        a, b = varied(m, k).astype(kind), varied(k, n).astype(kind)
        label = f"{m}x{k}x{n}_{np.dtype(kind).name}"
        yield one("MatMul", a, b, label=label)
        if kind in (np.float32, ml_dtypes.bfloat16):
            yield one("MatMul", a, b, label=f"{label}_open", free={0: ["m", "k"], 1: ["k", "n"]})
            yield one("Gemm", a.T.copy(), b, varied(n).astype(kind), label=label, transA=1)
            yield one("Gemm", a, b.T.copy(), varied(n).astype(kind), label=label, transB=1)
            batch = np.stack([a, -a, a + a]), np.stack([b, b, -b])
            yield one("MatMul", *batch, label=f"{label}_batch")
            yield one("MatMul", batch[0], b, label=f"{label}_rows", free={0: ["b", m, k]})


def heads() -> Iterator[Case]:
    """Attention's products, of heads that lie side by side in memory."""
    for (tokens, size), kind in itertools.product(
        ((128, 64), (33, 40), (130, 72)), (np.float32, np.float16, ml_dtypes.bfloat16)
    ):
        q, k = (varied(2, tokens, 3, size).astype(kind) for _ in range(2))
        scores = [
            helper.make_node("Transpose", ["q"], ["a"], perm=[0, 2, 1, 3]),
            helper.make_node("Transpose", ["k"], ["b"], perm=[0, 2, 3, 1]),
            helper.make_node("MatMul", ["a", "b"], ["y"]),
        ]
        label = f"{tokens}x{size}_{np.dtype(kind).name}"
        yield Case(f"Heads_{label}", scores, {"q": q, "k": k})
        mixed = [
            helper.make_node("Transpose", ["v"], ["b"], perm=[0, 2, 1, 3]),
            helper.make_node("MatMul", ["p", "b"], ["c"]),
            helper.make_node("Transpose", ["c"], ["y"], perm=[0, 2, 1, 3]),
        ]
        weights = varied(2, 3, tokens, tokens).astype(kind)
        yield Case(f"HeadsMixed_{label}", mixed, {"p": weights, "v": k})


def convolutions() -> Iterator[Case]:
    for channels, size, kernels, window, stride, padding, groups in CONVOLUTIONS:
        x, w = (
            varied(2, channels, size, size + 1),
            varied(kernels, channels // groups, window, window),
        )
        label = f"{channels}x{size}_{kernels}x{window}_{groups}"
        attributes = {
            "pads": [padding] * 4,
            "strides": [stride] * 2,
            "kernel_shape": [window] * 2,
            "group": groups,
        }
        yield one("Conv", x, w, varied(kernels), label=label, **attributes)
        nodes = [
            helper.make_node("Conv", ["x", "w", "b"], ["c"], **attributes),
            helper.make_node("Relu", ["c"], ["y"]),
        ]
        yield Case(f"ConvRelu_{label}", nodes, {"x": x}, {"w": w, "b": varied(kernels)})
