"""Math functions of one scalar, in expressions: the names of runtime/scalar/Functions.def."""

from __future__ import annotations

from typing import Any

from headrace._expressions import Expr, apply

__all__ = [
    "sqrt",
    "cbrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "floor",
    "ceil",
    "round",
    "trunc",
]


def sqrt(value: Any) -> Expr:
    """The square root."""
    return apply("sqrt", value)


def cbrt(value: Any) -> Expr:
    """The cube root."""
    return apply("cbrt", value)


def exp(value: Any) -> Expr:
    """e to the power of the value."""
    return apply("exp", value)


def exp2(value: Any) -> Expr:
    """2 to the power of the value."""
    return apply("exp2", value)


def expm1(value: Any) -> Expr:
    """exp(value) - 1, accurate near 0."""
    return apply("expm1", value)


def log(value: Any) -> Expr:
    """The natural logarithm."""
    return apply("log", value)


def log1p(value: Any) -> Expr:
    """log(1 + value), accurate near 0."""
    return apply("log1p", value)


def log2(value: Any) -> Expr:
    """The logarithm to base 2."""
    return apply("log2", value)


def log10(value: Any) -> Expr:
    """The logarithm to base 10."""
    return apply("log10", value)


def sin(value: Any) -> Expr:
    """The sine of an angle in radians."""
    return apply("sin", value)


def cos(value: Any) -> Expr:
    """The cosine of an angle in radians."""
    return apply("cos", value)


def tan(value: Any) -> Expr:
    """The tangent of an angle in radians."""
    return apply("tan", value)


def asin(value: Any) -> Expr:
    """The angle in radians, from -pi/2 to pi/2, whose sine is the value."""
    return apply("asin", value)


def acos(value: Any) -> Expr:
    """The angle in radians, from 0 to pi, whose cosine is the value."""
    return apply("acos", value)


def atan(value: Any) -> Expr:
    """The angle in radians, from -pi/2 to pi/2, whose tangent is the value."""
    return apply("atan", value)


def sinh(value: Any) -> Expr:
    """The hyperbolic sine."""
    return apply("sinh", value)


def cosh(value: Any) -> Expr:
    """The hyperbolic cosine."""
    return apply("cosh", value)


def tanh(value: Any) -> Expr:
    """The hyperbolic tangent."""
    return apply("tanh", value)


def asinh(value: Any) -> Expr:
    """The inverse of the hyperbolic sine."""
    return apply("asinh", value)


def acosh(value: Any) -> Expr:
    """The inverse of the hyperbolic cosine; NaN below 1."""
    return apply("acosh", value)


def atanh(value: Any) -> Expr:
    """The inverse of the hyperbolic tangent; NaN outside of [-1, 1]."""
    return apply("atanh", value)


def erf(value: Any) -> Expr:
    """The error function."""
    return apply("erf", value)


def floor(value: Any) -> Expr:
    """The largest integer that is at most the value, as a float."""
    return apply("floor", value)


def ceil(value: Any) -> Expr:
    """The smallest integer that is at least the value, as a float."""
    return apply("ceil", value)


def round(value: Any) -> Expr:
    """The nearest integer as a float, ties to even."""
    return apply("round", value)


def trunc(value: Any) -> Expr:
    """The value without its fraction."""
    return apply("trunc", value)
