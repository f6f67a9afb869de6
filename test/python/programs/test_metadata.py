"""Notes of the writer of a model's file."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import onnx
import pytest

NOTES = {"names": "zero\none\n", "empty": "", "": "without a key", "größe": "8×8 ✓"}


def noted(path: Path, folder: Path, notes: dict[str, str]) -> Path:
    model = onnx.load(path)
    onnx.helper.set_model_props(model, notes)
    onnx.save(model, folder / "noted.onnx")
    return folder / "noted.onnx"


def test_notes_are_as_written(digits_path: Path, tmp_path: Path) -> None:
    assert hr.load(digits_path).metadata == {}
    path = noted(digits_path, tmp_path, NOTES)
    assert hr.load(path).metadata == NOTES
    assert hr.InferenceSession(path).get_modelmeta().custom_metadata_map == NOTES


def test_onnxruntime_sees_the_same(digits_path: Path, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    path = noted(digits_path, tmp_path, NOTES)
    other = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    ours = hr.InferenceSession(path).get_modelmeta()
    assert ours.custom_metadata_map == other.get_modelmeta().custom_metadata_map


def test_a_package_has_none(digits_path: Path, tmp_path: Path) -> None:
    path = noted(digits_path, tmp_path, NOTES)
    hr.write_package(path, tmp_path / "noted.hrpkg", processors=["native"])
    assert hr.load(tmp_path / "noted.hrpkg").metadata == {}


def test_notes_that_are_no_text_are_damage(digits_path: Path, tmp_path: Path) -> None:
    path = noted(digits_path, tmp_path, {"key": "value"})
    path.write_bytes(path.read_bytes().replace(b"value", b"val\xff\xfe"))
    with pytest.raises(hr.InvalidFileError, match="is not UTF-8"):
        hr.load(path)
