"""Elementary functions of one number, in expressions: the names of runtime/scalar/Functions.def."""

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
    return apply("sqrt", value)


def cbrt(value: Any) -> Expr:
    return apply("cbrt", value)


def exp(value: Any) -> Expr:
    return apply("exp", value)


def exp2(value: Any) -> Expr:
    return apply("exp2", value)


def expm1(value: Any) -> Expr:
    """exp(value) - 1, exact near 0."""
    return apply("expm1", value)


def log(value: Any) -> Expr:
    return apply("log", value)


def log1p(value: Any) -> Expr:
    """log(1 + value), exact near 0."""
    return apply("log1p", value)


def log2(value: Any) -> Expr:
    return apply("log2", value)


def log10(value: Any) -> Expr:
    return apply("log10", value)


def sin(value: Any) -> Expr:
    return apply("sin", value)


def cos(value: Any) -> Expr:
    return apply("cos", value)


def tan(value: Any) -> Expr:
    return apply("tan", value)


def asin(value: Any) -> Expr:
    return apply("asin", value)


def acos(value: Any) -> Expr:
    return apply("acos", value)


def atan(value: Any) -> Expr:
    return apply("atan", value)


def sinh(value: Any) -> Expr:
    return apply("sinh", value)


def cosh(value: Any) -> Expr:
    return apply("cosh", value)


def tanh(value: Any) -> Expr:
    return apply("tanh", value)


def asinh(value: Any) -> Expr:
    return apply("asinh", value)


def acosh(value: Any) -> Expr:
    return apply("acosh", value)


def atanh(value: Any) -> Expr:
    return apply("atanh", value)


def erf(value: Any) -> Expr:
    return apply("erf", value)


def floor(value: Any) -> Expr:
    return apply("floor", value)


def ceil(value: Any) -> Expr:
    return apply("ceil", value)


def round(value: Any) -> Expr:
    """To the nearest whole number, halves to the even one."""
    return apply("round", value)


def trunc(value: Any) -> Expr:
    """Toward 0."""
    return apply("trunc", value)
