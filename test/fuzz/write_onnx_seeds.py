"""Writes the models of the operators' tests as seeds.

    python test/fuzz/write_onnx_seeds.py build/fuzz-corpus/onnx

Mutations of a model seldom make the name of another operator: the fuzz target is given one of each.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from onnx_compute_cases import compute_cases  # noqa: E402
from onnx_movement_cases import movement_cases  # noqa: E402

MOST_BYTES = 4096  # what is longer is mostly weights, which mutations would change in vain


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, case in enumerate([*compute_cases(), *movement_cases()]):
        model = case.model().SerializeToString()
        if len(model) <= MOST_BYTES:
            (folder / f"operator{number}.onnx").write_bytes(model)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
