"""Models as users have them: out of wheels with trained weights, exported by PyTorch, and quantized by ONNX Runtime.

Each is compared with ONNX Runtime at several sizes. The numeric policy: against the reference in double precision, the
root mean square error is at most three times ONNX Runtime's.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from examples.models import fetch

Feeds = dict[str, np.ndarray]
EXPORTERS = ("torchscript", "dynamo")
QUANTIZATIONS = ("none", "static", "dynamic")


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[Path], Path]  # the model's file; may write it into a directory
    feeds: Callable[[], list[Feeds]]
    missing: str = ""  # why it cannot be made here
    quantized: bool = False


def noise(random: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return random.standard_normal(shape, dtype=np.float32) * np.float32(scale)


def file_bytes(random: np.random.Generator, count: int) -> Feeds:
    return {"bytes": random.integers(0, 257, (count, 2048), dtype=np.int32)}


def sounds(random: np.random.Generator, batch: int, rate: int) -> Feeds:
    length = 576 if rate == 16000 else 288
    feeds = {"input": noise(random, batch, length, scale=0.1)}
    feeds["state"] = noise(random, 2, batch, 128, scale=0.1)
    return feeds | {"sr": np.array(rate)}


def chunks(random: np.random.Generator, count: int) -> Feeds:
    feeds = {"input": noise(random, count, 576, scale=0.1)}
    return feeds | {name: noise(random, 1, 1, 128, scale=0.1) for name in ("h", "c")}


def without_rate(feeds: Feeds) -> Feeds:
    return {name: feed for name, feed in feeds.items() if name != "sr"}


BOTH_RATES = ((1, 16000), (1, 8000), (3, 16000))
WHEEL_FEEDS: dict[str, Callable[[np.random.Generator], list[Feeds]]] = {
    "model.onnx": lambda r: [file_bytes(r, n) for n in (1, 2, 5)],
    "ch_PP-OCRv4_det_infer.onnx": lambda r: [
        {"x": noise(r, 1, 3, *s)} for s in ((64, 64), (96, 160), (128, 96), (160, 320))
    ],
    "ch_PP-OCRv4_rec_infer.onnx": lambda r: [
        {"x": noise(r, b, 3, 48, w)} for b, w in ((1, 64), (1, 163), (2, 320), (3, 200))
    ],
    "ch_ppocr_mobile_v2.0_cls_infer.onnx": lambda r: [
        {"x": noise(r, b, 3, 48, w)} for b, w in ((1, 192), (3, 192), (6, 192))
    ],
    "silero_vad.onnx": lambda r: [sounds(r, *s) for s in BOTH_RATES],
    "silero_vad_16k_op15.onnx": lambda r: [sounds(r, b, 16000) for b in (1, 3)],
    "silero_vad_16k_sequence.onnx": lambda r: [chunks(r, n) for n in (1, 7, 50)],
    "silero_vad_half.onnx": lambda r: [without_rate(sounds(r, b, 16000)) for b in (1, 3)],
    "silero_vad_op18_ifless.onnx": lambda r: [sounds(r, *s) for s in BOTH_RATES],
    "silero_vad_openvino_16k.onnx": lambda r: [without_rate(sounds(r, 1, 16000))],
}


def wheel_cases() -> list[Case]:
    cases = []
    for wheel in fetch.WHEELS:
        for name, digest in wheel.files.items():
            path = fetch.target(fetch.cache_folder(), wheel, name)
            if path.suffix != ".onnx":
                continue
            there = fetch.is_there(path, digest)
            missing = "" if there else f"{path} is missing: ./dev models fetches it"
            label = f"{wheel.package}/{path.stem}"
            feeds = WHEEL_FEEDS[path.name]
            cases.append(
                Case(
                    label, lambda _, p=path: p, lambda f=feeds: f(np.random.default_rng(3)), missing
                )
            )
    return cases


def exported_cases(small: bool) -> list[Case]:
    if importlib.util.find_spec("torch") is None:
        return [Case("exported", Path, list, "PyTorch, which exports the models, is missing")]
    from cases.exported.models import MODELS

    no_dynamo = importlib.util.find_spec("onnxscript") is None
    cases = []
    for model in MODELS.values():
        for exporter in EXPORTERS:
            for quantization in QUANTIZATIONS:
                missing = "onnxscript is missing" if exporter == "dynamo" and no_dynamo else ""
                quantized = quantization != "none"
                suffix = f"-{quantization}" if quantized else ""
                name = f"{model.name}/{exporter}{suffix}"
                make = maker(model, exporter, quantization, small)
                feeds = [(small, sizes) for sizes in model.sizes(small)]
                cases.append(
                    Case(
                        name,
                        make,
                        lambda m=model, f=feeds: [m.inputs(*sizes) for sizes in f],
                        missing,
                        quantized,
                    )
                )
    return cases


def maker(model, exporter: str, quantization: str, small: bool) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / f"{model.name}-{exporter}.onnx"
        if not path.is_file():
            logging.disable(logging.WARNING)  # exporter and quantizer tell of their inner workings
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    model.export(path, exporter, small)
            finally:
                logging.disable(logging.NOTSET)
        if quantization == "none":
            return path
        return quantize(path, quantization, [model.inputs(small, s) for s in model.sizes(small)])

    return make


def without_declared_shapes(path: Path) -> Path:
    """The quantizer infers shapes itself, and stumbles over what exporters declare of values they have since changed."""
    import onnx

    model = onnx.load(path)
    del model.graph.value_info[:]
    result = path.with_name(f"{path.stem}-plain.onnx")
    onnx.save(model, result)
    return result


def quantize(path: Path, how: str, feeds: list[Feeds]) -> Path:
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.rest = iter(feeds)

        def get_next(self):
            return next(self.rest, None)

    result = path.with_name(f"{path.stem}-{how}.onnx")
    if result.is_file():
        return result
    logging.disable(logging.WARNING)
    plain = without_declared_shapes(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if how == "static":
                quantization.quantize_static(
                    plain, result, Reader(), quant_format=quantization.QuantFormat.QDQ
                )
            else:
                quantization.quantize_dynamic(plain, result)
    finally:
        logging.disable(logging.NOTSET)
    return result


def has_infinite_scale(path: Path) -> bool:
    """If a value is -inf, such as a mask, the quantizer's scale is infinite, and results are NaN."""
    import onnx

    scales = (t for t in onnx.load(path).graph.initializer if t.name.endswith("_scale"))
    return not all(np.isfinite(onnx.numpy_helper.to_array(scale)).all() for scale in scales)


# --- Comparison ----------------------------------------------------------------------------------


def as_list(results) -> list[np.ndarray]:
    return list(results) if isinstance(results, tuple | list) else [results]


def root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64)))) if values.size else 0.0


def disagreement(found, expected, exact, quantized: bool) -> str:
    """The fault of an output, "" where it agrees. `exact` is the reference's answer or None."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"expected {expected.dtype} {expected.shape}, got {found.dtype} {found.shape}"
    if found.dtype.kind != "f":
        different = int(np.count_nonzero(found != expected))
        return f"{different} of {found.size} elements differ" if different else ""
    ours, theirs = found.astype(np.float64), expected.astype(np.float64)
    if not np.array_equal(np.isfinite(ours), np.isfinite(theirs)):
        return "other elements are finite"
    scale = root_mean_square(theirs)
    # A value between two steps of a quantized tensor may go either way, by the last bit of a sum: mostly the results
    # are equal, and where one goes the other way a deep network of random weights makes a tenth of it.
    if root_mean_square(ours - theirs) > (0.3 if quantized else 1e-4) * max(scale, 1e-3):
        return f"differs by {root_mean_square(ours - theirs):.2e} where values are {scale:.2e}"
    # A root mean square of a few numbers is chance: over many inputs silero_vad's one probability has half of ONNX
    # Runtime's error, on some three times as much.
    if exact is None or found.size < 64:
        return ""
    allowed = max(3 * root_mean_square(theirs - exact), (0.3 if quantized else 1e-6) * scale)
    error = root_mean_square(ours - exact)
    return f"error {error:.2e}, allowed {allowed:.2e}" if error > allowed else ""


def open_session(path: Path, threads: int = 0):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def open_openvino(path: Path, threads: int, feeds: Feeds) -> Callable[[Feeds], object] | None:
    """A call of OpenVINO, in f32 as the others and made for the sizes of these inputs where it can be: with
    dynamic dimensions it is up to twice slower. None if it is missing, or does not take the model or the inputs."""
    if importlib.util.find_spec("openvino") is None:
        return None
    import openvino

    options = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }

    def compiled(sized: bool) -> Callable[[Feeds], object] | None:
        try:
            model = openvino.Core().read_model(str(path))
            if sized:
                model.reshape({name: list(feed.shape) for name, feed in feeds.items()})
            call = openvino.Core().compile_model(model, "CPU", options)
            call(feeds)
        except RuntimeError:
            return None
        return call

    return compiled(sized=True) or compiled(sized=False)
