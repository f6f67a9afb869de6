"""The reference pages are what their command writes, and lack no public name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

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
    assert names - headings("docs/python-reference.md") <= {"__version__", "distributed"}


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
