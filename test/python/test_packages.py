"""Packages from Python."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest


@pytest.fixture(scope="module")
def package(tmp_path_factory, digits_path) -> Path:
    path = tmp_path_factory.mktemp("package") / "digits.hrpkg"
    hr.write_package(digits_path, path)
    return path


def test_equal_results(package, digits, images) -> None:
    packaged = hr.load(package)
    assert packaged.inputs == digits.inputs and packaged.outputs == digits.outputs
    for batch in (0, 1, 2, 64):
        expected = digits(images[:batch])
        np.testing.assert_allclose(packaged(images[:batch]), expected, rtol=1e-5, atol=1e-5)


def test_session(package, images) -> None:
    session = hr.InferenceSession(package)
    (logits,) = session.run(None, {"image": images[:3]})
    assert logits.shape == (3, 10)


def test_explains(package) -> None:
    report = hr.load(package).explain(batch=16)
    assert report["after"]["bytes_moved"] < report["before"]["bytes_moved"]
    assert report["phase_milliseconds"] == {}


def test_several_programs(tmp_path, digits_path, images) -> None:
    other = tmp_path / "other.onnx"
    other.write_bytes(digits_path.read_bytes())
    path = tmp_path / "both.hrpkg"
    hr.write_package([digits_path, other], path, processors=["native"], sizes={"batch": 2})
    with pytest.raises(hr.InvalidArgumentError, match="'digits', 'other'"):
        hr.load(path)
    other_program = hr.load(path, program="other")
    assert other_program(images[:2]).shape == (2, 10)
    with pytest.raises(hr.UnsupportedError, match="is not compiled for batch = 3"):
        other_program(images[:3])


def test_what_needs_the_model_is_refused(package) -> None:
    packaged = hr.load(package)
    with pytest.raises(hr.UnsupportedError, match="holds compiled code only"):
        packaged.ir("tiles")
    with pytest.raises(hr.UnsupportedError, match="holds compiled code only"):
        packaged.reference(np.zeros((1, 1, 8, 8), np.float32))


def test_damage_is_an_error(package, tmp_path) -> None:
    path = tmp_path / "bad.hrpkg"
    path.write_bytes(package.read_bytes()[:-1])
    with pytest.raises(hr.InvalidFileError, match=r"bad\.hrpkg: the package is truncated"):
        hr.load(path)
