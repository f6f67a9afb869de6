"""The command `headrace`, as `python -m headrace`: for users who installed the package alone."""

import sys

from headrace import _core


def main() -> int:
    if sys.argv[1:2] == ["conformance"]:  # the one command that is written in Python
        from headrace import conformance

        return conformance.main(sys.argv[2:])
    return _core.command_line(["headrace", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
