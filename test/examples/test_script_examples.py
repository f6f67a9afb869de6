"""The examples of scripts run, and give what scikit-learn gives."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("sklearn")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "scripts"
FETCHED = EXAMPLES.parents[1] / "build" / "systemds-scripts"


def test_regression_on_the_diabetes_data(capsys) -> None:
    runpy.run_path(str(EXAMPLES / "diabetes.py"))["main"]()
    shown = capsys.readouterr().out
    ours = float(re.search(r"held back: ([\d.]+)", shown)[1])
    theirs = float(re.search(r"scikit-learn: ([\d.]+)", shown)[1])
    assert ours == pytest.approx(theirs, abs=1e-3)
    assert "solve" in shown


@pytest.mark.skipif(not FETCHED.is_dir(), reason="fetch_systemds_scripts.py has not been run")
def test_network_on_digits() -> None:
    assert runpy.run_path(str(EXAMPLES / "digits.py"))["main"]() > 0.85
