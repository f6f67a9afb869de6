"""A workload: a model file with inputs, and the same network in PyTorch where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Feeds = dict[str, np.ndarray]
ROOT = Path(__file__).resolve().parents[1]
MODELS_MADE = ROOT / "bench" / "models" / "out"
MODEL_SOURCES = (ROOT / "bench" / "models" / "make.py", ROOT / "cases" / "networks.py")


def model_folder(small: bool) -> Path:
    return MODELS_MADE / "small" if small else MODELS_MADE


@dataclass
class Workload:
    name: str
    path: Path
    feeds: Feeds
    module: Any = None


def from_name(name: str, small: bool, batch: int) -> Workload:
    """A benchmark model, made first where its file is missing or older than the code that makes it."""
    path = model_folder(small) / f"{name}.onnx"
    try:
        from bench.models.make import make
        from cases.networks import MODELS
    except ImportError as error:
        if not path.exists():
            raise FileNotFoundError(
                f"{path.name} is not there, and cannot be made: {error}"
            ) from error
        return Workload(name, path, random_feeds(path, batch))
    if is_stale(path):
        make(MODELS[name], path.parent, small)
    return Workload(name, path, random_feeds(path, batch), MODELS[name].build(small))


def from_file(path: Path, batch: int) -> Workload:
    return Workload(path.stem, path, random_feeds(path, batch))


def is_stale(path: Path) -> bool:
    newest_source = max(source.stat().st_mtime for source in MODEL_SOURCES)
    return not path.exists() or path.stat().st_mtime < newest_source


def random_feeds(path: Path, batch: int) -> Feeds:
    """Inputs from a fixed seed; every free dimension gets the size `batch`."""
    import onnx

    graph = onnx.load(str(path), load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    random = np.random.default_rng(0)
    feeds: Feeds = {}
    for value in graph.input:
        if value.name in weights:
            continue
        tensor_type = value.type.tensor_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor_type.elem_type)
        shape = [d.dim_value if d.HasField("dim_value") else batch for d in tensor_type.shape.dim]
        feeds[value.name] = random_array(random, dtype, shape)
    return feeds


def random_array(random: np.random.Generator, dtype: np.dtype, shape: list[int]) -> np.ndarray:
    if np.issubdtype(dtype, np.floating):
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0, 2, shape).astype(dtype)  # also valid as indices and as masks
