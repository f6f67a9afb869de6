#!/usr/bin/env python3
"""Write kept.jsonl: what Headrace answers where it differs from SystemDS on purpose, and why.

    python cases/systemds/keep.py

To be run after generate.py, and read with care before it is committed: differences that no rule
explains are shown and not written. The reasons are spelled out in test/python/scripts/test_systemds_results.py
and docs/scripts.md.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from cases.systemds.answers import FOLDER, answer, recorded, same

# Of scripts for which both have a value; the first that is found in the text.
RULES = {
    "literal": r"[|&] -?[\d.]+\b|\b[\d.]+ [|&] |matrix\(bt|ifelse\(\w+, 1, 2\.5\)|print\(abs\(-3\)\)",
    "loops": r"^for \(a in seq|for \(a in seq\(0, 1",
    "declared": r"^f = function",
    "strings": r'as\.matrix\("',
    "text": r"5e-324",
    "empty": r"rows=0",
}


def numbers(answers: dict[str, Any]) -> list[float]:
    value = answers.get("value", [])
    cells = value[2] if len(value) == 3 else value[1:]
    return [
        float(str(cell).replace("Infinity", "inf"))
        for cell in cells
        if cell not in ("TRUE", "FALSE")
    ]


def reason(script: str, expected: dict[str, Any], found: dict[str, Any]) -> str | None:
    if "error" in expected:
        return "extension"
    if "error" in found:
        return "refused"
    for why, pattern in RULES.items():
        if re.search(pattern, script):
            return why
    special = any(x != x or abs(x) == float("inf") for x in numbers(expected) + numbers(found))
    # 0 to a negative power, and 0 next to what is not finite, on the way to an answer that is.
    return (
        "ieee"
        if special
        or re.search(r"[NPm] \* |\(P \* 0\)|Z \^|rowIndexM\w+\(P\)|order\(target=t\([mN]\)", script)
        else None
    )


def main() -> None:
    lines = []
    for script, expected in recorded("results.jsonl").items():
        found = answer(script, "never", "dense")
        if same(expected, found):
            continue
        if why := reason(script, expected, found):
            lines.append(json.dumps({"do": script, "why": why, **found}, separators=(",", ":")))
        else:
            print(f"{script!r}\n    SystemDS {expected}\n    Headrace {found}", file=sys.stderr)
    (FOLDER / "kept.jsonl").write_text("\n".join(lines) + "\n")
    print(f"{FOLDER / 'kept.jsonl'}: {len(lines)} cases")


if __name__ == "__main__":
    main()
