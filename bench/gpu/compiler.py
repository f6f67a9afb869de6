"""The compiler for a kit: the Python package, and the libraries it needs that a machine may lack."""

from __future__ import annotations

import hashlib
import lzma
import shutil
import subprocess
import tarfile
from pathlib import Path

# Part of every system, and tied to each other.
SYSTEM = (
    "ld-linux",
    "libc.",
    "libm.",
    "libdl.",
    "libpthread.",
    "librt.",
    "libstdc++.",
    "libgcc_s.",
)
# LLVM is linked against these, but nothing here makes it call them: they are larger than all else.
NEVER_CALLED = ("libz3.", "libxml2.")


def output_of(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(library: Path) -> list[str]:
    lines = output_of("objdump", "-p", library).splitlines()
    return [line.split()[1] for line in lines if line.split()[:1] == ["NEEDED"]]


def places(library: Path) -> dict[str, Path]:
    """Where the loader finds each library that this one needs, directly or not."""
    found = {}
    for line in output_of("ldd", library).splitlines():
        name, arrow, path = line.strip().partition(" => ")
        if arrow and path.startswith("/"):
            found[name] = Path(path.split()[0]).resolve()
    return found


def symbols(library: Path, kind: str) -> dict[str, str]:
    """Name and version ("" without one) of the library's dynamic symbols."""
    found = {}
    for line in output_of("nm", "-D", f"--{kind}-only", library).splitlines():
        name, _, version = line.split()[-1].partition("@")
        found[name] = version.lstrip("@")
    return found


def write_stand_in(name: str, library: Path, users: list[Path], target: Path) -> None:
    """A library of that name with the symbols that its users ask for; to call one ends the process."""
    defined = symbols(library, "defined")
    wanted = {s for user in users for s in symbols(user, "undefined") if s in defined}
    versions: dict[str, list[str]] = {}
    for symbol in sorted(wanted):
        versions.setdefault(defined[symbol], []).append(symbol)
    source, script = target.with_suffix(".c"), target.with_suffix(".map")
    source.write_text("".join(f"void {s}(void) {{ __builtin_trap(); }}\n" for s in sorted(wanted)))
    named = {version: names for version, names in versions.items() if version}
    script.write_text(
        "".join(f"{v} {{ global: {'; '.join(names)}; }};\n" for v, names in named.items())
    )
    options = [f"-Wl,--version-script={script}"] if named else []
    compiler = ["clang-19", "-fuse-ld=lld-19", "-shared", "-fPIC", "-w", "-fno-builtin"]
    subprocess.run([*compiler, f"-Wl,-soname,{name}", *options, "-o", target, source], check=True)
    source.unlink(), script.unlink()


def copy_libraries(extension: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    where, users, waiting = places(extension), {}, [extension]
    while waiting:
        user = waiting.pop()
        for name in needed(user):
            if name.startswith(SYSTEM):
                continue
            if name not in users and not name.startswith(NEVER_CALLED):
                shutil.copy(where[name], folder / name)
                waiting.append(where[name])
            users.setdefault(name, []).append(user)
    for name, by in users.items():
        if name.startswith(NEVER_CALLED):
            write_stand_in(name, where[name], by, folder / name)


def copy_package(package: Path, folder: Path) -> Path:
    """The package as the build has it; the extension in the copy."""
    shutil.copytree(package, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (extension,) = (folder / "headrace").glob("_core*.so")
    subprocess.run(["strip", "--strip-unneeded", extension], check=True)
    return extension


def pack_libraries(extension: Path, archive: Path) -> None:
    """Compressed as far as it goes, which takes minutes: done again only for other libraries."""
    found = sorted(places(extension).items())
    state = "".join(f"{name} {path} {path.stat().st_mtime_ns}\n" for name, path in found)
    stamp = archive.with_suffix(".stamp")
    wanted = hashlib.sha256(state.encode() + Path(__file__).read_bytes()).hexdigest()
    if archive.exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    folder = archive.parent / "gpu-libraries"
    shutil.rmtree(folder, ignore_errors=True)
    copy_libraries(extension, folder)
    code = {"id": lzma.FILTER_X86}
    packed = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}
    with (
        lzma.open(archive, "wb", filters=[code, packed]) as stream,
        tarfile.open(fileobj=stream, mode="w|") as tar,
    ):
        tar.add(folder, "gpu-libraries")
    stamp.write_text(wanted)
