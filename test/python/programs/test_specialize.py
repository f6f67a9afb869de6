"""Dynamic dimensions with versions for exact ones: what is given, and that results do not tell."""

from __future__ import annotations

import threading
from pathlib import Path

import headrace as hr
import numpy as np
import onnx
import onnx.parser
import pytest


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """As in PP-OCR: convolutions, a squeeze-excite block over dynamic dimensions, hard swish."""
    random = np.random.default_rng(0)
    shapes = {
        "w0": (20, 3, 3, 3),
        "w1": (20, 1, 5, 5),
        "w2": (5, 20, 1, 1),
        "w3": (20, 5, 1, 1),
        "w4": (40, 20, 1, 1),
    }
    declared = ", ".join(
        f"float[{','.join(map(str, shape))}] {name}" for name, shape in shapes.items()
    )
    graph = f"""<ir_version: 9, opset_import: ["": 17]>
      network (float[n,3,h,w] x) => (float[n,40,oh,ow] y)
      <{declared}, float zero = {{0}}, float three = {{3}}, float six = {{6}}> {{
        c0 = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w0)
        a = Add (c0, three)
        k = Clip (a, zero, six)
        m = Mul (c0, k)
        s0 = Div (m, six)
        c1 = Conv <group = 20, pads = [2, 2, 2, 2]> (s0, w1)
        g = GlobalAveragePool (c1)
        e0 = Conv (g, w2)
        r = Relu (e0)
        e1 = Conv (r, w3)
        gate = HardSigmoid (e1)
        scaled = Mul (c1, gate)
        y = Conv (scaled, w4)
      }}"""
    model = onnx.parser.parse_model(graph)
    for name, shape in shapes.items():
        weights = 0.3 * random.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(weights, name))
    path = tmp_path / "network.onnx"
    onnx.save(model, path)
    return path


def picture(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_versions_for_exact_sizes_give_what_the_open_one_gives(network: Path) -> None:
    fixed, free = hr.load(network, specialize="always"), hr.load(network, specialize="never")
    random = np.random.default_rng(1)
    sizes = {tuple(random.integers(1, 24, 3)) for _ in range(6)} | {(1, 1, 1), (2, 2, 2)}
    for n, h, w in sizes:
        x = picture(int(n), 3, int(h), int(w))
        expected = free.reference(x)
        close(fixed(x), expected)
        close(free(x), expected)
    assert fixed.compiled_versions == len(sizes)


def test_always_has_nothing_open(network: Path) -> None:
    model = hr.load(network, specialize="always", plan_cache_size=2)
    for width in (4, 5, 6, 4):
        close(model(picture(2, 3, 4, width)), model.reference(picture(2, 3, 4, width)))
        assert model.compiled_versions <= 2


def test_threads_with_alternating_sizes(network: Path) -> None:
    model = hr.load(network, specialize="always")
    pictures = [picture(1, 3, 8, width) for width in (8, 12, 17)]
    expected = [model.reference(each) for each in pictures]
    wrong: list[str] = []

    def call(first: int) -> None:
        for i in range(12):
            which = (first + i) % len(pictures)
            if not np.allclose(model(pictures[which]), expected[which], 1e-4, 1e-4):
                wrong.append(f"call {i} of {pictures[which].shape}")

    threads = [threading.Thread(target=call, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_other_words_are_refused(network: Path) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="expected auto, always or never, got 'now'"):
        hr.load(network, specialize="now")


def test_a_package_has_no_compiler(network: Path, tmp_path: Path) -> None:
    package = tmp_path / "network.hrpkg"
    hr.write_package(network, package, processors=["native"])
    with pytest.raises(hr.InvalidArgumentError, match="compiled code only"):
        hr.load(package, specialize="always")
    x = picture(2, 3, 9, 9)
    close(hr.load(package)(x), hr.load(network).reference(x))


def test_expressions_take_it() -> None:
    n = hr.var("n")
    x = hr.placeholder((n, 3), "f32")
    program = hr.compile(hr.compute((n, 3), lambda i, j: hr.exp(x[i, j])), specialize="always")
    for rows in (3, 5, 3):
        values = picture(rows, 3)
        close(program(values), np.exp(values))
    assert program.compiled_versions == 2
