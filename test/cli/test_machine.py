"""headrace machine: the rates that costs are estimated with."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

BIN = os.environ.get("HEADRACE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")
KINDS = {"product", "window", "simple", "division", "elementary", "scalar"}


def headrace(
    *words: str, cache: Path | None = None, **settings: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HEADRACE_CACHE_DIR": str(cache) if cache else ""}
    environment.pop("HEADRACE_RATES", None)
    environment.update(settings)
    return subprocess.run(
        [str(BIN), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=environment,
    )


def test_tables_show_memory_arithmetic_and_calls() -> None:
    done = headrace("machine")
    assert done.returncode == 0
    for word in ("memory", "arithmetic", "product", "per call: ", "derived"):
        assert word in done.stdout


def test_what_cannot_be_measured_here_is_not_offered() -> None:
    done = headrace("machine", "--target", "cuda")
    assert done.returncode == 0 and "derived from its description" in done.stdout
    assert "--calibrate" not in done.stdout


def test_json_has_every_rate() -> None:
    rates = json.loads(headrace("machine", "--target", "cpu:x86-64-v3", "--json").stdout)
    assert rates["machine"] == "x86-64-v3"
    assert not rates["measured"]
    assert set(rates["speeds"]) == {"f32", "f64", "narrow"}
    assert all(set(speeds) == KINDS for speeds in rates["speeds"].values())
    sets = [row[0] for row in rates["memory"]]
    assert sets == sorted(sets)


def test_a_level_of_processors_has_the_same_rates_everywhere(tmp_path: Path) -> None:
    words = ("machine", "--target", "cpu:x86-64-v2", "--json")
    assert headrace(*words).stdout == headrace(*words, cache=tmp_path).stdout


def test_a_file_pins_the_rates(tmp_path: Path) -> None:
    rates = json.loads(headrace("machine", "--json", HEADRACE_RATES="derived").stdout)
    rates["machine"], rates["calls"]["library"] = "another one", 7.5
    file = tmp_path / "rates.json"
    file.write_text(json.dumps(rates))
    pinned = headrace("machine", "--json", HEADRACE_RATES=str(file))
    assert json.loads(pinned.stdout) == rates, pinned.stderr
    for text in ("{}", "", json.dumps({**rates, "threads": 0})):
        file.write_text(text)
        done = headrace("machine", HEADRACE_RATES=str(file))
        assert done.returncode == 1 and "rates.json" in done.stderr, (text, done.stderr)
        assert "Traceback" not in done.stderr and done.stderr.count("\n") == 1, done.stderr
    done = headrace("machine", HEADRACE_RATES=str(tmp_path / "absent.json"))
    assert done.returncode == 1 and "absent.json" in done.stderr


def test_the_highest_level_to_use_bounds_this_cpu() -> None:
    widths = {}
    for level in ("x86-64-v2", "x86-64-v3"):
        done = headrace("machine", "--json", HEADRACE_CPU_LEVEL=level, HEADRACE_RATES="derived")
        widths[level] = json.loads(done.stdout)["speeds"]["f32"]["product"]
    assert widths["x86-64-v2"] < widths["x86-64-v3"]
    done = headrace("machine", HEADRACE_CPU_LEVEL="i486")
    assert done.returncode == 1 and "HEADRACE_CPU_LEVEL: expected x86-64-v2" in done.stderr


def test_devices_have_rates() -> None:
    assert (
        json.loads(headrace("machine", "--target", "cuda:sm_90a", "--json").stdout)["threads"] > 1
    )


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """A cache after a calibration, and the rates that it found."""
    cache = tmp_path_factory.mktemp("calibrated")
    return cache, json.loads(headrace("machine", "--calibrate", "--json", cache=cache).stdout)


def test_a_calibration_is_kept_and_used(calibrated: tuple[Path, dict]) -> None:
    cache, measured = calibrated
    assert measured["measured"]
    assert json.loads(headrace("machine", "--json", cache=cache).stdout) == measured
    assert all(value > 0 for value in measured["speeds"]["f32"].values())


def test_damaged_rates_are_not_used(calibrated: tuple[Path, dict], tmp_path: Path) -> None:
    cache = shutil.copytree(calibrated[0], tmp_path / "cache")
    (file,) = cache.rglob("*.rates")
    file.write_bytes(file.read_bytes()[:-20])
    done = headrace("machine", "--json", cache=cache)
    assert not json.loads(done.stdout)["measured"]
    assert done.stderr == "headrace: not used: the stored machine parameters are damaged\n"


def test_only_this_processor_is_measured() -> None:
    done = headrace("machine", "--calibrate", "--target", "cpu:x86-64-v2")
    assert done.returncode == 1
    assert "expected the target cpu, which is measured here, got 'cpu:x86-64-v2'" in done.stderr


def test_wrong_usage_is_told_with_where_to_read_on() -> None:
    done = headrace("machine", "--measure")
    assert done.returncode == 2
    assert "(see headrace machine --help)" in done.stderr
    assert headrace("machine", "--target", "abacus").returncode == 1


def test_help_has_examples() -> None:
    assert "headrace machine --calibrate" in headrace("machine", "--help").stdout


def test_profiles_show_predictions() -> None:
    model = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"
    words = ("bench", str(model), "--profile", "--seconds", "0.05", "--rounds", "1")
    assert "predicted" in headrace(*words).stdout
    kernels = json.loads(headrace(*words, "--json").stdout)["kernels"]
    assert all(kernel["predicted_us"] > 0 for kernel in kernels)
