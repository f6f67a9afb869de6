"""Scripts in DML compared with SystemDS: recorded answers, and the scripts that SystemDS publishes.

    headrace conformance dml [--filter TEXT] [--json [FILE]] [--write FILE] [--jobs N]

Needs the repository: the answers are in its package `cases`, and bench/scripts/fetch_systemds_scripts.py
fetches the published scripts. Every case runs in a child process, so that a crash or a hang costs one case.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import io
import json
import os
import re
import sys
from pathlib import Path

import numpy as np

from headrace.children import answers

#: Verdicts. `kept`: differs on purpose, with the reason; `unanswered`: SystemDS stops with an error.
KINDS = ("pass", "kept", "wrong", "refused", "crash", "unanswered")
GROUPS = {
    "language": "statements and functions of the language",
    "library": "functions of the library that give SystemDS's results",
    "scripts": "published scripts that are parsed and analyzed",
}
SCRIPTS = Path("build") / "systemds-scripts" / "scripts"


# --- Verdicts ----------------------------------------------------------------------------------


@functools.cache
def records(file: str) -> dict:
    """Read once, before the children are forked."""
    from cases.systemds.answers import recorded
    from cases.systemds.library import library_cases, recorded_library

    if file == "cases":
        return {case.name: case for case in library_cases()}
    return recorded_library() if file == "library.jsonl" else recorded(file)


def verdict_of_language(script: str) -> tuple[str, str]:
    from cases.systemds.answers import answer, same

    kept = records("kept.jsonl").get(script)
    expected = records("results.jsonl")[script]
    found = answer(script, "never", "dense")
    if same(expected, found):
        return "pass", ""
    if kept and same(kept, found):
        return "kept", kept["why"]
    return "wrong", f"expected {expected}, got {found}"


def verdict_of_library(name: str) -> tuple[str, str]:
    import headrace
    from cases.systemds.answers import plain

    case, expected = records("cases")[name], records("library.jsonl")[name]
    if "error" in expected and not case.stops:
        return "unanswered", expected["error"]
    os.chdir(SCRIPTS.parent)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            left = headrace.script(case.script, script_path=["scripts"])()
            found = {result: plain(left[result]) for result in case.results}
    except headrace.InternalError as error:
        return "crash", str(error).splitlines()[0]
    except headrace.Error as error:
        if case.stops:
            return "pass", ""
        if case.differs:
            return "kept", case.differs
        return "refused", re.sub(r"^.*?scripts/", "", str(error).splitlines()[0])
    if case.stops:
        return "wrong", f"expected an error, since {case.stops}"
    for result, value in expected["results"].items():
        if reason := difference(value, found[result]):
            return ("kept", case.differs) if case.differs else ("wrong", f"{result}: {reason}")
    return "pass", ""


def verdict_of_script(name: str) -> tuple[str, str]:
    import headrace
    from headrace import _core

    path = SCRIPTS / name
    text = path.read_text()
    given = dict.fromkeys(re.findall(r"\$(\w+)", text), "1")
    try:
        _core.check_script(str(path), text, [str(SCRIPTS)], given)
    except headrace.InternalError as error:
        return "crash", str(error).splitlines()[0]
    except headrace.Error as error:
        reason = re.sub(r"^.*?scripts/", "", str(error).splitlines()[0])
        return ("unanswered" if "cannot find '" in reason else "refused"), reason
    return "pass", ""


def difference(expected: list, found: list) -> str:
    """How a value differs from the recorded one; "" if it does not. Numbers agree to 1e-6 of the largest."""
    if len(expected) != len(found) or expected[0] != found[0]:
        return f"expected {described(expected)}, got {described(found)}"
    if len(expected) == 3:
        if expected[1] != found[1]:
            return f"expected {described(expected)}, got {described(found)}"
        cells = np.array(expected[2], float)
        cells = np.full(len(found[2]), cells[0]) if len(cells) == 1 else cells
        got = np.array(found[2], float)
        finite = np.abs(cells[np.isfinite(cells)])
        bound = 1e-6 * max(finite.max(initial=0), 1e-6)
        if np.allclose(got, cells, rtol=1e-6, atol=bound, equal_nan=True):
            return ""
        worst = int(np.argmax(np.nan_to_num(np.abs(got - cells), nan=np.inf)))
        return f"expected {cells[worst]} in cell {worst + 1}, got {got[worst]}"
    if expected[0] in ("double", "int"):
        numbers = [
            float(str(value).replace("Infinity", "inf")) for value in (expected[1], found[1])
        ]
        same = np.isclose(*numbers, rtol=1e-6, atol=1e-12, equal_nan=True)
    else:
        same = str(expected[1]).upper() == str(found[1]).upper()
    return "" if same else f"expected {expected[1]}, got {found[1]}"


def described(value: list) -> str:
    return f"a {value[0]} x {value[1]} matrix" if len(value) == 3 else f"the {value[0]} {value[1]}"


# --- Cases -------------------------------------------------------------------------------------


def names_of(group: str) -> list[str]:
    if group == "language":
        records("kept.jsonl")
        return list(records("results.jsonl"))
    if group == "library":
        records("library.jsonl")
        return list(records("cases"))
    return sorted(str(path.relative_to(SCRIPTS)) for path in SCRIPTS.rglob("*.dml"))


def run_all(names: list[tuple[str, str]], jobs: int) -> dict[tuple[str, str], tuple[str, str]]:
    by_group = {
        "language": verdict_of_language,
        "library": verdict_of_library,
        "scripts": verdict_of_script,
    }
    here = Path.cwd()

    def answer(task: str) -> str:
        os.environ["HEADRACE_THREADS"] = "1"
        os.chdir(here)
        group, name = json.loads(task)
        return json.dumps(by_group[group](name))

    found = {}
    for task, line, why in answers([json.dumps(name) for name in names], answer, jobs):
        found[tuple(json.loads(task))] = tuple(json.loads(line)) if line else ("crash", why)
    return {name: found[name] for name in names}


def worst_by_function(verdicts: dict[tuple[str, str], tuple[str, str]]) -> dict:
    """Of the library, one verdict per function: that of its worst case."""
    order = ("crash", "refused", "wrong", "unanswered", "kept", "pass")
    result: dict[tuple[str, str], tuple[str, str]] = {}
    for (group, name), verdict in verdicts.items():
        key = (group, name.split(" ")[0] if group == "library" else name)
        known = result.setdefault(key, verdict)
        if order.index(verdict[0]) < order.index(known[0]):
            result[key] = verdict
    return result


# --- Report ------------------------------------------------------------------------------------


def table_of(verdicts: dict[tuple[str, str], tuple[str, str]]) -> list[list[str]]:
    counts = collections.defaultdict(collections.Counter)
    for (group, _), (kind, _) in verdicts.items():
        counts[group][kind] += 1
    rows = [["", *KINDS]]
    for group, title in GROUPS.items():
        if group in counts:
            rows.append([title, *(str(counts[group][kind] or "") for kind in KINDS)])
    return rows


def as_text(rows: list[list[str]]) -> str:
    width = max(len(row[0]) for row in rows)
    return "\n".join(
        f"{name:{width}}" + "".join(f"{cell or 0:>12}" for cell in rest) for name, *rest in rows
    )


def write_page(path: Path, verdicts: dict[tuple[str, str], tuple[str, str]]) -> None:
    """Puts the table, and the functions of the library that do not pass, between the page's marks."""
    rows = table_of(verdicts)
    lines = ["| " + " | ".join(rows[0]) + " |", "|---|" + "---|" * len(KINDS)]
    lines += ["| " + " | ".join(row) + " |" for row in rows[1:]]
    lines += ["", "| function | verdict | reason |", "|---|---|---|"]
    for (group, name), (kind, reason) in verdicts.items():
        if group == "library" and kind != "pass":
            reason = reason.replace("|", "\\|").replace("<", "&lt;")
            lines.append(f"| `{name}` | {kind} | {reason} |")
    before, begin, rest = path.read_text().partition(
        "<!-- table: headrace conformance dml --write -->\n"
    )
    if not begin:
        raise SystemExit(f"{path}: expected the mark of the table")
    _, end, after = rest.partition("<!-- end of table -->\n")
    path.write_text(before + begin + "\n".join(lines) + "\n" + end + after)


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("headrace conformance dml", description=__doc__.split("\n")[0])
    parser.add_argument("--group", choices=GROUPS, help="of cases (default: all)")
    parser.add_argument("--filter", default="", metavar="TEXT", help="cases whose names contain it")
    parser.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help="print every case's verdict and reason, or write them to FILE",
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into a page")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(given)
    try:
        import cases.systemds  # noqa: F401
    except ImportError:
        parser.error(
            "expected the directory of the repository, whose package 'cases' has the answers"
        )
    groups = [options.group] if options.group else list(GROUPS)
    if not SCRIPTS.is_dir() and (groups != ["language"]):
        parser.error(f"expected {SCRIPTS}; run bench/scripts/fetch_systemds_scripts.py")
    names = [(g, name) for g in groups for name in names_of(g) if options.filter in name]
    if not names:
        parser.error(f"no case's name contains '{options.filter}'")
    verdicts = worst_by_function(run_all(names, min(options.jobs, len(names))))
    if options.json:
        as_json = json.dumps(
            {
                f"{group}: {name}": {"verdict": k, "reason": r}
                for (group, name), (k, r) in verdicts.items()
            }
        )
        if options.json != "-":
            Path(options.json).write_text(as_json)
    if options.json == "-":
        print(as_json)
    else:
        print(as_text(table_of(verdicts)))
        for (_, name), (kind, reason) in verdicts.items():
            if kind not in ("pass", "kept", "unanswered"):
                print(f"{kind}: {name}: {reason}")
    if options.write:
        write_page(options.write, verdicts)
    return any(kind in ("wrong", "crash") for kind, _ in verdicts.values())


if __name__ == "__main__":
    sys.exit(main())
