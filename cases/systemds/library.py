"""Calls of every function of SystemDS's library: library.txt, and what SystemDS gives for them: library.jsonl."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
REMARK = re.compile(r"^(differs|plain|stops): (.*)$")
HEADER = re.compile(r"^(data|function)? ?([\w.]+)(?: ->(.*))?$")


@dataclass(frozen=True)
class Case:
    """`name` is the function's, and a number from the function's second case on."""

    name: str
    function: str
    results: tuple[str, ...]
    script: str
    differs: str = ""  # why Headrace gives something else on purpose
    plain: str = ""  # why SystemDS is asked without its algebraic rewrites
    stops: str = ""  # why both stop with an error

    @property
    def check(self) -> str:
        """Tells whether an answer is to this script."""
        asked = f"{self.script} {self.results}" + (" plain" if self.plain else "")
        return f"{zlib.crc32(asked.encode()):08x}"


def _sections() -> list[tuple[str | None, str, list[str], list[str]]]:
    sections: list[tuple[str | None, str, list[str], list[str]]] = []
    for line in (FOLDER / "library.txt").read_text().splitlines():
        if line.startswith("  "):
            sections[-1][3].append(line[2:])
        elif line and not line.startswith("#"):
            match = HEADER.match(line)
            if match is None:
                raise ValueError(f"library.txt: expected 'function -> results', got '{line}'")
            sections.append((match[1], match[2], (match[3] or "").split(), []))
    return sections


def library_cases() -> list[Case]:
    """The cases in the order of the file, with all that they refer to written out."""
    sections = _sections()
    parts = {(kind, name): lines for kind, name, _, lines in sections if kind}

    def written(lines: list[str]) -> tuple[list[str], list[str]]:
        functions, statements = [], []
        for line in lines:
            if line.startswith("{"):
                more_functions, more = written(parts["data", line.strip("{}")])
                functions += more_functions
                statements += more
            elif line.startswith("function "):
                functions += parts["function", line.split()[1]]
            elif line.startswith("source("):
                functions.insert(0, line)
            else:
                statements.append(line)
        return functions, statements

    cases: list[Case] = []
    seen: dict[str, int] = {}
    for kind, function, results, lines in sections:
        if kind:
            continue
        seen[function] = seen.get(function, 0) + 1
        name = function if seen[function] == 1 else f"{function} {seen[function]}"
        remarks = {m[1]: m[2] for line in lines if (m := REMARK.match(line))}
        functions, statements = written([line for line in lines if not REMARK.match(line)])
        script = "\n".join([*functions, *statements, ""])
        cases.append(Case(name, function, tuple(results), script, **remarks))
    return cases


def recorded_library() -> dict[str, dict[str, Any]]:
    """By case: the `results`, or the `error`."""
    lines = (FOLDER / "library.jsonl").read_text().splitlines()
    answers = [json.loads(line) for line in lines]
    return {answer.pop("case"): answer for answer in answers}
