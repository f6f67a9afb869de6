"""Names the platform that a wheel truly needs: the oldest glibc that has every symbol its modules take from it.

    python tools/wheel/tag.py build/wheels/headrace-0.1.0-cp311-cp311-linux_x86_64.whl --out dist

A module may need glibc and the unwinder, nothing else, and shows the process nothing but its entry point: the wheel then
runs next to any other LLVM, and on systems that have none. One that asks for more is rejected, with the reason.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

# glibc's own, and libgcc_s, which comes with it everywhere.
ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}
ALLOWED |= {"ld-linux-x86-64.so.2", "libgcc_s.so.1"}
OLDEST = (2, 5)  # what the first manylinux tag names


class Refused(Exception):
    """The module would not run, or not alone, on the systems that a tag promises."""


@dataclass
class Module:
    """The parts of a shared object that the dynamic loader reads."""

    name: str
    libraries: set[str] = field(default_factory=set)
    search_paths: set[str] = field(default_factory=set)
    versions: set[str] = field(default_factory=set)
    exported: set[str] = field(default_factory=set)
    unprovided: set[str] = field(default_factory=set)  # taken from no library that it names


def read_module(path: Path) -> Module:
    with path.open("rb") as file:
        try:
            elf = ELFFile(file)
        except ELFError as error:
            raise Refused(f"{path.name}: expected a shared object: {error}") from error
        if elf["e_machine"] != "EM_X86_64":
            raise Refused(f"{path.name}: expected code for x86-64, got {elf['e_machine']}")
        module = Module(path.name)
        read_libraries(elf, module)
        read_symbols(elf, module)
        return module


def read_libraries(elf: ELFFile, module: Module) -> None:
    for tag in elf.get_section_by_name(".dynamic").iter_tags():
        if tag.entry.d_tag == "DT_NEEDED":
            module.libraries.add(tag.needed)
        elif tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH"):
            module.search_paths.add(getattr(tag, tag.entry.d_tag[3:].lower()))
    if needed := elf.get_section_by_name(".gnu.version_r"):
        for _, versions in needed.iter_versions():
            module.versions.update(version.name for version in versions)


def read_symbols(elf: ELFFile, module: Module) -> None:
    versions = elf.get_section_by_name(".gnu.version")
    for index, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols()):
        if symbol["st_shndx"] != "SHN_UNDEF":
            module.exported.add(symbol.name)
        elif symbol["st_info"]["bind"] == "STB_GLOBAL":
            versioned = versions and isinstance(versions.get_symbol(index).entry["ndx"], int)
            if not versioned:
                module.unprovided.add(symbol.name)


def check(module: Module) -> None:
    """Raises Refused if a tag could not tell what the module needs."""

    def expect_none(found: set[str], expected: str) -> None:
        if found:
            listed = ", ".join(sorted(found)[:5]) + (", ..." if len(found) > 5 else "")
            raise Refused(f"{module.name}: expected {expected}, got {listed}")

    expect_none(module.libraries - ALLOWED, "no library but glibc's and libgcc_s")
    expect_none(module.search_paths, "no search path of libraries")
    expect_none(
        {name for name in module.unprovided if not re.match("_?Py", name)},
        "no symbol but Python's that no library provides",
    )
    expect_none(
        {name for name in module.exported if not name.startswith("PyInit_")},
        "nothing exported but PyInit_",
    )
    expect_none(
        {name for name in module.versions if name.startswith("GLIBC_") and not glibc(name)},
        "only numbered versions of glibc",
    )


def glibc(version: str) -> tuple[int, int] | None:
    parts = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
    return (int(parts[1]), int(parts[2])) if parts else None


def platform_of(modules: list[Module]) -> str:
    needed = [glibc(version) for module in modules for version in module.versions]
    major, minor = max([OLDEST, *filter(None, needed)])
    return f"manylinux_{major}_{minor}_x86_64"


def platform_of_wheel(wheel: Path) -> str:
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if re.search(r"\.so(\.\d+)*$", name)]
        if not names:
            raise Refused(f"{wheel.name}: expected a wheel with a compiled module, got none")
        modules = [read_module(Path(archive.extract(name, folder))) for name in names]
    for module in modules:
        check(module)
    return platform_of(modules)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="where the tagged wheel goes")
    arguments = parser.parse_args()
    try:
        platform = platform_of_wheel(arguments.wheel)
    except (Refused, OSError, zipfile.BadZipFile) as error:
        sys.exit(f"error: {error}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    copy = shutil.copy(arguments.wheel, arguments.out)
    retag = [sys.executable, "-m", "wheel", "tags", "--remove", f"--platform-tag={platform}", copy]
    name = subprocess.run(retag, check=True, capture_output=True, text=True).stdout.split()[-1]
    path = arguments.out / name
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, tag {platform}")


if __name__ == "__main__":
    main()
