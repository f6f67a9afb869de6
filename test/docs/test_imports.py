"""Python files find what they import without changing where imports are looked for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("bench", "cases", "examples", "python", "test", "tools")
# Runs in the user's directory, whose files must not stand in for packages.
EXEMPT = {"tools/headrace/peer/peer.py"}
CHANGES = {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"}


def is_search_path(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "path"
        and isinstance(node.value, ast.Name)
        and node.value.id == "sys"
    )


def edits(code: str) -> list[int]:
    """The lines that change sys.path."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and node.attr in CHANGES and is_search_path(node.value):
            found.append(node.lineno)
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(
            node.ctx, ast.Store | ast.Del
        ):
            changed = node.value if isinstance(node, ast.Subscript) else node
            found += [node.lineno] if is_search_path(changed) else []
        elif isinstance(node, ast.Attribute) and node.attr == "addsitedir":
            found.append(node.lineno)
    return found


def test_no_file_edits_the_search_path() -> None:
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(files) > 100
    names = {path: str(path.relative_to(ROOT)) for path in files}
    assert [
        f"{name}:{line}"
        for path, name in names.items()
        if name not in EXEMPT
        for line in edits(path.read_text())
    ] == []


@pytest.mark.parametrize(
    "code",
    [
        "sys.path.insert(0, 'x')",
        "sys.path.append('x')",
        "sys.path[:0] = ['x']",
        "sys.path += ['x']",
        "sys.path = ['x'] + sys.path",
        "del sys.path[0]",
        "site.addsitedir('x')",
    ],
)
def test_an_edit_is_found(code: str) -> None:
    assert edits(f"import sys\n{code}\n") == [2]


def test_reading_the_search_path_is_no_edit() -> None:
    assert edits("paths = [p for p in sys.path if p]\nfirst = sys.path[0]\n") == []
