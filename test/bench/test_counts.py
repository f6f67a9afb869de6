"""One run over several directories of tests tells how those of each ended: pytest --counts FILE."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
FILES = {
    "one/test_a.py": "def test_right(): pass\ndef test_wrong(): assert False\n",
    "two/test_b.py": "def test_right(): pass\n",
    "two/test_c.py": "import pytest\npytest.importorskip('no_such_module')\n",
    "three/test_d.py": "import no_such_module\n",
}


def test_outcomes_are_counted_by_folder(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name, text in FILES.items():
        path = tmp_path / "test" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shutil.copy(CONFTEST, tmp_path / "test")
    options = ["-n", "2", "--counts", "counts", "--continue-on-collection-errors"]
    command = [sys.executable, "-m", "pytest", "-q", *options, "test"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    lines = [line.split() for line in (tmp_path / "counts").read_text().splitlines()]
    assert sorted((folder, outcome, int(count)) for folder, outcome, count, _ in lines) == [
        ("test/one", "around", 0),
        ("test/one", "failed", 1),
        ("test/one", "passed", 1),
        ("test/three", "error", 1),
        ("test/two", "around", 0),
        ("test/two", "passed", 1),
        ("test/two", "skipped", 1),
    ]
    assert all(float(seconds) >= 0 for *_, seconds in lines)
