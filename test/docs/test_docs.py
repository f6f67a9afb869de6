"""The pages agree with the code."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
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


def python_of(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)


README = python_of("README.md")
WITHOUT_TORCH = [code for code in README if "import torch" not in code]


def test_python_of_the_readme_runs(monkeypatch, capsys) -> None:
    pytest.importorskip("headrace")
    monkeypatch.chdir(ROOT)
    assert len(WITHOUT_TORCH) == 4
    for code in WITHOUT_TORCH:
        names: dict[str, object] = {}
        exec(code, names)
        names.clear()  # functions keep the names, and those the functions
    printed = capsys.readouterr().out
    assert "[2. 2. 2.]" in printed and "hr.kernel" in printed


def test_python_of_the_page_on_sessions_runs(monkeypatch) -> None:
    pytest.importorskip("headrace")
    import numpy as np

    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {"images": np.zeros((2, 1, 8, 8), np.float32)}
    exec("".join(python_of("docs/sessions.md")), names)
    assert names["logits"].shape == (2, 10)


TORCH = [*(code for code in README if code not in WITHOUT_TORCH), *python_of("docs/pytorch.md")]
# Importing PyTorch takes longer than the scripts: each runs in a copy of a process that did.
RUN_EACH = """
import os, runpy, sys, traceback
import torch._dynamo
for script in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(script + ".err", os.O_WRONLY | os.O_CREAT), 2)
        os.chdir(os.path.dirname(script))  # of the files that it writes
        try:
            runpy.run_path(script, run_name="__main__")
            sys.stdout.write("done ")
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    print("ended with", status, flush=True)
"""


@pytest.fixture(scope="module")
def said_by_torch(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """How each script ended, and what it wrote on its standard error."""
    pytest.importorskip("headrace")
    pytest.importorskip("torch", reason="PyTorch is not installed")
    folder = tmp_path_factory.mktemp("scripts")
    scripts = [folder / f"script{i}.py" for i in range(len(TORCH))]
    for script, code in zip(scripts, TORCH):
        script.write_text(code)
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning:headrace", "-c", RUN_EACH, *map(str, scripts)],
        capture_output=True,
        text=True,
        check=False,
    )
    ends = [line for line in done.stdout.splitlines() if "ended with" in line]
    assert done.returncode == 0 and len(ends) == len(scripts), done
    return [f"{end}: {Path(f'{script}.err').read_text()}" for end, script in zip(ends, scripts)]


@pytest.mark.parametrize("number", range(len(TORCH)))
def test_python_for_pytorch_runs(number: int, said_by_torch: list[str]) -> None:
    """In a file of its own, as a user would have it."""
    assert len([line for line in TORCH[number].splitlines() if line]) <= 10
    said = said_by_torch[number]
    assert said.startswith("done ended with 0: ") and "runs in PyTorch" not in said, said


def test_python_of_the_page_on_expressions_runs(capsys) -> None:
    pytest.importorskip("headrace")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/expressions.md").read_text(), re.S)
    assert len(blocks) == 6
    names: dict[str, object] = {}
    exec("".join(blocks), names)
    names.clear()  # functions keep the names, and those the functions
    assert "Y[i + 1] reads positions 1 to n" in capsys.readouterr().out


def test_commands_of_the_page_on_verification_run(tmp_path: Path) -> None:
    command = os.environ.get("HEADRACE_BIN")
    if not command:
        pytest.skip("HEADRACE_BIN is not set")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = (ROOT / "docs/verify.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", page, re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) == 6
    for line in lines:
        name, *words = line.split()
        assert name == "headrace"
        done = subprocess.run([command, *words], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), (line, done)


def test_python_of_the_page_on_verification_runs(monkeypatch, capsys) -> None:
    pytest.importorskip("headrace")
    monkeypatch.chdir(ROOT)
    (code,) = python_of("docs/verify.md")
    exec(code, {})
    assert "agrees with the reference" in capsys.readouterr().out


def test_python_of_the_page_on_recipes_runs(capsys) -> None:
    pytest.importorskip("headrace")
    names: dict[str, object] = {}
    exec("".join(python_of("docs/schedules.md")), names)
    names.clear()
    assert "'i' has 64 iterations, and 'gemm8x8' along 'i' has 8" in capsys.readouterr().out


# Pages whose code is complete: it runs in a directory that holds the examples and nothing else.
COMPLETE = (
    "distributed",
    "gpu",
    "packages",
    "python",
    "quantization",
    "rewriting",
    "scripts",
    "troubleshooting",
)


@pytest.mark.parametrize("name", COMPLETE)
def test_python_of_a_page_runs_next_to_the_examples(name: str, tmp_path: Path) -> None:
    hr = pytest.importorskip("headrace")
    blocks = python_of(f"docs/{name}.md")
    assert blocks
    if any("torch" in code for code in blocks):
        pytest.importorskip("torch", reason="PyTorch is not installed")
    if name == "distributed":
        pytest.importorskip("ray", reason="Ray is not installed")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PYTHONPATH": str(Path(hr.__file__).resolve().parents[1])}
    for code in blocks:
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


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
