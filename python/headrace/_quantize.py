"""Post-training quantization of ONNX models."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from headrace import _core
from headrace._arrays import NUMPY_NAMES
from headrace.errors import TypeMismatchError


def quantize(
    model: str | os.PathLike[str],
    calibration: Any,
    output: str | os.PathLike[str],
    *,
    weights: str = "channel",
    scales: str = "float",
    ranges: str = "mse",
    percentile: float = 99.99,
    keep_float: Collection[str] = (),
) -> dict[str, Any]:
    """Quantize a float ONNX model to int8, write it to `output` with QuantizeLinear and
    DequantizeLinear operators, and return the report.

    `calibration` are samples of the inputs, stacked along the first dimension: an array, a list of
    arrays in the order of the inputs, or a dict by their names. `weights` have a scale per
    "channel" or per "tensor"; `scales` are any "float" or powers of two ("po2"). `ranges` says
    where activations are clipped: at their extremes ("minmax"), at a "percentile" of them, or where
    the squared error is least ("mse"). Nodes named in `keep_float` stay float. See
    docs/quantization.md.

    >>> report = hr.quantize("examples/digits/digits.onnx", images, "digits.int8.onnx")
    """
    report = _core.quantize(
        os.fspath(model),
        [_sample(name, array) for name, array in _named(calibration)],
        os.fspath(output),
        weights,
        scales,
        ranges,
        percentile,
        set(keep_float),
    )
    return json.loads(report)


def _named(calibration: Any) -> list[tuple[str, Any]]:
    if isinstance(calibration, Mapping):
        return list(calibration.items())
    if isinstance(calibration, Sequence):
        return [("", array) for array in calibration]
    return [("", calibration)]


def _sample(name: str, value: Any) -> tuple[str, str, np.ndarray]:
    array = np.require(value, requirements=["C", "A"])
    for element_type, numpy_name in NUMPY_NAMES.items():
        if numpy_name == array.dtype.name:
            return name, element_type, array
    raise TypeMismatchError(
        f"calibration data of input '{name}': expected numeric values, got {array.dtype}"
    )
