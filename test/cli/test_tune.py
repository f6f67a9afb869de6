"""headrace tune: schedules measured, logged, resumed, stored and used by later compilations."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx writes the models")
from onnx import TensorProto, helper, numpy_helper
from vta_networks import Network

ROOT = Path(__file__).resolve().parents[2]
BIN = os.environ.get("HEADRACE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")


def run(*words: object, **variables: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    command = [str(BIN), *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=environment
    )


def good(*words: object, **variables: object) -> str:
    done = run(*words, **variables)
    assert done.returncode == 0, done
    return done.stdout


def matmul(path: Path, rows: int = 48, depth: int = 64, columns: int = 96) -> Path:
    weights = np.random.default_rng(0).standard_normal((depth, columns)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["p"], "product"),
            helper.make_node("Relu", ["p"], ["y"], "relu"),
        ],
        "matmul",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, depth])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, columns])],
        [numpy_helper.from_array(weights, "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def vta_layers(path: Path) -> Path:
    n = Network(3)
    x = n.input(1, 16, 14, 14)
    x = n.conv(x, 32, 3, relu=True)
    x = n.conv(x, 32, 1)
    n.output(x)
    return n.write(path)


def trials(log: Path) -> list[dict]:
    return [json.loads(line) for line in log.read_text().splitlines()]


#: A measuring process that answers as the environment says, in turns.
WORKER = """#!{python}
import json, os, signal, sys, time
count = 0
for line in sys.stdin:
    request = json.loads(line)
    assert os.path.exists(request["package"]) and os.path.exists(request["reference"])
    count += 1
    kind = {kinds!r}[count % len({kinds!r})]
    if kind == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "hang":
        time.sleep(100)
    if kind == "garbage":
        print("not an answer", flush=True)
        continue
    if kind == "wrong":
        print(json.dumps({{"wrong": "output 0: element 5: expected 1, got 2"}}), flush=True)
        continue
    print(json.dumps({{"us": 5.0, "default_us": 10.0, "cold_us": 5.0, "default_cold_us": 10.0}}), flush=True)
"""


def worker(path: Path, *kinds: str) -> Path:
    path.write_text(WORKER.format(python=sys.executable, kinds=kinds))
    path.chmod(0o755)
    return path


def test_results_are_used_by_later_compilations(tmp_path: Path) -> None:
    model, store, log = matmul(tmp_path / "m.onnx"), tmp_path / "tuned.jsonl", tmp_path / "log"
    words = ("--expansion", "generated")
    fast = worker(tmp_path / "worker", "fast")
    out = good(
        "tune",
        model,
        *words,
        "--trials",
        4,
        "--log",
        log,
        "--seconds",
        0.01,
        HEADRACE_TUNED=store,
        HEADRACE_TUNE_WORKER=fast,
    )
    assert "product" in out
    entries = trials(log)
    assert len(entries) == 4
    assert {entry["status"] for entry in entries} == {"measured"}
    assert (tmp_path / "log.svg").read_text().startswith("<svg")
    # Whether it is faster inside the model is for the clock to say, so the log is imported.
    good("tune", "--import", log, HEADRACE_TUNED=store)
    found = json.loads(good("explain", model, *words, "--json", HEADRACE_TUNED=store))["kernels"]
    assert [kernel["source"] for kernel in found] == ["tuned"]
    tuned = good("explain", model, *words, "--recipes", HEADRACE_TUNED=store)
    own = good("explain", model, *words, "--recipes", "--no-tuning", HEADRACE_TUNED=store)
    assert tuned != own
    # The recipe is complete: it says the same without results of tuning.
    (tmp_path / "whole.recipe").write_text(tuned)
    replayed = ("--recipe", tmp_path / "whole.recipe", "--no-tuning")
    assert good("explain", model, *words, "--recipes", *replayed) == tuned
    untuned = json.loads(
        good("explain", model, *words, "--json", "--no-tuning", HEADRACE_TUNED=store)
    )
    assert [kernel["source"] for kernel in untuned["kernels"]] == [""]
    x = np.random.default_rng(1).standard_normal((48, 64)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    weights = np.random.default_rng(0).standard_normal((64, 96)).astype(np.float32)
    np.save(tmp_path / "y.npy", np.maximum(x @ weights, 0))
    good(
        "run",
        model,
        *words,
        "--input",
        f"x=@{tmp_path / 'x.npy'}",
        "--expect",
        f"y={tmp_path / 'y.npy'}",
        "--atol",
        "1e-3",
        HEADRACE_TUNED=store,
    )


def test_illegal_and_foreign_results_are_left_out_with_a_line(tmp_path: Path) -> None:
    model, store, log = matmul(tmp_path / "m.onnx"), tmp_path / "tuned.jsonl", tmp_path / "log"
    words = ("--expansion", "generated")
    fast = worker(tmp_path / "worker", "fast")
    good(
        "tune", model, *words, "--trials", 2, "--log", log, "--no-tuning", HEADRACE_TUNE_WORKER=fast
    )
    good("tune", "--import", log, HEADRACE_TUNED=store)
    plain = good("explain", model, *words, "--recipes")
    record = json.loads(store.read_text())
    for change, message in [
        ({"schedules": [{"kind": "tiles", "rows": 3000, "columns": 7}]}, "left out"),
        ({"schedules": [{"kind": "nonsense", "rows": 3}]}, "no schedule 'nonsense'"),
        ({"schedules": [{"kind": "tiles", "colour": 3}]}, "no parameter 'colour'"),
        ({"schedules": record["schedules"] * 2}, "expected 1 schedules, got 2"),
        ({"machine": "an abacus"}, "an abacus"),
    ]:
        store.write_text(json.dumps({**record, **change}) + "\n")
        done = run("explain", model, *words, "--recipes", HEADRACE_TUNED=store)
        assert (done.returncode, done.stdout) == (0, plain)
        assert message in done.stderr and done.stderr.count("\n") == 1, done.stderr
    store.write_text("nonsense\n" + json.dumps(record) + '\n{"torn')
    done = run("explain", model, *words, "--json", HEADRACE_TUNED=store)
    assert done.stderr.count("\n") == 2
    assert json.loads(done.stdout)["kernels"][0]["source"] == "tuned"


def test_candidates_that_crash_hang_or_are_wrong_cost_one_trial_each(tmp_path: Path) -> None:
    model, log = matmul(tmp_path / "m.onnx"), tmp_path / "log"
    bad = worker(tmp_path / "worker", "crash", "fast", "wrong", "hang")
    start = time.monotonic()
    done = run(
        "tune",
        model,
        "--expansion",
        "generated",
        "--trials",
        10,
        "--log",
        log,
        "--limit",
        1,
        "--no-tuning",
        "--json",
        HEADRACE_TUNE_WORKER=bad,
    )
    assert done.returncode == 0, done
    entries = trials(log)
    assert len(entries) == 10
    found = [(entry["status"], entry.get("reason", "")) for entry in entries]
    assert ("measured", "") in found
    assert any(status == "wrong" and "element 5" in reason for status, reason in found)
    assert any(status == "timed out" for status, _ in found)
    failures = json.loads(done.stdout)["kernels"][0]["failures"]
    assert len(failures) == sum(status != "measured" for status, _ in found)
    assert all("rows=" in failure or "cells=" in failure for failure in failures)
    hangs = sum(status == "timed out" for status, _ in found)
    assert time.monotonic() - start < 60 + 3 * hangs

    for kind, reason in [("crash", "SIGSEGV"), ("garbage", "its answer could not be read")]:
        failing = worker(tmp_path / kind, kind)
        few = ("--trials", 2, "--log", log, "--no-tuning", "--expansion", "generated")
        good("tune", model, *few, HEADRACE_TUNE_WORKER=failing)
        assert {entry["reason"] for entry in trials(log)} == {reason}


def test_real_measurements_compare_results(tmp_path: Path) -> None:
    model, log = matmul(tmp_path / "m.onnx"), tmp_path / "log"
    good(
        "tune",
        model,
        "--expansion",
        "generated",
        "--trials",
        3,
        "--log",
        log,
        "--seconds",
        0.01,
        "--no-tuning",
    )
    for entry in trials(log):
        assert entry["status"] == "measured", entry
        assert entry["us"] > 0 and entry["default_us"] > 0 and entry["cold_us"] > 0
        assert len(entry["features"]["loops"]) > 10


def test_on_vta_equal_seeds_give_equal_logs(tmp_path: Path) -> None:
    model = vta_layers(tmp_path / "m.onnx")
    for name in ("a", "b", "c"):
        seed = 5 if name == "c" else 4
        good(
            "tune",
            model,
            "--target",
            "vta",
            "--trials",
            12,
            "--seed",
            seed,
            "--no-tuning",
            "--log",
            tmp_path / name,
        )
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() != (tmp_path / "c").read_bytes()


def test_on_vta_results_are_confirmed_by_the_simulator(tmp_path: Path) -> None:
    model, store = vta_layers(tmp_path / "m.onnx"), tmp_path / "tuned.jsonl"
    words = ("--target", "vta")
    report = json.loads(
        good(
            "tune",
            model,
            *words,
            "--trials",
            16,
            "--log",
            tmp_path / "log",
            "--json",
            HEADRACE_TUNED=store,
        )
    )
    tuned = json.loads(good("explain", model, *words, "--json", HEADRACE_TUNED=store))["kernels"]
    own = json.loads(good("explain", model, *words, "--json"))["kernels"]
    for kernel in report["kernels"]:
        after = next(each for each in tuned if each["name"] == kernel["name"])
        before = next(each for each in own if each["name"] == kernel["name"])
        assert after["source"] == ("tuned" if kernel["kept"] else "")
        assert after["predicted_us"] == pytest.approx(
            before["predicted_us"] * kernel["ratio"], 1e-6
        )


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    model, log = vta_layers(tmp_path / "m.onnx"), tmp_path / "log"
    words = [str(BIN), "tune", str(model), "--target", "vta", "--no-tuning", "--log", str(log)]
    process = subprocess.Popen([*words, "--trials", "500"], stdout=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while time.monotonic() < end and (not log.exists() or log.read_bytes().count(b"\n") < 3):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with log.open("r+b") as file:  # as if it had been killed in the middle of a line
        file.truncate(log.stat().st_size - 5)
    before = log.read_bytes().count(b"\n")
    report = json.loads(good(*words[1:], "--trials", before + 8, "--resume", "--json"))
    assert [fault.split(":")[0] for fault in report["faults"]] == [f"log, line {before + 1}"]
    good_lines = []
    for line in log.read_text().splitlines():
        try:
            good_lines.append(json.loads(line))
        except json.JSONDecodeError:
            pass
    for kernel in report["kernels"]:
        own = [e for e in good_lines if e["name"] == kernel["name"] and e["status"] == "measured"]
        best = min([1.0, *(entry["us"] / entry["default_us"] for entry in own)])
        assert kernel["ratio"] == pytest.approx(best)
        assert kernel["trials"] <= before + 8


def test_the_budget_ends_a_run(tmp_path: Path) -> None:
    model, log = vta_layers(tmp_path / "m.onnx"), tmp_path / "log"
    out = good(
        "tune",
        model,
        "--target",
        "vta",
        "--trials",
        100000,
        "--budget",
        "1s",
        "--no-tuning",
        "--log",
        log,
    )
    assert "--resume goes on" in out
    for wrong in ("10x", "m", "-3s", "0"):
        done = run("tune", model, f"--budget={wrong}")
        assert done.returncode == 2 and "--budget" in done.stderr


def test_export_and_import(tmp_path: Path) -> None:
    model, store, log = matmul(tmp_path / "m.onnx"), tmp_path / "tuned.jsonl", tmp_path / "log"
    fast = worker(tmp_path / "worker", "fast")
    few = ("--expansion", "generated", "--trials", 2, "--no-tuning", "--log", log)
    good("tune", model, *few, HEADRACE_TUNE_WORKER=fast)
    good("tune", "--import", log, HEADRACE_TUNED=store)
    good("tune", "--export", tmp_path / "moved.jsonl", HEADRACE_TUNED=store)
    other = tmp_path / "other.jsonl"
    good("tune", "--import", tmp_path / "moved.jsonl", HEADRACE_TUNED=other)
    assert other.read_bytes() == store.read_bytes()
    assert store.read_text().count("\n") == 1
    done = run("tune", "--import", tmp_path / "absent", HEADRACE_TUNED=other)
    assert done.returncode == 1 and "expected the log of a tuning run" in done.stderr


def test_models_are_judged_by_a_log(tmp_path: Path) -> None:
    model, log = vta_layers(tmp_path / "m.onnx"), tmp_path / "log"
    good("tune", model, "--target", "vta", "--trials", 16, "--no-tuning", "--log", log)
    found = json.loads(good("tune", "--predict", log, "--json", HEADRACE_XGBOOST=""))
    assert [entry["what"] for entry in found] == ["analytic cost"]
    assert len(found[0]["kernels"]) == 2
    assert "rank correlation" in good("tune", "--predict", log)


def test_without_xgboost_a_line_says_so(tmp_path: Path) -> None:
    model = vta_layers(tmp_path / "m.onnx")
    done = run(
        "tune",
        model,
        "--target",
        "vta",
        "--trials",
        4,
        "--no-tuning",
        "--log",
        tmp_path / "log",
        HEADRACE_XGBOOST="",
    )
    assert done.returncode == 0
    assert "XGBoost was not found" in done.stderr and done.stderr.count("\n") == 1


def test_dynamic_dimensions_need_a_value(tmp_path: Path) -> None:
    done = run("tune", ROOT / "examples" / "digits" / "digits.onnx")
    assert done.returncode == 2 and "--size batch=N" in done.stderr


def test_on_vta_learning_finds_more_than_chance(tmp_path: Path) -> None:
    shapes = [
        (16, 32, 14, 3),
        (16, 16, 28, 3),
        (32, 64, 14, 3),
        (64, 64, 14, 1),
        (32, 32, 28, 1),
        (64, 32, 7, 3),
        (64, 128, 7, 1),
        (16, 64, 28, 1),
        (48, 48, 14, 3),
        (32, 16, 28, 3),
    ]
    better = 0
    for i, (channels, out, pixels, size) in enumerate(shapes):
        n = Network(i)
        x = n.input(1, channels, pixels, pixels)
        n.output(n.conv(x, out, size))
        model = n.write(tmp_path / f"{i}.onnx")
        best = {}
        for strategy in ("learned", "random"):
            log = tmp_path / f"{i}.{strategy}"
            words = ("--target", "vta", "--trials", 64, "--strategy", strategy, "--log", log)
            done = run("tune", model, *words, "--no-tuning")
            assert done.returncode == 0, done
            if "XGBoost was not found" in done.stderr:
                pytest.skip("XGBoost is not installed")
            best[strategy] = min(e["us"] for e in trials(log) if e["status"] == "measured")
        better += best["learned"] <= best["random"]
    assert better >= 8
