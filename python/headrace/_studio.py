"""`headrace studio` of an installed package: hands over to headrace-studio, a package of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path


def program() -> str | None:
    """The program of the package headrace-studio, or of a build in PATH."""
    if importlib.util.find_spec("headrace_studio"):
        import headrace_studio

        return str(headrace_studio.PROGRAM)
    return shutil.which("headrace-studio")


def main(words: list[str]) -> int:
    found = program()
    if not found or not Path(found).exists():
        print(
            "headrace: error: studio: headrace-studio is not installed; it is a separate program: "
            "pip install 'headrace[studio]'",
            file=sys.stderr,
        )
        return 1
    again = [sys.executable, "-m", "headrace"]  # how studio asks the compiler
    options = [f"--headrace={word}" for word in again]
    sys.stdout.flush()
    os.execv(found, ["headrace-studio", *options, *words])
