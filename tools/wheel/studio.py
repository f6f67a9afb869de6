"""Packs headrace-studio and the libraries that it needs as a wheel of its own, which `pip install headrace[studio]`
takes: python tools/wheel/studio.py --out dist

The program is the one of a build (build/release/bin), and finds its libraries beside itself.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
import subprocess
import zipfile
from pathlib import Path

from tag import ALLOWED, platform_of, read_module

ROOT = Path(__file__).resolve().parents[2]
MODULE = '''"""The program headrace-studio, for `headrace studio`."""

from pathlib import Path

PROGRAM = Path(__file__).parent / "bin" / "headrace-studio"
'''


def version() -> str:
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(headrace VERSION ([0-9.]+)", text)[1]


def libraries_of(program: Path) -> list[tuple[str, Path]]:
    """What the loader finds for it, without what is on every system."""
    found = []
    lines = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        parts = line.split()
        if "=>" in parts and parts[0] not in ALLOWED:
            if not parts[2].startswith("/"):
                raise SystemExit(f"error: {program}: expected the library {parts[0]}, got none")
            found.append((parts[0], Path(parts[2])))
    return found


def pack(program: Path, folder: Path) -> Path:
    libraries = libraries_of(program)
    platform = platform_of([read_module(path) for path in [program, *(p for _, p in libraries)]])
    name, tag = f"headrace_studio-{version()}", f"py3-none-{platform}"
    info = f"{name}.dist-info"
    files = {
        "headrace_studio/__init__.py": MODULE.encode(),
        "headrace_studio/bin/headrace-studio": program.read_bytes(),
        **{f"headrace_studio/lib/{soname}": path.read_bytes() for soname, path in libraries},
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: headrace-studio\nVersion: {version()}\n"
            "Summary: The program in the browser: a part of Headrace\n"
            "Requires-Python: >=3.10\n"
        ).encode(),
        f"{info}/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: tools/wheel/studio.py\nRoot-Is-Purelib: false\nTag: {tag}\n"
        ).encode(),
    }
    record = "".join(f"{path},{digest(text)},{len(text)}\n" for path, text in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            entry = zipfile.ZipInfo(path)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if "/bin/" in path else 0o100644) << 16
            archive.writestr(entry, text)
    return wheel


def digest(text: bytes) -> str:
    code = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=")
    return f"sha256={code.decode()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    built = ROOT / "build/release/bin/headrace-studio"
    parser.add_argument("--program", type=Path, default=built)
    parser.add_argument("--out", type=Path, required=True, help="where the wheel goes")
    arguments = parser.parse_args()
    wheel = pack(arguments.program, arguments.out)
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
