"""Guided optimization: explain agrees with predictions, steps keep results, recipes replay."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import subprocess
from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close

onnx = pytest.importorskip("onnx")
ROOT = Path(__file__).resolve().parents[3]
COMMAND = os.environ.get("HEADRACE_BIN", "headrace")


@pytest.fixture(scope="session")
def mbconv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = ROOT / "examples" / "optimize" / "mbconv.py"
    spec = importlib.util.spec_from_file_location("mbconv", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path = tmp_path_factory.mktemp("mbconv") / "mbconv.onnx"
    onnx.save(module.mbconv(1, 14), str(path))
    return path


@pytest.fixture
def large_mbconv(mbconv: Path, tmp_path: Path) -> Path:
    """Too large for the reference to evaluate it in a second."""
    model = onnx.load(mbconv)
    for value in (model.graph.input[0], model.graph.output[0]):
        for dim in value.type.tensor_type.shape.dim[2:]:
            dim.dim_value = 112
    onnx.save(model, str(tmp_path / "large.onnx"))
    return tmp_path / "large.onnx"


@pytest.fixture
def lstm(write_model) -> Path:
    """Two steps of a recurrence, with its weights as inputs."""
    shapes = {"x": [2, 1, 4], "w": [1, 12, 4], "r": [1, 12, 3]}
    return write_model(
        [("LSTM", ["x", "w", "r"], ["y", "h"], {"hidden_size": 3}), ("Tanh", ["h"], ["z"])],
        [(name, "FLOAT", shape) for name, shape in shapes.items()],
        [("y", "FLOAT", [2, 1, 1, 3]), ("z", "FLOAT", [1, 1, 3])],
    )


def command(*words: object) -> str:
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def figures_of(report: dict) -> dict:
    return {
        "bytes": report["after"]["bytes_moved"],
        "operations": report["after"]["operations"],
        "kernels": report["after"]["kernels"],
        "peak_bytes": report["peak_bytes"],
    }


def assert_as_explained(guided: hr.Optimizer, path: Path, steps: list[dict], **sizes: int) -> None:
    """Lists predict of a step the figures that the compiler reports of the resulting program."""
    assert steps
    for step in steps:
        recipe = guided.predict(step["step"])["recipe"]
        report = hr.load(path, recipe=recipe).explain(sizes)
        predicted = dict(step["after"])
        microseconds = predicted.pop("predicted_us")
        assert predicted == figures_of(report), step["step"]
        # Constants that several kernels share may count twice in what caches hold.
        expected = sum(kernel["predicted_us"] for kernel in report["kernels"])
        assert np.isclose(microseconds, expected, rtol=1e-3), step["step"]
        assert report["recipe"] == recipe, step["step"]


def legal(steps: list[dict]) -> list[dict]:
    return [step for step in steps if step["legal"]]


def test_predictions_of_mbconv_are_what_explain_says(mbconv: Path) -> None:
    guided = hr.optimize(hr.load(mbconv))
    steps = guided.steps()
    assert {"separate", "leave", "layout", "walk", "pack", "schedule"} <= {
        step["verb"] for step in legal(steps)
    }
    assert_as_explained(guided, mbconv, legal(steps)[::4])
    assert all(step["why_not"] for step in steps if not step["legal"])


def test_predictions_of_a_transformer_layer_are_what_explain_says(small_models: Path) -> None:
    path = small_models / "bert_layer.onnx"
    model = hr.load(path)
    sizes = {name: 3 for name in model.symbols}
    guided = hr.optimize(model, sizes)
    steps = legal(guided.steps())
    assert len(steps) > 30
    assert_as_explained(guided, path, steps[::16], **sizes)


def test_predictions_of_a_recurrence_are_what_explain_says(lstm: Path) -> None:
    guided = hr.optimize(hr.load(lstm))
    assert_as_explained(guided, lstm, legal(guided.steps())[::4])


def test_steps_keep_results(mbconv: Path) -> None:
    model = hr.load(mbconv)
    image = np.random.default_rng(0).standard_normal((1, 32, 14, 14), dtype=np.float32)
    exact = model.reference(image, keep_double=True)
    choose = random.Random(3)
    guided = hr.optimize(model)
    for _ in range(2):
        guided.apply(choose.choice(legal(guided.steps()))["step"])
        assert_close(hr.load(mbconv, recipe=guided.recipe)(image), exact, tolerance=1e-4)
    while guided.undo():
        pass
    assert hr.recipe_difference(guided.recipe, model.explain()["recipe"]) == ""


def test_a_greedy_walk_saves_time_at_every_step(mbconv: Path) -> None:
    guided = hr.optimize(hr.load(mbconv), start="unfused")
    assert guided.figures["kernels"] > hr.optimize(hr.load(mbconv)).figures["kernels"]
    guided.greedy(steps=4)
    times = [state["figures"]["predicted_us"] for state in guided.history["states"]]
    assert len(times) == 5
    assert all(before > after for before, after in zip(times, times[1:]))


def test_a_search_ends_where_it_began_or_better(mbconv: Path) -> None:
    guided = hr.optimize(hr.load(mbconv))
    start = guided.figures["predicted_us"]
    guided.search(2)
    assert guided.figures["predicted_us"] <= start
    again = hr.optimize(hr.load(mbconv)).search(2)
    assert again.recipe == guided.recipe


def test_steps_on_gradients(mbconv: Path, tmp_path: Path) -> None:
    guided = hr.optimize(hr.load(mbconv), grad=True)
    steps = guided.steps("recompute") + guided.steps("keep")
    assert legal(steps)
    chosen = legal(steps)[0]
    guided.apply(chosen["step"])
    recipe = tmp_path / "recipe"
    recipe.write_text(guided.recipe)
    report = json.loads(command("explain", mbconv, "--grad", "--json", "--recipe", recipe))
    parts = [figures_of(report["forward"]), figures_of(report["backward"])]
    assert guided.figures["kernels"] == sum(part["kernels"] for part in parts)
    assert guided.figures["bytes"] == sum(part["bytes"] for part in parts)
    assert guided.figures["peak_bytes"] == max(part["peak_bytes"] for part in parts)
    forward = next(s for s in guided.steps("separate") if s["step"].startswith("forward: "))
    before = guided.figures["kernels"]
    assert guided.apply(forward["step"])["after"]["kernels"] >= before
    with pytest.raises(hr.InvalidArgumentError, match="expected 'forward: ' or 'backward: '"):
        guided.apply("separate silu")


def test_large_programs_may_save_other_tensors(large_mbconv: Path) -> None:
    guided = hr.optimize(hr.load(large_mbconv), grad=True)
    chosen = next(step for step in guided.steps("keep") if step["legal"])
    guided.apply(chosen["step"])
    assert guided.history["position"] == 1


def test_saved_steps_replay_in_another_process(mbconv: Path, tmp_path: Path) -> None:
    saved, again = tmp_path / "saved", tmp_path / "again"
    step = legal(hr.optimize(hr.load(mbconv)).steps("separate"))[0]["step"]
    command("optimize", mbconv, "--apply", step, "--save", saved)
    command("optimize", mbconv, "--replay", saved, "--save", again)
    assert again.read_text() == saved.read_text()
    assert f"# step: {step}\n" in saved.read_text()
    assert command("optimize", mbconv, "--recipe", saved, "--diff", again).count("\n- ") == 0
    undone = json.loads(
        command("optimize", mbconv, "--apply", step, "--undo", "1", "--diff", saved, "--json")
    )
    assert undone["history"]["position"] == 0
    assert undone["difference"] != ""


def test_steps_on_a_softmax_replay_on_a_layer_normalization(write_model) -> None:
    shape = [("x", "FLOAT", [512, 512])], [("y", "FLOAT", [512, 512])]
    softmax = write_model([("Softmax", ["x"], ["y"], {"axis": -1})], *shape)
    guided = hr.optimize(hr.load(softmax), start="unfused")
    fusions = [step["step"] for step in legal(guided.steps("fuse"))]
    first = next((s for s in fusions if "/map into" in s and s.endswith("/reduce.1")), None)
    assert first, fusions
    guided.apply(first)
    saved = guided.saved
    assert f"# step: {first}\n" in saved and "# operator " in saved
    # By name on the model itself, and by structure on another one.
    again = hr.optimize(hr.load(softmax), start="unfused")
    assert again.replay(saved) == []
    assert again.recipe == guided.recipe
    norm = write_model(
        [("LayerNormalization", ["x", "scale"], ["y"], {"axis": -1})],
        [("x", "FLOAT", [512, 512]), ("scale", "FLOAT", [512])],
        [("y", "FLOAT", [512, 512])],
    )
    other = hr.optimize(hr.load(norm), start="unfused")
    kernels = other.figures["kernels"]
    other.replay(saved)
    assert other.figures["kernels"] < kernels
    relu = write_model([("Relu", ["x"], ["y"])], *shape)
    with pytest.raises(hr.InvalidArgumentError, match="no operators like those of the saved steps"):
        hr.optimize(hr.load(relu)).replay(saved)


def test_the_automatic_recipe_makes_the_same_package(digits_path: Path, tmp_path: Path) -> None:
    saved, target = tmp_path / "auto.recipe", ("--target", "cpu:x86-64-v3")
    command("optimize", digits_path, "--auto", "--save", saved, *target)
    packages = [tmp_path / "plain.hrpkg", tmp_path / "recipe.hrpkg"]
    command("compile", digits_path, "-o", packages[0], *target)
    command("compile", digits_path, "--recipe", saved, "-o", packages[1], *target)
    assert packages[0].read_bytes() == packages[1].read_bytes()


def test_blame_names_the_line_that_costs(mbconv: Path) -> None:
    model = hr.load(mbconv)
    guided = hr.optimize(model)
    good = guided.recipe
    planted = [
        step
        for step in legal(guided.steps())
        if step["saved_us"] < -0.05 * step["after"]["predicted_us"]
    ]
    assert len(planted) > 3
    named = 0
    for step in planted:
        found = hr.blame(model, good, guided.predict(step["step"])["recipe"])
        total = found["after_us"] - found["before_us"]
        assert np.isclose(total, -step["saved_us"])
        assert abs(found["unexplained_us"]) <= 0.01 * abs(total), step["step"]
        kernel = step["step"].split()[1].rstrip(":")
        named += any(kernel in line["step"] for line in found["steps"][:1])
    assert named >= 0.95 * len(planted)


def test_measured_times_are_one_per_state(digits_path: Path) -> None:
    guided = hr.optimize(hr.load(digits_path), batch=2)
    guided.apply("separate /features/features.1/Relu")
    times = guided.measure(0.01)
    assert len(times) == 2 and min(times) > 0


def test_refused_steps_name_the_reason(digits_path: Path) -> None:
    guided = hr.optimize(hr.load(digits_path), batch=2)
    with pytest.raises(hr.InvalidArgumentError, match="there is no operator 'relu9'"):
        guided.apply("separate relu9")
    with pytest.raises(hr.InvalidArgumentError, match="expected one choice of a recipe"):
        guided.apply("separate a\nseparate b")
    with pytest.raises(hr.InvalidArgumentError, match="expected 'auto' or 'unfused', got 'fused'"):
        hr.optimize(hr.load(digits_path), start="fused")
    assert guided.history["position"] == 0
