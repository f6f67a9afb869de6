"""Public scripts of SystemDS, unmodified, against NumPy. bench/scripts/fetch_systemds_scripts.py gets
them; without them these tests are skipped."""

from __future__ import annotations

import os
from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close

FOLDER = Path(__file__).resolve().parents[3] / "build" / "systemds-scripts" / "scripts" / "builtin"
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="bench/scripts/fetch_systemds_scripts.py has not been run"
)
# Data of some size with HEADRACE_LARGE_TESTS=1.
ROWS, COLS = (100_000, 50) if os.environ.get("HEADRACE_LARGE_TESTS") else (3000, 10)


def data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = random.uniform(-1, 1, (ROWS, COLS))
    return x, x @ random.uniform(-1, 1, (COLS, 1)) + 0.1 * random.standard_normal((ROWS, 1))


def lm_cg(x: np.ndarray, y: np.ndarray, icpt: int, reg: float, tol: float) -> np.ndarray:
    """Conjugate gradients as lmCG does them, on matrices that are shifted and scaled outright."""
    if icpt > 0:
        x = np.hstack([x, np.ones((len(x), 1))])
    m = x.shape[1]
    penalty = np.full((m, 1), reg)
    transform = np.eye(m)
    if icpt > 0:
        penalty[-1] = 0
    if icpt == 2:
        mean = x[:, :-1].mean(0)
        scale = 1 / x[:, :-1].std(0, ddof=1)
        transform[:-1, :-1] = np.diag(scale)
        transform[-1, :-1] = -mean * scale
    z = x @ transform
    beta = np.zeros((m, 1))
    r = -z.T @ y
    p = -r
    norm = float((r**2).sum())
    target = norm * tol**2
    for _ in range(m):
        if norm <= target:
            break
        q = z.T @ (z @ p) + penalty * p
        a = norm / float((p * q).sum())
        beta += a * p
        r += a * q
        old, norm = norm, float((r**2).sum())
        p = -r + norm / old * p
    return transform @ beta


def l2svm(x, y, epsilon=0.001, reg=1.0, max_iterations=100, max_inner=20) -> np.ndarray:
    w = np.zeros((x.shape[1], 1))
    xw = np.zeros((len(x), 1))
    g_old = x.T @ y
    s = g_old
    for _ in range(max_iterations):
        step = 0.0
        xd = x @ s
        wd, dd = reg * (w * s).sum(), reg * (s * s).sum()
        for _ in range(max_inner):
            out = 1 - y * (xw + step * xd)
            sv = out > 0
            out = out * sv
            g = wd + step * dd - (out * y * xd).sum()
            h = dd + (xd * sv * xd).sum()
            step -= g / h
            if g * g / h < epsilon:
                break
        w = w + step * s
        xw = xw + step * xd
        out = np.maximum(1 - y * xw, 0)
        obj = 0.5 * (out * out).sum() + reg / 2 * (w * w).sum()
        g_new = x.T @ (out * y) - reg * w
        go_on = step * (s * g_old).sum() >= epsilon * obj and (s**2).sum() != 0
        be = (g_new * g_new).sum() / (g_old * g_old).sum()
        s = be * s + g_new
        g_old = g_new
        if not go_on:
            break
    return w


@pytest.mark.parametrize("icpt", [0, 1, 2])
def test_lmcg(icpt: int) -> None:
    x, y = data()
    text = f"B = lmCG(X=X, y=y, icpt={icpt}, reg=1e-7, tol=1e-7, verbose=FALSE)"
    found = hr.script(text, script_path=[FOLDER])(X=x, y=y)["B"]
    np.testing.assert_allclose(found, lm_cg(x, y, icpt, 1e-7, 1e-7), rtol=1e-9, atol=1e-9)


def test_l2svm() -> None:
    x, y = data()
    labels = np.where(y > 0, 1.0, -1.0)
    text = "model = l2svm(X=X, Y=Y, epsilon=1e-3, reg=1, verbose=FALSE)"
    found = hr.script(text, script_path=[FOLDER])(X=x, Y=labels)["model"]
    np.testing.assert_allclose(found, l2svm(x, labels), rtol=1e-9, atol=1e-9)


def test_lmcg_of_a_sparse_matrix() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.random(2000, 30, 0.05, "csr", random_state=1)
    y = np.asarray(x.sum(1)).reshape(-1, 1)
    text = "B = lmCG(X=X, y=y, verbose=FALSE)"
    found = hr.script(text, script_path=[FOLDER])(X=x, y=y)["B"]
    np.testing.assert_allclose(found, lm_cg(x.toarray(), y, 0, 1e-7, 1e-7), rtol=1e-7, atol=1e-9)


def test_pagerank() -> None:
    graph = np.random.default_rng(0).random((40, 40))
    start = np.full((40, 1), 1 / 40)
    text = "p = pageRank(G=G, p=start, max_iter=5)"
    found = hr.script(text, script_path=[FOLDER])(G=graph, start=start)["p"]
    p = start
    for _ in range(5):
        p = 0.85 * (graph @ p) + 0.15 * (np.ones((40, 1)) @ (np.ones((1, 40)) @ p))
    assert_close(found, p, tolerance=1e-9)
