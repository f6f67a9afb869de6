"""Fit a regression to a data set of scikit-learn with a script, check the fit, and show the script's plan.

pip install scikit-learn
python examples/scripts/diabetes.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

HERE = Path(__file__).resolve().parent
LAMBDA = 1.0


def write_csv(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The data as people have them: a header, and a category as a word."""
    data = load_diabetes(scaled=False)
    names = [*data.feature_names, "target"]
    rows = np.column_stack([data.data, data.target])
    sex = data.feature_names.index("sex")
    lines = [",".join(names)]
    for row in rows:
        cells = [repr(float(cell)) for cell in row]
        cells[sex] = "female" if row[sex] == 1 else "male"
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n")
    return data.data, data.target


def expected_fit(x: np.ndarray, y: np.ndarray) -> float:
    """R2 on the held-back rows by scikit-learn, with both columns of the category."""
    sex = x[:, 1] == 1
    x = np.column_stack([x[:, :1], sex, ~sex, x[:, 2:]])
    held = np.arange(1, len(x) + 1) % 4 == 0
    mean, spread = x[~held].mean(0), x[~held].std(0, ddof=1)
    z = (x - mean) / spread
    return Ridge(alpha=LAMBDA).fit(z[~held], y[~held]).score(z[held], y[held])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        csv = Path(folder) / "diabetes.csv"
        x, y = write_csv(csv)
        command = [sys.executable, "-m", "headrace", "run", str(HERE / "diabetes.dml")]
        command += ["-nvargs", f"data={csv}", f"lambda={LAMBDA}"]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(f"scikit-learn: {expected_fit(x, y):.3f}\n")
        command += ["--compile", "always", "-explain", "runtime"]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    main()
