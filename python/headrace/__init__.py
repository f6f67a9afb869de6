"""Headrace: compiles machine-learning programs by their data movement.

    import headrace as hr

    digits = hr.load("digits.onnx")
    logits = digits(images)           # NumPy or PyTorch in, NumPy out
    print(digits.explain(batch=16))   # what was compiled, and what it moves

Code written for onnxruntime runs with `hr.InferenceSession` in place of its own.
"""

from headrace._core import __version__
from headrace._explanation import Explanation
from headrace._model import Model, Phase, TensorSpec, load, phases
from headrace._session import InferenceSession, SessionOptions
from headrace._threads import get_threads, set_threads
from headrace.errors import (
    Error,
    InternalError,
    InvalidArgumentError,
    InvalidFileError,
    InvalidModelError,
    InvalidScriptError,
    IoError,
    MissingInputError,
    ShapeMismatchError,
    TypeMismatchError,
    UnsupportedError,
)

__all__ = [
    "Error",
    "Explanation",
    "InferenceSession",
    "InternalError",
    "InvalidArgumentError",
    "InvalidFileError",
    "InvalidModelError",
    "InvalidScriptError",
    "IoError",
    "MissingInputError",
    "Model",
    "Phase",
    "SessionOptions",
    "ShapeMismatchError",
    "TensorSpec",
    "TypeMismatchError",
    "UnsupportedError",
    "__version__",
    "get_threads",
    "load",
    "phases",
    "set_threads",
]
