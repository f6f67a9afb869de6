"""Components include only what ARCHITECTURE.md says they know."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| `([\w/-]+)` \|((?: `[\w/-]+`)+) \| [^|]+ \|$", re.M)
KNOWS = {
    component: set(re.findall(r"`([\w/-]+)`", known))
    for component, known in ROW.findall((ROOT / "ARCHITECTURE.md").read_text())
}
MLIR = re.compile(r"(mlir|llvm|lld)/")


def component_of(path: str) -> str | None:
    """The innermost one that the file lies in."""
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


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("src/transform/X.cpp", "runtime/cuda/CuBlas.h"),
        ("src/runtime/tensor/X.cpp", "mlir/IR/Builders.h"),
        ("src/driver/X.cpp", "target/cpu/Passes.h"),
        ("src/script/host/X.cpp", "frontend/script/SegmentImporter.h"),
        ("tools/headrace/X.cpp", "runtime/cuda/Memory.h"),
    ],
)
def test_a_forbidden_include_is_found(path: str, include: str) -> None:
    assert forbidden(path, f'#include "{include}"\n') == [f"{path}: {include}"]
