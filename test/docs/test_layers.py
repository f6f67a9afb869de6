"""Components include only what src/layers.md lists for them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| `([\w/-]+)` \|((?: `[\w/-]+`)+) \| [^|]+ \|$", re.M)
KNOWS = {
    component: set(re.findall(r"`([\w/-]+)`", known))
    for component, known in ROW.findall((ROOT / "src/layers.md").read_text())
}
MLIR = re.compile(r"(mlir|llvm|clang|lld)/")


def component_of(path: str) -> str | None:
    """The innermost one that the file is in."""
    above = [name for name in KNOWS if path.startswith(name + "/")]
    return max(above, key=len, default=None)


def forbidden(path: str, text: str) -> list[str]:
    component = component_of(path)
    known = KNOWS[component] | {component} if component else set()
    found = []
    for name in re.findall(r'^#include ["<]([\w./-]+)[">]', text, re.M):
        other = "mlir" if MLIR.match(name) else component_of(f"src/{name}")
        if other and other not in known:
            found.append(f"{path}: {name}")
    return found


def sources() -> list[Path]:
    folders = [ROOT / name for name in ("src", "tools", "python")]
    return sorted(p for f in folders for p in f.rglob("*") if p.suffix in {".h", ".cpp", ".def"})


def test_every_source_belongs_to_a_component() -> None:
    paths = [str(path.relative_to(ROOT)) for path in sources()]
    assert len(paths) > 500
    assert [path for path in paths if not component_of(path)] == []


def test_components_include_only_what_they_know() -> None:
    found = [
        line
        for path in sources()
        for line in forbidden(str(path.relative_to(ROOT)), path.read_text())
    ]
    assert found == []


def test_what_is_known_exists() -> None:
    named = set().union(*KNOWS.values()) - {"mlir"}
    assert named <= set(KNOWS)
    assert [name for name in KNOWS if not (ROOT / name).is_dir()] == []


def included_folders(files: dict[str, str]) -> dict[str, set[str]]:
    """The folders that each folder's files include, itself left out; `files` are texts by path below src."""
    found: dict[str, set[str]] = {}
    for path, text in files.items():
        folder = str(Path(path).parent)
        names = re.findall(r'^#include "([\w./-]+)"', text, re.M)
        known = {str(Path(name).parent) for name in names if name in files}
        found.setdefault(folder, set()).update(known - {folder})
    return found


def cycles(edges: dict[str, set[str]]) -> set[frozenset[str]]:
    """Folders that reach each other."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for other in edges.get(waiting.pop(), set()) - seen:
                seen.add(other)
                waiting.append(other)
        return seen

    reach = {folder: reached(folder) for folder in edges}
    groups = (
        frozenset(other for other in reach[folder] if folder in reach.get(other, set()))
        for folder in edges
    )
    return {group for group in groups if len(group) > 1}


def test_folders_are_in_no_cycle() -> None:
    files = {
        str(path.relative_to(ROOT / "src")): path.read_text()
        for path in sources()
        if path.is_relative_to(ROOT / "src")
    }
    assert cycles(included_folders(files)) == set()


def test_a_cycle_is_found() -> None:
    files = {
        "a/A.h": '#include "b/B.h"\n',
        "b/B.h": '#include "c/C.h"\n',
        "c/C.h": '#include "a/Other.h"\n',
        "a/Other.h": "",
        "d/D.h": '#include "a/A.h"\n#include "d/Other.h"\n',
        "d/Other.h": "",
    }
    assert cycles(included_folders(files)) == {frozenset({"a", "b", "c"})}
    del files["c/C.h"]
    assert cycles(included_folders(files)) == set()


# What nobody may ask, and names that only a target's directories and the table of targets know; the help of
# the command line is the exception.
POLICY = re.compile(r"\b(isDevice|isForDevice|asHost|asDevice|HostTarget|DeviceTarget)\b")
TARGET_NAMES = re.compile(r'"(?:cpu|cuda|vta|coarse)[":]|\bH[12]00\b|\bsm_\d+a?\b')
OWN_FOLDERS = tuple(
    f"src/{folder}/"
    for folder in ("target/cpu", "target/cuda", "runtime/cuda", "target/vta", "runtime/vta")
    + ("target/coarse", "rewrite/engine", "targets")
)


# The engine of the process is called as its target is.
HOST_ENGINE = "src/runtime/program/Program.h"


def targets_asked_for(path: str, text: str) -> list[str]:
    code = re.sub(r"//.*", "", text)
    found = [f"{path}: {word}" for word in POLICY.findall(code)]
    own = path.startswith((*OWN_FOLDERS, "tools/")) or path == HOST_ENGINE
    return found if own else found + [f"{path}: {word}" for word in TARGET_NAMES.findall(code)]


def test_shared_code_asks_not_which_target_it_serves() -> None:
    found = [
        line
        for path in sources()
        for line in targets_asked_for(str(path.relative_to(ROOT)), path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    ("path", "code", "word"),
    [
        ("src/transform/X.cpp", "if (machine.isDevice)", "isDevice"),
        ("src/driver/X.cpp", "target.asHost()->compile();", "asHost"),
        ("src/driver/X.cpp", 'if (name == "cuda")', '"cuda"'),
        ("src/driver/X.cpp", 'if (name == "cpu")', '"cpu"'),
        ("src/driver/X.cpp", 'findTarget("cpu:x86-64-v3")', '"cpu:'),
        ("src/driver/X.cpp", 'if (name == "vta")', '"vta"'),
        ("src/transform/X.cpp", 'if (name == "coarse")', '"coarse"'),
        ("src/analysis/cost/X.cpp", "double H200 = 4000;", "H200"),
        ("src/target/cuda/X.cpp", "bool isDevice;", "isDevice"),
    ],
)
def test_a_question_for_the_target_is_found(path: str, code: str, word: str) -> None:
    assert targets_asked_for(path, code + " // H200\n") == [f"{path}: {word}"]


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("src/transform/X.cpp", "runtime/cuda/CuBlas.h"),
        ("src/runtime/tensor/X.cpp", "mlir/IR/Builders.h"),
        ("src/driver/X.cpp", "target/cpu/Passes.h"),
        ("src/script/host/X.cpp", "frontend/script/SegmentImporter.h"),
        ("tools/headrace/X.cpp", "runtime/cuda/Memory.h"),
        ("src/package/X.cpp", "runtime/cuda/Device.h"),
        ("src/capi/X.cpp", "runtime/cuda/Memory.h"),
        ("src/driver/X.cpp", "target/cuda/DeviceRates.h"),
        ("src/quantize/X.cpp", "mlir/IR/Builders.h"),
        ("src/quantize/X.cpp", "dialect/Hr.h"),
        ("src/explore/X.cpp", "driver/Model.h"),
        ("src/rewrite/egraph/X.cpp", "target/coarse/CoarseTarget.h"),
        ("src/image/X.cpp", "frontend/onnx/read/OnnxModel.h"),
        ("src/frontend/onnx/write/X.cpp", "frontend/onnx/import/Importer.h"),
        ("src/runtime/program/X.cpp", "runtime/vta/VtaEngine.h"),
        ("src/runtime/vta/X.cpp", "target/vta/schedule/Schedule.h"),
        ("src/target/vta/schedule/X.cpp", "mlir/IR/Builders.h"),
        ("src/driver/X.cpp", "target/vta/VtaTarget.h"),
    ],
)
def test_a_forbidden_include_is_found(path: str, include: str) -> None:
    assert forbidden(path, f'#include "{include}"\n') == [f"{path}: {include}"]
