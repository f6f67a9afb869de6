"""The command `headrace`, as `python -m headrace`: for users who installed the package alone."""

import importlib
import sys

from headrace import _core

#: The commands that are written in Python, with the modules whose `main` they are.
COMMANDS = {
    "conformance": "headrace.conformance",
    "map": "headrace.distributed._command",
    "repl": "headrace.repl",
    "studio": "headrace._studio",
}


def main() -> int:
    words = sys.argv[1:]
    if words and words[0] in COMMANDS:
        return importlib.import_module(COMMANDS[words[0]]).main(words[1:])
    return _core.command_line(["headrace", *words])


if __name__ == "__main__":
    sys.exit(main())
