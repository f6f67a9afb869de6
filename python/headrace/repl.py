"""An interactive session of scripts in DML: statements run as they are entered, variables stay.

    headrace repl [--script-path DIR ...] [FILE.dml]

A line that is an expression is printed. Functions and source(...) statements stay, too. TAB completes names;
the history is kept in ~/.headrace_history. Ctrl-C ends what runs, Ctrl-D the session.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from pathlib import Path
from typing import Any

HISTORY = Path.home() / ".headrace_history"
#: A statement that is not an expression: an assignment, control flow, a call without a value.
STATEMENT = re.compile(
    r"^\s*(\[.*\]|[\w.:]+(\[.*\])?)\s*(\+?=(?!=)|<-)|^\s*(if|for|parfor|while|source|setwd|print|stop|write|assert)\b",
    re.DOTALL,
)
FUNCTION = re.compile(r"^\s*[\w.]+\s*=\s*(external)?function\b")


class Session:
    """Variables and functions that entries leave."""

    def __init__(self, script_path: list[str], write: Any = print) -> None:
        self.script_path = script_path
        self.write = write
        self.definitions: list[str] = []
        self.variables: Any = None

    def names(self) -> list[str]:
        return [] if self.variables is None else self.variables.names()

    def enter(self, text: str) -> None:
        """Runs an entry; raises the errors of headrace.errors."""
        from headrace import _core

        keeps = FUNCTION.match(text) or re.match(r"\s*source\s*\(", text)
        if not keeps and text.strip() and not STATEMENT.match(text):
            text = f"print({text.strip().rstrip(';')})"
        whole = "\n".join([*self.definitions, text])
        session = _core.script("repl", whole, self.script_path, "auto", self.write, [])
        self.variables = session.run({}, {}, self.variables)
        if keeps:
            self.definitions.append(text)


def is_complete(text: str) -> bool:
    """Whether all parentheses, brackets, braces and quotes are closed."""
    plain = re.sub(r"#.*", "", re.sub(r'"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\\n])*\'', "", text))
    return all(plain.count(a) <= plain.count(b) for a, b in ("()", "[]", "{}"))


def use_readline(session: Session) -> None:
    """History and completion, where Python has them."""
    try:
        import readline
    except ImportError:
        return
    import atexit

    from headrace import _core

    functions = _core.script_functions()

    def complete(word: str, state: int) -> str | None:
        names = sorted(session.names()) + [f"{name}(" for name in functions]
        found = [name for name in names if name.startswith(word)]
        return found[state] if state < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n+-*/^%<>=!&|(),[]{};:\"'")
    readline.parse_and_bind("tab: complete")
    with contextlib.suppress(OSError):
        readline.read_history_file(HISTORY)
    readline.set_history_length(2000)

    def save() -> None:
        with contextlib.suppress(OSError):
            readline.write_history_file(HISTORY)

    atexit.register(save)


def read_entry() -> str:
    interactive = sys.stdin.isatty()
    text = input("dml> " if interactive else "")
    while not is_complete(text):
        text += "\n" + input("...> " if interactive else "")
    return text


def main(given: list[str] | None = None) -> int:
    from headrace import errors

    parser = argparse.ArgumentParser("headrace repl", description=__doc__.partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, help="a script to run first")
    parser.add_argument("--script-path", nargs="+", default=[], metavar="DIR")
    options = parser.parse_args(given)
    session = Session([os.fspath(folder) for folder in options.script_path])
    if options.file:
        try:
            session.enter(options.file.read_text())
        except (OSError, errors.Error) as error:
            print(f"headrace: error: {error}", file=sys.stderr)
            return 1
    if sys.stdin.isatty():
        use_readline(session)
    failed = False
    while True:
        try:
            session.enter(read_entry())
        except EOFError:
            return int(failed and not sys.stdin.isatty())
        except KeyboardInterrupt:
            print()
        except errors.Error as error:
            failed = True
            print(f"error: {error}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
