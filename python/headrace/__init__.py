"""Headrace: compiles machine-learning programs by their data movement.

    import headrace as hr

    digits = hr.load("digits.onnx")
    logits = digits(images)           # NumPy or PyTorch in, NumPy out
    print(digits.explain(batch=16))   # what was compiled, and what it moves

Code written for onnxruntime runs with `hr.InferenceSession` in place of its own.
"""

from headrace._core import __version__
from headrace._explanation import Explanation
from headrace._gradient import ForwardBackward, ValueAndGrad, forward_backward, grad, value_and_grad, vjp
from headrace._model import Model, Phase, TensorSpec, load, phases
from headrace._session import InferenceSession, SessionOptions
from headrace._threads import get_threads, set_threads
from headrace.errors import (
    Error,
    InternalError,
    InvalidArgumentError,
    InvalidFileError,
    InvalidModelError,
    IoError,
    MissingInputError,
    ShapeMismatchError,
    TypeMismatchError,
    UnsupportedError,
)

__all__ = [
    "Error",
    "Explanation",
    "ForwardBackward",
    "InferenceSession",
    "InternalError",
    "InvalidArgumentError",
    "InvalidFileError",
    "InvalidModelError",
    "IoError",
    "MissingInputError",
    "Model",
    "Phase",
    "SessionOptions",
    "ShapeMismatchError",
    "TensorSpec",
    "TypeMismatchError",
    "UnsupportedError",
    "ValueAndGrad",
    "__version__",
    "forward_backward",
    "get_threads",
    "grad",
    "load",
    "phases",
    "set_threads",
    "value_and_grad",
    "vjp",
]
