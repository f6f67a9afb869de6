"""Headrace: compiles machine-learning programs by their data movement.

    import headrace as hr

    digits = hr.load("digits.onnx")
    logits = digits(images)           # NumPy or PyTorch in, NumPy out
    print(digits.explain(batch=16))   # what was compiled, and what it moves

Programs can also be written as tensor expressions (`hr.compute`, `hr.compile`):

    n, m = hr.var("n m")
    X = hr.placeholder((n, m), "f32")
    r = hr.axis(m)
    norm = hr.compile(hr.compute((n,), lambda i: hr.sum(X[i, r] ** 2, axis=r)))

Code written for onnxruntime runs with `hr.InferenceSession` in place of its own.
"""

from headrace import _functions
from headrace._core import __version__
from headrace._device import DeviceArray, to_cuda
from headrace._explanation import Explanation
from headrace._expressions import (
    Axis,
    Expr,
    Tensor,
    abs,
    all,
    any,
    axis,
    compile,
    compute,
    max,
    min,
    placeholder,
    pow,
    prod,
    reducer,
    select,
    solve,
    sum,
    var,
)
from headrace._functions import *  # noqa: F403
from headrace._gradient import (
    ForwardBackward,
    ValueAndGrad,
    forward_backward,
    grad,
    value_and_grad,
    vjp,
)
from headrace._model import Model, Phase, load, phases, write_package
from headrace._quantize import quantize
from headrace._schedules import (
    Intrinsic,
    LaunchSchedule,
    Schedule,
    StageLaunch,
    StageSchedule,
    intrinsic,
    schedule,
)
from headrace._script import Script, Variables, script, write_script_package
from headrace._session import InferenceSession, SessionOptions
from headrace._specs import TensorSpec
from headrace._threads import get_threads, set_threads
from headrace._torch import module
from headrace._verify import Verification, verify
from headrace.errors import (
    DivisionByZeroError,
    Error,
    InternalError,
    InvalidArgumentError,
    InvalidFileError,
    InvalidModelError,
    InvalidScriptError,
    IoError,
    MissingInputError,
    OutOfRangeError,
    ShapeMismatchError,
    TypeMismatchError,
    UnsupportedError,
)

__all__ = [
    "Axis",
    "DeviceArray",
    "DivisionByZeroError",
    "Error",
    "Explanation",
    "ForwardBackward",
    "Expr",
    "InferenceSession",
    "Intrinsic",
    "InternalError",
    "InvalidArgumentError",
    "InvalidFileError",
    "InvalidModelError",
    "InvalidScriptError",
    "IoError",
    "LaunchSchedule",
    "MissingInputError",
    "Model",
    "OutOfRangeError",
    "Phase",
    "Script",
    "Schedule",
    "SessionOptions",
    "StageLaunch",
    "StageSchedule",
    "ShapeMismatchError",
    "Tensor",
    "TensorSpec",
    "TypeMismatchError",
    "UnsupportedError",
    "ValueAndGrad",
    "Variables",
    "Verification",
    "__version__",
    "forward_backward",
    "abs",
    "all",
    "any",
    "axis",
    "compile",
    "compute",
    "get_threads",
    "grad",
    "intrinsic",
    "load",
    "max",
    "min",
    "module",
    "phases",
    "placeholder",
    "pow",
    "prod",
    "quantize",
    "reducer",
    "schedule",
    "script",
    "select",
    "solve",
    "set_threads",
    "sum",
    "to_cuda",
    "value_and_grad",
    "var",
    "verify",
    "vjp",
    "write_package",
    "write_script_package",
]
__all__ += _functions.__all__
