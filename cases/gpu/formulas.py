"""The cases in float64, by NumPy: what results are compared with. `rows` picks rows of the result."""

from __future__ import annotations

import numpy as np


def mish(rows, x):
    x = x[rows]
    return x * np.tanh(np.logaddexp(0, x))


def mish_both(rows, x, dy):
    """Forward and backward: the value, and the gradient for that of the value."""
    x, dy = x[rows], dy[rows]
    t = np.tanh(np.logaddexp(0, x))
    return [x * t, dy * (t + x * (1 - t * t) / (1 + np.exp(-x)))]


def softmax(rows, x):
    x = x[rows]
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layernorm(rows, x, scale, bias):
    x = x[rows]
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + bias


def transpose(rows, x):
    return x.T[rows]


def sum_rows(rows, x):
    return x.sum(1)[rows]


def sum_columns(rows, x):
    return x.sum(0)[rows]


def sum_all(rows, x):
    return np.asarray(x.sum())


def matmul(rows, a, b):
    return a[rows] @ b


def gradient(rows, a, b):
    """Of weights: both operands lie with the depth outside."""
    return a.T[rows] @ b


def dense(rows, x, w, b):
    return np.maximum(x[rows] @ w + b, 0)


def conv(rows, x, w):
    padded = np.pad(x[rows], ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], (2, 3))
    return np.moveaxis(np.tensordot(windows, w, ((1, 4, 5), (1, 2, 3))), -1, 1)


def shifts(rows, *xs):
    return [x + i for i, x in enumerate(xs)]


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """||found - expected|| / ||expected||; NaN if any element is NaN."""
    difference = np.linalg.norm((found - expected).ravel())
    return float(difference / max(np.linalg.norm(expected.ravel()), 1e-30))
