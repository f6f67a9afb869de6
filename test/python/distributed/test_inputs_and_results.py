"""Inputs and results of batch inference, without a cluster."""

from __future__ import annotations

import json
import os
from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from headrace.distributed import _worker
from headrace.distributed._inputs import Layout, sources_of
from headrace.distributed._results import Directory
from headrace.errors import InvalidArgumentError, InvalidFileError

from cases.policy import assert_close

#: A process has one level: that of the programs it compiled before.
LEVEL = os.environ.get("HEADRACE_CPU_LEVEL") or "x86-64-v2"


def rows_of(path: Path | np.ndarray, model: hr.Model, whole: bool = False) -> dict:
    """What each source gives: its arrays, or the reason why it gives none."""
    found = {}
    for source in sources_of(path, Layout(model.inputs, whole)):
        try:
            found[source.name] = source.open()
        except (InvalidArgumentError, InvalidFileError) as error:
            found[source.name] = str(error)
    return found


def test_files_of_a_directory_are_rows(
    tmp_path: Path, digits: hr.Model, images: np.ndarray
) -> None:
    table = images.reshape(len(images), -1)
    np.save(tmp_path / "a.npy", images)
    (tmp_path / "deep").mkdir()
    np.savez(tmp_path / "deep" / "b.npz", image=images[:2])
    lines = [",".join(str(value) for value in row) for row in table[:3]]
    (tmp_path / "c.csv").write_text("\n".join([",".join("h" * 64), *lines]) + "\n\n")
    np.save(tmp_path / "one.npy", images[0])
    (tmp_path / "notes.txt").write_text("not an input")
    found = rows_of(tmp_path, digits)
    assert [*found] == ["a", "c", "deep/b", "one"]
    for name, expected in zip(found, (images, images[:3], images[:2], images[:1])):
        np.testing.assert_array_equal(found[name]["image"], expected)


@pytest.mark.parametrize(
    ("name", "write", "reason"),
    [
        ("a.npy", lambda p: p.write_bytes(b""), "a.npy: "),
        ("a.npy", lambda p: p.write_bytes(b"\x93NUMPY\x01\x00"), "a.npy: "),
        (
            "a.npy",
            lambda p: np.save(p, np.array([{}], object), allow_pickle=True),
            "Python objects",
        ),
        ("a.npy", lambda p: np.save(p, np.ones((2, 3))), "expected the shape (rows, 1, 8, 8)"),
        ("a.npy", lambda p: np.save(p, np.ones((2, 1, 8, 8), "c8")), "expected values of type f32"),
        ("a.npz", lambda p: np.savez(p, other=np.ones(3)), "expected an array 'image'"),
        ("a.npz", lambda p: p.write_bytes(b"PK\x03\x04"), "a.npz: "),
        ("a.csv", lambda p: p.write_text(""), "expected lines of numeric values"),
        ("a.csv", lambda p: p.write_text("text\nonly\n"), "expected lines of numeric values"),
    ],
)
def test_a_file_that_holds_no_inputs_says_why(
    tmp_path: Path, digits: hr.Model, name: str, write, reason: str
) -> None:
    write(tmp_path / name)
    found = rows_of(tmp_path, digits)["a"]
    assert isinstance(found, str) and reason in found and "\n" not in found


def test_lines_that_cannot_be_read_are_listed(tmp_path: Path, digits: hr.Model) -> None:
    good = ",".join(["1"] * 64)
    (tmp_path / "a.csv").write_text(f"{good}\n1,2\n{good}\nx{good}\n")
    (source,) = sources_of(tmp_path, Layout(digits.inputs, False))
    assert source.open()["image"].shape == (4, 1, 8, 8)
    assert source.bad_rows == (
        (1, "line 2: expected 64 values, got 2 values"),
        (3, "line 4: expected 64 values, got text"),
    )


def test_wrong_inputs_are_errors_before_anything_runs(tmp_path: Path, digits_path: Path) -> None:
    for inputs, words in (
        (tmp_path / "absent", "neither"),
        (tmp_path, "expected files"),
        (np.ones((3, 2)), "expected the shape"),
        ({"other": np.ones(3)}, "expected an array 'image'"),
    ):
        with pytest.raises(InvalidArgumentError, match=words):
            hr.distributed.map(digits_path, inputs)
    np.save(tmp_path / "a.npy", np.ones(3))
    (tmp_path / "a.csv").write_text("1")
    with pytest.raises(InvalidArgumentError, match="differ in more than their ending"):
        hr.distributed.map(digits_path, tmp_path)
    with pytest.raises(InvalidArgumentError, match="batch: expected 1 or more, got 0"):
        hr.distributed.map(digits_path, np.ones((1, 1, 8, 8), "f4"), batch=0)


GATHER = "g (int64[N,3] i) => (float[N,3] y) {{ t = Constant<value_floats=[1.0,2.0,3.0]>() y = Gather(t, i) }}"
FIXED = "m (float[{n},3] x) => (float[{n},3] y) {{ y = Add(x, x) }}"


def onnx_file(tmp_path: Path, text: str) -> Path:
    onnx = pytest.importorskip("onnx")
    header = '<ir_version: 9, opset_import: ["" : 18]>\n'
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(header + text), path)
    return path


def run_rows(path: Path, feeds: dict, batch: int, is_fixed: bool = False) -> tuple[dict, list]:
    contents = np.fromfile(path, np.uint8)
    return _worker.run_rows(contents, str(path) + str(batch), LEVEL, feeds, batch, is_fixed)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker sets variables of its process, which tests share with others."""
    monkeypatch.setenv("HEADRACE_CPU_LEVEL", LEVEL)
    monkeypatch.setenv("HEADRACE_THREADS", "1")


@pytest.mark.parametrize("batch", [1, 4, 32])
def test_rows_that_a_program_rejects_leave_the_others(tmp_path: Path, batch: int) -> None:
    path = onnx_file(tmp_path, GATHER.format())
    indices = np.arange(33).reshape(11, 3) % 3
    indices[[2, 7], 1] = 9
    outputs, failed = run_rows(path, {"i": indices}, batch)
    assert [row for row, _ in failed] == [2, 7]
    assert all("9" in reason for _, reason in failed)
    good = np.delete(np.arange(11), [2, 7])
    np.testing.assert_array_equal(outputs["y"][good], indices[good] + 1)
    assert np.isnan(outputs["y"][[2, 7]]).all()
    outputs, failed = run_rows(path, {"i": indices[2:3]}, batch)
    assert outputs == {} and len(failed) == 1


@pytest.mark.parametrize("rows", [1, 3, 4, 9])
def test_a_program_of_a_fixed_batch_takes_any_number_of_rows(tmp_path: Path, rows: int) -> None:
    path = onnx_file(tmp_path, FIXED.format(n=4))
    x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
    outputs, failed = run_rows(path, {"x": x}, 4, is_fixed=True)
    np.testing.assert_array_equal(outputs["y"], 2 * x)
    assert not failed


def test_results_continue_where_they_stopped(tmp_path: Path, digits: hr.Model) -> None:
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in" / "a.npy", np.zeros((5, 1, 8, 8), "f4"))
    (source,) = sources_of(tmp_path / "in", Layout(digits.inputs, False))
    source.open()
    out = Directory(tmp_path / "out", "key", {"batch": 2})
    out.store_task(source, 0, 2, {"y": np.ones((2, 3), "f4")}, [])
    out.store_task(source, 4, 1, {}, [(0, "bad")])
    assert not [*(tmp_path / "out").glob("*.npy")]
    again = Directory(tmp_path / "out", "key", {"batch": 2})
    assert again.has_task(source, 0) and not again.has_task(source, 2)
    assert again.is_done(source) is None
    again.store_task(source, 2, 2, {"y": np.full((2, 3), 2, "f4")}, [])
    assert again.finish(source, False) == [(4, "bad")]
    y = np.load(tmp_path / "out" / "a.npy")
    np.testing.assert_array_equal(y[:4, 0], [1, 1, 2, 2])
    assert np.isnan(y[4]).all()
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"a.npy", "done.jsonl", "headrace-map.json"}
    third = Directory(tmp_path / "out", "key", {"batch": 2})
    assert third.is_done(source) == [(4, "bad")]
    np.save(tmp_path / "in" / "a.npy", np.ones((6, 1, 8, 8), "f4"))  # another file of that name
    (changed,) = sources_of(tmp_path / "in", Layout(digits.inputs, False))
    assert third.is_done(changed) is None


def test_a_directory_of_other_results_is_left_alone(tmp_path: Path) -> None:
    Directory(tmp_path / "out", "key", {"batch": 2})
    for key, mode in (("other", {"batch": 2}), ("key", {"batch": 3})):
        with pytest.raises(InvalidArgumentError, match="got results of another run"):
            Directory(tmp_path / "out", key, mode)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(InvalidArgumentError, match="expected a new or empty directory"):
        Directory(tmp_path / "mine", "key", {})
    (tmp_path / "out" / "headrace-map.json").write_text("{")
    with pytest.raises(hr.IoError, match="damaged"):
        Directory(tmp_path / "out", "key", {"batch": 2})
    with pytest.raises(hr.IoError):
        Directory(tmp_path / "mine" / "thesis.txt", "key", {})


def test_a_journal_that_a_crash_cut_off_is_read(tmp_path: Path, digits: hr.Model) -> None:
    out = Directory(tmp_path / "out", "key", {})
    (source,) = sources_of(np.zeros((1, 1, 8, 8), "f4"), Layout(digits.inputs, False))
    entry = json.dumps({"source": "inputs", "fingerprint": "", "rows": 1, "failed": []})
    (tmp_path / "out" / "done.jsonl").write_text(entry + "\n" + entry[:20])
    assert out.is_done(source) is None
    assert Directory(tmp_path / "out", "key", {}).is_done(source) == []


def test_worker_agrees_with_the_process(
    digits: hr.Model, digits_path: Path, images: np.ndarray
) -> None:
    outputs, failed = run_rows(digits_path, {"image": images}, 3)
    assert not failed
    assert_close(outputs["logits"], digits(images))
