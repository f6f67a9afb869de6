"""Random PyTorch modules, compiled and in eager mode (test/random)."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("headrace")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from run import run_seeds  # noqa: E402
from torch_lines import LINES  # noqa: E402
from torch_modules import generate  # noqa: E402
from torch_run import COMMAND, shrink  # noqa: E402

LARGE = bool(os.environ.get("HEADRACE_LARGE_TESTS"))
COUNT = 2000 if LARGE else 16


def test_a_seed_is_a_module() -> None:
    assert generate(7) == generate(7) != generate(8)


def test_what_modules_are_made_of() -> None:
    """Views, changes in place, several results, empty tensors, gradients: each is met, most modules flow on."""
    programs = [generate(seed) for seed in range(120)]
    text = "\n".join(program.source() for program in programs)
    for part in (
        "transpose(",
        ".mul_(",
        "nn.Linear(",
        "nn.Conv",
        "self.train(True)",
        "[0",
        "expand(",
        "dropout",
    ):
        assert part in text, part
    assert sum(any(x.requires_grad for x in program.inputs) for program in programs) > 40
    assert sum(len(program.outputs) > 1 for program in programs) > 40
    assert sum(len(program.lines) >= 4 for program in programs) > 80
    assert len(LINES) > 20


def test_failing_modules_are_made_small() -> None:
    program = next(
        p for p in map(generate, range(50)) if any("softmax" in line for line in p.lines[1:])
    )
    small = shrink(program, lambda p: any("softmax" in line for line in p.lines))
    assert len(small.lines) == 1 or all("v" in line.partition("=")[2] for line in small.lines[1:])
    assert len(small.lines) < len(program.lines)


def test_random_modules() -> None:
    outcome = run_seeds(range(COUNT), os.cpu_count() or 1, COMMAND, keeps_kernels=True)
    assert not outcome.failures, "python test/random/torch_run.py --count 1 --seed SEED shrinks one"
    # Operators are withheld from every other seed, so that its graph is split.
    assert outcome.kinds["same"] > COUNT / 2 * 0.7, outcome.refusals
    assert outcome.kinds["same"] + outcome.kinds["left"] > COUNT * 0.7, outcome.refusals
