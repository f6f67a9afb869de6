"""Reductions of tensor expressions along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace import _core
from headrace._expressions import Axis, Expr, apply, select, to_axes, to_core
from headrace.errors import InvalidArgumentError, TypeMismatchError


def sum(value: Any, axis: Axis | Sequence[Axis], *, where: Any = None) -> Expr:
    """The sum along one axis or several; of bools, the number of true ones. With `where`, only of
    the values for which the condition holds.

    >>> total = hr.compute((n,), lambda i: hr.sum(A[i, r], axis=r))
    >>> lower = hr.compute((n,), lambda i: hr.sum(A[i, r], axis=r, where=r <= i))
    """
    return Expr(_core.expr_reduce("sum", only_where(where, value, 0), to_axes(axis)))


def prod(value: Any, axis: Axis | Sequence[Axis], *, where: Any = None) -> Expr:
    """The product along one axis or several; with `where`, only of the values for which the
    condition holds.
    """
    return Expr(_core.expr_reduce("prod", only_where(where, value, 1), to_axes(axis)))


def min(
    value: Any, other: Any = None, *, axis: Axis | Sequence[Axis] | None = None, where: Any = None
) -> Expr:
    """The smaller of two values, or the minimum along axes, of the values for which the condition
    `where` holds. NaN if a value is NaN.
    """
    return extreme("min", value, other, axis, where)


def max(
    value: Any, other: Any = None, *, axis: Axis | Sequence[Axis] | None = None, where: Any = None
) -> Expr:
    """The larger of two values, or the maximum along axes, of the values for which the condition
    `where` holds. NaN if a value is NaN.
    """
    return extreme("max", value, other, axis, where)


def extreme(
    kind: str, value: Any, other: Any, axis: Axis | Sequence[Axis] | None, where: Any
) -> Expr:
    if (other is None) == (axis is None):
        raise InvalidArgumentError(f"hr.{kind}: expected two values, or one value and axis=...")
    if axis is None:
        if where is not None:
            raise InvalidArgumentError(f"hr.{kind}: expected axis=... next to where=..., got none")
        return apply(kind, value, other)
    neutral = None if where is None else lowest(Expr(to_core(value)).dtype)
    if neutral is not None and kind == "min":
        neutral = opposite(neutral)
    return Expr(_core.expr_reduce(kind, only_where(where, value, neutral), to_axes(axis)))


def lowest(dtype: str) -> Any:
    """The number that is neutral for maxima."""
    if dtype == "bool":
        return False
    return -(1 << (int(dtype[1:]) - 1)) if dtype.startswith("i") else -float("inf")


def opposite(number: Any) -> Any:
    """The greatest number of a type from the lowest one."""
    if isinstance(number, bool):
        return not number
    return -number if isinstance(number, float) else ~number


def only_where(where: Any, value: Any, neutral: Any) -> _core.Expr:
    """The value if the condition holds, else a number that does not change the reduction."""
    return to_core(value if where is None else select(where, value, neutral))


def reducer(combine: Callable[[Any, Any], Any], identity: Any) -> Callable[..., Any]:
    """A custom reduction, which is used like `hr.sum`.

    `combine` must be associative and commutative, with `identity` as its neutral element. If
    `identity` is a tuple, the reduction is of tuples: `combine` takes two of them and returns one,
    and so does the reduction.

    >>> longest = hr.reducer(lambda a, b: hr.select(abs(a) > abs(b), a, b), identity=0.0)
    >>> L = hr.compute((n,), lambda i: longest(A[i, r], axis=r))
    >>> largest = hr.reducer(
    ...     lambda a, b: tuple(hr.select(a[1] >= b[1], x, y) for x, y in zip(a, b)),
    ...     identity=(0, -np.inf),
    ... )
    >>> place, value = hr.compute((n,), lambda i: largest((r, A[i, r]), axis=r), name="largest")
    """
    if isinstance(identity, tuple):
        return tuple_reducer(combine, identity)

    def reduce(value: Any, axis: Axis | Sequence[Axis], *, where: Any = None) -> Expr:
        def call(a: _core.Expr, b: _core.Expr) -> _core.Expr:
            return to_core(combine(Expr(a), Expr(b)))

        chosen = only_where(where, value, identity)
        return Expr(_core.expr_custom_reduce(call, to_core(identity), chosen, to_axes(axis)))

    return reduce


def tuple_reducer(
    combine: Callable[[Any, Any], Any], identity: tuple[Any, ...]
) -> Callable[..., tuple[Expr, ...]]:
    def reduce(
        values: tuple[Any, ...], axis: Axis | Sequence[Axis], *, where: Any = None
    ) -> tuple[Expr, ...]:
        def call(a: list[_core.Expr], b: list[_core.Expr]) -> list[_core.Expr]:
            combined = combine(tuple(map(Expr, a)), tuple(map(Expr, b)))
            expect_tuple("a function that returns", combined)
            return [to_core(value) for value in combined]

        expect_tuple("values in", values)
        if len(values) != len(identity):
            raise InvalidArgumentError(
                f"reduction: expected a tuple of {len(identity)} values, got {len(values)}"
            )
        chosen = [only_where(where, *pair) for pair in zip(values, identity)]
        start = [to_core(value) for value in identity]
        return tuple(map(Expr, _core.expr_tuple_reduce(call, start, chosen, to_axes(axis))))

    return reduce


def expect_tuple(what: str, value: Any) -> None:
    if not isinstance(value, tuple):
        raise TypeMismatchError(f"reduction: expected {what} a tuple, got {type(value).__name__}")
