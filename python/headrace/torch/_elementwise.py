"""Element-wise operators of ATen: each is a function of scalars."""

from __future__ import annotations

from typing import Any

import torch

from headrace import _core
from headrace.torch._context import (
    FUNCTIONS,
    Context,
    Tensor,
    Unsupported,
    aten,
    dtype_name,
    overloads,
)

# ATen's name, and the function's.
UNARY = {
    "abs": "abs", "neg": "neg", "square": "square", "relu": "relu", "reciprocal": "reciprocal",
    "rsqrt": "rsqrt", "sigmoid": "sigmoid", "silu": "silu", "mish": "mish",
    "hardsigmoid": "hard_sigmoid", "hardswish": "hard_swish",
} | {name: name for name in _core.elementary_functions() if hasattr(torch.ops.aten, name)}  # fmt: skip
ROUNDING = ("floor", "ceil", "round", "trunc")
BINARY = {
    "mul": "mul", "maximum": "max", "minimum": "min", "atan2": "atan2", "hypot": "hypot",
    "remainder": "modulo", "fmod": "remainder",
}  # fmt: skip
COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal",
}  # fmt: skip
LOGIC = {"and": "and", "or": "or", "xor": "xor"}


def enter_tables() -> None:
    for name, function in UNARY.items():
        FUNCTIONS[getattr(torch.ops.aten, name).default] = lambda c, x, function=function: c.map(
            function, x, dtype=c.dtype
        )
    for name in ROUNDING:
        FUNCTIONS[getattr(torch.ops.aten, name).default] = lambda c, x, function=name: (
            c.map(function, x) if c.value.is_floating_point() else x
        )
    for name, function in BINARY.items():
        for overload in overloads(name):
            FUNCTIONS[overload] = lambda c, a, b, function=function: c.map(
                function, a, b, dtype=c.dtype
            )
    for name, function in COMPARISONS.items():
        for overload in overloads(name):
            FUNCTIONS[overload] = lambda c, a, b, function=function: c.map(
                function, a, b, dtype=operand_type(c)
            )
    for name, function in LOGIC.items():
        for overload in overloads(f"logical_{name}"):
            FUNCTIONS[overload] = lambda c, a, b, function=function: c.map(
                function, a, b, dtype="bool"
            )
        for overload in overloads(f"bitwise_{name}"):
            FUNCTIONS[overload] = lambda c, a, b, function=function: c.map(
                function, a, b, dtype=c.dtype
            )


def operand_type(c: Context) -> str:
    return dtype_name(torch.result_type(c.value_of(0), c.value_of(1)))


def scaled(c: Context, x: Any, factor: Any) -> Any:
    """x * factor, in the result's type."""
    if not isinstance(factor, torch.SymInt) and factor == 1:
        return x
    return c.map("mul", x, factor, dtype=c.dtype) if isinstance(x, Tensor) else x * factor


@aten("add.Tensor", "add.Scalar")
def add(c: Context, a: Any, b: Any, alpha: Any = 1) -> Tensor:
    return c.map("add", a, scaled(c, b, alpha), dtype=c.dtype)


@aten("sub.Tensor", "sub.Scalar")
def sub(c: Context, a: Any, b: Any, alpha: Any = 1) -> Tensor:
    return c.map("sub", a, scaled(c, b, alpha), dtype=c.dtype)


@aten("rsub.Tensor", "rsub.Scalar")
def rsub(c: Context, a: Any, b: Any, alpha: Any = 1) -> Tensor:
    return c.map("sub", b, scaled(c, a, alpha), dtype=c.dtype)


@aten("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode")
def div(c: Context, a: Any, b: Any, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode == "floor":
        return floor_divide(c, a, b)
    return c.map("truncate_divide" if rounding_mode else "div", a, b, dtype=c.dtype)


@aten("floor_divide")
def floor_divide(c: Context, a: Any, b: Any) -> Tensor:
    """Of floats by their exact remainder, as in Python: a quotient just below an integer may round to it."""
    if not c.value.is_floating_point():
        return c.map("floor_divide", a, b, dtype=c.dtype)
    a, b = (c.widened(c.builder.detach(c.typed(x, c.dtype))) for x in (a, b))
    dtype = c.builder.dtype(a)
    rest = c.map("remainder", a, b)
    quotient = c.map("div", c.map("sub", a, rest), b)
    signs_differ = c.map("not_equal", c.map("less", rest, 0), c.map("less", b, 0), dtype="bool")
    is_above = c.map("and", c.map("not_equal", rest, 0), signs_differ)
    quotient = c.select(is_above, c.map("sub", quotient, 1), quotient, dtype)
    whole = c.map("floor", quotient)
    is_next = c.map("greater", c.map("sub", quotient, whole), 0.5)
    whole = c.select(is_next, c.map("add", whole, 1), whole, dtype)
    return c.cast(c.select(c.map("equal", b, 0), c.map("div", a, b), whole, dtype), c.dtype)


@aten("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def power(c: Context, base: Any, exponent: Any) -> Tensor:
    whole = not c.value.is_floating_point()
    if whole and (isinstance(exponent, (Tensor, torch.SymInt)) or exponent < 0):
        raise Unsupported("powers of integers by exponents that may be negative")
    plain = {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
    if not isinstance(exponent, (Tensor, torch.SymInt, torch.SymFloat)):
        if exponent == 1:
            return c.cast(base, c.dtype)
        if exponent == 3:
            return c.map("mul", base, c.map("square", base, dtype=c.dtype), dtype=c.dtype)
        if exponent in plain:
            return c.map(plain[exponent], base, dtype=c.dtype)
    return c.map("power", base, exponent, dtype=c.dtype)


@aten("logical_not", "bitwise_not")
def logical_not(c: Context, x: Tensor) -> Tensor:
    return c.map("not", x, dtype=c.dtype)


@aten("sign")
def sign(c: Context, x: Tensor) -> Tensor:
    """NaN has the sign 0 here."""
    above, below = c.map("greater", x, 0), c.map("less", x, 0)
    return c.map("sub", above, below, dtype=c.dtype)


@aten("isnan")
def isnan(c: Context, x: Tensor) -> Tensor:
    return c.map("is_nan", x)


@aten("isinf")
def isinf(c: Context, x: Tensor) -> Tensor:
    return c.map("is_inf", x)


@aten("where.self", "where.Scalar", "where.ScalarSelf", "where.ScalarOther")
def where(c: Context, condition: Tensor, yes: Any, no: Any) -> Tensor:
    return c.select(condition, yes, no, c.dtype)


@aten("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(c: Context, x: Tensor, mask: Tensor, value: Any) -> Tensor:
    return c.select(mask, value, x, c.dtype)


@aten("clamp.default", "clamp.Tensor", "clamp_min", "clamp_max")
def clamp(c: Context, x: Tensor, low: Any = None, high: Any = None, **named: Any) -> Tensor:
    low, high = named.get("min", low), named.get("max", high)
    if c.node.target.overloadpacket.__name__ == "clamp_max":
        low, high = None, low if high is None else high
    if c.differentiates and isinstance(low, Tensor) and isinstance(high, Tensor):
        # A lower bound that is the upper one, too, has no gradient.
        low = c.select(c.map("less", low, high), low, c.builder.detach(low), c.dtype)
    for bound, extremum, beyond in ((low, "max", "less"), (high, "min", "greater")):
        if bound is not None:
            x = within(c, x, bound, extremum, beyond)
    return x


def within(c: Context, x: Tensor, bound: Any, extremum: str, beyond: str) -> Tensor:
    """The gradient is the number's own where it meets the bound, which an extremum would share."""
    if not c.differentiates:
        return c.map(extremum, x, bound, dtype=c.dtype)
    takes_bound = c.map(beyond, x, bound, dtype=c.dtype)
    if isinstance(bound, Tensor) and c.value.is_floating_point():
        takes_bound = c.map("or", takes_bound, c.map("is_nan", bound, dtype=c.dtype))
    return c.select(takes_bound, bound, x, c.dtype)


@aten("logit")
def logit(c: Context, x: Tensor, eps: float | None = None) -> Tensor:
    """A difference of logarithms, whose gradient at 0 and 1 is infinite and not NaN."""
    x = c.typed(x, c.dtype)
    if eps is not None:
        x = within(c, within(c, x, eps, "max", "less"), 1 - eps, "min", "greater")
    x = c.widened(x)
    logarithms = c.map("log", x), c.map("log", c.map("sub", 1, x))
    return c.cast(c.map("sub", *logarithms), c.dtype)


@aten("hardtanh")
def hardtanh(c: Context, x: Tensor, min_val: Any = -1, max_val: Any = 1) -> Tensor:
    """Flat where it meets its bounds."""
    x = c.map("max", x, min_val, dtype=c.dtype)
    if not c.differentiates:
        return c.map("min", x, max_val, dtype=c.dtype)
    return c.select(c.map("greater_equal", x, max_val), max_val, x, c.dtype)


@aten("addcmul")
def addcmul(c: Context, x: Tensor, a: Tensor, b: Tensor, value: Any = 1) -> Tensor:
    return c.map("add", x, scaled(c, c.map("mul", a, b, dtype=c.dtype), value), dtype=c.dtype)


@aten("addcdiv")
def addcdiv(c: Context, x: Tensor, a: Tensor, b: Tensor, value: Any = 1) -> Tensor:
    return c.map("add", x, scaled(c, c.map("div", a, b, dtype=c.dtype), value), dtype=c.dtype)


def multiply_add(c: Context, a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    return c.map("add", x, c.map("mul", a, b, dtype=c.dtype), dtype=c.dtype)


# By name, since PyTorch enters the operator only when it meets an optimizer's step.
FUNCTIONS["prims.fma.default"] = multiply_add


@aten("xlogy")
def xlogy(c: Context, x: Any, y: Any) -> Tensor:
    """x log(y), which is 0 where x is, and has a gradient there as far as log(y) is a number."""
    return times_logarithm(c, x, y, y, "log")


@aten("special_xlog1py")
def xlog1py(c: Context, x: Any, y: Any) -> Tensor:
    return times_logarithm(c, x, y, c.map("add", y, 1, dtype=c.dtype), "log1p")


def times_logarithm(c: Context, x: Any, y: Any, inner: Any, function: str) -> Tensor:
    x, y, inner = (c.typed(value, c.dtype) for value in (x, y, inner))
    logarithm = c.map(function, y)
    is_odd = c.map("or", c.map("less_equal", inner, 0), c.map("is_inf", inner))
    is_nothing = c.map("and", c.map("equal", x, 0), is_odd)
    return c.select(is_nothing, 0, c.map("mul", x, logarithm), c.dtype)


@aten("lerp")
def lerp(c: Context, start: Tensor, end: Tensor, weight: Any) -> Tensor:
    step = c.map("mul", c.map("sub", end, start, dtype=c.dtype), weight, dtype=c.dtype)
    return c.map("add", start, step, dtype=c.dtype)


# Activations with parameters


@aten("gelu")
def gelu(c: Context, x: Tensor, approximate: str = "none") -> Tensor:
    return c.map("gelu_tanh" if approximate == "tanh" else "gelu", x)


@aten("softplus")
def softplus(c: Context, x: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    if beta == 1 and threshold >= 20:
        return c.map("softplus", x)
    inner = scaled(c, x, beta)
    curve = c.map("div", c.map("softplus", inner), beta)
    return c.select(c.map("greater", inner, threshold), x, curve, c.dtype)


@aten("log_sigmoid_forward")
def log_sigmoid(c: Context, x: Tensor) -> tuple[Tensor, None]:
    return c.map("log_sigmoid", x), None


# Where x is 0 these have the gradient of negative numbers.


@aten("elu")
def elu(c: Context, x: Tensor, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Tensor:
    x = c.widened(x)

    def times(y: Tensor, factor: Any) -> Tensor:
        return y if factor == 1 else c.map("mul", y, factor)

    curve = times(c.map("expm1", times(x, input_scale)), alpha)
    value = c.select(c.map("greater", x, 0), x, curve, c.builder.dtype(x))
    return c.cast(times(value, scale), c.dtype)


@aten("leaky_relu", "_prelu_kernel")
def leaky_relu(c: Context, x: Tensor, slope: Any = 0.01) -> Tensor:
    return c.select(c.map("greater", x, 0), x, c.map("mul", slope, x, dtype=c.dtype), c.dtype)


@aten("threshold")
def threshold(c: Context, x: Tensor, least: Any, value: Any) -> Tensor:
    return c.select(c.map("greater", x, least), x, value, c.dtype)


# Element types, and what stays as it is


@aten("_to_copy")
def to_copy(c: Context, x: Tensor, **_: Any) -> Tensor:
    """On the way, values are on the program's device whatever was asked for."""
    return c.cast(x, c.dtype)


@aten("clone", "alias", "lift_fresh_copy", "contiguous", "lift_fresh")
def same(c: Context, x: Tensor, **options: Any) -> Tensor:
    return x


@aten("detach")
def detach(c: Context, x: Tensor) -> Tensor:
    return c.builder.detach(x)


@aten("copy")
def copy(c: Context, target: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    return c.builder.broadcast(c.cast(source, c.dtype), c.shape)


enter_tables()
