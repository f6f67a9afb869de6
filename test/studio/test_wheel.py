"""The wheel of headrace-studio: its program runs with the libraries beside it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from studio_process import DIGITS, HEADRACE

ROOT = Path(__file__).resolve().parents[2]


def test_the_wheel_brings_its_libraries(tmp_path: Path) -> None:
    pytest.importorskip("elftools", reason="requirements/wheel.txt has pyelftools")
    program = Path(shutil.which(HEADRACE)).resolve().with_name("headrace-studio")
    if not program.exists():
        pytest.skip("headrace-studio is not built: libcpp-httplib-dev is not installed")
    pack = [sys.executable, ROOT / "tools/wheel/studio.py", "--program", program]
    subprocess.run([*pack, "--out", tmp_path], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("headrace_studio-*-py3-none-manylinux_*_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    unpacked = tmp_path / "headrace_studio/bin/headrace-studio"
    unpacked.chmod(0o755)
    needed = subprocess.run(["ldd", unpacked], check=True, capture_output=True, text=True).stdout
    httplib = next(line for line in needed.splitlines() if "httplib" in line)
    assert str(tmp_path) in httplib
    page = tmp_path / "page"
    command = [unpacked, "--headrace", HEADRACE, DIGITS, "--size", "batch=16", "--export", page]
    subprocess.run(command, check=True, capture_output=True)
    assert "headraceData = {" in (page / "data.js").read_text()[:40]
