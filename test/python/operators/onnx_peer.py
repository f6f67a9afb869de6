"""Results of ONNX Runtime, and ours in the same form."""

from __future__ import annotations

import numpy as np
import onnxruntime


def runtime_results(model: str | bytes, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Of a file or a model as bytes, without its warnings."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def as_list(results) -> list[np.ndarray]:
    return list(results) if isinstance(results, tuple) else [results]
