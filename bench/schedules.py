"""Times schedules beside what others reach, in the same run and in turns.

    ./dev bench schedules [tutorial products convolutions maps] [--threads 1] [--seconds 2]

tutorial: a product under the recipes of docs/tutorial-schedules.md, one after the other; OpenBLAS
products: the compiler's own choice at even and odd sizes; OpenBLAS, as NumPy brings it
convolutions: 3x3, 64 channels of 56x56; oneDNN, as PyTorch brings it, on its own blocked layout
maps: Mish and softmax; a copy of the same bytes
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "tutorial-schedules.md"


def recipes() -> dict[str, str]:
    """The recipes of the page, by the titles of its steps."""
    text = PAGE.read_text()
    return dict(re.findall(r"^## (\d\. [^\n]+)\n.*?```recipe\n(.*?)```", text, re.M | re.S))


def product(rows: int, columns: int, inner: int):
    import headrace as hr

    A = hr.placeholder((rows, inner), "f32", name="A")
    B = hr.placeholder((inner, columns), "f32", name="B")
    k = hr.axis(inner, name="k")
    return hr.compute((rows, columns), lambda i, j: hr.sum(A[i, k] * B[k, j], axis=k), name="C")


def best_times(functions: dict, seconds: float) -> dict[str, float]:
    """The least time of each, called in turns so that all see the same machine."""
    best = dict.fromkeys(functions, float("inf"))
    end = time.perf_counter() + seconds * len(functions)
    while time.perf_counter() < end:
        for name, call in functions.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def report(title: str, peer: str, calls: dict, seconds: float, operations: float = 0) -> None:
    times = best_times(calls, seconds)
    print(f"\n{title}, best times")
    print(f"{'':42} {'ms':>9} {'GFLOP/s' if operations else '':>8} {'speed of ' + peer:>20}")
    for name, taken in times.items():
        rate = f"{operations / taken / 1e9:.1f}" if operations else ""
        print(f"{name:42} {taken * 1e3:9.3f} {rate:>8} {times[peer] / taken:19.0%}")


def product_calls(shape: tuple[int, int, int], programs: dict) -> dict:
    import numpy as np

    rows, columns, inner = shape
    random = np.random.default_rng(0)
    a, b = random.random((rows, inner), "f4"), random.random((inner, columns), "f4")
    for name, program in programs.items():
        np.testing.assert_allclose(program(a, b), a @ b, rtol=1e-4, err_msg=name)
    calls = {name: lambda program=program: program(a, b) for name, program in programs.items()}
    return {**calls, "OpenBLAS": lambda: a @ b}


def tutorial(options: argparse.Namespace) -> None:
    import headrace as hr

    size = options.size
    C = product(size, size, size)
    programs = {name: hr.compile(C, recipe=recipe) for name, recipe in recipes().items()}
    programs["the compiler's own choice"] = hr.compile(C, expansion="generated")
    calls = product_calls((size, size, size), programs)
    report(f"f32 product of {size} x {size}", "OpenBLAS", calls, options.seconds, 2 * size**3)


def products(options: argparse.Namespace) -> None:
    import headrace as hr

    for shape in PRODUCTS:
        programs = {"generated": hr.compile(product(*shape), expansion="generated")}
        rows, columns, inner = shape
        report(
            f"f32 product, {rows} x {columns} over {inner}",
            "OpenBLAS",
            product_calls(shape, programs),
            options.seconds,
            2 * rows * columns * inner,
        )


def convolution_model(weights, size: int) -> bytes:
    """With padding and constant weights, over an image whose channels come last."""
    import onnx
    from onnx import TensorProto, helper

    outputs, inputs = weights.shape[:2]
    nodes = [
        helper.make_node("Transpose", ["x"], ["first"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["first", "w"], ["convolved"], pads=[1, 1, 1, 1]),
        helper.make_node("Transpose", ["convolved"], ["y"], perm=[0, 2, 3, 1]),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "convolution",
        [value("x", TensorProto.FLOAT, (1, size, size, inputs))],
        [value("y", TensorProto.FLOAT, (1, size, size, outputs))],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


def convolutions(options: argparse.Namespace) -> None:
    import headrace as hr
    import numpy as np
    import torch
    from torch.utils import mkldnn

    torch.set_num_threads(options.threads)
    channels, size = 64, 56
    x = np.random.default_rng(0).random((1, size, size, channels), "f4")
    module = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False).eval()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "convolution.onnx"
        path.write_bytes(convolution_model(module.weight.detach().numpy(), size))
        program = hr.load(path, expansion="generated")
    # Each has the image as it passes it from layer to layer: channels last here, in blocks there.
    packed = mkldnn.to_mkldnn(module)
    theirs = torch.from_numpy(np.ascontiguousarray(x.transpose(0, 3, 1, 2))).to_mkldnn()
    with torch.inference_mode():
        expected = packed(theirs).to_dense().numpy().transpose(0, 2, 3, 1)
        np.testing.assert_allclose(program(x), expected, rtol=1e-4, atol=1e-4)
        calls = {"generated": lambda: program(x), "oneDNN": lambda: packed(theirs)}
        operations = 2 * 9 * channels**2 * size**2
        title = f"f32 3x3 convolution, {channels} channels of {size} x {size}"
        report(title, "oneDNN", calls, options.seconds, operations)


def maps(options: argparse.Namespace) -> None:
    import headrace as hr
    import numpy as np

    rows, columns = 4096, 1024
    X = hr.placeholder((rows, columns), "f32", name="X")
    j = hr.axis(columns, name="c")
    mish = hr.compute(
        (rows, columns),
        lambda r, c: X[r, c] * hr.tanh(hr.log(1.0 + hr.exp(X[r, c]))),
        name="mish",
    )
    top = hr.compute((rows,), lambda r: hr.max(X[r, j], axis=j), name="top")
    total = hr.compute((rows,), lambda r: hr.sum(hr.exp(X[r, j] - top[r]), axis=j), name="total")
    softmax = hr.compute(
        (rows, columns), lambda r, c: hr.exp(X[r, c] - top[r]) / total[r], name="softmax"
    )
    x = np.random.default_rng(0).standard_normal((rows, columns), "f4")
    copy = hr.compile(hr.compute((rows, columns), lambda r, c: X[r, c] * 1.0, name="copy"))
    calls = {"copy": lambda: copy(x)}
    for output in (mish, softmax):
        program = hr.compile(output)
        np.testing.assert_allclose(program(x), program.reference(x), rtol=1e-4, atol=1e-6)
        calls[output.name] = lambda program=program: program(x)
    report(f"f32 maps of {rows} x {columns}", "copy", calls, options.seconds)


SECTIONS = {f.__name__: f for f in (tutorial, products, convolutions, maps)}
PRODUCTS = [(1024, 1024, 1024), (1000, 777, 513), (97, 1025, 529), (5, 3000, 64), (512, 2048, 4096)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all without")
    parser.add_argument("--size", type=int, default=1024, help="of the tutorial's matrices")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each call")
    options = parser.parse_args()
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"expected sections of {', '.join(SECTIONS)}, got {', '.join(unknown)}")
    os.environ["OPENBLAS_NUM_THREADS"] = str(options.threads)

    import headrace as hr

    hr.set_threads(options.threads)
    print(f"threads: {options.threads}")
    for name in options.sections or SECTIONS:
        SECTIONS[name](options)


if __name__ == "__main__":
    main()
