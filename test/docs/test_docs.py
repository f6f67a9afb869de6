"""The pages agree with the code."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from cases.policy import assert_close

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page
    for places in ("*.md", "docs/*.md", "examples/*/*.md", "src/**/*.md")
    for page in ROOT.glob(places)
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_and_links_exist(page: Path) -> None:
    text = page.read_text()
    named = re.findall(r"`((?:src|test|cases|tools|python|bench|examples|docs)/[\w./-]*)`", text)
    missing = [path for path in named if not (ROOT / path).exists()]
    prose = re.sub(r"```.*?```", "", text, flags=re.S)  # C++ captures look like links
    links = re.findall(r"\]\((?!http)([^)#]+)", prose)
    missing += [link for link in links if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_of_examples_in_commands_exist(page: Path) -> None:
    code = "".join(re.findall(r"^```\n.*?^```", page.read_text(), re.S | re.M))
    named = re.findall(r"(?:^|[\s=@:\"])(examples/[\w./-]+)", code, re.M)
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_marks_of_a_merge_are_left(page: Path) -> None:
    assert re.findall(r"^(?:<{7} .*|={7}|>{7} .*)$", page.read_text(), re.M) == []


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings: lower case, hyphens for blanks, no other marks."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_anchors_exist(page: Path) -> None:
    links = re.findall(r"\]\((?!http)([^)#]*)#([\w-]+)\)", page.read_text())
    missing = [
        (link, anchor)
        for link, anchor in links
        if anchor not in anchors(page.parent / link if link else page)
    ]
    assert missing == []


def linked(page: Path) -> set[Path]:
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    return {(page.parent / link).resolve() for link in re.findall(r"\]\((?!http)([^)#]+)", prose)}


def test_the_index_links_every_page() -> None:
    index = ROOT / "docs/README.md"
    pages = {page for page in PAGES if page.parent == index.parent} - {index}
    assert len(pages) > 20
    assert pages - linked(index) == set()
    assert index in linked(ROOT / "README.md")


def test_every_environment_variable_is_listed() -> None:
    read = re.compile(r"(?:getenv\(|number\(|environ\[|environ\.get\()\s*[\"'](HEADRACE_\w+)[\"']")
    folders = ("src", "tools", "python", "bench", "examples", "test")
    files = [path for name in folders for path in (ROOT / name).rglob("*")]
    sources = [path for path in files if path.suffix in {".h", ".cpp", ".py"}]
    found = {name for path in sources for name in read.findall(path.read_text())}
    found -= {"HEADRACE_TEST_CODE_LOADED", "HEADRACE_TEST_PACKAGE"}  # from a test to its own child
    assert len(found) > 12
    page = (ROOT / "docs/environment.md").read_text()
    assert sorted(name for name in found if f"`{name}`" not in page) == []


def test_every_public_name_is_listed() -> None:
    hr = pytest.importorskip("headrace")
    page = (ROOT / "docs/python.md").read_text()
    members = [f"model.{name}" for name in dir(hr.Model) if not name.startswith("_")]
    names = [*hr.__all__, *members]
    assert len(names) > 90
    assert [name for name in names if not re.search(rf"`@?(hr\.)?{name}\b", page)] == []


def test_phases_are_the_compilers() -> None:
    hr = pytest.importorskip("headrace")
    text = (ROOT / "ARCHITECTURE.md").read_text()
    tables = re.findall(r"^\| phase \| holds afterwards \|\n.*\n((?:\|.*\n)+)", text, re.M)
    shared, cpu, vta, cuda, gradient = (
        re.findall(r"^\| `(\w+)` \| ([^|]*) \|$", table, re.M) for table in tables
    )
    assert shared + cpu == [(phase.name, phase.summary) for phase in hr.phases()]
    assert shared + vta == [(phase.name, phase.summary) for phase in hr.phases("vta")]
    assert shared + cuda == [(phase.name, phase.summary) for phase in hr.phases("cuda:sm_90a")]
    assert gradient == [(phase.name, phase.summary) for phase in hr.phases(gradient=True)]


def test_steps_of_contributions_are_real() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    steps = re.findall(r"((?:`[^`]+`,? ?)+)in `([\w./-]+\.\w+)`", page)
    assert len(steps) >= 5
    for names, path in steps:
        for name in re.findall(r"`([^`]+)`", names):
            # "one("Softmax", ...)" stands for any arguments.
            assert name.removesuffix(", ...)") in (ROOT / path).read_text(), (name, path)


def test_tutorial_on_schedules_runs(capsys) -> None:
    hr = pytest.importorskip("headrace")
    import numpy as np

    page = (ROOT / "docs/tutorial-schedules.md").read_text()
    names: dict[str, object] = {}
    exec("".join(re.findall(r"```python\n(.*?)```", page, re.S)), names)
    printed = capsys.readouterr().out
    recipes = re.findall(r"```recipe\n(.*?)```", page, re.S)
    assert len(recipes) == 5 and all(line in printed for line in recipes[-1].splitlines())
    assert "reduction" in printed, "the refusal says why"
    a = np.random.default_rng(0).random((1024, 1024), "f4")
    for recipe in recipes[1:]:  # plain loops take seconds
        f = hr.compile(names["C"], recipe=recipe)
        assert_close(f(a, a), a @ a, tolerance=1e-4)
    names.clear()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_of_prose_hold_120_columns(page: Path) -> None:
    prose = re.sub(r"^```.*?^```|^   ```.*?^   ```", "", page.read_text(), flags=re.S | re.M)
    long = [line for line in prose.splitlines() if len(line) > 120 and not line.startswith("|")]
    assert long == []


def first_comment(header: Path) -> str:
    lines = header.read_text().splitlines()
    comment = itertools.takewhile(lambda line: line.startswith("//"), lines)
    return " ".join(line.lstrip("/ ") for line in comment)


def prose_of(page: Path) -> str:
    """Paragraphs as lines, without headings and code."""
    text = re.sub(r"^ *```.*?^ *```|^#.*?$", "", page.read_text(), flags=re.S | re.M)
    return re.sub(r"\n(?! *[-|\n])", " ", text)


def test_sentences_name_their_subject() -> None:
    """Of pages and of the first comments of headers: no sentence is about "what" or "those"."""
    headers = [path for folder in ("src", "tools") for path in (ROOT / folder).rglob("*.h")]
    texts = {path: first_comment(path) for path in headers} | {p: prose_of(p) for p in PAGES}
    nameless = re.compile(r"(?:^|[.!] |^- |\| )(?:What|Those) [^.?|]*(?:[.|]|$)", re.M)
    found = [f"{path}: {text}" for path, t in texts.items() for text in nameless.findall(t)]
    assert len(texts) > 400
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_of_code_begin_and_end_on_lines_of_their_own(page: Path) -> None:
    """An image whose lines were filled like prose would have its fences inside of them."""
    marks = [line.strip() for line in page.read_text().splitlines() if "```" in line]
    assert all(re.fullmatch(r"```[\w+-]*", mark) for mark in marks), marks
    assert len(marks) % 2 == 0
