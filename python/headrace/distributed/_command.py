"""headrace map: batch inference on a cluster, from the command line."""

from __future__ import annotations

import argparse
import sys
import time

from headrace import distributed
from headrace.errors import Error, InternalError

_EPILOG = """examples:
  headrace map digits.onnx images/ --output logits/
  headrace map digits.hrpkg rows.csv --output logits/ --cluster 10.0.0.5:6379
exit codes: 0 done, 1 error or inputs that failed, 2 wrong usage, 70 internal error, 130 interrupted"""


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    progress = _Progress()
    try:
        report = distributed.map(
            options.program,
            options.inputs,
            options.output,
            cluster=options.cluster,
            batch=options.batch,
            whole=options.whole,
            insecure=options.insecure,
            progress=progress.show,
        )
    except KeyboardInterrupt:
        progress.clear()
        print(f"headrace: stopped; the same command continues in {options.output}", file=sys.stderr)
        return 130
    except InternalError as error:
        progress.clear()
        print(f"headrace: error: {error}", file=sys.stderr)
        return 70
    except Error as error:
        progress.clear()
        print(f"headrace: error: {error}", file=sys.stderr)
        return 1
    progress.clear()
    for failure in report.failures[: options.failures]:
        print(f"headrace: {failure}", file=sys.stderr)
    if (more := len(report.failures) - options.failures) > 0:
        print(f"headrace: and {more} more (done.jsonl lists all)", file=sys.stderr)
    print(report)
    return 1 if report.failures else 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="headrace map",
        description="Run a model on many inputs, on all machines of a Ray cluster. A run that was "
        "interrupted continues when the command is repeated.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("program", metavar="MODEL", help="ONNX model or package")
    parser.add_argument(
        "inputs",
        metavar="INPUTS",
        nargs="+",
        help="npy, npz, csv or Parquet files, whose rows are inputs, or directories of them",
    )
    parser.add_argument("--output", metavar="DIR", required=True, help="directory for the results")
    parser.add_argument(
        "--cluster",
        metavar="auto|ADDRESS",
        default="auto",
        help="auto: that of RAY_ADDRESS, else a new one on this machine (default)",
    )
    parser.add_argument(
        "--batch", metavar="N", type=int, help="rows computed together (default: 32)"
    )
    parser.add_argument("--whole", action="store_true", help="run the program once per file")
    parser.add_argument(
        "--failures", metavar="N", type=int, default=10, help="failed inputs to list (default: 10)"
    )
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="accept a cluster without token authentication, on which anybody can run code",
    )
    return parser.parse_args(arguments)


class _Progress:
    """A line on a terminal that is written again: what is done, how fast, and the time left."""

    def __init__(self) -> None:
        self.is_shown = sys.stderr.isatty()
        self.last = 0.0
        self.width = 0

    def show(self, done: int, known: int, seconds: float) -> None:
        now = time.monotonic()
        if not self.is_shown or now - self.last < 0.2:
            return
        self.last = now
        rate = done / seconds if seconds else 0.0
        text = f"{done} of {known} inputs, {rate:.0f} per s"
        if rate:
            text += f", {(known - done) / rate:.0f} s left"
        self.write(text)

    def write(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def clear(self) -> None:
        if self.width:
            self.write("")
            sys.stderr.write("\r")
            self.width = 0
