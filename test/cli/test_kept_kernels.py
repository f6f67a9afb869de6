"""Kernels that were compiled before are taken from the cache, whatever happened to it since."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

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
