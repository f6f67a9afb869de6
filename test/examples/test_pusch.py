"""The receiver of a 5G uplink: right, like NumPy's, and explored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "pusch" / "run.py"


def rows(*words: str) -> list[dict]:
    command = [sys.executable, str(SCRIPT), "--small", "--json", *words]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_systems_are_solved_and_bit_errors_fall_with_noise() -> None:
    found = rows()
    assert [row["snr"] for row in found] == [0, 10, 20, 30]
    for row in found:
        assert row["residual_lu"] <= 1e-10 and row["residual_cholesky"] <= 1e-10
        assert row["lu_cholesky"] <= 1e-9 and row["numpy"] <= 1e-9
    errors = [row["bit_errors"] for row in found]
    assert errors[0] > 0.1 and errors[-1] < 1e-3 and errors == sorted(errors, reverse=True)
    vectors = [row["evm"] for row in found]
    assert vectors == sorted(vectors, reverse=True)


def test_the_error_vector_on_an_identity_channel_is_that_of_its_closed_form() -> None:
    # The noise itself, and of each of 4 layers an estimate: half of it on carriers with pilots, a
    # quarter between them.
    closed_form = 10 * np.log10(1 + 4 * (1 / 2 + 1 / 4) / 2)
    for row in rows("--identity"):
        if row["snr"] >= 10:
            assert row["evm"] == pytest.approx(closed_form - row["snr"], abs=1)


def test_both_factorizations_and_both_transforms_are_explored() -> None:
    found = rows("--explore")

    def best(program: str, elements: int, word: str = "") -> dict:
        return next(
            row
            for row in found
            if row["program"] == program
            and row["processing_elements"] == elements
            and word in row["implementation"]
        )

    assert best("systems", 16, "cholesky")["off_chip"] < best("systems", 16, "lu")["off_chip"]
    assert (
        best("receiver", 16, "all cholesky")["makespan"]
        <= best("receiver", 16, "all lu")["makespan"]
    )
    one, two = best("FFT in one step", 16), best("FFT in two steps", 16)
    assert two["makespan"] < one["makespan"] and two["off_chip"] < one["off_chip"]
