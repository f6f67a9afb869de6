"""Writes the models of the operators' tests as seeds.

    python test/fuzz/write_onnx_seeds.py build/fuzz-corpus/onnx

Mutations of a model seldom make the name of another operator: the fuzz target is given one of each.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cases.operators.compute import compute_cases
from cases.operators.movement import movement_cases

MOST_BYTES = 4096  # what is longer is mostly weights, which mutations would change in vain


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, case in enumerate([*compute_cases(), *movement_cases()]):
        model = case.model().SerializeToString()
        if len(model) <= MOST_BYTES:
            (folder / f"operator{number}.onnx").write_bytes(model)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
