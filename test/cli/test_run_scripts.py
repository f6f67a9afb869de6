"""Scripts on the command line: arguments, files, reports, errors."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

BIN = os.environ.get("HEADRACE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "scripts"


def headrace(*arguments, **settings) -> subprocess.CompletedProcess[str]:
    settings.setdefault("timeout", 120)
    command = [BIN, "run", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **settings)


def good(*arguments, **settings) -> str:
    done = headrace(*arguments, **settings)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def bad(*arguments, **settings) -> str:
    done = headrace(*arguments, **settings)
    assert done.returncode == 1
    return done.stderr


def script(folder: Path, text: str) -> Path:
    path = folder / "test.dml"
    path.write_text(text)
    return path


def test_arguments(tmp_path) -> None:
    path = script(tmp_path, 'print($a + 1); print($name); print(ifdef($other, "none"))')
    assert good(path, "-nvargs", "a=2", "name=x") == "3\nx\nnone\n"
    path = script(tmp_path, "print($1 * $2)")
    assert good(path, "-args", 6, 7) == "42\n"
    assert "expected NAME=VALUE" in headrace(path, "-nvargs", "a").stderr


def test_conjugate_gradient(tmp_path) -> None:
    random = np.random.default_rng(1)
    x = random.random((200, 6))
    y = x @ np.arange(1.0, 7).reshape(-1, 1)
    np.savetxt(tmp_path / "X.csv", x, delimiter=",", fmt="%.17g")
    np.savetxt(tmp_path / "y.csv", y, delimiter=",", fmt="%.17g")
    for icpt in (0, 1):
        good(
            EXAMPLES / "conjugate_gradient.dml",
            "-args",
            "X.csv",
            "y.csv",
            icpt,
            "w.csv",
            cwd=tmp_path,
        )
        ext = np.hstack([x, np.ones((200, icpt))])
        expected = np.linalg.solve(ext.T @ ext + 0.001 * np.eye(6 + icpt), ext.T @ y)
        found = np.loadtxt(tmp_path / "w.csv", delimiter=",").reshape(-1, 1)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
        assert '"rows": ' + str(6 + icpt) in (tmp_path / "w.csv.mtd").read_text()


def test_pagerank() -> None:
    output = good(EXAMPLES / "pagerank.dml", "-nvargs", "n=2000", "-stats")
    assert "sum of ranks: 1.000000" in output
    assert "cache hits" in output and "recompilations" in output and "%*%" in output


def test_statistics_name_the_file_of_a_kernel(tmp_path) -> None:
    path = script(tmp_path, "X = rand(rows=50, cols=50, seed=1)\nprint(sum(X * 2 + 1))")
    lines = good(path, "-stats", "--compile", "always").splitlines()
    assert [line for line in lines if line.startswith("  test.dml ") and "sum:2" in line]


def test_explain_shows_sizes_before_and_at_run_time(tmp_path) -> None:
    path = script(
        tmp_path, "X = rand(rows=$n, cols=3, seed=1)\nif ($n > 5) X = X * 2\nprint(sum(X %*% t(X)))"
    )
    output = good(path, "-nvargs", "n=400", "-explain", "hops")
    before, after = output.split("# at run time\n")
    assert "rand [" in before and "400 x 3" in before and "400 x 400" in before
    assert "block at" in after and "s0 = 400" in after


def test_explain_shows_what_became_one(tmp_path) -> None:
    path = script(
        tmp_path,
        "X = rand(rows=3000, cols=10, seed=1); Y = X + 1\nif (nrow(X) > 1) print(sum(X * Y * X))",
    )
    output = good(path, "-explain", "runtime", "--compile", "always")
    assert "walk: *:2 sum:2; reads 480.0 kB" in output, "both products and the sum read X once"
    assert "instead of" in output


def test_explain_tells_how_kernels_were_planned(tmp_path) -> None:
    path = script(
        tmp_path,
        "X = rand(rows=3000, cols=10, seed=1); v = rand(rows=10, cols=1, seed=2)\n"
        "if (nrow(X) > 1) {\n  p = X %*% v\n  g = t(X) %*% (p - 1)\n"
        "  print(sum(g) + sum(X / (1 + sum(p))))\n}",
    )
    output = good(path, "-explain", "codegen", "--compile", "always")
    assert "candidate kernels" in output and "plans priced" in output, output
    assert "missed: " in output and ", because " in output, output


def test_errors_show_the_place(tmp_path) -> None:
    path = script(tmp_path, "x = 1\ny = x + + \n")
    lines = bad(path).splitlines()
    assert lines[0].startswith(f"headrace: error: {path}:2:") or lines[0].startswith(
        f"headrace: error: {path}:3:"
    )
    path = script(tmp_path, "X = matrix(1, 3, 2)\nprint(sum(X %*% X))\n")
    lines = bad(path).splitlines()
    assert lines[0].startswith(
        f"headrace: error: {path}:2:13: '%*%' of matrices of 3 x 2 and 3 x 2"
    )
    assert lines[1] == "  print(sum(X %*% X))"
    assert lines[2] == "              ^"


@pytest.mark.parametrize(
    ("content", "metadata", "message"),
    [
        ("1,2\n3\n", None, ":2"),
        ("1,2\n3,x\n", None, "x"),
        ("1,2\n", '{"rows": 5, "cols": 2, "format": "csv"}', "5"),
        (None, None, "no such file"),
        ("1,2\n", '{"rows": ', ".mtd"),
    ],
)
def test_file_errors_are_one_line_each(tmp_path, content, metadata, message) -> None:
    if content is not None:
        (tmp_path / "X.csv").write_text(content)
    if metadata is not None:
        (tmp_path / "X.csv.mtd").write_text(metadata)
    path = script(tmp_path, 'X = read($X, format = "csv")\nprint(sum(X))')
    lines = bad(path, "-nvargs", f"X={tmp_path / 'X.csv'}").splitlines()
    assert "X.csv" in lines[0] and message.lower() in lines[0].lower()
    assert len(lines) == 3, "the message, the line, the caret"


def test_files_are_read_and_written(tmp_path) -> None:
    path = script(
        tmp_path,
        'X = read($X); Y = X * 2; write(Y, "Y.mtx", format="mm"); write(sum(Y), "s.txt");'
        'Z = read("Y.mtx"); print(sum(abs(Y - Z)))',
    )
    (tmp_path / "X.csv").write_text("1,0,2\n0,0,3\n")
    (tmp_path / "X.csv.mtd").write_text(
        '{"data_type": "matrix", "format": "csv", "rows": 2, "cols": 3}'
    )
    assert good(path, "-nvargs", "X=X.csv", cwd=tmp_path) == "0.0\n"
    assert (tmp_path / "Y.mtx").read_text().startswith("%%MatrixMarket")
    assert float((tmp_path / "s.txt").read_text()) == 12


def test_options_as_systemds_spells_them(tmp_path) -> None:
    path = script(tmp_path, "X = rand(rows=3, cols=3); print(sum(X) + $a)")
    command = [
        BIN,
        "-f",
        str(path),
        "-exec",
        "singlenode",
        "-debug",
        "-seed",
        "7",
        "-nvargs",
        "a=1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    other = good("-f", path, "-seed", "8", "-nvargs", "a=1")
    assert done.stdout != other
    assert good("-f", path, "-seed", "7", "-nvargs", "a=1") == done.stdout
    assert good("-s", "print(1 + $a)", "-nvargs", "a=2") == "3\n"
    assert "expected singlenode or hybrid" in headrace(path, "-exec", "spark").stderr


def test_statistics_of_the_slowest_operators(tmp_path) -> None:
    path = script(tmp_path, "X = rand(rows=30, cols=3); print(sum(X %*% t(X)) + sum(exp(X)))")
    lines = good(path, "-stats", "2").splitlines()
    assert len(lines) - lines.index("operators               calls    seconds") == 3
    assert len(good(path, "-stats").splitlines()) > len(lines)


def test_kinds_of_explanations(tmp_path) -> None:
    path = script(tmp_path, "X = matrix(1, 3, 3); print(sum(X + 1))")
    runtime = good(path, "-explain")
    assert runtime == good(path, "-explain", "runtime")
    assert runtime == good(path, "-explain", "recompile_runtime")
    assert good(path, "-explain", "hops") == good(path, "-explain", "recompile_hops")
