"""Times products of narrow numbers next to the same products in f32, in one run and in turns.

    ./dev bench narrow [--threads 1] [--seconds 0.5] [--only resnet bert]

The shapes are the products of ResNet-50 (convolutions as products of patches, one image) and of BERT base (128 tokens).
Weights are constants. int8 is u8 times i8 with sums in i32 (MatMulInteger), f16 and bf16 are products of such numbers;
the peer is OpenBLAS in f32, called by the same program. ONNX Runtime's int8 stands next to them where it is installed.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from pathlib import Path

from bench.schedules import best_times

# rows, columns, length of the sums
SHAPES = {
    "resnet": [
        (12544, 64, 147),
        (3136, 64, 64),
        (3136, 64, 576),
        (3136, 256, 64),
        (784, 128, 1152),
        (784, 512, 128),
        (784, 128, 512),
        (196, 256, 2304),
        (196, 1024, 256),
        (196, 256, 1024),
        (49, 512, 4608),
        (49, 2048, 512),
        (49, 512, 2048),
    ],
    "bert": [(128, 768, 768), (128, 3072, 768), (128, 768, 3072)],
}


def model(shape: tuple[int, int, int], kind: str):
    """An ONNX model of one product, its input and its weights."""
    import ml_dtypes
    import numpy as np
    from onnx import TensorProto, helper

    rows, columns, inner = shape
    random = np.random.default_rng(0)
    if kind == "int8":
        x = random.integers(0, 256, (rows, inner)).astype(np.uint8)
        w = random.integers(-128, 128, (inner, columns)).astype(np.int8)
        types = (TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32)
    else:
        dtype = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}[kind]
        x, w = (random.standard_normal(s).astype(dtype) for s in ((rows, inner), (inner, columns)))
        name = {"f32": "FLOAT", "f16": "FLOAT16", "bf16": "BFLOAT16"}[kind]
        types = (getattr(TensorProto, name),) * 3
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger" if kind == "int8" else "MatMul", ["x", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", types[0], (rows, inner))],
        [helper.make_tensor_value_info("y", types[2], (rows, columns))],
        [helper.make_tensor("w", types[1], w.shape, w.tobytes(), raw=True)],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8), x, w


def programs(shape: tuple[int, int, int], kinds: list[str]) -> dict:
    """Calls by name, each checked once."""
    import headrace as hr
    import numpy as np
    import onnx

    calls = {}
    for kind in kinds:
        proto, x, w = model(shape, kind)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            onnx.save(proto, path)
            compiled = hr.load(path, expansion="openblas" if kind == "f32" else "auto")
        if kind == "int8":
            np.testing.assert_array_equal(compiled(x), x.astype(np.int32) @ w.astype(np.int32))
        else:
            expected = x.astype(np.float32) @ w.astype(np.float32)
            np.testing.assert_allclose(
                compiled(x).astype(np.float32), expected, rtol=2e-2, atol=0.05 * math.sqrt(shape[2])
            )
        calls[kind] = lambda compiled=compiled, x=x: compiled(x)
        if kind == "int8" and (peer := onnx_runtime(proto)):
            calls["ORT int8"] = lambda peer=peer, x=x: peer.run(None, {"x": x})
    return calls


def onnx_runtime(proto):
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["OPENBLAS_NUM_THREADS"])
    return onnxruntime.InferenceSession(proto.SerializeToString(), options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each call")
    parser.add_argument("--only", nargs="*", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--kinds", nargs="*", default=["int8", "f16", "bf16"])
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = str(options.threads)

    import headrace as hr

    hr.set_threads(options.threads)
    print(f"threads: {options.threads}; speed as a multiple of OpenBLAS in f32")
    logs: dict[str, list[float]] = {}
    for network in options.only:
        for shape in SHAPES[network]:
            times = best_times(programs(shape, ["f32", *options.kinds]), options.seconds)
            rate = 2 * math.prod(shape) / times["f32"] / 1e9
            line = f"{network:7} {'x'.join(map(str, shape)):>15}  f32 {rate:6.1f} GFLOP/s"
            for name, taken in times.items():
                if name == "f32":
                    continue
                logs.setdefault(name, []).append(math.log(times["f32"] / taken))
                line += f"  {name} {times['f32'] / taken:5.2f}"
            print(line, flush=True)
    means = (f"{name} {math.exp(sum(all) / len(all)):.2f}" for name, all in logs.items())
    print("geometric means:", ", ".join(means))


if __name__ == "__main__":
    main()
