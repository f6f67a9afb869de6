#!/usr/bin/env python3
"""Checks the English of added lines and of commit subjects against the words of CONTRIBUTING.md.

    python tools/lint/words.py [FILE ...]

Reads what is added since origin/main (else main, else the last commit) to Markdown, C++ and Python
files, or to the files given, and prints a line for every hit. The exit code is 1 if there is one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

LONGEST_SUBJECT = 72
SUFFIXES = ("*.md", "*.h", "*.cpp", "*.td", "*.def", "*.py")
EXEMPT = {"tools/lint/words.py", "test/docs/test_words.py"}  # their patterns and examples


@dataclass(frozen=True)
class Rule:
    """A pattern that lines should not have, what to write instead, and texts that may have it."""

    pattern: str
    advice: str
    exceptions: tuple[str, ...] = ()


NO_THERE = r"([^e]|[^r]e|[^e]re) "  # "there is no" is good English
RULES = (
    Rule(NO_THERE + r"(is|are|was|were|be) no [a-z]", "'is not a'", ("is no longer", "is no more")),
    Rule(NO_THERE + r"(is|are|was|were) none\b", "'is not one of', 'does not exist'"),
    Rule(
        r"([Nn]ull|[Ee]mpty|[Nn]othing|[Nn]one|nullopt|[Ff]alse|Error|Refusal|[Tt]hrows|-1) where\b",
        "'if': 'where' is a place",
    ),
    Rule(r"\b(in place of|but for|at hand)\b", "'instead of', 'except for', 'current'"),
    Rule(r" of [0-9]+ bits\b", "'8-bit integer'"),
    Rule(r"^ *(///|/\*) (The same|Of|As|By)\b", "a comment that stands alone"),
    Rule(r"\b([Oo]pen|[Ff]ree) sizes?\b", "'dynamic dimension'"),
    Rule(r"\b[kK]?([mM]ost|[lL]east)[A-Z]\w*", "'max', 'min'"),
    Rule(
        r"\b(of|with|for|on|at most|after|than|keeps|up to) so (many|much)\b",
        "'this many', or the number's name",
        ("for so much as",),
    ),
    Rule(r"\b(is|are|was|were) there([.,;:)]|$)", "'exists', 'is available'"),
    Rule(
        r"\b(cycles?|bytes|elements?|us|ms|lines?|steps?|kernels?)"
        r" an? (call|cycle|kernel|element|micro-op|step|line|row)\b",
        "'per'",
    ),
    Rule(r"\b(expected|expects|takes)\b[^=:()\[\]]*, found\b", "'got'"),
    Rule(
        r"\b([Hh]alf precision|[Mm]ain memory|[Ww]hole numbers?|[Ee]lementary functions?"
        r"|halves to even|[Ss]ystems? of equations|[Rr]ight sides?)\b",
        "'f16', 'host memory', 'integer', 'math function', 'ties to even', 'linear system', "
        "'right-hand side'",
    ),
)
IDENTIFIER = re.compile(r"\w*[a-z][A-Z]\w*")


def hits(line: str, is_known: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """What the line should not have, with the advice; identifiers that are known may stay."""
    for rule in RULES:
        for match in re.finditer(rule.pattern, line):
            if any(text in line for text in rule.exceptions):
                continue
            found = match.group().strip()
            if not (IDENTIFIER.fullmatch(found) and is_known(found)):
                yield found, rule.advice


def git(*arguments: str) -> str | None:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def base_of_head() -> str:
    """The commit whose lines and commits are old."""
    for branch in ("origin/main", "main"):
        if base := git("merge-base", "HEAD", branch):
            return base.strip()
    return "HEAD"


def added_lines(base: str, files: list[str]) -> dict[str, set[int]]:
    """The numbers of added lines by file; all lines of a file that git does not know yet."""
    paths = files or list(SUFFIXES)
    found: dict[str, set[int]] = {}
    name = ""
    for line in (
        git("diff", "-U0", "--no-prefix", "--no-ext-diff", base, "--", *paths) or ""
    ).splitlines():
        if line.startswith("+++ "):
            name = line[4:]
        elif part := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            start, count = int(part[1]), int(part[2] or 1)
            found.setdefault(name, set()).update(range(start, start + count))
    untracked = git("ls-files", "--others", "--exclude-standard", "--", *paths) or ""
    for name in untracked.splitlines():
        found[name] = set(range(1, len(Path(name).read_text().splitlines()) + 1))
    return {name: lines for name, lines in found.items() if lines and name not in EXEMPT}


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; of a page without its code, which quotes programs, and its lists of
    words to avoid, between `<!-- words: off -->` and `<!-- words: on -->`."""
    quoted = off = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if path.suffix != ".md":
            yield number, line
        elif line.strip().startswith("```"):
            quoted = not quoted
        elif switch := re.match(r"<!-- words: (off|on) -->", line):
            off = switch[1] == "off"
        elif not (quoted or off):
            yield number, re.sub(r"`[^`]*`", "``", line)


def check_lines(base: str, files: list[str]) -> Iterator[str]:
    def is_known(name: str) -> bool:
        return git("grep", "-qw", name, base) is not None

    for name, numbers in sorted(added_lines(base, files).items()):
        for number, line in prose(Path(name)):
            if number in numbers:
                for found, advice in hits(line, is_known):
                    yield f"{name}:{number}: '{found}': write {advice}"


def check_subjects(base: str) -> Iterator[str]:
    for line in (git("log", "--no-merges", "--format=%h %s", f"{base}..HEAD") or "").splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > LONGEST_SUBJECT:
            yield (
                f"commit {commit}: expected a subject of at most {LONGEST_SUBJECT} characters, "
                f"got {len(subject)}: '{subject}'"
            )


def main() -> int:
    base = base_of_head()
    found = [*check_lines(base, sys.argv[1:]), *check_subjects(base)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
