"""Packages from Python."""

from __future__ import annotations

import json
import os
import zipfile
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
    with pytest.raises(hr.InvalidFileError, match=r"bad\.hrpkg: the file is truncated"):
        hr.load(path)


# Packages that nobody should trust


def rewritten(package: Path, target: Path, change) -> Path:
    """The package with another manifest, every checksum of the archive being right."""
    with zipfile.ZipFile(package) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "manifest.json":
                manifest = json.loads(data)
                change(manifest)
                data = json.dumps(manifest).encode()
            new.writestr(name, data)
    return target


def programs_of(manifest: dict) -> list[dict]:
    return [version["program"] for version in manifest["programs"][0]["versions"]]


def for_each_step(action):
    def change(manifest: dict) -> None:
        for program in programs_of(manifest):
            for step in program["steps"]:
                action(step)

    return change


def for_each_buffer(kind: str, action):
    def change(manifest: dict) -> None:
        for program in programs_of(manifest):
            for buffer in program["buffers"]:
                if buffer["kind"] == kind:
                    action(buffer)

    return change


def for_each_program(action):
    return lambda manifest: [action(program) for program in programs_of(manifest)]


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


CHANGES = {
    "operands missing": for_each_step(lambda step: step["operands"].clear()),
    "operands swapped": for_each_step(lambda step: step["operands"].reverse()),
    "inputs swapped": for_each_step(
        lambda step: step["operands"].__setitem__(slice(-1), step["operands"][-2::-1])
    ),
    "operand out of range": for_each_step(lambda step: step["operands"].append(999)),
    "kernel of another step": for_each_step(lambda step: step.update(symbol="nothing")),
    "temporaries too small": for_each_buffer("temporary", lambda b: b.update(bytes=1)),
    "temporaries negative": for_each_buffer("temporary", lambda b: b.update(bytes=-64)),
    "temporaries vast": for_each_buffer("temporary", lambda b: b.update(bytes=2**62)),
    "temporaries not a number": for_each_buffer(
        "temporary", lambda b: b.update(bytes=float("nan"))
    ),
    "lifetimes over": for_each_buffer("temporary", lambda b: b.update(last=b["first"])),
    "lifetimes reversed": for_each_buffer("temporary", lambda b: b.update(first=9, last=0)),
    "outputs vast": for_each_buffer("output", lambda b: b.update(bytes=2**40)),
    "constants vast": for_each_buffer("constant", lambda b: b.update(bytes=2**40)),
    "buffer of no constant": for_each_buffer("constant", lambda b: b.update(index=10**6)),
    "no outputs": for_each_program(lambda p: p["outputs"].clear()),
    "no steps": for_each_program(lambda p: p["steps"].clear()),
    "steps out of order": for_each_program(lambda p: p["steps"].reverse()),
    "no buffers": for_each_program(lambda p: p["buffers"].clear()),
    "no symbols": for_each_program(lambda p: p["symbols"].clear()),
    "guards that divide by zero": for_each_program(
        lambda p: p["outputs"][0].update(dims=["s0 // 0", 10])
    ),
    "an unknown symbol": for_each_program(lambda p: p["outputs"][0].update(dims=["s7", 10])),
    "negative sizes": for_each_program(lambda p: p["inputs"][0].update(dims=[-1, 1, 8, 8])),
    "weights elsewhere": lambda m: m["weights"]["pieces"][0].__setitem__(0, 2**40),
    "weights with negative offset": lambda m: m["weights"]["pieces"][0].__setitem__(0, -64),
    "fewer outputs than versions": lambda m: m["programs"][0]["outputs"].clear(),
    "code of no file": lambda m: [code.update(file="manifest.json") for code in m["code"]],
    "programs twice": lambda m: m["programs"].append(m["programs"][0]),
    "depth": lambda m: m["weights"].update(bytes=nested(800)),
    "texts for numbers": lambda m: m["weights"].update(bytes="12"),
    "lists for texts": lambda m: m.update(producer=["x"]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_manifests_that_were_changed_are_refused(what, package, tmp_path, images) -> None:
    damaged = rewritten(package, tmp_path / "damaged.hrpkg", CHANGES[what])
    with pytest.raises(hr.Error, match=r"^damaged\.hrpkg: ") as caught:
        hr.load(damaged)(images[:3])
    assert "bug in Headrace" not in str(caught.value)


def test_a_workspace_that_is_missing_is_refused(write_model, tmp_path) -> None:
    nodes = [("Softmax", ["x"], ["y"], {"axis": 1}), ("MatMul", ["y", "x"], ["z"])]
    square = ("FLOAT", ["n", "n"])
    path = write_model(nodes, [("x", *square)], [("z", *square)])
    hr.write_package(path, tmp_path / "whole.hrpkg", processors=["native"])
    whole = hr.load(tmp_path / "whole.hrpkg").explain()
    assert any(kernel["workspace_bytes"] for kernel in whole["kernels"])
    without = for_each_step(lambda step: step.pop("workspace", None))
    damaged = rewritten(tmp_path / "whole.hrpkg", tmp_path / "damaged.hrpkg", without)
    with pytest.raises(hr.Error, match=r"^damaged\.hrpkg: "):
        hr.load(damaged)(np.ones((5, 5), np.float32))


def test_a_manifest_that_was_only_copied_is_accepted(package, tmp_path, images) -> None:
    same = rewritten(package, tmp_path / "same.hrpkg", lambda manifest: None)
    assert (hr.load(same)(images[:3]) == hr.load(package)(images[:3])).all()


def test_every_missing_or_wrong_part_is_refused(package, tmp_path) -> None:
    """Each entry of the manifest, one after the other, is left out or something else."""
    with zipfile.ZipFile(package) as archive:
        whole = json.loads(archive.read("manifest.json"))
    kept = whole["programs"][0]["versions"]
    whole["programs"][0]["versions"] = [v for v in kept if v["sizes"] == [None]]

    def places(value, at=()):
        items = value.items() if isinstance(value, dict) else enumerate(value[:1])
        for key, entry in list(items):
            yield (*at, key)
            if isinstance(entry, (dict, list)):
                yield from places(entry, (*at, key))

    count = 0
    for place in places(whole):
        for wrong in ("left out", None, -1, 2**70, "x", {}, []):

            def change(manifest: dict, place=place, wrong=wrong) -> None:
                manifest["programs"] = json.loads(json.dumps(whole["programs"]))
                *path, last = place
                for key in path:
                    manifest = manifest[key]
                if wrong == "left out":
                    del manifest[last]
                else:
                    manifest[last] = wrong

            if place == ("checksum",) and wrong == "left out":
                continue  # older packages have none
            damaged = rewritten(package, tmp_path / "damaged.hrpkg", change)
            with pytest.raises(hr.Error, match=r"^damaged\.hrpkg: ") as caught:
                hr.load(damaged)
            assert "bug in Headrace" not in str(caught.value), (place, wrong)
            count += 1
    assert count > 300


def test_only_the_name_makes_a_package(package, tmp_path, images) -> None:
    disguised = tmp_path / "model.onnx"
    disguised.write_bytes(package.read_bytes())
    for opened in (hr.load, hr.InferenceSession):
        with pytest.raises(
            hr.InvalidFileError,
            match=r"model\.onnx: expected an ONNX model, got a zip archive; the name",
        ):
            opened(disguised)
    with pytest.raises(hr.InvalidFileError, match="got a zip"):
        hr.write_package(disguised, tmp_path / "again.hrpkg")


@pytest.mark.parametrize("change", ["truncated", "overwritten"])
def test_a_file_that_is_changed_while_it_is_in_use(change, package, tmp_path, images) -> None:
    """Small files are read, not mapped: nothing that happens to them matters."""
    path = tmp_path / "digits.hrpkg"
    path.write_bytes(package.read_bytes())
    model = hr.load(path)
    expected = model(images[:3])
    if change == "truncated":
        os.truncate(path, 100)
    else:
        with path.open("r+b") as file:
            file.write(bytes(path.stat().st_size))
    assert (model(images[:3]) == expected).all()
    assert model(images[:1]).shape == (1, 10)


@pytest.mark.parametrize("when", ["before it is compiled", "after a call"])
def test_a_large_file_that_is_changed_while_it_is_in_use(when, tmp_path) -> None:
    """It is mapped: to read what was truncated would be the end of the process."""
    onnx = pytest.importorskip("onnx")
    weights, rows = tmp_path / "weights.bin", 70 << 12
    with weights.open("wb") as file:
        file.seek(rows * 256 - 4)
        file.write(np.float32(3).tobytes())
    table = onnx.TensorProto(data_type=onnx.TensorProto.FLOAT, name="w", dims=[rows, 64])
    table.data_location = onnx.TensorProto.EXTERNAL
    table.external_data.add(key="location", value="weights.bin")
    helper, kinds = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [helper.make_node("Gather", ["w", "i"], ["y"])],
        "table",
        [helper.make_tensor_value_info("i", kinds.INT64, ["n"])],
        [helper.make_tensor_value_info("y", kinds.FLOAT, ["n", 64])],
        [table],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "table.onnx").write_bytes(model.SerializeToString())
    loaded = hr.load(tmp_path / "table.onnx")
    last = np.array([rows - 1, 0])
    if when == "after a call":
        assert (loaded(last)[:, -1] == [3, 0]).all()
    os.truncate(weights, 1000)
    for _ in range(2):
        with pytest.raises(hr.IoError, match=r"weights\.bin: the file was changed while it was in"):
            loaded(last)


def test_names_that_are_none(digits_path, tmp_path) -> None:
    with pytest.raises(hr.IoError, match="expected the path of a model, got an empty one"):
        hr.load("")
    with pytest.raises(hr.IoError, match="expected the name of a file to write, got an empty one"):
        hr.write_package(digits_path, "", processors=["native"])
    with pytest.raises(hr.IoError, match="expected the name of a file, got a directory"):
        hr.write_package(digits_path, tmp_path, processors=["native"])
