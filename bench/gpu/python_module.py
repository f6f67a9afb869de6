#!/usr/bin/env python3
"""Builds the extension `headrace._core` for another version of Python, of which only headers are needed.

Of a build tree, the sources that include Python.h are compiled again with those headers, and linked
with everything else that is built already, as the target `headrace_wheel` is.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def version_of(headers: Path) -> str:
    """As file names have it: "312"."""
    text = (headers / "patchlevel.h").read_text()
    return "".join(re.search(rf"PY_{part}_VERSION\s+(\d+)", text)[1] for part in ("MAJOR", "MINOR"))


def with_headers(command: str, headers: Path, output: Path) -> list[str]:
    """The compile command with the other Python's headers, to another file."""
    words = shlex.split(command)
    words[words.index("-o") + 1] = str(output)
    found = [
        i for i, word in enumerate(words) if re.fullmatch(r"(-I)?.*/include/python3\.\d+m?", word)
    ]
    if not found:
        raise SystemExit(f"expected headers of Python among the arguments of: {command[:200]}")
    for i in found:
        words[i] = ("-I" if words[i].startswith("-I") else "") + str(headers)
    launcher = shutil.which("ccache")
    return [launcher, *words] if launcher else words


def compile_all(build: Path, headers: Path, out: Path) -> tuple[list[Path], list[Path]]:
    """The objects of the extension, and those of nanobind."""
    commands = json.loads((build / "compile_commands.json").read_text())
    chosen = {}
    for entry in commands:
        for part in ("python/src/", "nanobind/src/"):
            if part in entry["file"]:
                chosen[entry["file"]] = (part, entry)
    objects: dict[str, list[Path]] = {"python/src/": [], "nanobind/src/": []}
    jobs = []
    for file, (part, entry) in sorted(chosen.items()):
        objects[part].append(out / f"{Path(file).stem}.o")
        jobs.append(
            (with_headers(entry["command"], headers, objects[part][-1]), entry["directory"])
        )
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(lambda job: subprocess.run(job[0], cwd=job[1], check=True), jobs):
            pass
    return objects["python/src/"], objects["nanobind/src/"]


def link(build: Path, objects: list[Path], nanobind: list[Path], target: Path) -> None:
    listed = subprocess.run(
        ["ninja", "-C", str(build), "-t", "commands", "headrace_wheel"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    command = listed.stdout.strip().splitlines()[-1]
    words = shlex.split(command.replace("&&", " ").strip())
    words = [word for word in words if word != ":"]
    kept: list[str] = []
    for word in words:
        if word.endswith("libnanobind-static.a"):
            kept += map(str, nanobind)
        elif word.endswith(".o") and "headrace_python.dir" in word:
            kept += map(str, objects)
            objects = []
        else:
            kept.append(word)
    kept[kept.index("-o") + 1] = str(target)
    linked = subprocess.run(kept, cwd=build, capture_output=True, text=True, check=False)
    if linked.returncode:
        raise SystemExit(f"the extension could not be linked: {linked.stderr[:2000]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="a build tree")
    parser.add_argument("--headers", type=Path, required=True, help="the folder with Python.h")
    parser.add_argument(
        "--out", type=Path, required=True, help="where wheel/headrace/_core*.so goes"
    )
    arguments = parser.parse_args()
    build, out = arguments.build.resolve(), arguments.out.resolve()
    version = version_of(arguments.headers)
    module = out / "wheel/headrace" / f"_core.cpython-{version}-x86_64-linux-gnu.so"
    for folder in (out / "objects", module.parent):
        folder.mkdir(parents=True, exist_ok=True)
    # Its archives, which only static linking needs, may not be there yet.
    subprocess.run(["ninja", "-C", str(build), "headrace_static_llvm", "headrace_driver",
                    "headrace_optimize", "headrace_quantize", "headrace_verify", "headrace_command"],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    objects, nanobind = compile_all(build, arguments.headers.resolve(), out / "objects")
    link(build, objects, nanobind, module)
    print(f"wrote {module} ({module.stat().st_size / 2**20:.0f} MiB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
