"""A random program run in every way that scripts run, compared with NumPy."""

from __future__ import annotations

import headrace as hr
import numpy as np
from scipy import sparse

from cases.scripts.programs import Program

WAYS = [(compile, formats) for compile in ("never", "always") for formats in ("dense", "sparse")]


def plain(value) -> np.ndarray:
    return value.toarray() if sparse.issparse(value) else np.asarray(value, float)


def differences(program: Program, compile: str, formats: str) -> list[str]:
    """What is wrong, in words; nothing if all variables are as expected."""
    made = sparse.csr_matrix if formats == "sparse" else np.array
    inputs = {name: made(cells) for name, cells in program.inputs.items()}
    try:
        left = hr.script(program.text, compile=compile)(**inputs)
    except Exception as error:  # any failure is a finding
        return [f"{type(error).__name__}: {error}"]
    wrong = []
    for name, expected in program.expected.items():
        found = plain(left[name])
        expected = np.asarray(expected, float)
        if found.shape != expected.shape:
            wrong.append(f"{name}: expected shape {expected.shape}, got {found.shape}")
        elif not np.allclose(found, expected, rtol=1e-8, atol=1e-8, equal_nan=True):
            at = np.argmax(~np.isclose(found, expected, rtol=1e-8, atol=1e-8, equal_nan=True))
            pair = expected.ravel()[at], found.ravel()[at]
            wrong.append(f"{name}: expected {pair[0]!r} in cell {at}, got {pair[1]!r}")
    return wrong
