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

Code written for onnxruntime runs with `hr.InferenceSession` instead of its own.
"""

from headrace import _functions, algorithms, distributed
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
    placeholder,
    pow,
    scan,
    select,
    solve,
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
from headrace._io_binding import IOBinding
from headrace._knobs import Knob, Space, knob
from headrace._load import load, write_package
from headrace._log import log  # noqa: F401, F811
from headrace._model import Model
from headrace._node_arg import ModelMetadata, NodeArg
from headrace._optimize import Optimizer, blame, optimize, recipe_difference
from headrace._ort_value import OrtValue
from headrace._phases import Phase, phases
from headrace._quantize import quantize
from headrace._reductions import max, min, prod, reducer, sum
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
from headrace._session import InferenceSession
from headrace._session_options import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
    get_all_providers,
    get_available_providers,
    get_device,
    set_default_logger_severity,
    set_default_logger_verbosity,
)
from headrace._specs import TensorSpec
from headrace._threads import get_threads, set_threads
from headrace._torch import module
from headrace._tune import tune
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
    TerminatedError,
    TypeMismatchError,
    UnsupportedError,
)
from headrace.matrices._functions import read
from headrace.matrices._matrix import Matrix, evaluate, matrix

__all__ = [
    "Axis",
    "DeviceArray",
    "DivisionByZeroError",
    "Error",
    "ExecutionMode",
    "ExecutionOrder",
    "Explanation",
    "ForwardBackward",
    "Expr",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "Intrinsic",
    "InternalError",
    "InvalidArgumentError",
    "InvalidFileError",
    "InvalidModelError",
    "InvalidScriptError",
    "IoError",
    "Knob",
    "LaunchSchedule",
    "Matrix",
    "MissingInputError",
    "Model",
    "ModelMetadata",
    "NodeArg",
    "Optimizer",
    "OrtValue",
    "OutOfRangeError",
    "Phase",
    "RunOptions",
    "Script",
    "Schedule",
    "SessionOptions",
    "StageLaunch",
    "StageSchedule",
    "ShapeMismatchError",
    "Space",
    "Tensor",
    "TensorSpec",
    "TerminatedError",
    "TypeMismatchError",
    "UnsupportedError",
    "ValueAndGrad",
    "Variables",
    "Verification",
    "__version__",
    "forward_backward",
    "abs",
    "algorithms",
    "all",
    "any",
    "axis",
    "blame",
    "compile",
    "compute",
    "distributed",
    "evaluate",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    "get_threads",
    "grad",
    "intrinsic",
    "knob",
    "load",
    "matrix",
    "max",
    "min",
    "module",
    "optimize",
    "phases",
    "placeholder",
    "pow",
    "prod",
    "quantize",
    "read",
    "recipe_difference",
    "reducer",
    "scan",
    "schedule",
    "script",
    "select",
    "solve",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_threads",
    "sum",
    "to_cuda",
    "tune",
    "value_and_grad",
    "var",
    "verify",
    "vjp",
    "write_package",
    "write_script_package",
]
__all__ += _functions.__all__


def __getattr__(name: str) -> object:
    """`headrace.sklearn` is imported when it is first used, since it needs scikit-learn."""
    if name == "sklearn":
        import importlib

        return importlib.import_module("headrace.sklearn")
    raise AttributeError(f"module 'headrace' has no attribute '{name}'")
