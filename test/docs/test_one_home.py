"""A meaning has one home: few product files know a scalar function or an operator by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {
    str(path.relative_to(ROOT)): path.read_text()
    for folder in ("src", "python", "tools")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".h", ".cpp", ".c", ".def", ".td", ".py", ".rules"}
}


def files_with(pattern: str) -> set[str]:
    return {path for path, text in SOURCES.items() if re.search(pattern, text)}


# Functions that no part of the compiler has a use of its own for.
@pytest.mark.parametrize("name", ["cbrt", "sinh", "asinh", "acosh"])
def test_an_elementary_function_is_two_files_and_device_code(name: str) -> None:
    spelled = rf"(?i)\b(?:hr_)?{name}(?:f|Op|_f32|_f64)?\b"
    assert files_with(spelled) == {
        "src/runtime/scalar/Functions.def",
        "python/headrace/_functions.py",
        "src/target/cuda/code/DeviceMath.c",
    }


@pytest.mark.parametrize("name", ["Scan", "Sort", "Forest", "Recur"])
def test_an_operator_is_at_most_five_files_and_one_in_each_front_end(name: str) -> None:
    files = files_with(rf"\b(?:Hr_)?{name}Op\b")
    front_ends = [Path(path).parts[2] for path in files if path.startswith("src/frontend/")]
    homes = {str(Path(path).parent) for path in files if path.startswith("src/dialect/ops/")}
    assert len(homes) == 1
    assert len(files) - len(front_ends) <= 5, sorted(files)
    assert len(front_ends) == len(set(front_ends)), sorted(files)
