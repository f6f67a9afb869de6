"""The linter for English: each of its rules finds what it is for, in added lines only."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tools/lint/words.py"

SPEC = importlib.util.spec_from_file_location("words", PROGRAM)
words = importlib.util.module_from_spec(SPEC)
sys.modules["words"] = words
SPEC.loader.exec_module(words)

# One for each rule, in order: a line that has it, and what to write instead.
EXAMPLES = [
    ("the file is no package", "the file is not a package; there is no file"),
    ("sizes are none of these", "sizes are not among these; there are none"),
    ("/// Null where it fails", "/// Null if it fails"),
    ("one kernel in place of two", "one kernel instead of two"),
    ("integers of 8 bits", "8-bit integers"),
    ("  /// The same, with results in `outputs`", "  /// Like `run`, but writes to `outputs`"),
    ("an open size of 2", "a dynamic dimension of 2"),
    ("int mostOperators = 3;", "int maxOperators = 3;"),
    ("blocks of so many rows", "blocks of this many rows"),
    ("the file is there.", "the file exists. There it is"),
    ("18 cycles an element", "18 cycles per element"),
    ("expected an axis, found a stage", "expected an axis, got a stage; it was found"),
    ("computed in half precision", "computed in f16, next to the right-hand side"),
]


def found(line: str, known: tuple[str, ...] = ()) -> list[str]:
    return [text for text, _ in words.hits(line, lambda name: name in known)]


@pytest.mark.parametrize(("number", "example"), list(enumerate(EXAMPLES)))
def test_every_rule_finds_its_example(number: int, example: tuple[str, str]) -> None:
    bad, good = example
    assert len(words.RULES) == len(EXAMPLES)
    assert [advice for _, advice in words.hits(bad, lambda _: False)] == [
        words.RULES[number].advice
    ]
    assert found(good) == []


def test_an_identifier_of_the_tree_may_be_used() -> None:
    assert found("mostOperators < kMostRows", ("mostOperators",)) == ["kMostRows"]


def test_exceptions_are_exceptions() -> None:
    assert found("it is no longer read") == []


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    def git(*arguments: str) -> None:
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *name, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-b", "main")
    (tmp_path / "page.md").write_text("It is no page.\n")
    git("add", "-A")
    git(
        "commit",
        "-m",
        "A subject that is old, and so may be as long as it likes to be, or was " * 2,
    )
    git("checkout", "-b", "work")
    (tmp_path / "page.md").write_text(
        "It is no page.\n```\nin place of\n```\n`in place of`\nAt hand: at hand\n"
        "<!-- words: off -->\nin place of\n<!-- words: on -->\n"
    )
    git("commit", "-am", "x" * 73)
    git("commit", "--allow-empty", "-m", "y" * 72)
    (tmp_path / "new.py").write_text("# Null where it fails\n")
    return tmp_path


def run(clone: Path, *files: str) -> tuple[int, list[str]]:
    command = [sys.executable, str(PROGRAM), *files]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_added_lines_and_new_subjects_are_checked(clone: Path) -> None:
    status, lines = run(clone)
    assert status == 1
    assert lines[0].startswith("new.py:1: 'Null where': write 'if'")
    assert lines[1].startswith("page.md:6: 'at hand': write 'instead of'")
    assert lines[2].endswith(f"at most 72 characters, got 73: '{'x' * 73}'")
    assert len(lines) == 3


def test_files_may_be_named(clone: Path) -> None:
    assert [line.split(":")[0] for line in run(clone, "page.md")[1]][:1] == ["page.md"]


def test_a_clean_tree_passes(clone: Path) -> None:
    subprocess.run(["git", "checkout", "-q", "main"], cwd=clone, check=True)
    (clone / "new.py").unlink()
    assert run(clone) == (0, [])
