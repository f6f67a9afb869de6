"""Code written for onnxruntime."""

from __future__ import annotations

import warnings

import headrace as hr
import numpy as np
import pytest


@pytest.fixture
def session(digits_path):
    return hr.InferenceSession(str(digits_path), providers=["CPUExecutionProvider"])


def test_describes_itself_as_onnxruntime_does(session, digits_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    other = onnxruntime.InferenceSession(str(digits_path), providers=["CPUExecutionProvider"])
    for ours, theirs in [
        *zip(session.get_inputs(), other.get_inputs(), strict=True),
        *zip(session.get_outputs(), other.get_outputs(), strict=True),
    ]:
        assert (ours.name, ours.type, ours.shape) == (theirs.name, theirs.type, theirs.shape)
    assert session.get_providers() == other.get_providers()


def test_runs_as_onnxruntime_does(session, digits, images):
    expected = digits(images)
    for names in (None, [], ["logits"]):
        (logits,) = session.run(names, {"image": images})
        np.testing.assert_array_equal(logits, expected)


def test_takes_the_bytes_of_a_file(digits, digits_path, images):
    session = hr.InferenceSession(digits_path.read_bytes())
    (logits,) = session.run(None, {"image": images})
    np.testing.assert_array_equal(logits, digits(images))


def test_outputs_come_in_the_order_asked(sum_and_difference_path):
    session = hr.InferenceSession(sum_and_difference_path)
    a = np.ones((2, 3), np.float32)
    difference, total = session.run(["difference", "sum"], {"a": a, "b": a})
    assert (difference == 0).all() and (total == 2).all()


def test_mistakes(session, images):
    with pytest.raises(hr.InvalidArgumentError, match="'logits', got 'answer'"):
        session.run(["answer"], {"image": images})
    with pytest.raises(hr.MissingInputError, match="'image'"):
        session.run(None, {})


def test_other_providers_warn(digits_path):
    with pytest.warns(RuntimeWarning, match="CUDAExecutionProvider"):
        hr.InferenceSession(digits_path, providers=[("CUDAExecutionProvider", {})])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hr.InferenceSession(
            digits_path, providers=["CUDAExecutionProvider", "CPUExecutionProvider"]
        )


def test_threads_of_the_options(digits_path):
    options = hr.SessionOptions()
    options.intra_op_num_threads = hr.get_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hr.InferenceSession(digits_path, options)
    options.intra_op_num_threads += 1
    with pytest.warns(RuntimeWarning, match="threads"):
        hr.InferenceSession(digits_path, options)
