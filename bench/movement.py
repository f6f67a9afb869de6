"""Times operators that memory bounds next to a copy of the same bytes, and next to ONNX Runtime.

    ./dev bench movement [--threads 1] [--size 4] [--seconds 0.5] [--only resize]

A copy moves as many bytes as the operator reads and writes, each once, with as many threads. All
take turns. A ratio of 1 is the speed of the copy; "fused" operators come with a map behind them,
which should cost nothing.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.schedules import best_times

Shape = tuple[int, ...]


@dataclass
class Case:
    """Operators from "x" to "y": name, inputs, outputs, attributes."""

    name: str
    shape: Shape
    result: Shape
    nodes: list[tuple[str, list[str], list[str], dict[str, Any]]]
    constants: dict[str, np.ndarray] = field(default_factory=dict)

    def moved(self) -> int:
        """Bytes that are read and written, each once."""
        return 4 * int(np.prod(self.shape) + np.prod(self.result))

    def model(self) -> bytes:
        import onnx
        from onnx import TensorProto, helper

        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node(kind, i, o, **attributes) for kind, i, o, attributes in self.nodes],
            "model",
            [info("x", TensorProto.FLOAT, self.shape)],
            [info("y", TensorProto.FLOAT, self.result)],
            [onnx.numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


def cases(images: int) -> Iterator[Case]:
    """Operators on as many images of 64 channels."""
    n, c, s = images, 64, 112
    image, half, twice = (n, c, s, s), (n, c, s // 2, s // 2), (n, c, 2 * s, 2 * s)
    rows, numbers = (n * 3136, 256), np.random.default_rng(0).permutation(n * 3136)
    int64 = np.int64

    def one(name: str, kind: str, shape: Shape, result: Shape, **attributes: Any) -> Case:
        return Case(name, shape, result, [(kind, ["x"], ["y"], attributes)])

    yield one("relu", "Relu", image, image)
    for mode in ("nearest", "linear"):
        yield Case(
            f"resize {mode}",
            image,
            twice,
            [("Resize", ["x", "", "scales"], ["y"], {"mode": mode})],
            {"scales": np.array([1, 1, 2, 2], np.float32)},
        )
    window = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    yield one("max pool 3x3", "MaxPool", image, half, **window)
    yield one("average pool 2x2", "AveragePool", image, half, kernel_shape=[2, 2], strides=[2, 2])
    yield one("global average pool", "GlobalAveragePool", image, (n, c, 1, 1))
    yield Case(
        "pad",
        image,
        (n, c, s + 2, s + 2),
        [("Pad", ["x", "pads"], ["y"], {})],
        {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1], int64)},
    )
    yield one("transpose to channels last", "Transpose", image, (n, s, s, c), perm=[0, 2, 3, 1])
    yield one(
        "transpose of heads", "Transpose", (n, 784, 16, 64), (n, 16, 784, 64), perm=[0, 2, 1, 3]
    )
    yield Case(
        "concat",
        image,
        (n, 2 * c, s, s),
        [("Neg", ["x"], ["m"], {}), ("Concat", ["x", "m"], ["y"], {"axis": 1})],
    )
    yield Case(
        "gather of rows",
        rows,
        rows,
        [("Gather", ["x", "numbers"], ["y"], {"axis": 0})],
        {"numbers": numbers},
    )
    yield Case(
        "channel shuffle",
        image,
        image,
        [
            ("Reshape", ["x", "groups"], ["g"], {}),
            ("Transpose", ["g"], ["t"], {"perm": [0, 2, 1, 3, 4]}),
            ("Reshape", ["t", "flat"], ["y"], {}),
        ],
        {"groups": np.array([n, 4, c // 4, s, s], int64), "flat": np.array(image, int64)},
    )
    yield one("depth to space", "DepthToSpace", image, (n, c // 4, 2 * s, 2 * s), blocksize=2)
    yield one("softmax", "Softmax", rows, rows, axis=1)
    yield Case(
        "layer normalization",
        rows,
        rows,
        [("LayerNormalization", ["x", "scale", "bias"], ["y"], {"axis": 1})],
        {"scale": np.ones(256, np.float32), "bias": np.ones(256, np.float32)},
    )
    yield Case(
        "transpose, then relu (fused)",
        image,
        (n, s, s, c),
        [
            ("Transpose", ["x"], ["t"], {"perm": [0, 2, 3, 1]}),
            ("Relu", ["t"], ["y"], {}),
        ],
    )


def copy_of(moved: int, threads: int) -> Callable[[], object]:
    """Copies half of the bytes, so that as many are read and written, on as many threads."""
    source = np.ones(moved // 8, np.float32)
    into = np.zeros_like(source)
    parts = list(zip(np.array_split(source, threads), np.array_split(into, threads)))
    if threads == 1:
        return lambda: np.copyto(into, source)
    pool = ThreadPoolExecutor(threads)
    return lambda: list(pool.map(lambda part: np.copyto(part[1], part[0]), parts))


def onnx_runtime(model: bytes, threads: int) -> Callable[[np.ndarray], list[np.ndarray]] | None:
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})


def measure(case: Case, options: argparse.Namespace) -> None:
    import headrace as hr

    model = case.model()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(model)
        program = hr.load(path)
    x = np.random.default_rng(0).standard_normal(case.shape, np.float32)
    calls: dict[str, Callable[[], object]] = {
        "ours": lambda: program(x),
        "copy": copy_of(case.moved(), options.threads),
    }
    if peer := onnx_runtime(model, options.threads):
        np.testing.assert_allclose(program(x), peer(x)[0], rtol=1e-4, atol=1e-5, err_msg=case.name)
        calls["peer"] = lambda: peer(x)
    times = best_times(calls, options.seconds)
    rate = case.moved() / times["ours"] / 1e9
    theirs = f"{times['peer'] / times['ours']:8.2f}" if "peer" in times else ""
    print(
        f"{case.name:32} {case.moved() / 2**20:8.1f} {times['ours'] * 1e3:9.3f} {rate:8.1f}"
        f" {times['ours'] / times['copy']:8.2f} {theirs}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--size", type=int, default=4, help="images of 3 MiB in a batch")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each call")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)

    import headrace as hr

    hr.set_threads(options.threads)
    print(f"threads: {options.threads}, best times")
    print(f"{'':32} {'MiB':>8} {'ms':>9} {'GB/s':>8} {'copies':>8} {'vs ORT':>8}")
    for case in cases(options.size):
        if options.only in case.name:
            measure(case, options)


if __name__ == "__main__":
    main()
