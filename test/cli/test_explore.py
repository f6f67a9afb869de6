"""headrace explore: tables, JSON, charts and errors."""

from __future__ import annotations

import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import onnx
import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = os.environ.get("HEADRACE_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")
EXAMPLES = ROOT / "examples" / "explore"
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"


def explore(*words: object) -> subprocess.CompletedProcess[str]:
    command = [str(BIN), "explore", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def report(*words: object) -> list[dict]:
    run = explore(*words, "--json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)["explorations"]


def makespans(exploration: dict) -> dict[tuple[str, int], int]:
    outcomes = exploration["outcomes"]
    return {(o["implementation"], o["processing_elements"]): o["makespan"] for o in outcomes}


def test_the_table_of_the_convolution_under_its_convention() -> None:
    (conv,) = report(EXAMPLES / "convolution.json", "--convention", "slide")
    found = makespans(conv)
    assert found["mv", 16] == 145729 and found["mv", 128] == 35137
    assert found["op", 16] == 194113 and found["op", 128] == 107713
    assert found["lmv", 16] == 35714 and found["lmv", 128] == 35714


def test_every_schedule_of_lenet_runs_as_scheduled() -> None:
    explorations = report(EXAMPLES / "lenet.json", "--pes", "16")
    assert [e["name"] for e in explorations] == ["conv1", "conv2", "fc1", "fc2", "fc3", "lenet"]
    for exploration in explorations:
        assert any(o["pareto"] for o in exploration["outcomes"])
        for outcome in exploration["outcomes"]:
            assert outcome["deadlock"] == ""
            assert outcome["simulated"] == pytest.approx(outcome["makespan"], rel=0.05)
            assert outcome["simulated"] <= outcome["bound"]
    whole = explorations[-1]["outcomes"]
    operators = {name for task in whole[0]["tasks"] for name in task["operators"]}
    assert {"conv1", "relu1", "pool1", "fc3", "softmax"} <= operators
    each = next(o for o in whole if "fastest each" in o["implementation"])
    assert min(o["makespan"] for o in whole) <= each["makespan"]


def test_the_fastest_forms_are_named_in_a_line_each() -> None:
    lines = explore(
        EXAMPLES / "lenet.json", "--pes", "16,128", "--no-simulation"
    ).stdout.splitlines()
    assert lines[-2].startswith("fastest at 16 processing elements: conv1 ")
    assert lines[-1].startswith("fastest at 128 processing elements: conv1 ")


def test_charts_are_well_formed_and_have_a_bar_for_every_task(tmp_path: Path) -> None:
    run = explore(EXAMPLES / "shortcut.json", "--pes", "8", "--svg", tmp_path / "charts")
    assert run.returncode == 0 and "wrote" in run.stderr and "Pareto" in run.stdout
    (chart,) = (tmp_path / "charts").iterdir()  # no plot of a single schedule
    root = ElementTree.parse(chart).getroot()
    titles = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0] == "1: 0 to 32" and len(titles) == 5


def write_lenet(path: Path, layers: int = 12) -> Path:
    """LeNet's first layers, without biases, over an image of 28x28."""
    rng = np.random.default_rng(0)
    steps = [
        ("Conv", "conv1", (6, 1, 5, 5), {}),
        ("Relu", "relu1", None, {}),
        ("MaxPool", "pool1", None, {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("Conv", "conv2", (16, 6, 5, 5), {}),
        ("Relu", "relu2", None, {}),
        ("MaxPool", "pool2", None, {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("Flatten", "view", None, {"axis": 1}),
        ("MatMul", "fc1", (256, 120), {}),
        ("Relu", "relu3", None, {}),
        ("MatMul", "fc2", (120, 84), {}),
        ("MatMul", "fc3", (84, 10), {}),
        ("Softmax", "softmax", None, {"axis": 1}),
    ]
    nodes, weights, value = [], [], "image"
    for operator, name, shape, attributes in steps[:layers]:
        inputs = [value]
        if shape:
            array = rng.standard_normal(shape).astype(np.float32)
            weights.append(onnx.numpy_helper.from_array(array, f"{name}.weight"))
            inputs.append(f"{name}.weight")
        nodes.append(onnx.helper.make_node(operator, inputs, [f"{name}.out"], name, **attributes))
        value = f"{name}.out"
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes,
        "lenet",
        [info("image", onnx.TensorProto.FLOAT, [1, 1, 28, 28])],
        [info(value, onnx.TensorProto.FLOAT, None)],
        weights,
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    onnx.save(model, path)
    return path


def test_the_convolution_of_a_model_has_the_makespans_of_the_table(tmp_path: Path) -> None:
    model = write_lenet(tmp_path / "conv.onnx", layers=1)
    (conv,) = report(model, "--convention", "slide")
    found = makespans(conv)
    assert [found[form, 16] for form in ("mv", "op", "lmv")] == [145729, 194113, 35714]
    assert [found[form, 128] for form in ("mv", "op", "lmv")] == [35137, 107713, 35714]


def test_convolutions_of_lenet_want_different_forms_or_the_same(tmp_path: Path) -> None:
    """No form wins everywhere: it depends on the convolution and on the machine."""
    model = write_lenet(tmp_path / "lenet.onnx")
    tables = {table["name"]: table for table in report(model, "--convention", "slide")}

    def best(name: str, elements: int) -> str:
        found = makespans(tables[name])
        return min(("mv", "op", "lmv"), key=lambda form: found[form, elements])

    assert (best("conv1", 16), best("conv2", 16)) == ("lmv", "mv")
    assert (best("conv1", 128), best("conv2", 128)) == ("mv", "mv")


def test_every_operator_of_lenet_becomes_tasks(tmp_path: Path) -> None:
    tables = report(write_lenet(tmp_path / "lenet.onnx"), "--pes", "16", "--search", "4")
    assert [table["name"] for table in tables] == [
        "conv1", "conv2", "fc1", "fc2", "fc3", "lenet.onnx",
    ]  # fmt: skip
    for outcome in tables[-1]["outcomes"]:
        assert outcome["deadlock"] == ""
        assert outcome["simulated"] == pytest.approx(outcome["makespan"], rel=0.05)
        named = {name for task in outcome["tasks"] for name in task["operators"]}
        assert {"conv1", "relu1", "pool1", "conv2", "fc1", "relu3", "fc3", "softmax"} <= named


def points(outcome: dict) -> int:
    return sum(task["points"] for task in outcome["tasks"])


def test_intervals_and_buffers_of_streams_are_told() -> None:
    (graphs,) = report(EXAMPLES / "shortcut.json", "--pes", "8")
    (outcome,) = graphs["outcomes"]
    buffers = {(edge["from"], edge["to"]): edge.get("buffer") for edge in outcome["edges"]}
    assert buffers["1", "5"] == 3 and buffers["1", "2"] == 1
    assert all(edge["interval"] == "1" for edge in outcome["edges"] if edge["streams"])
    assert outcome["critical_path"] <= outcome["makespan"] and outcome["depth"] > 0
    assert outcome["least_off_chip"] <= outcome["off_chip"] <= outcome["off_chip_without_streams"]


@pytest.mark.parametrize("convention", ["tight", "slide"])
@pytest.mark.parametrize("granularity", ["map", "fused"])
def test_every_implementation_of_a_model_has_its_work(granularity: str, convention: str) -> None:
    words = ["--size", "batch=2", "--pes", "16", "--granularity", granularity]
    tables = report(DIGITS, *words, "--convention", convention, "--search", "4")
    whole = tables[-1]["outcomes"]
    assert len({points(outcome) for outcome in whole}) == 1 and points(whole[0]) > 0
    for outcome in whole:
        assert outcome["deadlock"] == ""
        assert outcome["makespan"] * 16 >= outcome["work"]
        named = {name for task in outcome["tasks"] for name in task["operators"]}
        assert "/features/features.0/Conv" in named


def test_kernels_are_fewer_tasks_than_operators() -> None:
    def tasks(granularity: str) -> list[dict]:
        words = ["--size", "batch=1", "--pes", "16", "--granularity", granularity]
        whole = report(DIGITS, *words, "--search", "1", "--no-simulation")[-1]["outcomes"]
        return next(o for o in whole if o["implementation"].startswith("all mv"))["tasks"]

    operators, kernels = tasks("map"), tasks("fused")
    assert len(kernels) < len(operators)
    relu = next(task for task in operators if task["operators"] == ["/features/features.1/Relu"])
    assert relu["kind"] == "element-wise"
    assert not any(task["operators"] == ["/features/features.1/Relu"] for task in kernels)
    assert any("/features/features.1/Relu" in task["operators"] for task in kernels)


def test_blocks_of_scripts_are_explored_at_the_sizes_of_a_run(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", draw.standard_normal((50, 4)))
    np.save(tmp_path / "y.npy", draw.standard_normal((50, 1)))
    script = ROOT / "examples" / "scripts" / "regression.dml"
    inputs = ["--input", f"X=@{tmp_path / 'x.npy'}", "--input", f"y=@{tmp_path / 'y.npy'}"]
    tables = report(script, "--pes", "4", *inputs)
    assert any("%*%" in table["name"] for table in tables)
    for table in tables[:-1]:
        for outcome in table["outcomes"]:
            assert outcome["deadlock"] == "" and points(outcome) > 0
    # Its parts add up, each as often as it runs: before the loop, its condition, its four iterations.
    whole = tables[-1]
    assert whole["name"] == "regression.dml" and whole["outcomes"] == []
    (sequence,) = whole["sequences"]
    total = sequence["total"]
    assert {part["runs"] for part in sequence["parts"]} == {1, 5, 4}
    for amount in ("cycles", "off_chip", "lower_bound"):
        assert total[amount] == sum(part[amount] for part in sequence["parts"]) > 0
    assert total["lower_bound"] <= total["cycles"]
    text = explore(script, "--pes", "4", "--no-simulation", *inputs).stdout
    assert "rivals" not in text and f"{total['cycles']} cycles, one part after the other" in text
    volumes = {task["input"] for table in tables for o in table["outcomes"] for task in o["tasks"]}
    assert 200 in volumes  # X


def test_an_error_in_a_script_shows_its_place(tmp_path: Path) -> None:
    script = tmp_path / "fit.dml"
    script.write_text("y = X %*% X\n")
    run = explore(script)
    assert run.returncode == 1 and "fit.dml:1:5: variable 'X' is not defined" in run.stderr
    script.write_text("print(1)\n")
    assert "expected a script with parts to compile, got none" in explore(script).stderr


def test_a_machine_with_little_memory_or_bandwidth_is_told_what_to_take() -> None:
    words = [EXAMPLES / "convolution.json", "--pes", "16", "--no-simulation"]
    lines = explore(*words).stdout.splitlines()
    assert lines[-2:] == [
        "faster without streams: mv at 16",
        "fastest at 16 processing elements: direct; 17287 cycles; at least 11016 by its work",
    ]
    lines = explore(*words, "--bandwidth", "4", "--memory", "3").stdout.splitlines()
    assert lines[-1] == (
        "fastest at 16 processing elements, 4 elements off-chip in a cycle, 3 elements in buffers: "
        "mv; 29713 cycles, bound by off-chip memory; at least 27988 by its off-chip memory"
    )


def test_a_plot_of_every_table_is_written(tmp_path: Path) -> None:
    words = ["--pes", "16,128", "--no-simulation", "--svg", tmp_path]
    assert explore(EXAMPLES / "convolution.json", *words).returncode == 0
    root = ElementTree.parse(tmp_path / "conv1-pareto.svg").getroot()
    notes = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(notes) == 8 and any(note.startswith("lmv, 16 processing") for note in notes)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--pes", "0", EXAMPLES / "shortcut.json"], 2, "--pes"),
        (["--convention", "loose", EXAMPLES / "shortcut.json"], 2, "--convention"),
        (["nowhere.json"], 1, "nowhere.json"),
        (["nowhere.onnx"], 1, "nowhere.onnx"),
        ([DIGITS], 1, "expected values of all sizes for exploration, got none of 'batch'"),
        ([DIGITS, "--size", "batch=0"], 1, "expected at least 1 element"),
        ([DIGITS, "--size", "rows=1"], 1, "rows"),
        ([DIGITS, "--granularity", "fine"], 2, "--granularity"),
        ([EXAMPLES / "lenet.json", "--tasks", "0"], 2, "--tasks"),
        ([EXAMPLES / "lenet.json", "--bandwidth", "0"], 2, "--bandwidth"),
        ([], 2, "required"),
    ],
)
def test_mistakes_are_named(words: list, code: int, message: str) -> None:
    run = explore(*words)
    assert run.returncode == code
    assert message in run.stderr


def test_a_broken_graph_names_file_and_task(tmp_path: Path) -> None:
    file = tmp_path / "graph.json"
    graph = json.loads((EXAMPLES / "shortcut.json").read_text())
    graph["tasks"][2]["input"] = 31
    file.write_text(json.dumps(graph))
    run = explore(file)
    assert run.returncode == 1
    assert "graph.json" in run.stderr and "from '1' to '2'" in run.stderr
