"""Schedules that are listed as alternatives of a kernel are legal: a recipe may ask for each."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import headrace as hr
import pytest

COMMAND = os.environ.get("HEADRACE_BIN", "headrace")
LARGE = bool(os.environ.get("HEADRACE_LARGE_TESTS"))
PHASES = {"cpu": "tiles", "cuda": "functions"}  # in which schedules become loops
MODELS = ["lenet", "mobilenet_v2", "bert_layer", "resnet18", "layernorm"]


def alternatives(path: Path, target: str) -> dict[str, list[str]]:
    command = [COMMAND, "explain", path, "--to", "schedule", "--json", "--target", target]
    graph = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {node["id"]: node["alternatives"] for node in graph["nodes"] if node["alternatives"]}


def with_schedules(recipe: str, chosen: dict[str, str]) -> str:
    """The recipe with other schedules of some kernels, which decide how weights are packed and results sliced."""
    lines, replaced = [], False
    for line in recipe.splitlines():
        if line.startswith("kernel "):
            kernel = line.removeprefix("kernel ").removesuffix(":")
            replaced = kernel in chosen
            lines += [line, f"  {chosen[kernel]}"] if replaced else [line]
        elif not line.startswith(("pack ", "slice ")) and not (replaced and line.startswith("  ")):
            lines.append(line)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("target", ["cpu", "cpu:x86-64-v3", "cuda"])
@pytest.mark.parametrize("name", MODELS if LARGE else MODELS[:3])
def test_every_listed_alternative_is_followed(small_models: Path, name: str, target: str) -> None:
    path = small_models / f"{name}.onnx"
    listed = alternatives(path, target)
    assert listed
    whole = hr.load(path, target=target).explain()["recipe"]
    # Those of different kernels at the same time: each at least once.
    for number in range(max(map(len, listed.values()))):
        chosen = {kernel: lines[number % len(lines)] for kernel, lines in listed.items()}
        recipe = with_schedules(whole, chosen)
        lowered = hr.load(path, target=target, recipe=recipe).ir(PHASES[target.partition(":")[0]])
        assert "hr.recipe_refused" not in lowered, recipe
