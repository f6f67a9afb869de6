#!/usr/bin/env python3
"""Writes the reference pages of the Python package and of the C and C++ interfaces.

    python tools/docs/reference.py            # writes docs/python-reference.md, docs/c-reference.md
    python tools/docs/reference.py --check    # exit code 1 if one of them is not up to date

The text comes from docstrings and from the comments of the headers. Sources are parsed, not
imported: no build is needed. Sections of the Python page are those of docs/python.md.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python/headrace"
NOTE = "This page is generated: `python tools/docs/reference.py` writes it from {}.\n"


# What the examples of docstrings continue; test/docs/test_reference.py runs them.
EXAMPLES_CONTINUE = """\
import headrace as hr
import numpy as np

digits = hr.load("examples/digits/digits.onnx")
session = hr.InferenceSession("examples/digits/digits.onnx")
images = np.load("examples/digits/held_back_images.npy")

n, m, k = hr.var("n m k")
A, B, r = hr.placeholder((n, k), name="A"), hr.placeholder((k, m), name="B"), hr.axis(k, name="r")
C = hr.compute((n, m), lambda i, j: hr.sum(A[i, r] * B[r, j], axis=r), name="C")
X, p = hr.placeholder((n,), name="X"), hr.axis(n, name="p")
loss = hr.compile(hr.compute((), lambda: hr.sum(X[p] ** 2, axis=p), name="loss"))
"""

# --- Python


class Names:
    """The definitions that modules of the package export."""

    def __init__(self) -> None:
        self.modules: dict[str, dict[str, ast.AST]] = {}

    def module(self, name: str) -> dict[str, ast.AST]:
        """The classes and functions of a module, by name. Overloads count as their last one."""
        if name not in self.modules:
            path = PACKAGE.parent / Path(*name.split("."))
            path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            self.modules[name] = {
                node.name: node
                for node in ast.parse(path.read_text()).body
                if isinstance(node, (ast.ClassDef, ast.FunctionDef))
            }
        return self.modules[name]

    def exported(self, package: str = "headrace") -> dict[str, ast.AST]:
        """What `from PACKAGE import *` gives, in the order of the imports."""
        path = PACKAGE.parent / Path(*package.split(".")) / "__init__.py"
        found: dict[str, ast.AST] = {}
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.ImportFrom) or node.module in (package, "headrace._core"):
                continue
            defined = self.module(node.module)
            names = [alias.name for alias in node.names]
            if names == ["*"]:
                names = [name for name in defined if not name.startswith("_")]
            found.update({name: defined[name] for name in names if name in defined})
        return found


def decorators(node: ast.FunctionDef) -> list[str]:
    return [ast.unparse(each) for each in node.decorator_list]


def signature(node: ast.FunctionDef, name: str, is_method: bool = False) -> str:
    """The call as a user writes it, with the types of what it takes and returns."""
    arguments = ast.parse(ast.unparse(node)).body[0].args
    is_static = "staticmethod" in decorators(node)
    if is_method and not is_static:
        (arguments.posonlyargs or arguments.args).pop(0)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    parts = split_arguments(ast.unparse(arguments).removeprefix("/, "))
    line = f"{name}({', '.join(parts)}){returns}"
    if len(line) <= 100 or is_method:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returns}"


def split_arguments(text: str) -> list[str]:
    """One text per argument, with blanks around the = of a default."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append("")
        elif c == "=" and depth == 0 and ":" in parts[-1]:
            parts[-1] += " = "
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def markdown(doc: str) -> str:
    """A docstring as Markdown: examples become blocks of code, lines "`name`: ..." a list."""
    lines, code, item = [], False, False
    for line in inspect.cleandoc(doc).splitlines():
        is_code = line.startswith((">>>", "...")) or (code and line.strip() != "")
        if is_code != code:
            lines.append("```pycon" if is_code else "```")
        code = is_code
        begins = re.match(r"`\w+`: ", line) is not None
        item = begins or (item and line.strip() != "")
        lines.append(("- " if begins else "  " if item else "") + line)
    return "\n".join(lines + (["```"] if code else []))


def first_paragraph(doc: str) -> str:
    return " ".join(inspect.cleandoc(doc).split("\n\n")[0].split())


def members(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> Iterator[ast.FunctionDef]:
    """Public properties and methods of a class, those of its bases in this module first."""
    for base in node.bases:
        if (name := ast.unparse(base)) in classes and name.startswith(("Recipe", "_")):
            yield from members(classes[name], classes)
    for child in node.body:
        if isinstance(child, ast.FunctionDef) and not child.name.startswith("_"):
            if not any(each.endswith(".setter") for each in decorators(child)):
                yield child


def fields(node: ast.ClassDef) -> Iterator[str]:
    """The public fields of a data class or named tuple, and the members of an enumeration."""
    for child in node.body:
        if isinstance(child, ast.AnnAssign) and not child.target.id.startswith("_"):
            yield f"`.{ast.unparse(child).replace(': ', ': ', 1)}`"
        elif isinstance(child, ast.Assign) and child.targets[0].id.isupper():
            yield f"`.{child.targets[0].id}`"


def python_class(name: str, node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> str:
    text = [f"### `{name}`\n", markdown(ast.get_docstring(node) or "") + "\n"]
    if found := list(fields(node)):
        text.append(f"Members: {', '.join(found)}.\n")
    rows = []
    call = [child for child in node.body if getattr(child, "name", "") == "__call__"]
    for child in [*call, *members(node, classes)]:
        doc = first_paragraph(ast.get_docstring(child) or "")
        if "property" in decorators(child):
            kind = f": {ast.unparse(child.returns)}" if child.returns else ""
            rows.append(f"- `.{child.name}{kind}` \\\n  {doc}")
        else:
            own = "" if child.name == "__call__" else f".{child.name}"
            rows.append(f"- `{signature(child, own, is_method=True)}` \\\n  {doc}")
    return "\n".join(text + ["\n".join(rows) + "\n"] if rows else text)


def python_entry(name: str, node: ast.AST, classes: dict[str, ast.ClassDef]) -> str:
    if isinstance(node, ast.ClassDef):
        return python_class(name, node, classes)
    code = signature(node, name)
    return f"### `{name}`\n\n```\n{code}\n```\n{markdown(ast.get_docstring(node) or '')}\n"


def sections(page: str) -> list[tuple[str, str]]:
    """The headings of a page with the text below them."""
    parts = re.split(r"^## (.*)$", page, flags=re.M)
    return list(zip(parts[1::2], parts[2::2]))


def others(match: re.Match[str], names: set[str]) -> str:
    """The match, unless it is one of the names."""
    return "" if match[1] in names else match[0]


def python_reference() -> str:
    names = Names()
    found = names.exported()
    distributed = names.exported("headrace.distributed")
    found.update({f"distributed.{name}": node for name, node in distributed.items()})
    classes = {
        name: node
        for module in list(names.modules.values())
        for name, node in module.items()
        if isinstance(node, ast.ClassDef)
    }
    text = [
        "# Python reference\n",
        "[python.md](python.md) is an overview of these names. "
        + NOTE.format("the docstrings of `python/headrace`"),
        "The examples continue this program, in a directory that holds the directory `examples`:\n",
        f"```python\n{EXAMPLES_CONTINUE}```\n",
    ]
    left = dict(found)
    parts = sections((ROOT / "docs/python.md").read_text())
    with_section = {title.strip("`") for title, _ in parts}
    for title, body in parts:
        body = f"{title}\n" + re.sub(r"`(\w+)`", lambda m: others(m, with_section), body)
        places = {n: re.search(rf"`@?(?:hr\.)?{re.escape(n)}\b", body) for n in left}
        listed = sorted((n for n in left if places[n]), key=lambda n: places[n].start())
        for name in list(listed):  # the members of a namespace follow its function
            space = name.rpartition(".")[0]
            listed += [n for n in left if space and n.startswith(space) and n not in listed]
        if listed:
            text.append(f"## {title.strip('`')}\n")
            text += [python_entry(name, left.pop(name), classes) for name in listed]
    if left:
        raise SystemExit(f"docs/python.md: expected every public name, lacks {', '.join(left)}")
    return "\n".join(text)


# --- C and C++


def c_entries(header: str) -> Iterator[tuple[str, str]]:
    """Each documented declaration of the C header with its comment."""
    body = header[header.index("#define HEADRACE_ABI_VERSION") :]
    pattern = re.compile(
        r"^/\*(?P<comment>.*?)\*/\n(?P<code>typedef (?:enum|struct) \w+ \{.*?\n\} \w+;|[^/#]*?;)$",
        re.S | re.M,
    )
    for match in pattern.finditer(body):
        comment = re.sub(r"\n \* ?", "\n", match["comment"]).strip()
        yield " ".join(comment.split()), match["code"].replace("HEADRACE_API ", "")


def aligned(code: str) -> str:
    """A declaration whose continued lines are indented by four columns."""
    if code.startswith("typedef"):
        return code
    first, *more = code.split("\n")
    return "\n".join([first, *(f"    {line.strip()}" for line in more)])


def name_of(code: str) -> str:
    if code.startswith("typedef"):
        return re.findall(r"(\w+);$", code)[0]
    return re.findall(r"(\w+)\(", code)[0]


def is_template_head(line: str) -> bool:
    """Whether the line is `template <...>` alone, without the function."""
    return line.strip().startswith("template") and "(" not in line


def comment_before(lines: list[str], i: int) -> str:
    """The doc comment above line `i`, and above a line `template <...>` there."""
    while is_template_head(lines[i - 1]):
        i -= 1
    begin = i
    while lines[begin - 1].strip().startswith("///"):
        begin -= 1
    return " ".join(line.strip().removeprefix("///").strip() for line in lines[begin:i])


def cpp_reference(header: str) -> str:
    """The classes and functions of the C++ header that have a doc comment, with it."""
    lines = header.splitlines()
    text, public = [], True
    for i, line in enumerate(lines):
        stripped = line.strip()
        depth = len(line) - len(line.lstrip())
        public = stripped != "private:" if stripped in ("public:", "private:") else public
        comment = comment_before(lines, i) if i else ""
        if not comment or is_template_head(line) or stripped.startswith("///"):
            continue
        if depth == 0 and stripped.startswith("class"):
            name = re.findall(r"class (\w+)", stripped)[0]
            text.append(f"\n### `headrace::{name}`\n\n{comment}\n")
            public = False
        elif depth == 0:
            head = re.split(r" \{|;", stripped)[0]
            name = re.findall(r"(\w+)(?:\(| =)", head)[0]
            text.append(f"\n### `headrace::{name}`\n\n```\n{head}\n```\n{comment}\n")
        elif public:
            head = " ".join(" ".join(lines[i : i + 2]).split())
            head = re.split(r" const \{| \{|\) : ", head)[0]
            head = re.sub(r"^(explicit|template <class T>) ", "", head)
            closed = head if head.endswith(")") else head + ")"
            text.append(f"- `{closed}` \\\n  {comment}")
    return "\n".join(text).strip() + "\n"


def c_reference() -> str:
    header = (ROOT / "include/headrace/headrace.h").read_text()
    intro = re.match(r"/\*(.*?)\*/", header, re.S)
    lines = [line.removeprefix(" *").removeprefix(" ") for line in intro[1].splitlines()]
    paragraphs = "\n".join(lines).strip().split("\n\n")
    text = [
        "# C and C++ reference\n",
        "[packages.md](packages.md) shows how to build against the library. "
        + NOTE.format("the comments of `include/headrace`"),
        "## C: `headrace/headrace.h`\n",
    ]
    for paragraph in paragraphs:
        is_code = paragraph.startswith("  ")
        code = "\n".join(line.removeprefix("  ") for line in paragraph.splitlines())
        text.append(f"```\n{code}\n```\n" if is_code else f"{' '.join(paragraph.split())}\n")
    for comment, code in c_entries(header):
        text.append(f"### `{name_of(code)}`\n\n```\n{aligned(code)}\n```\n{comment}\n")
    cpp = (ROOT / "include/headrace/headrace.hpp").read_text()
    example = [line[3:].removeprefix("  ") for line in cpp.splitlines()[2:5]]
    text += ["## C++: `headrace/headrace.hpp`\n", "```\n" + "\n".join(example) + "\n```\n"]
    return "\n".join(text) + "\n" + cpp_reference(cpp)


def wrapped(page: str) -> str:
    """The page with prose in lines of 120 columns at most, as the other pages have it."""
    import textwrap

    result, quoted = [], False
    for line in page.splitlines():
        quoted ^= line.startswith("```")
        if quoted or line.startswith(("```", "#", "|")) or len(line) <= 120:
            result.append(line)
        else:
            indent = "  " if line.startswith(("  ", "- ")) else ""
            first = "" if line.startswith("- ") else indent
            result += textwrap.wrap(
                line.strip(),
                120,
                initial_indent=first,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
    return re.sub(r"\n{3,}", "\n\n", "\n".join(result)).strip() + "\n"


PAGES = {"docs/python-reference.md": python_reference, "docs/c-reference.md": c_reference}


def main() -> int:
    is_check = sys.argv[1:] == ["--check"]
    stale = []
    for name, make in PAGES.items():
        path, text = ROOT / name, wrapped(make())
        if is_check and (not path.exists() or path.read_text() != text):
            stale.append(name)
        elif not is_check:
            path.write_text(text)
    if stale:
        print(f"not up to date: {', '.join(stale)}; run python tools/docs/reference.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
