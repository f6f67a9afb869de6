"""`_core.pyi` says what the extension has."""

from __future__ import annotations

import ast
from pathlib import Path

from headrace import _core

STUB = ast.parse((Path(__file__).resolve().parents[3] / "python/headrace/_core.pyi").read_text())


def public(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def named(body: list[ast.stmt]) -> set[str]:
    kinds = (ast.ClassDef, ast.FunctionDef)
    return public([statement.name for statement in body if isinstance(statement, kinds)])


def test_every_class_and_function_is_typed() -> None:
    assert named(STUB.body) == public(dir(_core))


def test_every_method_is_typed() -> None:
    classes = [statement for statement in STUB.body if isinstance(statement, ast.ClassDef)]
    assert len(classes) > 5
    typed = {each.name: named(each.body) for each in classes}
    assert typed == {name: public(dir(getattr(_core, name))) for name in typed}
