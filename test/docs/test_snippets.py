"""Every command and program of every page runs, in an empty directory with nothing but the examples.

The language of a block says what it is:

    sh        commands, run by bash in the order of the page
    python    a program if it begins with an import, else the continuation of the one before it
    console   commands behind `$ `, and what they print, which may have `...` for lines left out
    anything else    not run: output, grammars, other languages

A line that cannot run here is listed in NOT_RUN, with the reason.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GENERATED = {"python-reference.md", "c-reference.md"}  # test_reference.py runs their examples
PAGES = sorted(
    page
    for places in ("*.md", "docs/*.md", "examples/*/*.md")
    for page in ROOT.glob(places)
    if page.name not in GENERATED
)
# Beginnings of lines that are not run, by page, and the reason.
NOT_RUN = {
    "README.md": {"./dev": "builds everything and runs these tests"},
    "docs/install.md": {
        "./dev": "builds for minutes, and needs root",
        "pip install": "installs the wheel that ./dev wheel built",
    },
    "docs/gpu.md": {
        "./dev": "the kit is built and tested by test/gpu",
        "headrace run": "needs an NVIDIA GPU",
        "headrace bench": "needs an NVIDIA GPU",
    },
    "docs/packages.md": {"headrace compile detector.onnx": "test_split_packages.py packs one"},
    "docs/distributed.md": {"headrace map digits.hrpkg": "needs a cluster of several machines"},
    "docs/exploration.md": {
        "python examples/pusch/run.py": "minutes; test/examples has it --small"
    },
    "docs/studio.md": {"headrace studio": "serves a page until it is ended; test/studio has it"},
    "docs/verify.md": {"headrace verify difference.onnx": "only a wrong program leaves that file"},
}
# Texts that the programs and commands of a page print, beyond ending without an error.
PRINTED = {
    "README.md": ["[2. 2. 2.]", "hr.kernel"],
    "docs/expressions.md": ["Y[i + 1] reads positions 1 to n"],
    "docs/schedules.md": ["'i' has 64 iterations, and 'gemm8x8' along 'i' has 8"],
    "docs/verify.md": ["agrees with the reference"],
}
COMMAND = re.compile(r"(\$ |\./dev |headrace |build/|python3? |pip |g\+\+ |gcc |cmake |cat >|cd )")


@dataclass
class Step:
    """One process: what runs it, and the lines that it should print (of a console block)."""

    kind: str
    code: str
    output: str = ""

    def needs(self) -> list[str]:
        modules = re.findall(r"^\s*(?:import|from) (torch|ray|sklearn)\b", self.code, re.M)
        return modules + ["ray"] * ("headrace map" in self.code or "distributed" in self.code)


def blocks(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"^```([\w+-]*)\n(.*?)^```", page.read_text(), re.S | re.M)


def console_steps(text: str) -> list[Step]:
    parts = re.split(r"^\$ ", text, flags=re.M)[1:]
    return [Step("sh", *(part.split("\n", 1))) for part in parts]


def steps_of(page: Path) -> list[Step]:
    """Programs that a page continues run where they begin."""
    steps: list[Step] = []
    program: Step | None = None
    for language, text in blocks(page):
        if language == "sh":
            steps.append(Step("sh", text))
        elif language == "console":
            steps += console_steps(text)
        elif language == "python" and (program is None or re.match(r"import |from ", text)):
            program = Step("python", text)
            steps.append(program)
        elif language == "python":
            program.code += text
    return steps


def without_lines_not_run(step: Step, name: str) -> str:
    skipped = tuple(NOT_RUN.get(name, ()))
    lines = step.code.splitlines(keepends=True)
    return "".join(line for line in lines if not (skipped and line.startswith(skipped)))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The directory that pages speak of: the examples, and the build as `./dev build` leaves it."""
    hr = pytest.importorskip("headrace")
    command = os.environ.get("HEADRACE_BIN")
    if not command:
        pytest.skip("HEADRACE_BIN is not set")
    bin, here = tmp_path / "bin", tmp_path / "here"
    bin.mkdir()
    (here / "build").mkdir(parents=True)
    package = Path(hr.__file__).resolve().parents[1]
    for name, target in {
        "headrace": command,
        "python": sys.executable,
        "python3": sys.executable,
    }.items():
        (bin / name).write_text(f'#!/bin/sh\nPYTHONPATH="{package}" exec "{target}" "$@"\n')
        (bin / name).chmod(0o755)
    for name in ("examples", "include"):
        (here / name).symlink_to(ROOT / name)
    (here / "build/release").symlink_to(Path(command).resolve().parents[1])
    return here


def run(step: Step, name: str, place: Path) -> str:
    environment = {
        **os.environ,
        "PATH": f"{place.parent / 'bin'}:{os.environ['PATH']}",
        "HEADRACE_CACHE_DIR": str(place.parent / "cache"),
        "NO_COLOR": "1",
    }
    words = ["bash", "-euo", "pipefail", "-c"] if step.kind == "sh" else ["python", "-c"]
    words[0] = str(place.parent / "bin/python") if step.kind == "python" else words[0]
    done = subprocess.run(
        [*words, without_lines_not_run(step, name)],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{step.code}\n{done.stdout}{done.stderr}"
    return done.stdout


def same_but_for_numbers(line: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\d+(\.\d+)?", "0", line)).strip()


def expect_lines(expected: str, printed: str) -> None:
    """Lines of a console block are printed in this order; times and widths of columns vary."""
    rest = [same_but_for_numbers(line) for line in printed.splitlines()]
    for line in expected.splitlines():
        begin = same_but_for_numbers(line).removesuffix("...").rstrip()
        if begin:
            at = next((i for i, text in enumerate(rest) if text.startswith(begin)), None)
            assert at is not None, f"'{line}' is not printed:\n{printed}"
            rest = rest[at + 1 :]


WITH_STEPS = [page for page in PAGES if steps_of(page)]


@pytest.mark.parametrize("page", WITH_STEPS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_runs_as_it_stands(page: Path, place: Path) -> None:
    name = str(page.relative_to(ROOT))
    printed = ""
    for step in steps_of(page):
        for module in step.needs():
            pytest.importorskip(module, reason=f"{module} is not installed")
        said = run(step, name, place)
        expect_lines(step.output, said)
        printed += said
    assert [text for text in PRINTED.get(name, ()) if text not in printed] == []


def test_pages_with_steps_are_found() -> None:
    names = {str(page.relative_to(ROOT)) for page in WITH_STEPS}
    assert len(names) > 20 and set(PRINTED) | set(NOT_RUN) <= names


@pytest.mark.parametrize("name", NOT_RUN)
def test_lines_that_are_not_run_stand_on_their_page(name: str) -> None:
    code = "\n".join(step.code for step in steps_of(ROOT / name))
    assert [
        begin for begin in NOT_RUN[name] if not re.search(f"^{re.escape(begin)}", code, re.M)
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_have_a_language(page: Path) -> None:
    """A block of commands without a language would not be run."""
    unnamed = [text for language, text in blocks(page) if language == "" and COMMAND.match(text)]
    assert unnamed == []


# Code in C and C++ is a part of a program: what is before and after it.
AROUND = {
    "expressions.md": (
        "c++",
        '#include "driver/programs/ExpressionModel.h"\n#include "frontend/expr/Stage.h"\nvoid f() {\n',
        "}\n",
    ),
    "c-reference.md C": (
        "",
        "#include <headrace/headrace.h>\n#include <stdlib.h>\n"
        "static void fail(const char *message) { exit(message != NULL); }\n"
        "int main(void) {\nheadrace_tensor inputs[1], outputs[1];\n",
        "return 0;\n}\n",
    ),
    "c-reference.md C++": (
        "",
        "#include <headrace/headrace.hpp>\nvoid f(const float *pixels) {\n",
        "(void)logits;\n}\n",
    ),
}


def code_in(name: str) -> str:
    page, _, section = name.partition(" ")
    language, before, after = AROUND[name]
    text = (ROOT / "docs" / page).read_text()
    text = text[text.index(f"## {section}: ") :] if section else text
    (code, *_) = re.findall(rf"^```{re.escape(language)}\n(.*?)^```", text, re.S | re.M)
    return before + code + after


@pytest.mark.parametrize("name", AROUND)
def test_code_in_c_compiles(name: str, tmp_path: Path) -> None:
    is_c = name.endswith(" C")
    source = tmp_path / ("code.c" if is_c else "code.cpp")
    source.write_text(code_in(name))
    compiler = ["gcc", "-std=c11"] if is_c else ["g++", "-std=c++20"]
    folders = [f"-I{ROOT / folder}" for folder in ("include", "src")]
    command = [*compiler, "-Wall", "-Wno-uninitialized", "-fsyntax-only", *folders, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def words(text: str) -> str:
    return " ".join(text.split())


def test_declarations_are_those_of_the_code(place: Path) -> None:
    """Of the header that a package comes with, and of an intrinsic that a test compiles."""
    run(
        Step("sh", "headrace compile examples/digits/digits.onnx --emit=header -o digits.hrpkg"),
        "docs/packages.md",
        place,
    )
    code = {
        "docs/packages.md": (place / "digits.h").read_text(),
        "docs/schedules.md": (ROOT / "test/python/expressions/test_intrinsics.py").read_text(),
    }
    for page, source in code.items():
        (declaration,) = [text for language, text in blocks(ROOT / page) if language == "c"]
        assert words(declaration).rstrip(";") in words(source), page
