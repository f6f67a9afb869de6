#!/usr/bin/env python3
"""Compiles the architectures of cases/torch_zoo at inference and in training, and compares them with eager mode.

Usage: ./dev bench zoo [NAME ...] [--seconds N] [--write]

NAME: a part of names as "timm/", "transformers/bert" or "plain/LSTM". The packages of the families other than "plain"
are those of requirements/zoo.txt; families without their package are left out. Outcomes are added to
build/zoo.json; --write writes the table of docs/pytorch.md from that file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from cases.torch_zoo import PACKAGES, architectures

ROOT = Path(__file__).parents[2]
FOUND = ROOT / "build" / "zoo.json"
PAGE = ROOT / "docs" / "pytorch.md"
MODES = ("inference", "training")
#: The share of the work that counts as compiled.
ENOUGH = 0.9


def serve() -> None:
    """Answers each line, a name and a mode, with its outcome."""
    import torch

    from bench.zoo.check import check

    torch.set_num_threads(1)
    torch._dynamo.config.allow_rnn = True
    known, answers = architectures(), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # models print
    for line in sys.stdin:
        mode, _, name = line.strip().partition(" ")
        print(json.dumps(asdict(check(known[name], mode == "training"))), file=answers, flush=True)


class Worker:
    """A child process, and another after a crash or a case that takes too long."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.child: subprocess.Popen[str] | None = None

    def ask(self, mode: str, name: str) -> dict:
        if self.child is None:
            self.child = subprocess.Popen(
                [sys.executable, __file__, "--serve"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        self.child.stdin.write(f"{mode} {name}\n")
        self.child.stdin.flush()
        ready, _, _ = select.select([self.child.stdout], [], [], self.seconds)
        answer = self.child.stdout.readline() if ready else ""
        if answer:
            return json.loads(answer)
        why = f"more than {self.seconds:.0f} s" if not ready else "the process ended"
        self.stop()
        return {"kind": "raised", "compiled": 0.0, "programs": 0, "left": [], "text": why}

    def stop(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.wait()
            self.child = None


def load() -> dict[str, dict]:
    return json.loads(FOUND.read_text()) if FOUND.exists() else {}


def measure(names: list[str], modes: list[str], seconds: float, fresh: bool) -> None:
    worker = Worker(seconds)
    asked = 0
    for name in architectures():
        if names and not any(each in name for each in names):
            continue
        for mode in modes:
            if not fresh and mode in load().get(name, {}):
                continue
            outcome = worker.ask(mode, name)
            found = load()
            found.setdefault(name, {})[mode] = outcome
            FOUND.write_text(json.dumps(found, indent=1))
            print(f"{name:45} {mode:10} {describe(outcome)}", flush=True)
            asked += 1
            if asked % 40 == 0:
                worker.stop()  # programs of so many architectures take memory
    worker.stop()


def describe(outcome: dict) -> str:
    text = f"{outcome['kind']:6} {outcome['compiled']:4.0%} {outcome['programs']:3} programs"
    return " ".join([text, *outcome["left"][:3], outcome["text"]])


# The table


def table(found: dict[str, dict]) -> Iterator[str]:
    yield "| architectures | tried | compiled, at least 90% | wrong | raised |"
    yield "|---|---|---|---|---|"
    for family in PACKAGES:
        for mode in MODES:
            outcomes = [
                each[mode]
                for name, each in found.items()
                if name.startswith(f"{family}/") and mode in each and each[mode]["kind"] != "eager"
            ]
            if not outcomes:
                continue
            kinds = Counter(each["kind"] for each in outcomes)
            enough = sum(
                each["kind"] == "right" and each["compiled"] >= ENOUGH for each in outcomes
            )
            what = "plain PyTorch" if family == "plain" else family
            yield f"| {what}, {mode} | {len(outcomes)} | {enough} | {kinds['wrong']} | {kinds['raised']} |"
    yield ""
    yield "Less than 90% of these is compiled:"
    yield ""
    yield "| architecture | compiled | first operators left to PyTorch |"
    yield "|---|---|---|"
    for name, modes in sorted(found.items()):
        for mode, each in modes.items():
            if each["kind"] == "right" and each["compiled"] < ENOUGH:
                left = ", ".join(f"`{what}`" for what in each["left"][:2]) or "no graph is traced"
                yield f"| {name}, {mode} | {each['compiled']:.0%} | {left} |"


def write(found: dict[str, dict]) -> None:
    block = "<!-- zoo -->\n" + "\n".join(table(found)) + "\n<!-- end -->"
    PAGE.write_text(
        re.sub(r"<!-- zoo -->.*?<!-- end -->", lambda _: block, PAGE.read_text(), flags=re.DOTALL)
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--mode", choices=MODES, help="one of them")
    parser.add_argument("--seconds", type=float, default=300, help="that a case may take")
    parser.add_argument(
        "--fresh", action="store_true", help="also those with an outcome in the file"
    )
    parser.add_argument("--write", action="store_true", help="write the table of the page")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    measure(
        options.names, [options.mode] if options.mode else [*MODES], options.seconds, options.fresh
    )
    if options.write:
        write(load())


if __name__ == "__main__":
    main()
