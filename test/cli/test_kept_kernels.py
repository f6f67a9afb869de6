"""Kernels and mappings that were found before are taken from the cache, whatever happened to it since."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from coarse_models import interrupted, machine

HEADRACE = os.environ.get("HEADRACE_BIN", "build/release/bin/headrace")
DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"


def run(cache: Path | str, *options: str) -> np.ndarray:
    environment = {**os.environ, "HEADRACE_CACHE_DIR": str(cache)}
    with tempfile.TemporaryDirectory() as out:
        arguments = ["run", DIGITS, "--random", "0", "--size", "batch=5", "--output", out]
        command = [HEADRACE, *arguments, *options]
        subprocess.run(command, check=True, capture_output=True, env=environment)
        return np.load(f"{out}/logits.npy")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    """A cache after one run, and the results of that."""
    folder = tmp_path_factory.mktemp("filled")
    return folder, run(folder)


@pytest.fixture
def cache(tmp_path: Path, filled: tuple[Path, np.ndarray]) -> Path:
    return shutil.copytree(filled[0], tmp_path / "cache")


@pytest.fixture
def first(filled: tuple[Path, np.ndarray]) -> np.ndarray:
    return filled[1]


def files(cache: Path, kind: str) -> dict[Path, int]:
    return {path: path.stat().st_ino for path in cache.rglob(f"*.{kind}")}


def test_records_lead_to_objects_that_are_not_made_again(cache: Path, first: np.ndarray) -> None:
    records, objects = files(cache, "kernel"), files(cache, "o")
    assert records and objects
    assert (run(cache) == first).all()
    assert files(cache, "kernel") == records and files(cache, "o") == objects


def test_results_are_those_without_a_cache(first: np.ndarray) -> None:
    assert (run("") == first).all()


def test_objects_that_left_the_cache_are_made_again(cache: Path, first: np.ndarray) -> None:
    objects = files(cache, "o")
    for path in objects:
        path.unlink()
    assert (run(cache) == first).all()
    assert files(cache, "o").keys() == objects.keys()


@pytest.mark.parametrize("damage", [b"", b"no record", b"\0" * 4096])
def test_damaged_records_are_written_again(cache: Path, first: np.ndarray, damage: bytes) -> None:
    for path in files(cache, "kernel"):
        path.write_bytes(damage)
    assert (run(cache) == first).all()
    assert all(path.read_bytes() != damage for path in files(cache, "kernel"))


def test_other_processors_have_records_of_their_own(cache: Path) -> None:
    records = files(cache, "kernel").keys()
    run(cache, "--target", "cpu:x86-64-v2")
    assert records < files(cache, "kernel").keys()


def test_phases_are_shown_of_kernels_that_are_kept(cache: Path) -> None:
    environment = {**os.environ, "HEADRACE_CACHE_DIR": str(cache)}
    command = [HEADRACE, "explain", DIGITS, "--to=llvm"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert "llvm.func" in shown.stdout
    assert "linalg." not in shown.stdout


def headrace(cache: Path | str, *words: object) -> str:
    environment = {**os.environ, "HEADRACE_CACHE_DIR": str(cache)}
    command = [HEADRACE, *map(str, words)]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout


def packaged(cache: Path | str, folder: Path) -> bytes:
    headrace(cache, "compile", DIGITS, "-o", folder / "digits.hrpkg")
    return (folder / "digits.hrpkg").read_bytes()


def test_packages_keep_kernels_and_have_the_same_bytes(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = packaged(cache, tmp_path)
    records = files(cache, "kernel")
    assert packaged(cache, tmp_path) == first == packaged("", tmp_path)
    assert files(cache, "kernel") == records
    # Where some are known and some are not, they stay in their order.
    for path in list(records)[::2]:
        path.unlink()
    assert packaged(cache, tmp_path) == first
    assert files(cache, "kernel").keys() == records.keys()


def test_code_of_packages_and_of_processes_is_kept_apart(
    cache: Path, first: np.ndarray, tmp_path: Path
) -> None:
    """Kernels have other names in packages."""
    package, out = tmp_path / "digits.hrpkg", tmp_path / "out"
    records = files(cache, "kernel").keys()
    headrace(cache, "compile", DIGITS, "--target-cpu", "native", "-o", package)
    assert records < files(cache, "kernel").keys()
    headrace(cache, "run", package, "--random", 0, "--size", "batch=5", "--output", out)
    np.testing.assert_allclose(np.load(out / "logits.npy"), first, rtol=1e-5, atol=1e-5)
    assert (run(cache) == first).all()


def test_reports_tell_of_kept_kernels_what_they_tell_of_others(cache: Path) -> None:
    def told(cache: Path | str) -> tuple[list, list]:
        report = json.loads(headrace(cache, "explain", "--json", DIGITS, "--size", "batch=5"))
        return report["kernels"], [phase["name"] for phase in report["phases"]]

    assert told(cache) == told("")


def test_kernels_of_the_host_beside_an_accelerator_are_kept(tmp_path: Path) -> None:
    model, file, cache = interrupted(tmp_path), machine(tmp_path, 16, 16), tmp_path / "cache"

    def results(cache: Path | str, name: str) -> np.ndarray:
        options = ["--random", 3, "--size", "batch=3", "--target", f"coarse:{file}"]
        headrace(cache, "run", model, *options, "--output", tmp_path / name)
        (path,) = (tmp_path / name).glob("*.npy")
        return np.load(path)

    first = results(cache, "first")
    kept = {kind: files(cache, kind) for kind in ("kernel", "mapping")}
    assert all(kept.values())
    np.testing.assert_array_equal(results(cache, "second"), first)
    assert {kind: files(cache, kind) for kind in kept} == kept
    np.testing.assert_array_equal(results("", "without"), first)
    for path in kept["mapping"]:
        path.write_bytes(b"no mapping")
    np.testing.assert_array_equal(results(cache, "damaged"), first)
    assert all(path.read_bytes() != b"no mapping" for path in kept["mapping"])
