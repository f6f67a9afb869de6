"""Channels in blocks of 8 or 16, as recipes ask for them: results stay the same."""

from __future__ import annotations

import os
import re
from pathlib import Path

import headrace as hr
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

BLOCKS = ["blocked8", "blocked16"]


class Network:
    """A graph of layers over images, written as it is drawn."""

    def __init__(self, shape: list[int | str], seed: int = 0) -> None:
        self.draw = np.random.default_rng(seed)
        self.shape = shape
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, *shape: int) -> str:
        values = self.draw.standard_normal(shape).astype(np.float32)
        values /= max(1.0, np.sqrt(values[0].size))
        self.weights.append(numpy_helper.from_array(values, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def add(self, kind: str, inputs: list[str], **attributes: object) -> str:
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x: str, channels: int, filters: int, size: int = 3, **attributes: object) -> str:
        groups = int(str(attributes.get("group", 1)))
        filter_name = self.weight(filters, channels // groups, size, size)
        return self.add("Conv", [x, filter_name, self.weight(filters)], **attributes)

    def save(self, path: Path, result: str) -> Path:
        self.nodes.append(helper.make_node("Identity", [result], ["y"], name="end"))
        graph = helper.make_graph(
            self.nodes,
            "network",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            self.weights,
        )
        opsets = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)
        return path


def check(path: Path, recipe: str, shape: tuple[int, ...]) -> hr.Model:
    model = hr.load(path, recipe=recipe)
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    np.testing.assert_allclose(model(x), model.reference(x), rtol=2e-4, atol=2e-5)
    return model


@pytest.mark.parametrize("layout", BLOCKS)
def test_convolutions_and_what_is_between_them_work_in_blocks(tmp_path: Path, layout: str) -> None:
    net = Network([2, 3, 67, 65])
    first = net.add("Relu", [net.conv("x", 3, 32, pads=[1, 1, 1, 1])])
    pooled = net.add("MaxPool", [first], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    second = net.conv(pooled, 32, 48, pads=[1, 1, 1, 1], dilations=[1, 1], strides=[2, 2])
    third = net.conv(pooled, 32, 16, 1, strides=[2, 2])
    both = net.add("Concat", [second, third], axis=1)
    last = net.conv(net.add("Sigmoid", [both]), 64, 64, pads=[2, 2, 2, 2], dilations=[2, 2])
    path = net.save(tmp_path / "m.onnx", net.add("Add", [last, both]))
    model = check(path, f"layout every conv {layout}\n", (2, 3, 67, 65))
    recipe = model.explain()["recipe"]
    assert recipe.count(f" {layout}\n") == 4
    # Images are moved where they come in and go out alone; the program is compiled again as it was.
    moved = [line for line in model.ir("layout").splitlines() if "hr.transpose" in line]
    assert len(moved) <= 3, moved
    again = hr.load(path, recipe=recipe)
    assert again.explain()["recipe"] == recipe
    first, second = (re.sub(r"resource<\w+>", "", m.ir("schedule")) for m in (model, again))
    assert first == second


def test_one_convolution_in_blocks_leaves_the_others(tmp_path: Path) -> None:
    net = Network(["batch", 16, 9, 9])
    first = net.conv("x", 16, 16, pads=[1, 1, 1, 1])
    second = net.conv(net.add("Relu", [first]), 16, 24)
    path = net.save(tmp_path / "m.onnx", net.add("GlobalAveragePool", [second]))
    model = check(path, f"layout {first} blocked16\n", (3, 16, 9, 9))
    recipe = model.explain()["recipe"]
    assert f"layout {first}/conv blocked16\n" in recipe
    assert f"layout {second}/conv channels-last\n" in recipe
    for batch in (0, 1, 5):
        x = np.ones((batch, 16, 9, 9), np.float32)
        np.testing.assert_allclose(model(x), hr.load(path)(x), rtol=1e-4, atol=1e-5)


def test_channels_of_their_own_work_in_blocks(tmp_path: Path) -> None:
    net = Network([1, 32, 11, 11])
    deep = net.conv("x", 32, 32, group=32, pads=[1, 1, 1, 1], strides=[2, 2])
    scaled = net.add("Mul", [deep, net.weight(1, 32, 1, 1)])
    path = net.save(tmp_path / "m.onnx", net.conv(net.add("Clip", [scaled]), 32, 8, 1))
    check(path, "layout every conv blocked8\n", (1, 32, 11, 11))
    check(path, f"layout {deep} blocked16\n", (1, 32, 11, 11))


@pytest.mark.parametrize(
    ("filters", "options", "layout", "reason"),
    [
        (20, {}, "blocked16", "there are 20 channels, which is not a multiple"),
        (12, {}, "blocked8", "there are 12 channels, which is not a multiple"),
        (16, {"group": 2}, "blocked8", "channels in several groups cannot be blocked"),
        (16, {}, "blocked32", "expected channels-last, channels-first, blocked8 or blocked16"),
    ],
)
def test_layouts_that_are_not_possible_are_refused_with_the_reason(
    tmp_path: Path, filters: int, options: dict, layout: str, reason: str
) -> None:
    net = Network([1, 4, 8, 8])
    conv = net.conv("x", 4, filters, **options)
    path = net.save(tmp_path / "m.onnx", net.add("Relu", [conv]))
    with pytest.raises(hr.InvalidArgumentError, match=reason):
        hr.load(path, recipe=f"layout {conv} {layout}\n").explain()
    # Said of all, it holds where it can.
    if layout != "blocked32":
        check(path, f"layout every conv {layout}\n", (1, 4, 8, 8))


def test_blocks_are_chosen_for_convolutions(tmp_path: Path) -> None:
    net = Network([1, 8, 8, 8])
    relu = net.add("Relu", [net.conv("x", 8, 8)])
    path = net.save(tmp_path / "m.onnx", relu)
    with pytest.raises(hr.InvalidArgumentError, match="blocks are chosen for convolutions"):
        hr.load(path, recipe=f"layout {relu} blocked8\n").explain()


def test_the_bias_of_a_convolution_alone_does_not_lie_in_blocks(tmp_path: Path) -> None:
    net = Network([1, 8, 8, 8])
    path = net.save(tmp_path / "m.onnx", net.conv("x", 8, 16))
    recipe = hr.load(path).explain()["recipe"]
    (bias,) = re.findall(r"^layout (\S+/map) channels-last$", recipe, re.MULTILINE)
    with pytest.raises(
        hr.InvalidArgumentError, match="blocks are chosen for convolutions"
    ) as error:
        hr.load(path, recipe=f"layout {bias} blocked16\n").explain()
    assert bias in str(error.value)
    # Named with its convolution it follows that one.
    check(path, f"layout {bias.removesuffix('/map')} blocked16\n", (1, 8, 8, 8))


def random_network(seed: int) -> tuple[Network, str, tuple[int, ...]]:
    draw = np.random.default_rng(seed)
    channels = int(draw.choice([1, 3, 8, 16, 24]))
    shape = (int(draw.integers(1, 3)), channels, *(int(n) for n in draw.integers(9, 20, 2)))
    net = Network(list(shape), seed)
    values = [("x", channels)]
    for _ in range(int(draw.integers(2, 7))):
        x, channels = values[int(draw.integers(len(values)))]
        kind = draw.choice(["conv", "conv", "conv", "relu", "pool", "scale", "join", "depthwise"])
        if kind == "conv":
            filters, size = int(draw.choice([7, 8, 16, 32, 40])), int(draw.choice([1, 3]))
            pad, step = int(draw.integers(0, 3)), int(draw.integers(1, 3))
            if size == 1:
                pad = 0
            x = net.conv(x, channels, filters, size, pads=[pad] * 4, strides=[step, step])
            channels = filters
            # Sizes must not run out, and joins need equal ones: shapes are made equal.
            x = net.add("Resize", [x, "", "", net_sizes(net, channels)], mode="nearest")
        elif kind == "relu":
            x = net.add("Tanh", [x])
        elif kind == "pool":
            kinds = ["MaxPool", "AveragePool"]
            x = net.add(str(draw.choice(kinds)), [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        elif kind == "scale":
            x = net.add("Mul", [x, net.weight(1, channels, 1, 1)])
        elif kind == "join":
            other, more = values[int(draw.integers(len(values)))]
            x, channels = net.add("Concat", [x, other], axis=1), channels + more
        else:
            x = net.conv(x, channels, channels, group=channels, pads=[1, 1, 1, 1])
        values.append((x, channels))
    return net, values[-1][0], shape


def net_sizes(net: Network, channels: int) -> str:
    sizes = np.array([net.shape[0], channels, *net.shape[2:]], np.int64)
    net.weights.append(numpy_helper.from_array(sizes, f"w{len(net.weights)}"))
    return net.weights[-1].name


SEEDS = 200 if os.environ.get("HEADRACE_LARGE_TESTS") else 6


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_convolutional_networks_compute_the_same_in_blocks(
    tmp_path: Path, seed: int
) -> None:
    net, result, shape = random_network(seed)
    path = net.save(tmp_path / "m.onnx", result)
    check(path, f"layout every conv {BLOCKS[seed % 2]}\n", shape)
