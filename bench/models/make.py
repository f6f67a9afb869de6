#!/usr/bin/env python3
"""Make the benchmark models as ONNX files with random weights from fixed seeds.

Every file is checked by onnx.checker and run by ONNX Runtime against PyTorch. Needs torch, onnx and
onnxruntime. The input is named "input", the output "output", the free dimension "batch".
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn

from bench.workload import model_folder
from cases.networks import MODELS, Model

OPSET = 17
TOLERANCE = 1e-4  # of the largest magnitude; two f32 summation orders differ by far less


def random_input(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def make(model: Model, folder: Path, small: bool = False) -> Path:
    """Write MODEL.onnx into the directory and return its path; on failure no file is left under it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{model.name}.onnx"
    partial = path.with_suffix(".partial")
    module = model.build(small)
    try:
        export(model, module, partial, small)
        state_output_shape(model, module, partial, small)
        onnx.checker.check_model(str(partial), full_check=True)
        verify(model, module, partial, small)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def export(model: Model, module: nn.Module, path: Path, small: bool) -> None:
    dynamic = {"input": {0: "batch"}, "output": {0: "batch"}} if model.dynamic_batch else None
    with warnings.catch_warnings():
        # this exporter is deprecated but writes plain graphs; and it warns of training mode in vain
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", UserWarning)
        torch.onnx.export(
            module,
            (torch.from_numpy(random_input(model.shape(small))),),
            str(path),
            dynamo=False,
            opset_version=OPSET,
            # the module is in inference mode already; EVAL would also fold batch normalization away,
            # which is the compiler's work to do
            training=torch.onnx.TrainingMode.PRESERVE,
            input_names=["input"],
            output_names=["output"],
            dynamic_axes=dynamic,
        )


def state_output_shape(model: Model, module: nn.Module, path: Path, small: bool) -> None:
    """Write the output's sizes into the file: the exporter loses them behind a reshape."""
    with torch.inference_mode():
        shape = list(module(torch.from_numpy(random_input(model.shape(small)))).shape)
    exported = onnx.load(str(path))
    dims = ["batch", *shape[1:]] if model.dynamic_batch else shape
    output = onnx.helper.make_tensor_value_info("output", onnx.TensorProto.FLOAT, dims)
    exported.graph.output[0].CopyFrom(output)
    onnx.save(exported, str(path))


def verify(model: Model, module: nn.Module, path: Path, small: bool) -> None:
    """Compare ONNX Runtime with PyTorch, also at another batch where the batch is dynamic."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    shape = model.shape(small)
    for batch in (shape[0], 3) if model.dynamic_batch else (shape[0],):
        feed = random_input((batch, *shape[1:]), seed=batch)
        (found,) = session.run(None, {"input": feed})
        with torch.inference_mode():
            expected = module(torch.from_numpy(feed)).numpy()
        error = float(np.abs(found - expected).max() / np.abs(expected).max())
        if not error <= TOLERANCE:
            raise RuntimeError(
                f"{model.name}: expected ONNX Runtime within {TOLERANCE} of PyTorch "
                f"at batch {batch}, got {error:.2e}"
            )


def parse_arguments() -> argparse.Namespace:
    listing = "\n".join(
        f"  {m.name:14}{m.about}, {'x'.join(map(str, m.full_shape))}" for m in MODELS.values()
    )
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"models:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="name", help="models to make (default: all)")
    parser.add_argument(
        "--out",
        type=Path,
        help="directory to write into (default: out/ or out/small/ next to this file)",
    )
    parser.add_argument("--small", action="store_true", help="small variants for quick tests")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in MODELS:
            parser.error(f"unknown model '{name}': expected one of {', '.join(MODELS)}")
    return arguments


def main() -> None:
    arguments = parse_arguments()
    folder = arguments.out or model_folder(arguments.small)
    for name in arguments.names or MODELS:
        path = make(MODELS[name], folder, arguments.small)
        print(f"{path}  {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
