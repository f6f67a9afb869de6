"""Times schedules next to what others reach, in the same run and in turns.

    ./dev bench schedules [tutorial products convolutions maps] [--threads 1] [--seconds 2]

tutorial: a product under the recipes of docs/tutorial-schedules.md, one after the other; OpenBLAS
products: the compiler's own choice at even and odd sizes; OpenBLAS, as NumPy brings it
convolutions: 3x3, 64 channels of 56x56; oneDNN, as PyTorch brings it, on its own blocked layout
maps: Mish and softmax; a copy of the same bytes into new memory
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from pathlib import Path

TURN = 0.15  # seconds; threads of OpenBLAS keep cores busy for a while after their work is done
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
    for call in functions.values():
        call()
    for _ in range(max(1, round(seconds / TURN))):
        for name, call in functions.items():
            end = time.perf_counter() + TURN
            while (start := time.perf_counter()) < end:
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


def load_model(operators: list, shape: tuple, result: tuple, weights: dict | None = None):
    """A chain of ONNX operators with their attributes; weights go by the operator's name."""
    import headrace as hr
    import onnx
    from onnx import TensorProto, helper

    weights = weights or {}
    nodes, value = [], "x"
    for i, (kind, attributes) in enumerate(operators):
        more = [name for name in weights if name.startswith(kind)]
        nodes.append(helper.make_node(kind, [value, *more], [f"v{i}"], **attributes))
        value = f"v{i}"
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "model",
        [info("x", TensorProto.FLOAT, shape)],
        [info(value, TensorProto.FLOAT, result)],
        [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
        return hr.load(path, expansion="generated")


def convolutions(options: argparse.Namespace) -> None:
    import numpy as np
    import torch
    from torch.utils import mkldnn

    torch.set_num_threads(options.threads)
    channels, size = 64, 56
    x = np.random.default_rng(0).random((1, size, size, channels), "f4")
    module = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False).eval()
    program = load_model(
        [
            ("Transpose", {"perm": [0, 3, 1, 2]}),
            ("Conv", {"pads": [1, 1, 1, 1]}),
            ("Transpose", {"perm": [0, 2, 3, 1]}),
        ],
        x.shape,
        x.shape,
        {"Conv.weight": module.weight.detach().numpy()},
    )
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

    shape = (16384, 2048)
    X = hr.placeholder(shape, "f32", name="X")
    outputs = {
        # Reads and writes all bytes and computes next to nothing, into memory as new as the others'.
        "copy": hr.compute(shape, lambda r, c: hr.max(X[r, c], 0.0), name="copy"),
        "Mish": hr.compute(
            shape, lambda r, c: X[r, c] * hr.tanh(hr.log(1.0 + hr.exp(X[r, c]))), name="mish"
        ),
    }
    programs = {name: hr.compile(output) for name, output in outputs.items()}
    programs["softmax"] = load_model([("Softmax", {"axis": 1})], shape, shape)
    x = np.random.default_rng(0).standard_normal(shape, "f4")
    e = np.exp(x[:64] - x[:64].max(1, keepdims=True))
    found = programs["softmax"](x)[:64]
    np.testing.assert_allclose(found, e / e.sum(1, keepdims=True), rtol=1e-5)
    calls = {name: lambda program=program: program(x) for name, program in programs.items()}
    calls["NumPy's copy"] = lambda: x.copy()
    report(f"f32 maps of {shape[0]} x {shape[1]}", "copy", calls, options.seconds)


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
