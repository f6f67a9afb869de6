"""The pages say what is there."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_and_links_exist(page: Path) -> None:
    text = page.read_text()
    named = re.findall(r"`((?:src|test|cases|tools|python|bench|examples|docs)/[\w./-]*)`", text)
    missing = [path for path in named if not (ROOT / path).exists()]
    prose = re.sub(r"```.*?```", "", text, flags=re.S)  # C++ captures look like links
    links = re.findall(r"\]\((?!http)([^)#]+)", prose)
    missing += [link for link in links if not (page.parent / link).exists()]
    assert not missing


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


def test_python_of_the_readme_runs(monkeypatch, capsys) -> None:
    pytest.importorskip("headrace")
    code = python_of("README.md")[0]
    monkeypatch.chdir(ROOT)
    exec(code, {})
    assert "hr.kernel" in capsys.readouterr().out


TORCH = [*python_of("README.md")[1:], *python_of("docs/pytorch.md")]
# Importing PyTorch takes longer than the scripts: each runs in a copy of a process that did.
RUN_EACH = """
import os, runpy, sys, traceback
import torch._dynamo
for script in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(script + ".err", os.O_WRONLY | os.O_CREAT), 2)
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
    ends = done.stdout.splitlines()
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
        np.testing.assert_allclose(f(a, a), a @ a, rtol=1e-4)
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
    """A picture whose lines were filled like prose would have its fences inside of them."""
    marks = [line.strip() for line in page.read_text().splitlines() if "```" in line]
    assert all(re.fullmatch(r"```[\w+-]*", mark) for mark in marks), marks
    assert len(marks) % 2 == 0
