"""Element-wise operators: arithmetic, activations, comparisons, logic, conversion."""

from __future__ import annotations

import math

import numpy as np
from scipy import special as functions

from cases.graphs.adapt import converted_range
from cases.graphs.builder import Builder, Skip, onnx_type
from cases.graphs.values import ANY, BF16, BOOL, FLOATS, INTEGERS, MANTISSA, NUMBERS, Range, Value


def sampled(f, value: Value, work: float = 8.0) -> Range:
    """The range of a smooth function, and how it spreads the error of what it is given."""
    low, high = value.low, value.high
    points = np.linspace(low, high, 129 if high > low else 2)
    with np.errstate(all="ignore"):
        results = f(points)
    if not np.isfinite(results).all():
        raise Skip("outside of the function's domain")
    steps = np.abs(np.diff(results))
    width = (high - low) / 128 or 1.0
    slope = float(steps.max() / width) * 1.5
    margin = float(steps.max())
    result = Range(float(results.min()) - margin, float(results.max()) + margin)
    result.error = slope * value.error + work * max(result.bound, 2.0**-10)
    return result


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return 0.5 * x * (1 + functions.erf(x / math.sqrt(2)))


# Name: the function, the range it is given.
SMOOTH = {
    "Sqrt": (np.sqrt, 0.25, 60),
    "Exp": (np.exp, -6, 4),
    "Log": (np.log, 0.25, 60),
    "Sin": (np.sin, -8, 8),
    "Cos": (np.cos, -8, 8),
    "Tan": (np.tan, -1.25, 1.25),
    "Asin": (np.arcsin, -0.75, 0.75),
    "Acos": (np.arccos, -0.75, 0.75),
    "Atan": (np.arctan, -8, 8),
    "Sinh": (np.sinh, -4, 4),
    "Cosh": (np.cosh, -4, 4),
    "Tanh": (np.tanh, -8, 8),
    "Asinh": (np.arcsinh, -8, 8),
    "Acosh": (np.arccosh, 1.25, 60),
    "Atanh": (np.arctanh, -0.75, 0.75),
    "Erf": (functions.erf, -8, 8),
    "Reciprocal": (np.reciprocal, 0.25, 60),
    "Sigmoid": (sigmoid, -8, 8),
    "Softplus": (lambda x: np.log1p(np.exp(x)), -8, 8),
    "Softsign": (lambda x: x / (1 + np.abs(x)), -8, 8),
    "Mish": (lambda x: x * np.tanh(np.log1p(np.exp(x))), -8, 8),
    "Elu": (lambda x: np.where(x > 0, x, 2 * np.expm1(x)), -8, 8),
    "Selu": (lambda x: np.where(x > 0, 1.05 * x, 1.76 * np.expm1(x)), -8, 8),
    "Celu": (lambda x: np.maximum(x, 0) + np.minimum(0, np.expm1(x)), -8, 8),
    "LeakyRelu": (lambda x: np.where(x > 0, x, x), -8, 8),
    "HardSigmoid": (lambda x: x * 0.5 + 0.5, -8, 8),
    "HardSwish": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), -8, 8),
    "Gelu": (gelu, -8, 8),
}
ATTRIBUTES = {
    "Elu": lambda b: {"alpha": float(b.choose([0.5, 1.0, 2.0]))},
    "Celu": lambda b: {"alpha": float(b.choose([1.0, 2.0]))},
    "LeakyRelu": lambda b: {"alpha": float(b.choose([0.01, 0.25, 1.0]))},
    "HardSigmoid": lambda b: {"alpha": 0.25, "beta": 0.5},
    "Gelu": lambda b: {"approximate": b.choose(["none", "tanh"])},
}


def smooth(op: str):
    f, low, high = SMOOTH[op]

    def make(b: Builder) -> Value:
        # A function's value of NaN and the like is an output, not an operand of further operators.
        odd = b.special and b.chance(0.4)
        x = b.pick(FLOATS, calm=not odd, low=-64 if odd else low, high=64 if odd else high)
        if x.special:
            result = Range(-64, 64, error=64.0, special=True)
        elif x.low < low or x.high > high:
            raise Skip("there the function has poles, or grows too much")
        else:
            result = sampled(f, x)
        attributes = ATTRIBUTES[op](b) if op in ATTRIBUTES and b.chance(0.7) else {}
        return b.node(op, [x], x.dtype, x.dims, result, **attributes)

    return make


def kept(op: str, dtypes, f):
    """Functions that are exact on exact values, and well defined on NaN and the like."""

    def make(b: Builder) -> Value:
        x = b.pick(dtypes, calm=not b.special)
        low, high = f(x.low, x.high)
        return b.node(op, [x], x.dtype, x.dims, Range(low, high, x.grid, x.error, x.special))

    return make


def rounding(op: str):
    def make(b: Builder) -> Value:
        x = b.pick(FLOATS, exact=True, calm=not b.special)
        return b.node(
            op, [x], x.dtype, x.dims, Range(math.floor(x.low), math.ceil(x.high), 1.0, 0, x.special)
        )

    return make


def sign(b: Builder) -> Value:
    x = b.pick(NUMBERS, exact=True)
    return b.node("Sign", [x], x.dtype, x.dims, Range(-1, 1))


def thresholded(b: Builder) -> Value:
    x = b.pick(FLOATS, exact=True)
    result = Range(min(x.low, 0), max(x.high, 0), x.grid)
    return b.node("ThresholdedRelu", [x], x.dtype, x.dims, result, alpha=b.choose([0.5, 1.0]))


def shrink(b: Builder) -> Value:
    x = b.pick(FLOATS, exact=True)
    bias = b.choose([0.0, 0.25, 1.0])
    result = Range(min(x.low + bias, 0, -bias), max(x.high - bias, 0, bias), min(x.grid, 0.25))
    result = result.rounded(x.dtype, True)
    return b.node("Shrink", [x], x.dtype, x.dims, result, bias=bias, lambd=b.choose([0.5, 1.0]))


def broadcast(b: Builder, *operands: Value) -> tuple[int | str, ...]:
    """The sizes of what operands make together; a size of 1 goes with any."""
    rank = max(v.rank for v in operands)
    dims = []
    for i in range(rank):
        sizes = [v.dims[i - rank] for v in operands if i - rank >= -v.rank]
        others = [d for d in sizes if d != 1] or [1]
        # A dynamic dimension of 1 broadcasts in this run alone.
        if any(d != others[0] for d in others):
            raise Skip("sizes do not fit together")
        dims.append(others[0])
    return tuple(dims)


def beside(b: Builder, x: Value, dtypes, **options) -> Value:
    """A value that can be combined with `x`: of its sizes, or fewer, or with ones among them."""
    dims = list(x.dims)
    kind = b.integer(0, 3)
    if kind == 1:
        dims = dims[b.integer(0, len(dims)) :]
    elif kind == 2:
        dims = [1 if b.chance(0.4) else d for d in dims]
    elif kind == 3 and len(dims) < 4:
        dims = [b.size(), *dims] if b.chance(0.5) else dims
    return b.pick(dtypes, dims=dims, **options)


def two(b: Builder, dtypes, **options) -> tuple[Value, Value]:
    x = b.pick(dtypes, **options)
    y = beside(b, x, [x.dtype], **options)
    return (x, y) if b.chance(0.5) else (y, x)


def sum_of(b: Builder, op: str, values: list[Value], signs: list[int]) -> Value:
    dims = broadcast(b, *values)
    low = sum(v.low if s > 0 else -v.high for v, s in zip(values, signs))
    high = sum(v.high if s > 0 else -v.low for v, s in zip(values, signs))
    result = Range(low, high, min(v.grid for v in values), sum(v.error for v in values))
    odd = any(v.special for v in values)
    if odd:
        result = Range(low, high, error=4.0 * len(values), special=True)
    result = result.rounded(values[0].dtype, all(v.is_exact for v in values), len(values))
    return b.node(op, values, values[0].dtype, dims, result)


def once_special(b: Builder, v: Value) -> bool:
    """Not the result of arithmetic on NaN and the like already: that may have overflowed or not."""
    return not v.special or v.is_exact


def add(b: Builder) -> Value:
    return sum_of(b, "Add", list(two(b, NUMBERS)), [1, 1])


def sub(b: Builder) -> Value:
    return sum_of(b, "Sub", list(two(b, NUMBERS)), [1, -1])


def several(b: Builder, dtypes, **options) -> list[Value]:
    x = b.pick(dtypes, **options)
    return [x] + [beside(b, x, [x.dtype], **options) for _ in range(b.integer(0, 3))]


def sum_node(b: Builder) -> Value:
    values = several(b, FLOATS)
    return sum_of(b, "Sum", values, [1] * len(values))


def mean(b: Builder) -> Value:
    values = several(b, FLOATS)
    dims = broadcast(b, *values)
    result = Range(min(v.low for v in values), max(v.high for v in values))
    result.error = sum(v.error for v in values) + (2 + len(values)) * sum(v.bound for v in values)
    return b.node("Mean", values, values[0].dtype, dims, result)


def corners(x: Value, y: Value, f) -> tuple[float, float]:
    found = [f(a, c) for a in (x.low, x.high) for c in (y.low, y.high)]
    return min(found), max(found)


def mul(b: Builder) -> Value:
    x, y = two(b, NUMBERS)
    low, high = corners(x, y, lambda p, q: p * q)
    error = x.error * y.bound + y.error * x.bound
    result = Range(low, high, x.grid * y.grid, error).rounded(x.dtype, x.is_exact and y.is_exact)
    return b.node("Mul", [x, y], x.dtype, broadcast(b, x, y), result)


def div(b: Builder) -> Value:
    if b.chance(0.5):
        x = b.pick(FLOATS)
        y = beside(b, x, [x.dtype], low=0.5, high=8)
        low, high = corners(x, y, lambda p, q: p / q)
        least = y.low
        result = Range(low, high, error=x.error / least + y.error * x.bound / least**2)
        result.error += 2 * max(result.bound, 2.0**-10)
    else:
        x = b.pick(INTEGERS)
        y = beside(b, x, [x.dtype], low=1, high=8)
        result = Range(-x.bound, x.bound)
    return b.node("Div", [x, y], x.dtype, broadcast(b, x, y), result)


def mod(b: Builder) -> Value:
    likes_c = b.chance(0.5)
    x = b.pick(FLOATS if likes_c and b.chance(0.5) else INTEGERS, exact=True)
    y = beside(b, x, [x.dtype], exact=True, low=1, high=8)
    if b.chance(0.3) and not y.is_constant:
        y = b.node("Neg", [y], y.dtype, y.dims, Range(-y.high, -y.low, y.grid))
    result = Range(-y.bound, y.bound, min(x.grid, y.grid))
    return b.node("Mod", [x, y], x.dtype, broadcast(b, x, y), result, fmod=int(likes_c))


def power(b: Builder) -> Value:
    if b.chance(0.3):
        return integer_power(b)
    x = b.pick(FLOATS, low=0.25, high=6)
    exponent = b.choose([2.0, 3.0, 0.5, 1.0, 0.0, -1.0, None])
    if exponent is None:
        y = beside(b, x, [x.dtype], low=-3, high=3)
        low, high = corners(x, y, lambda p, q: p**q)
        slope = 3 * max(x.high, 1) ** 3 / x.low + abs(math.log(x.low)) * high + high * 2
        error = slope * (x.error + y.error) + 16 * high
        return b.node("Pow", [x, y], x.dtype, broadcast(b, x, y), Range(low, high, error=error))
    y = b.leaf(x.dtype, b.choose([(), (1,)]), exponent, exponent, 0.5, constant=True)
    result = sampled(lambda v: v**exponent, x)
    return b.node("Pow", [x, y], x.dtype, broadcast(b, x, y), result)


def integer_power(b: Builder) -> Value:
    """Bases of any sign, to whole powers of a type of their own since version 12."""
    x = b.pick([*FLOATS[:3], *INTEGERS[:2]], low=-3, high=3)
    kinds = [*FLOATS[:2], *INTEGERS[:2]] if b.opset >= 12 else [x.dtype]
    y = beside(
        b, x, kinds, low=0, high=3, accept=lambda v: v.dtype not in MANTISSA or v.is_constant
    )
    if y.dtype in MANTISSA:
        y = b.leaf(y.dtype, (), 2, 2, 1.0)
    top = max(x.bound, 1.0) ** 3
    result = Range(-top, top, min(x.grid, 1.0) ** 3, 3 * top * x.error)
    result = result.rounded(x.dtype, x.is_exact, 16)
    if x.dtype in MANTISSA and result.error == 0:
        result.error = 16 * top
    return b.node("Pow", [x, y], x.dtype, broadcast(b, x, y), result)


def extreme(op: str, f):
    def make(b: Builder) -> Value:
        values = several(b, NUMBERS, calm=not b.special)
        result = Range(
            f(v.low for v in values), f(v.high for v in values), min(v.grid for v in values),
            max(v.error for v in values), any(v.special for v in values),
        )  # fmt: skip
        return b.node(op, values, values[0].dtype, broadcast(b, *values), result)

    return make


def relu(b: Builder) -> Value:
    x = b.pick(NUMBERS, calm=not b.special)
    return b.node(
        "Relu", [x], x.dtype, x.dims, Range(0, max(x.high, 0), x.grid, x.error, x.special)
    )


def prelu(b: Builder) -> Value:
    x = b.pick(FLOATS)
    dims = [1 if b.chance(0.5) else d for d in x.dims][b.integer(0, x.rank) :]
    slope = b.pick([x.dtype], dims=dims, low=-2, high=2)
    bound = x.bound * max(slope.bound, 1)
    error = x.error * max(slope.bound, 1) + slope.error * x.bound + bound
    return b.node("PRelu", [x, slope], x.dtype, x.dims, Range(-bound, bound, error=error))


def clip(b: Builder) -> Value:
    # Bounds that are attributes default to the ends of f32, which bf16 rounds to infinity.
    types = NUMBERS if b.opset >= 11 else [t for t in NUMBERS if t != BF16]
    x = b.pick(types, calm=not b.special)
    # The lower one is above the upper one at times, which version 11 allowed.
    least = b.choose([-2, -2, 4]) if b.opset >= 11 else -2
    bounds = [least if b.chance(0.7) else None, 3 if b.chance(0.7) else None]
    low, high = x.low, x.high
    if bounds[0] is not None:
        low, high = max(low, bounds[0]), max(high, bounds[0])
    if bounds[1] is not None:
        low, high = min(low, 3), min(high, 3)
    result = Range(low, high, x.grid, x.error, x.special)
    if b.opset < 11:
        named = {k: float(v) for k, v in zip(("min", "max"), bounds) if v is not None}
        return b.node("Clip", [x], x.dtype, x.dims, result, **named)
    inputs = [x, *("" if v is None else b.leaf(x.dtype, (), v, v) for v in bounds)]
    while inputs[-1] == "":
        inputs.pop()
    return b.node("Clip", inputs, x.dtype, x.dims, result)


def compare(op: str, dtypes):
    def make(b: Builder) -> Value:
        x, y = two(b, dtypes, exact=True, calm=not b.special)
        return b.node(op, [x, y], BOOL, broadcast(b, x, y), Range(0, 1))

    return make


def logic(op: str, dtypes):
    def make(b: Builder) -> Value:
        x, y = two(b, dtypes)
        bound = 0 if x.dtype == BOOL else 2 * max(x.bound, y.bound) + 1
        return b.node(op, [x, y], x.dtype, broadcast(b, x, y), Range(-bound, bound or 1))

    return make


def negation(b: Builder) -> Value:
    x = b.pick([BOOL])
    return b.node("Not", [x], BOOL, x.dims, Range(0, 1))


def is_nan(b: Builder) -> Value:
    x = b.pick(FLOATS, calm=False, accept=lambda v: once_special(b, v))
    return b.node("IsNaN", [x], BOOL, x.dims, Range(0, 1))


def is_inf(b: Builder) -> Value:
    x = b.pick(FLOATS, calm=False, accept=lambda v: once_special(b, v))
    names = [name for name in ("detect_negative", "detect_positive") if b.chance(0.5)]
    attributes = {name: b.integer(0, 1) for name in names}
    return b.node("IsInf", [x], BOOL, x.dims, Range(0, 1), **attributes)


def where(b: Builder) -> Value:
    condition = b.pick([BOOL])
    x = beside(b, condition, ANY, calm=not b.special)
    y = beside(b, x if b.chance(0.5) else condition, [x.dtype], calm=not b.special)
    result = Range(
        min(x.low, y.low), max(x.high, y.high), min(x.grid, y.grid), max(x.error, y.error),
        x.special or y.special,
    )  # fmt: skip
    return b.node("Where", [condition, x, y], x.dtype, broadcast(b, condition, x, y), result)


def cast(b: Builder) -> Value:
    to = b.choose(ANY)
    # NaN and infinities convert to no integer that the standard names.
    x = b.pick(ANY, exact=to not in MANTISSA, calm=not b.special or to in INTEGERS)
    return b.node("Cast", [x], to, x.dims, converted_range(x, to), to=onnx_type(to))


def cast_like(b: Builder) -> Value:
    like = b.pick(ANY, calm=False)
    x = b.pick(ANY, exact=like.dtype not in MANTISSA)
    return b.node("CastLike", [x, like], like.dtype, x.dims, converted_range(x, like.dtype))


ELEMENTWISE = {
    **{op: smooth(op) for op in SMOOTH},
    "Neg": kept("Neg", NUMBERS, lambda low, high: (-high, -low)),
    "Abs": kept("Abs", NUMBERS, lambda low, high: (0, max(abs(low), abs(high)))),
    **{op: rounding(op) for op in ("Floor", "Ceil", "Round")},
    "Sign": sign,
    "ThresholdedRelu": thresholded,
    "Shrink": shrink,
    "Add": add,
    "Sub": sub,
    "Sum": sum_node,
    "Mean": mean,
    "Mul": mul,
    "Div": div,
    "Mod": mod,
    "Pow": power,
    "Max": extreme("Max", max),
    "Min": extreme("Min", min),
    "Relu": relu,
    "PRelu": prelu,
    "Clip": clip,
    "Equal": compare("Equal", ANY),
    **{
        op: compare(op, NUMBERS)
        for op in ("Greater", "Less", "GreaterOrEqual", "LessOrEqual")
    },
    **{op: logic(op, [BOOL]) for op in ("And", "Or", "Xor")},
    **{op: logic(op, INTEGERS) for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")},
    "Not": negation,
    "IsNaN": is_nan,
    "IsInf": is_inf,
    "Where": where,
    "Cast": cast,
    "CastLike": cast_like,
}  # fmt: skip
