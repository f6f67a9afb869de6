"""Mistakes: each has its type, and a message that names the user's thing."""

from __future__ import annotations

import _thread
import signal
import threading
import time

import headrace as hr
import numpy as np
import pytest


@pytest.mark.parametrize(
    ("error", "also"),
    [
        (hr.InvalidFileError, RuntimeError),
        (hr.InvalidModelError, RuntimeError),
        (hr.InvalidScriptError, RuntimeError),
        (hr.UnsupportedError, RuntimeError),
        (hr.InvalidArgumentError, ValueError),
        (hr.ShapeMismatchError, ValueError),
        (hr.TypeMismatchError, TypeError),
        (hr.MissingInputError, RuntimeError),
        (hr.IoError, OSError),
        (hr.OutOfRangeError, IndexError),
        (hr.DivisionByZeroError, ZeroDivisionError),
    ],
)
def test_families(error, also):
    assert issubclass(error, hr.Error) and issubclass(error, also)
    assert str(error("why")) == "why"
    assert not issubclass(hr.InternalError, hr.Error)


def test_no_such_file(tmp_path):
    with pytest.raises(hr.IoError, match="absent.onnx"):
        hr.load(tmp_path / "absent.onnx")


def test_damaged_file(tmp_path, digits_path):
    path = tmp_path / "half.onnx"
    path.write_bytes(digits_path.read_bytes()[:20_000])
    with pytest.raises(hr.Error, match="half.onnx"):
        hr.load(path)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    with pytest.raises(hr.InvalidFileError, match="half.onnx"):
        hr.load(path)


def test_unknown_operator_and_target(write_model, digits_path):
    value = ["FLOAT", ["n"]]
    path = write_model([("Frobnicate", ["x"], ["y"])], [("x", *value)], [("y", *value)])
    with pytest.raises(hr.UnsupportedError, match="Frobnicate"):
        hr.load(path)
    with pytest.raises(hr.Error, match="abacus"):
        hr.load(digits_path, target="abacus")
    with pytest.raises(TypeError):
        hr.load(3)


@pytest.mark.parametrize("shape", [(16, 64), (16, 1, 8, 9), (1, 8, 8), ()])
def test_wrong_shape(digits, shape):
    with pytest.raises(hr.ShapeMismatchError, match="'image'.*batch x 1 x 8 x 8"):
        digits(np.zeros(shape, np.float32))


def test_shapes_that_do_not_agree(sum_and_difference):
    with pytest.raises(hr.ShapeMismatchError, match="'b'.*n = 2.*3 x 3"):
        sum_and_difference(np.zeros((2, 3), np.float32), np.zeros((3, 3), np.float32))


def test_missing_inputs(sum_and_difference):
    a = np.zeros((2, 3), np.float32)
    for call in (
        lambda: sum_and_difference(a),
        lambda: sum_and_difference(a=a),
        lambda: sum_and_difference(a, None),
        lambda: sum_and_difference.run_dict({"a": a}),
    ):
        with pytest.raises(hr.MissingInputError, match=r"'b' is missing: expected b: f32\[n, 3\]"):
            call()


def test_inputs_too_many_or_unknown(digits, images):
    with pytest.raises(hr.InvalidArgumentError, match=r"expected 1 input \('image'\), got 2"):
        digits(images, images)
    with pytest.raises(hr.InvalidArgumentError, match="'image', got 'picture'"):
        digits(picture=images)
    with pytest.raises(hr.InvalidArgumentError, match="'image' once"):
        digits(images, image=images)


def test_errors_of_a_users_array_pass_through(digits):
    class Stubborn:
        def __array__(self, dtype=None, copy=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        digits(Stubborn())


@pytest.fixture
def interruptible():
    """Started in the background, a process may have been told to ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupt_ends_a_loop_of_calls(digits, images, interruptible):
    timer = threading.Timer(0.2, _thread.interrupt_main)
    deadline = time.monotonic() + 30
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        while time.monotonic() < deadline:
            digits(images)
    timer.join()
