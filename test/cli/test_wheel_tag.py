"""The platform tag of a wheel follows from what its module takes of the system (tools/wheel/tag.py)."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools/wheel/tag.py"
ENTRY = '#define SHOWN __attribute__((visibility("default")))\nSHOWN void *PyInit__core(void)'
NAME = "small-1.0-cp311-cp311-linux_x86_64.whl"


def module(folder: Path, code: str, *options: str) -> Path:
    source, path = folder / "module.c", folder / "_core.so"
    source.write_text(code)
    command = ["clang-19", "-shared", "-fPIC", "-fuse-ld=lld-19", "-fvisibility=hidden"]
    command += ["-Wno-implicit-function-declaration", str(source), "-o", str(path), *options]
    subprocess.run(command, check=True)
    return path


def pack(folder: Path, *modules: Path) -> Path:
    info = "small-1.0.dist-info"
    wheel = folder / NAME
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in modules:
            archive.write(path, f"small/{path.name}")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
        tag = "Tag: cp311-cp311-linux_x86_64\n"
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\n{tag}")
        record = [f"{name},{hashed(archive.read(name))}" for name in archive.namelist()]
        archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,\n"]))
    return wheel


def hashed(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return f"sha256={digest},{len(content)}"


def tag(wheel: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, str(TOOL), str(wheel), "--out", str(wheel.parent / "out")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def refusal(wheel: Path) -> str:
    done = tag(wheel)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert not (wheel.parent / "out").exists()
    return done.stderr


@pytest.mark.parametrize(
    "body, platform",
    [
        ("return 0;", "manylinux_2_5_x86_64"),
        ("return (void *)(long)gettid();", "manylinux_2_30_x86_64"),
        ("return (void *)(long)(gettid() + arc4random());", "manylinux_2_36_x86_64"),
        ("return PyModule_Create2(0, 1013);", "manylinux_2_5_x86_64"),
    ],
)
def test_the_newest_symbol_of_glibc_decides_the_tag(tmp_path, body: str, platform: str) -> None:
    code = f"int gettid(void); unsigned arc4random(void); void *PyModule_Create2(void *, int);\n{ENTRY} {{ {body} }}\n"
    done = tag(pack(tmp_path, module(tmp_path, code)))
    assert done.returncode == 0, done.stderr
    (tagged,) = (tmp_path / "out").iterdir()
    assert tagged.name == NAME.replace("linux_x86_64", platform)
    assert done.stdout.startswith(f"{tagged}: ") and done.stdout.endswith(f"tag {platform}\n")
    with zipfile.ZipFile(tagged) as archive:
        assert (
            f"Tag: cp311-cp311-{platform}\n" in archive.read("small-1.0.dist-info/WHEEL").decode()
        )


def test_another_library_is_refused(tmp_path) -> None:
    code = f"char *zlibVersion(void);\n{ENTRY} {{ return zlibVersion(); }}\n"
    assert "expected no library but glibc's and libgcc_s, got libz.so.1" in refusal(
        pack(tmp_path, module(tmp_path, code, "-lz"))
    )


def test_a_symbol_that_no_library_provides_is_refused(tmp_path) -> None:
    code = f"void *LLVMContextCreate(void);\n{ENTRY} {{ return LLVMContextCreate(); }}\n"
    assert "that no library provides, got LLVMContextCreate" in refusal(
        pack(tmp_path, module(tmp_path, code))
    )


def test_a_weak_symbol_may_be_missing(tmp_path) -> None:
    code = f"__attribute__((weak)) void trace(void);\n{ENTRY} {{ return trace; }}\n"
    assert tag(pack(tmp_path, module(tmp_path, code))).returncode == 0


def test_a_second_exported_symbol_is_refused(tmp_path) -> None:
    code = f"{ENTRY} {{ return 0; }}\nSHOWN void *LLVMContextCreate(void) {{ return 0; }}\n"
    assert "nothing exported but PyInit_, got LLVMContextCreate" in refusal(
        pack(tmp_path, module(tmp_path, code))
    )


def test_a_search_path_is_refused(tmp_path) -> None:
    path = module(tmp_path, f"{ENTRY} {{ return 0; }}\n", "-Wl,-rpath,/usr/lib/llvm-19/lib")
    assert "no search path of libraries, got /usr/lib/llvm-19/lib" in refusal(pack(tmp_path, path))


def test_a_private_version_of_glibc_is_refused(tmp_path) -> None:
    code = f"void *__nss_files_fopen(void);\n{ENTRY} {{ return __nss_files_fopen(); }}\n"
    assert "only numbered versions of glibc, got GLIBC_PRIVATE" in refusal(
        pack(tmp_path, module(tmp_path, code))
    )


def test_one_bad_module_among_good_ones_is_refused(tmp_path) -> None:
    good = module(tmp_path, f"{ENTRY} {{ return 0; }}\n")
    other = Path(shutil.move(good, tmp_path / "_good.so"))
    bad = module(tmp_path, f"{ENTRY} {{ return 0; }}\nSHOWN int second;\n")
    assert "_core.so: expected nothing exported" in refusal(pack(tmp_path, other, bad))


def test_the_development_build_is_refused(tmp_path) -> None:
    core = pytest.importorskip("headrace")._core.__file__
    if "libMLIR" not in subprocess.run(["ldd", core], capture_output=True, text=True).stdout:
        pytest.skip("this build holds LLVM")
    found = refusal(pack(tmp_path, Path(core)))
    assert "expected no library but glibc's and libgcc_s, got " in found and "libMLIR" in found


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF" + b"\xff" * 60, b"text" * 50])
def test_what_is_no_module_is_refused(tmp_path, content: bytes) -> None:
    path = tmp_path / "_core.so"
    path.write_bytes(content)
    assert "_core.so: expected" in refusal(pack(tmp_path, path))


def test_a_wheel_without_a_module_is_refused(tmp_path) -> None:
    assert "expected a wheel with a compiled module, got none" in refusal(pack(tmp_path))


def test_what_is_no_wheel_is_refused(tmp_path) -> None:
    path = tmp_path / NAME
    assert "No such file" in refusal(path)
    path.write_bytes(b"text")
    assert "not a zip file" in refusal(path)
