"""The reference pages are what their command writes, and lack no public name."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, str(ROOT / "tools/docs/reference.py"), "--check"]


def test_the_reference_pages_are_up_to_date() -> None:
    done = subprocess.run(COMMAND, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def headings(page: str) -> set[str]:
    return set(re.findall(r"^### `(.*)`$", (ROOT / page).read_text(), re.M))


def test_the_python_page_has_every_public_name() -> None:
    text = (ROOT / "python/headrace/__init__.py").read_text()
    names = set(re.findall(r'^    "(\w+)",$', text[text.index("__all__") :], re.M))
    assert len(names) > 60
    assert names - headings("docs/python-reference.md") <= {
        "__version__",
        "algorithms",
        "distributed",
    }


def test_the_c_page_has_every_function_and_class() -> None:
    c = (ROOT / "include/headrace/headrace.h").read_text()
    cpp = (ROOT / "include/headrace/headrace.hpp").read_text()
    functions = set(re.findall(r"^HEADRACE_API [^(]*?(\w+)\(", c, re.M))
    classes = {f"headrace::{name}" for name in re.findall(r"^class (\w+)", cpp, re.M)}
    assert len(functions) > 20 and len(classes) == 5
    assert functions | classes <= headings("docs/c-reference.md")


def test_every_member_has_a_text() -> None:
    for page in ("docs/python-reference.md", "docs/c-reference.md"):
        text = (ROOT / page).read_text()
        assert re.findall(r"^- `[^`]*` \\\n(?!  \S)", text, re.M) == []
        assert re.findall(r"^### .*\n+(?=###|## )", text, re.M) == []


def examples() -> dict[str, str]:
    """The docstrings that have examples, by file and line."""
    found = {}
    for path in sorted((ROOT / "python/headrace").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                if ">>> " in (doc := ast.get_docstring(node) or ""):
                    found[f"{path.stem}.{node.name}"] = doc
    return found


EXAMPLES = examples()
NEEDS_A_GPU = {"_device.to_cuda", "_model.to"}
MODULES = {"_torch.module": "torch", "_explain.explain": "torch", "_map.map": "ray"}
RUN = """
import doctest, os, pathlib, sys
names = {}
exec(pathlib.Path("setup.py").read_text(), names)
for path in sys.argv[1:]:
    test = doctest.DocTestParser().get_doctest(pathlib.Path(path).read_text(), names, path, path, 0)
    print(f"{path}: {doctest.DocTestRunner(verbose=False).run(test).failed} failed")
"""


def test_examples_of_docstrings_run(tmp_path: Path) -> None:
    """Each continues the program at the top of the page."""
    hr = pytest.importorskip("headrace")
    assert len(EXAMPLES) > 30 and NEEDS_A_GPU | set(MODULES) <= set(EXAMPLES)
    left_out = set(NEEDS_A_GPU)
    left_out |= {name for name, module in MODULES.items() if not importlib.util.find_spec(module)}
    page = (ROOT / "docs/python-reference.md").read_text()
    (tmp_path / "setup.py").write_text(re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)[0])
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name in sorted(set(EXAMPLES) - left_out):
        (tmp_path / name).write_text(EXAMPLES[name])
    done = subprocess.run(
        [sys.executable, "-c", RUN, *sorted(set(EXAMPLES) - left_out)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(hr.__file__).resolve().parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    ends = re.findall(r"^(\S+): (\d+) failed$", done.stdout, re.M)
    assert done.returncode == 0, done.stderr
    assert [name for name, failed in ends if failed != "0"] == [], done.stdout
    assert len(ends) == len(EXAMPLES) - len(left_out)
