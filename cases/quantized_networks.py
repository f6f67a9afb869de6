"""Small float networks to quantize, and quantized ones evaluated in NumPy by their definition."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper


class NetworkBuilder:
    """Writes a float network node by node; weights are random."""

    def __init__(self, seed: int, opset: int = 17) -> None:
        self.random = np.random.default_rng(seed)
        self.opset = opset
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: list) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape))
        return name

    def constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, *shape: int, gain: float = 1.0) -> str:
        fan_in = int(np.prod(shape[1:])) or 1
        array = self.random.standard_normal(shape) * gain / np.sqrt(fan_in)
        return self.constant(array.astype(np.float32))

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes) -> str:
        name = f"{operator.lower()}{len(self.nodes)}"
        results = [name if i == 0 else f"{name}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, results, name, **attributes))
        return name

    def conv(self, x: str, channels: int, features: int, window: int = 3, **attributes) -> str:
        groups = attributes.get("group", 1)
        weight = self.weight(features, channels // groups, window, window)
        bias = self.weight(features, gain=0.3)
        pads = [window // 2] * 4
        return self.node("Conv", x, weight, bias, pads=pads, **attributes)

    def batch_norm(self, x: str, channels: int) -> str:
        scale, shift, mean = (self.random.uniform(0.5, 1.5, channels) for _ in range(3))
        variance = self.random.uniform(0.5, 2, channels)
        numbers = [a.astype(np.float32) for a in (scale, shift - 1, mean - 1, variance)]
        return self.node("BatchNormalization", x, *map(self.constant, numbers))

    def model(self, *outputs: str) -> onnx.ModelProto:
        infos = [helper.make_tensor_value_info(o, onnx.TensorProto.FLOAT, None) for o in outputs]
        graph = helper.make_graph(self.nodes, "net", self.inputs, infos, self.initializers)
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return onnx.shape_inference.infer_shapes(model)


def plain_cnn(b: NetworkBuilder) -> onnx.ModelProto:
    x = b.node("Relu", b.conv(b.input("x", ["n", 3, 12, 12]), 3, 8))
    x = b.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = b.node("Clip", b.conv(x, 8, 12, strides=[2, 2]), *clip_limits(b, 0, 2))
    x = b.node("Flatten", x)
    return b.model(b.node("Gemm", x, b.weight(10, 108), b.weight(10), transB=1))


def clip_limits(b: NetworkBuilder, least: float, greatest: float) -> list[str]:
    return [b.constant(np.array(limit, np.float32)) for limit in (least, greatest)]


def residual(b: NetworkBuilder) -> onnx.ModelProto:
    x = b.node("Relu", b.batch_norm(b.conv(b.input("x", ["n", 4, 9, 9]), 4, 8), 8))
    inner = b.node("Relu", b.batch_norm(b.conv(x, 8, 8), 8))
    x = b.node("Relu", b.node("Add", b.batch_norm(b.conv(inner, 8, 8), 8), x))
    x = b.node("GlobalAveragePool", x)
    return b.model(b.node("Gemm", b.node("Flatten", x), b.weight(8, 5)))


def concatenated(b: NetworkBuilder) -> onnx.ModelProto:
    x = b.input("x", ["n", 4, 8, 8])
    parts = [
        b.node("Relu", b.conv(x, 4, 6, 1)),
        b.conv(x, 4, 5),
        b.node("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4),
    ]
    joined = b.node("Concat", *parts, axis=1)
    return b.model(b.conv(joined, 15, 7))


def depthwise(b: NetworkBuilder) -> onnx.ModelProto:
    x = b.conv(b.input("x", ["n", 6, 10, 10]), 6, 6, group=6)
    x = b.node("Clip", x, *clip_limits(b, 0, 6))
    x = b.node("Transpose", b.conv(x, 6, 8, 1), perm=[0, 2, 3, 1])
    return b.model(x)


def mlp(b: NetworkBuilder) -> onnx.ModelProto:
    x = b.input("x", ["n", 20])
    for inner, outer in ((20, 33), (33, 16)):
        x = b.node("MatMul", x, b.weight(inner, outer, gain=2.0))
        x = b.node("Relu", b.node("Add", x, b.weight(outer)))
    return b.model(b.node("Gemm", x, b.weight(16, 4), b.weight(4), alpha=0.5, beta=2.0))


def two_inputs(b: NetworkBuilder) -> onnx.ModelProto:
    x, y = b.input("x", ["n", 7, 5]), b.input("y", ["n", 5, 6])
    product = b.node("MatMul", x, y)
    return b.model(b.node("Softmax", b.node("MatMul", product, b.weight(6, 9)), axis=-1), product)


def joined_constants(b: NetworkBuilder) -> onnx.ModelProto:
    x = b.input("x", ["n", 6])
    rows = b.node("Gather", b.weight(9, 6), b.constant(np.array([1, 4, 4, 8])))
    table = b.node("Concat", rows, b.weight(2, 6, gain=3.0), axis=0)
    return b.model(b.node("MatMul", x, b.node("Transpose", table, perm=[1, 0])))


def random_cnn(b: NetworkBuilder) -> onnx.ModelProto:
    """Layers in any order, with branches that are added or joined."""
    channels, size = int(b.random.integers(1, 9)), int(b.random.integers(6, 12))
    x = b.input("x", ["n", channels, size, size])
    for _ in range(int(b.random.integers(2, 6))):
        kind = b.random.choice(["conv", "pointwise", "depthwise", "add", "join", "pool", "norm"])
        if kind == "pool":
            x = b.node("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4)
        elif kind == "depthwise":
            x = activated(b, b.conv(x, channels, channels, group=channels))
        elif kind == "add":
            y = b.conv(x, channels, channels)
            x = activated(b, b.node("Add", *([x, y] if b.random.random() < 0.5 else [y, x])))
        elif kind == "join":
            x = b.node("Concat", x, activated(b, b.conv(x, channels, 3)), axis=1)
            channels += 3
        else:
            features = int(b.random.integers(1, 20))
            x = b.conv(x, channels, features, 1 if kind == "pointwise" else 3)
            channels = features
            x = activated(b, b.batch_norm(x, channels) if kind == "norm" else x)
    x = b.node("Flatten", b.node("GlobalAveragePool", x))
    return b.model(b.node("Gemm", x, b.weight(4, channels), b.weight(4), transB=1))


def activated(b: NetworkBuilder, x: str) -> str:
    kind = b.random.choice(["Relu", "Clip", "none"])
    if kind == "none":
        return x
    return b.node(kind, x, *(clip_limits(b, 0, 6) if kind == "Clip" else []))


NETWORKS = {
    f.__name__: f
    for f in (plain_cnn, residual, concatenated, depthwise, mlp, two_inputs, joined_constants)
}


def build(name: str, seed: int, opset: int = 17) -> onnx.ModelProto:
    return NETWORKS[name](NetworkBuilder(seed, opset))


def build_random(seed: int) -> onnx.ModelProto:
    return random_cnn(NetworkBuilder(seed))


def samples(model: onnx.ModelProto, count: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Normal numbers for each input, whose first size is the number of samples."""
    random = np.random.default_rng(seed)
    shapes = {
        i.name: [count, *(d.dim_value for d in i.type.tensor_type.shape.dim[1:])]
        for i in model.graph.input
    }
    return {name: random.standard_normal(s).astype(np.float32) for name, s in shapes.items()}


def convolution(x: np.ndarray, w: np.ndarray, node: dict) -> np.ndarray:
    """In 32-bit integers, by loops over the window."""
    groups, strides, pads = node.get("group", 1), node.get("strides", [1, 1]), node["pads"]
    x = np.pad(x.astype(np.int32), ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    features, inner, rows, columns = w.shape
    out_rows = (x.shape[2] - rows) // strides[0] + 1
    out_columns = (x.shape[3] - columns) // strides[1] + 1
    result = np.zeros((len(x), features, out_rows, out_columns), np.int32)
    for f in range(features):
        first = f // (features // groups) * inner
        for i in range(rows):
            for j in range(columns):
                part = x[:, first : first + inner, i:, j:]
                part = part[:, :, :: strides[0], :: strides[1]][:, :, :out_rows, :out_columns]
                result[:, f] += (part * w[f, :, i, j].astype(np.int32)[:, None, None]).sum(
                    axis=1, dtype=np.int32
                )
    return result


class Sums:
    """32-bit sums of products and the scale, along one axis, that makes floats of them."""

    def __init__(self, integers: np.ndarray, scale: np.ndarray, axis: int) -> None:
        self.integers, self.scale, self.axis = integers, scale, axis

    def floats(self) -> np.ndarray:
        shape = [1] * self.integers.ndim
        if self.scale.ndim:
            shape[self.axis] = -1
        return self.integers.astype(np.float32) * self.scale.reshape(shape)


class Evaluation:
    """A QDQ network by definition: products and biases in integers, all else in f32."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.graph = model.graph
        self.values: dict = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}

    def run(self, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
        self.values.update(feeds)
        for node in self.graph.node:
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            inputs = [self.values[name] if name else None for name in node.input]
            self.values[node.output[0]] = getattr(self, node.op_type)(attributes, *inputs)
        return [self.floats(self.values[o.name]) for o in self.graph.output]

    @staticmethod
    def floats(value):
        return value.floats() if isinstance(value, Sums) else value

    def QuantizeLinear(self, _, x, scale, zero):
        assert zero.dtype == np.int8 and not zero.any()
        return np.clip(np.rint(self.floats(x) / scale), -128, 127).astype(np.int8)

    def DequantizeLinear(self, attributes, x, scale, zero=None):
        assert zero is None or not zero.any()
        return Sums(x, scale, attributes.get("axis", 1))

    def product(self, sums, x, w, axis):
        return Sums(sums, (x.scale * w.scale).astype(np.float32), axis)

    def biased(self, product, bias):
        if bias is None:
            return product
        np.testing.assert_array_equal(bias.scale, product.scale)
        shape = [1] * product.integers.ndim
        shape[product.axis] = -1
        return Sums(product.integers + bias.integers.reshape(shape), product.scale, product.axis)

    def Conv(self, attributes, x, w, b=None):
        sums = convolution(x.integers, w.integers, attributes)
        return self.biased(self.product(sums, x, w, 1), b)

    def Gemm(self, attributes, x, w, b=None):
        assert not {"alpha", "beta"} & set(attributes)
        weights = w.integers.T if attributes.get("transB", 0) else w.integers
        sums = x.integers.astype(np.int32) @ weights.astype(np.int32)
        return self.biased(self.product(sums, x, w, 1), b)

    def MatMul(self, _, x, w):
        sums = x.integers.astype(np.int32) @ w.integers.astype(np.int32)
        return self.product(sums, x, w, sums.ndim - 1)

    def Add(self, _, x, y):
        if isinstance(y, Sums) and y.integers.dtype == np.int32 and y.integers.ndim == 1:
            return self.biased(x, y)
        return self.floats(x) + self.floats(y)

    def Relu(self, _, x):
        return np.maximum(self.floats(x), 0)

    def Clip(self, _, x, least, greatest):
        return np.clip(self.floats(x), least, greatest)

    def MaxPool(self, attributes, x):
        window, pads = attributes["kernel_shape"], attributes.get("pads", [0] * 4)
        strides = attributes.get("strides", [1, 1])
        padding = ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3]))
        x = np.pad(self.floats(x), padding, constant_values=-np.inf)
        windows = np.lib.stride_tricks.sliding_window_view(x, window, (2, 3))
        return windows[:, :, :: strides[0], :: strides[1]].max(axis=(-1, -2))

    def GlobalAveragePool(self, _, x):
        return self.floats(x).mean(axis=(2, 3), keepdims=True, dtype=np.float64).astype(np.float32)

    def Flatten(self, _, x):
        x = self.floats(x)
        return x.reshape(len(x), -1)

    def Gather(self, _, x, places):
        return self.floats(x)[places]

    def Transpose(self, attributes, x):
        return self.floats(x).transpose(attributes["perm"])

    def Concat(self, attributes, *parts):
        return np.concatenate([self.floats(part) for part in parts], attributes["axis"])

    def Softmax(self, attributes, x):
        x = np.exp(self.floats(x) - self.floats(x).max(axis=-1, keepdims=True))
        return x / x.sum(axis=-1, keepdims=True)
