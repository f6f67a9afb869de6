"""Packages from the package index that a test runs: installed once, at fixed versions and without what they depend on,
into a directory of the cache."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from examples.models import fetch

# For each name: what is installed. The Python environment of the tests has the rest (numpy, torch, onnx, packaging).
PACKAGES = {
    "optimum": (
        "optimum==2.1.0 optimum-onnx==0.1.0 transformers==4.57.6 huggingface_hub==0.36.2 tokenizers==0.22.2 "
        "safetensors==0.8.0 regex==2026.11.15 pyyaml==6.0.3 tqdm==4.70.1 requests==2.34.2 urllib3==2.8.0 idna==3.20 "
        "certifi==2026.10.18 charset_normalizer==3.5.2"
    ),
    "rapidocr": (
        "rapidocr==3.10.0 pyclipper==1.4.0 opencv-python-headless==5.0.0.93 six==1.17.0 shapely==2.2.0 pyyaml==6.0.3 "
        "pillow==13.0.0 tqdm==4.70.1 omegaconf==2.4.0 antlr4-python3-runtime==4.9.3 requests==2.34.2 urllib3==2.8.0 "
        "idna==3.20 certifi==2026.10.18 charset_normalizer==3.5.2 colorlog==6.12.0"
    ),
}


def installed(name: str) -> Path:
    """The directory with the packages of that name; skips the test if they cannot be installed."""
    requirements = PACKAGES[name]
    folder = fetch.cache_folder() / f"packages-{name}"
    marker = "requirements.txt"
    if (folder / marker).is_file() and (folder / marker).read_text() == requirements:
        return folder
    fetch.cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=fetch.cache_folder()) as temporary:
        made = Path(temporary, "packages")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--target", str(made), *requirements.split()]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            reason = (result.stderr.strip().splitlines() or ["nothing was installed"])[-1]
            pytest.skip(f"cannot install {requirements.split()[0]}: {reason}")
        (made / marker).write_text(requirements)
        if folder.exists():  # of other versions
            folder.rename(Path(temporary, "before"))
        try:
            made.rename(folder)
        except OSError:
            pass  # another process was faster
    return folder
