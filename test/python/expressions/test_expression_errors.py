"""Expressions that are rejected, and what is said of them."""

from __future__ import annotations

import headrace as hr
import pytest

n, m = hr.var("n m")
X = hr.placeholder((n, m), "f32", name="X")


def refused(error, match, make):
    with pytest.raises(error, match=match):
        hr.compile(make())


def test_while_writing():
    r = hr.axis(m, name="r")
    for error, match, make in [
        (hr.ShapeMismatchError, "tensor 'X': expected 2 indices, got 1", lambda: X[0]),
        (hr.TypeMismatchError, "expected integers as indices", lambda: X[0.5, 0]),
        (
            hr.InvalidArgumentError,
            "'f33': expected one of",
            lambda: hr.placeholder((n,), "f33"),
        ),
        (hr.UnsupportedError, "expected one of bool", lambda: hr.placeholder((n,), "u8")),
        (
            hr.InvalidArgumentError,
            "function of 2 parameters.*got 1 \\(i\\)",
            lambda: hr.compute((n, m), lambda i: i, name="C"),
        ),
        (
            hr.TypeMismatchError,
            "hr.select",
            lambda: hr.compute((n,), lambda i: 1 if i > 0 else 2),
        ),
        (hr.TypeMismatchError, "conditions \\(bool\\)", lambda: hr.select(X[0, 0], 1, 2)),
        (
            hr.TypeMismatchError,
            "expected scalars and expressions, got str",
            lambda: X[0, 0] + "x",
        ),
        (
            hr.InvalidArgumentError,
            "sizes made of integers",
            lambda: hr.placeholder((X[0, 0],)),
        ),
        (hr.InvalidArgumentError, "sizes of 0 or more, got -3", lambda: hr.placeholder((-3,))),
        (hr.TypeMismatchError, "made by hr.axis", lambda: hr.sum(X[0, 0], axis=1)),
        (hr.InvalidArgumentError, "once, got it twice", lambda: hr.sum(X[0, r], axis=(r, r))),
        (hr.InvalidArgumentError, "expected two values, or one", lambda: hr.max(X[0, 0])),
        (hr.TypeMismatchError, "expected 2 indices, got the tensor itself", lambda: hr.exp(X)),
        (
            hr.TypeMismatchError,
            "a reduction of values of type f32 into one, got bool",
            lambda: hr.reducer(lambda a, b: a > b, 0)(X[0, r], axis=r),
        ),
    ]:
        with pytest.raises(error, match=match):
            make()


@pytest.mark.parametrize(
    "index, text",
    [
        (
            lambda i: i + 1,
            r"Y\[i \+ 1\] reads positions 1 to n of dimension 0: expected positions 0 to n - 1",
        ),
        (lambda i: i - 2, r"reads positions -2 to n - 3"),
        (lambda i: 2 * i, r"reads positions 0 to 2\*n - 2"),
        (lambda i: (i + 4) // 2, r"may leave dimension 0"),
    ],
)
def test_access_outside(index, text):
    Y = hr.placeholder((n,), name="Y")
    stage = lambda: hr.compute((n,), lambda i: Y[index(i)], name="C")  # noqa: E731
    refused(hr.InvalidArgumentError, f"stage 'C': .*{text}", stage)


def test_condition_that_does_not_help():
    Y = hr.placeholder((n,), name="Y")
    refused(
        hr.InvalidArgumentError,
        r"stage 'C': Y\[i \+ 1\] reads positions 1 to n",
        lambda: hr.compute((n,), lambda i: hr.select(i > 5, Y[i + 1], 0.0), name="C"),
    )


def test_when_compiled():
    r = hr.axis(m, name="r")
    for error, match, make in [
        (
            hr.InvalidArgumentError,
            "stage 'C': axis 'r' is used outside its reduction",
            lambda: hr.compute((n,), lambda i: X[i, r], name="C"),
        ),
        (
            hr.InvalidArgumentError,
            "reduced inside itself",
            lambda: hr.compute((n,), lambda i: hr.sum(hr.sum(X[i, r], axis=r), axis=r), name="C"),
        ),
        (
            hr.InvalidArgumentError,
            "size 'q'.*got none",
            lambda: hr.compute((hr.var("q"),), lambda i: i, name="C"),
        ),
        (
            hr.InvalidArgumentError,
            "size 'n': expected one hr.var of this name",
            lambda: hr.compute((n, hr.var("n")), lambda i, j: X[i, j % 1], name="C"),
        ),
        (
            hr.InvalidArgumentError,
            "expected one tensor of this name",
            lambda: hr.compute((n, m), lambda i, j: X[i, j], name="X"),
        ),
        (hr.InvalidArgumentError, "expected a computed tensor", lambda: X),
        (hr.TypeMismatchError, "got int", lambda: 5),
        (hr.ShapeMismatchError, "0 or more", lambda: hr.compute((n - m,), lambda i: i, name="C")),
    ]:
        refused(error, match, make)
