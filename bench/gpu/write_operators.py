"""The operators of a kit: programs compiled, their inputs, and what the reference evaluation makes of them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import headrace as hr
import ml_dtypes
import numpy as np

from cases.gpu import operators


def plain(array: np.ndarray) -> np.ndarray:
    """The array as a file of NumPy's takes it: bf16 as its bits."""
    return array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array


def write(kit: Path, target: str) -> int:
    """The programs into a directory of the kit; those the compiler rejects are named and counted."""
    folder = kit / "operators"
    folder.mkdir()
    made, left_out = [], 0
    for number, case in enumerate(operators.cases()):
        with tempfile.TemporaryDirectory() as place:
            model = case.save(Path(place))
            name = f"{number:04}"
            try:
                expected = hr.load(model).reference(*case.inputs.values())
                hr.write_package(model, folder / f"{name}.hrpkg", target=target)
            except hr.Error as error:
                print(f"operators: left out {case.name}: {error}")
                left_out += 1
                continue
        results = list(expected) if isinstance(expected, tuple) else [expected]
        given = list(case.inputs.values())
        arrays = {f"in{i}": plain(x) for i, x in enumerate(given)}
        arrays |= {f"out{i}": plain(y) for i, y in enumerate(results)}
        np.savez(folder / f"{name}.npz", **arrays)
        made.append(
            {
                "file": name,
                "case": case.name,
                "inputs": [x.dtype.name for x in given],
                "outputs": [y.dtype.name for y in results],
            }
        )
        if isinstance(case, operators.RandomGraph):
            made[-1]["tolerances"] = case.tolerances()
    (folder / "index.json").write_text(json.dumps(made))
    print(f"operators: {len(made)} programs")
    return left_out
