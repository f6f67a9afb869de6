"""Quantized networks with scales that are powers of two: as ONNX files with pairs of QuantizeLinear and
DequantizeLinear, and in NumPy, in integers alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Value:
    """A tensor in the model: integers times 2**exponent, and its name before and after DequantizeLinear."""

    def __init__(self, integers: np.ndarray, exponent: int, name: str) -> None:
        self.integers, self.exponent, self.name = integers, exponent, name


class Network:
    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.feeds: dict[str, np.ndarray] = {}
        self.expected: dict[str, np.ndarray] = {}
        self.products: list[str] = []
        self.names = 0

    def constant(self, value: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def node(self, kind: str, *operands: str, name: str = "", **attributes: object) -> str:
        self.names += 1
        result = f"v{self.names}"
        title = name or f"{kind.lower()}{self.names}"
        self.nodes.append(
            helper.make_node(kind, list(operands), [result], name=title, **attributes)
        )
        return result

    def dequantized(
        self, name: str, exponent: int | np.ndarray, dtype: type = np.int8, axis: int = 0
    ) -> str:
        scale = self.constant(np.float32(2.0) ** np.asarray(exponent, np.float32))
        zero = self.constant(np.zeros(np.shape(exponent), dtype))
        extra = {"axis": axis} if np.shape(exponent) else {}
        return self.node("DequantizeLinear", name, scale, zero, **extra)

    def input(self, *shape: int, exponent: int = -5, floats: bool = False) -> Value:
        name = f"x{len(self.inputs)}"
        integers = self.random.integers(-128, 128, shape)
        kind = TensorProto.FLOAT if floats else TensorProto.INT8
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        if not floats:
            self.feeds[name] = integers.astype(np.int8)
            return Value(integers, exponent, name)
        # Between two integers, and beyond the range.
        x = ((integers + self.random.uniform(-0.4, 0.4, shape)) * 2.0**exponent).astype(np.float32)
        x.flat[0] = 1e6
        self.feeds[name] = x
        scale, zero = self.constant(np.float32(2.0**exponent)), self.constant(np.int8(0))
        quantized = np.clip(np.rint(x.astype(np.float64) * 2.0**-exponent), -128, 127).astype(
            np.int64
        )
        return Value(quantized, exponent, self.node("QuantizeLinear", name, scale, zero))

    def quantize(
        self, sums: np.ndarray, exponent: int, name: str, shift: int | None = None
    ) -> Value:
        """Floats of the model, integers here: to 8-bit integers, of a scale that uses them well."""
        if shift is None:
            spread = max(float(np.abs(sums).mean()) * 3, 1)
            shift = max(0, int(np.ceil(np.log2(spread / 127))))
        scale = self.constant(np.float32(2.0 ** (exponent + shift)))
        zero = self.constant(np.int8(0))
        integers = np.clip(np.rint(sums * 2.0**-shift), -128, 127).astype(np.int64)
        return Value(integers, exponent + shift, self.node("QuantizeLinear", name, scale, zero))

    def weights(self, *shape: int) -> np.ndarray:
        return np.clip(np.rint(self.random.normal(0, 40, shape)), -127, 127).astype(np.int64)

    def conv(
        self,
        x: Value,
        out: int,
        size: int = 3,
        stride: int = 1,
        pad: int | None = None,
        groups: int = 1,
        relu: bool = True,
        bias: bool = True,
        per_channel: bool = False,
        residual: Value | None = None,
        dilation: int = 1,
    ) -> Value:
        pad = (size - 1) * dilation // 2 if pad is None else pad
        w = self.weights(out, x.integers.shape[1] // groups, size, size)
        scales = self.random.integers(-8, -5, out) if per_channel else -7
        stored = self.constant(w.astype(np.int8))
        operands = [self.dequantized(x.name, x.exponent), self.dequantized(stored, scales)]
        sums = convolution(x.integers, w, stride, pad, groups, dilation)
        finest = int(np.min(scales))
        sums = sums << (np.asarray(scales) - finest).reshape(-1, 1, 1) if per_channel else sums
        if bias:
            b = self.random.integers(-2000, 2000, out)
            exponents = x.exponent + scales
            operands.append(
                self.dequantized(self.constant(b.astype(np.int32)), exponents, np.int32)
            )
            sums = sums + (b << (np.asarray(scales) - finest)).reshape(-1, 1, 1)
        self.products.append(f"conv{self.names + 1}")
        y = self.node(
            "Conv",
            *operands,
            name=self.products[-1],
            strides=[stride] * 2,
            pads=[pad] * 4,
            group=groups,
            dilations=[dilation] * 2,
        )
        exponent = x.exponent + finest
        if residual is not None:
            y = self.node("Add", y, self.dequantized(residual.name, residual.exponent))
            sums, exponent = aligned_sum(sums, exponent, residual.integers, residual.exponent)
        if relu:
            y = self.node("Relu", y)
            sums = np.maximum(sums, 0)
        return self.quantize(sums, exponent, y)

    def dense(self, x: Value, out: int, relu: bool = False) -> Value:
        w = self.weights(out, x.integers.shape[-1])
        b = self.random.integers(-2000, 2000, out)
        operands = [self.dequantized(x.name, x.exponent)]
        operands.append(self.dequantized(self.constant(w.astype(np.int8)), -7))
        operands.append(
            self.dequantized(self.constant(b.astype(np.int32)), x.exponent - 7, np.int32)
        )
        self.products.append(f"gemm{self.names + 1}")
        y = self.node("Gemm", *operands, name=self.products[-1], transB=1)
        sums = x.integers @ w.T + b
        if relu:
            y = self.node("Relu", y)
            sums = np.maximum(sums, 0)
        return self.quantize(sums, x.exponent - 7, y)

    def pool(self, x: Value, size: int = 2, stride: int = 2, pad: int = 0) -> Value:
        y = self.node(
            "MaxPool",
            self.dequantized(x.name, x.exponent),
            kernel_shape=[size] * 2,
            strides=[stride] * 2,
            pads=[pad] * 4,
        )
        padded = np.pad(x.integers, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=-128)
        view = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))
        return self.quantize(view[:, :, ::stride, ::stride].max((-1, -2)), x.exponent, y, shift=0)

    def add(self, x: Value, y: Value, relu: bool = False) -> Value:
        z = self.node(
            "Add", self.dequantized(x.name, x.exponent), self.dequantized(y.name, y.exponent)
        )
        sums, exponent = aligned_sum(x.integers, x.exponent, y.integers, y.exponent)
        if relu:
            z = self.node("Relu", z)
            sums = np.maximum(sums, 0)
        return self.quantize(sums, exponent, z)

    def flatten(self, x: Value) -> Value:
        """As floats, as exporters place it."""
        y = self.node("Flatten", self.dequantized(x.name, x.exponent))
        flat = x.integers.reshape(x.integers.shape[0], -1)
        return self.quantize(flat, x.exponent, y, shift=0)

    def output(self, x: Value) -> None:
        """Integers, as they are."""
        name = f"y{len(self.outputs)}"
        self.nodes.append(helper.make_node("Identity", [x.name], [name], name=f"out_{name}"))
        shape = x.integers.shape
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.INT8, shape))
        self.expected[name] = x.integers.astype(np.int8)

    def output_softmax(self, x: Value) -> None:
        name = f"y{len(self.outputs)}"
        floats = self.dequantized(x.name, x.exponent)
        self.nodes.append(helper.make_node("Softmax", [floats], [name], name="probabilities"))
        shape = x.integers.shape
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        e = np.exp((x.integers - x.integers.max(-1, keepdims=True)) * 2.0**x.exponent)
        self.expected[name] = (e / e.sum(-1, keepdims=True)).astype(np.float32)

    def write(self, path: Path) -> Path:
        constants = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "network", self.inputs, self.outputs, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
        onnx.checker.check_model(model)
        onnx.save(model, path)
        return path


def aligned_sum(a: np.ndarray, ea: int, b: np.ndarray, eb: int) -> tuple[np.ndarray, int]:
    finest = min(ea, eb)
    return (a << (ea - finest)) + (b << (eb - finest)), finest


def convolution(
    x: np.ndarray, w: np.ndarray, stride: int, pad: int, groups: int, dilation: int
) -> np.ndarray:
    """As matrix products, in doubles: sums stay far below 2**53."""
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    extent = (w.shape[-1] - 1) * dilation + 1
    view = np.lib.stride_tricks.sliding_window_view(x, (extent, extent), (2, 3))
    view = view[:, :, ::stride, ::stride, ::dilation, ::dilation]
    parts = []
    for images, filters in zip(np.split(view, groups, 1), np.split(w, groups, 0)):
        n, c, height, width, ky, kx = images.shape
        rows = images.transpose(0, 2, 3, 1, 4, 5).reshape(-1, c * ky * kx).astype(np.float64)
        product = rows @ filters.reshape(filters.shape[0], -1).T.astype(np.float64)
        parts.append(product.reshape(n, height, width, -1).transpose(0, 3, 1, 2))
    return np.rint(np.concatenate(parts, 1)).astype(np.int64)


def resnet(
    network: Network, batch: int, size: int, width: int, blocks: tuple[int, ...], classes: int
) -> None:
    """A residual network: ResNet-18 is size 224, width 64, blocks (2, 2, 2, 2), 1000 classes."""
    x = network.input(batch, 3, size, size, floats=True)
    x = network.conv(x, width, size=7, stride=2)
    x = network.pool(x, size=3, stride=2, pad=1)
    for stage, count in enumerate(blocks):
        out = width << stage
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            skip = x
            if stride != 1:
                skip = network.conv(x, out, size=1, stride=stride, relu=False)
            y = network.conv(x, out, stride=stride)
            x = network.conv(y, out, residual=skip)
    # The host computes the mean over 7x7 images: 49 is not a power of two.
    floats = network.dequantized(x.name, x.exponent)
    pooled = network.node("GlobalAveragePool", floats)
    flat = network.node("Flatten", pooled)
    exponent = x.exponent - 2
    scale, zero = network.constant(np.float32(2.0**exponent)), network.constant(np.int8(0))
    mean = x.integers.astype(np.float32).mean((2, 3), dtype=np.float64)
    quantized = np.clip(np.rint(mean * 4), -128, 127).astype(np.int64)
    pooled_value = Value(quantized, exponent, network.node("QuantizeLinear", flat, scale, zero))
    network.output(network.dense(pooled_value, classes))
