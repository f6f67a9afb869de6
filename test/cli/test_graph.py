"""Programs as graphs: explain --to=PHASE --json."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

HEADRACE = os.environ.get("HEADRACE_BIN", "headrace")
DIGITS = Path(__file__).resolve().parents[2] / "examples/digits/digits.onnx"
NODE_KEYS = (
    "id kind operators inside bytes_read bytes_written operations predicted_us recipe alternatives "
    "alternatives_us"
)
EDGE_KEYS = "from to type shape bytes"


def graph(*options: str) -> dict:
    command = [HEADRACE, "explain", str(DIGITS), "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("phase", ["import", "simplify", "layout", "kernels", "schedule"])
def test_every_phase_is_a_graph(phase: str, target: str) -> None:
    found = graph("--to", phase, "--target", target)
    assert list(found) == ["model", "phase", "symbols", "nodes", "edges"]
    assert (found["phase"], found["symbols"]) == (phase, ["batch"])
    ids = [node["id"] for node in found["nodes"]]
    assert len(set(ids)) == len(ids)
    for node in found["nodes"]:
        assert list(node) == NODE_KEYS.split()
        assert node["inside"] is None or node["inside"] in ids
    for edge in found["edges"]:
        assert list(edge) == EDGE_KEYS.split()
        assert {edge["from"], edge["to"]} <= set(ids)
    # Everything leads from the image to the logits.
    reached, before = {"output:logits"}, set()
    while reached != before:
        before = set(reached)
        reached |= {edge["from"] for edge in found["edges"] if edge["to"] in reached}
    assert "input:image" in reached


def test_kernels_hold_their_stages_and_recipes() -> None:
    conv = "/features/features.3/Conv/conv"
    kernels = {node["id"]: node for node in graph("--to", "kernels")["nodes"]}
    assert kernels[f"{conv}/conv"]["inside"] == conv
    assert "/features/features.4/Relu" in kernels[conv]["operators"]
    scheduled = {node["id"]: node for node in graph("--to", "schedule")["nodes"]}
    assert "conv: vectorize" in scheduled[conv]["recipe"]
    alternatives = scheduled[conv]["alternatives"]
    assert any(line.startswith("map: tiles rows=1 ") for line in alternatives), alternatives
    assert "map: plain cells=16" in alternatives


def test_operators_have_predictions_and_alternatives() -> None:
    nodes = {n["id"]: n for n in graph("--to", "layout", "--size", "batch=16")["nodes"]}
    conv = nodes["/features/features.3/Conv/conv"]
    assert conv["predicted_us"] > 0
    assert f"expand {conv['id']} as openblas" in conv["alternatives"]
    assert conv["bytes_written"] == 16 * 4 * 4 * 32 * 4


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_scheduled_kernels_have_predictions(target: str) -> None:
    small, large = (
        graph("--to", "schedule", "--target", target, "--size", f"batch={batch}")["nodes"]
        for batch in (2, 16384)  # a device takes as long for a few as for one
    )
    for nodes in (small, large):
        times = [node["predicted_us"] for node in nodes if node["kind"] == "kernel"]
        assert times and all(time > 0 for time in times)
    total = [sum(n["predicted_us"] or 0 for n in nodes) for nodes in (small, large)]
    assert total[1] > 2 * total[0]


def embedding(path: Path, words: int) -> Path:
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "words"], ["y"], name="embed")],
        "embedding",
        [helper.make_tensor_value_info("words", TensorProto.INT64, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 64])],
        [numpy_helper.from_array(np.ones((words, 64), np.float32), "table")],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def test_of_a_table_what_is_picked_is_counted(tmp_path: Path) -> None:
    read, moved, times = {}, {}, {}
    for words in (2, 1000, 100_000):
        command = [HEADRACE, "explain", str(embedding(tmp_path / f"{words}.onnx", words)), "--json"]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        report = json.loads(run.stdout)
        kernel = next(k for k in report["kernels"] if k["name"] == "embed/gather")
        read[words], moved[words] = kernel["bytes_read"], report["before"]["bytes_moved"]
        run = subprocess.run(
            [*command, "--to", "schedule"], check=True, capture_output=True, text=True
        )
        node = next(n for n in json.loads(run.stdout)["nodes"] if n["id"] == "embed/gather")
        assert node["bytes_read"] == read[words]
        times[words] = node["predicted_us"]
    row, indices = 64 * 4, 4 * 8
    assert read == {2: 2 * row + indices, 1000: 4 * row + indices, 100_000: 4 * row + indices}
    assert moved[1000] == moved[100_000] >= 8 * row + indices
    assert times[100_000] < 100  # all of the table takes milliseconds


@pytest.mark.parametrize("phase", ["merge", "differentiate", "share"])
def test_a_program_with_its_gradient_is_a_graph(phase: str) -> None:
    found = graph("--grad", "--weights", "--to", phase)
    assert list(found) == ["model", "phase", "symbols", "nodes", "edges"]
    assert found["phase"] == phase


@pytest.mark.parametrize("phase", ["split", "layout", "schedule"])
def test_forward_and_backward_are_a_graph_each(phase: str) -> None:
    found = graph("--grad", "--weights", "--to", phase)
    assert list(found) == ["forward", "backward"]
    for part in found.values():
        assert part["phase"] == phase and part["nodes"]
    outputs = {node["id"] for node in found["backward"]["nodes"] if node["kind"] == "output"}
    assert any(name.endswith(".grad") for name in outputs)


def test_phases_of_a_gradient_follow_the_recipe(tmp_path: Path) -> None:
    relu = "/features/features.1/Relu"
    recipe = tmp_path / "recipe"

    def kept(verb: str) -> bool:
        recipe.write_text(f"{verb} {relu}\n")
        found = graph("--grad", "--weights", "--to", "split", "--recipe", str(recipe))
        outputs = [n["id"] for n in found["forward"]["nodes"] if n["kind"] == "output"]
        return any(relu in name for name in outputs)

    assert kept("keep")
    assert not kept("recompute")
    recipe.write_text("keep nobody\n")
    command = [HEADRACE, "explain", str(DIGITS), "--grad", "--to", "split", "--recipe", str(recipe)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and "there is no operator 'nobody'" in done.stderr


def printed(*options: str) -> str:
    command = [HEADRACE, "explain", str(DIGITS), "--size", "batch=16", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_nodes_have_their_code() -> None:
    conv = "/features/features.3/Conv/conv"
    nodes = {
        node["id"]: node for node in json.loads(printed("--to=layout", "--json", "--code"))["nodes"]
    }
    assert "hr.conv" in nodes[conv]["code"]
    assert printed("--to=layout", f"--code={conv}").strip() == nodes[conv]["code"].strip()
    for phase, word in (("kernels", "hr.kernel"), ("tiles", "scf.forall"), ("llvm", "llvm.func")):
        assert word in printed(f"--to={phase}", f"--code={conv}"), phase
    command = [HEADRACE, "explain", str(DIGITS), "--to=layout", "--code=none"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1 and "--code=none: expected a node" in done.stderr


def test_buffers_add_up_to_the_peak() -> None:
    report = json.loads(printed("--json"))
    buffers = report["buffers"]
    assert {buffer["kind"] for buffer in buffers} == {"input", "temporary", "output"}
    temporaries = [buffer for buffer in buffers if buffer["kind"] == "temporary"]
    ends = [buffer["offset"] + buffer["bytes"] for buffer in temporaries]
    outputs = sum(buffer["bytes"] for buffer in buffers if buffer["kind"] == "output")
    assert max(ends) + outputs <= report["peak_bytes"] < max(ends) + outputs + 64
    for a in temporaries:
        for b in temporaries:
            apart = a["last"] < b["first"] or b["last"] < a["first"] or a is b
            below = (
                a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"]
            )
            assert apart or below, (a, b)


def test_graphs_for_model_explorer() -> None:
    found = json.loads(printed("--json=model-explorer"))
    assert [
        graph["id"] for graph in found["graphs"]
    ] == "import simplify layout kernels schedule".split()
    for shown in found["graphs"]:
        nodes = {node["id"]: node for node in shown["nodes"]}
        plain = json.loads(printed(f"--to={shown['id']}", "--json"))
        assert list(nodes) == [node["id"] for node in plain["nodes"]]
        edges = [edge for node in nodes.values() for edge in node["incomingEdges"]]
        assert len(edges) == len(plain["edges"])
        for edge in edges:
            outputs = nodes[edge["sourceNodeId"]]["outputsMetadata"]
            assert edge["sourceNodeOutputId"] in {output["id"] for output in outputs}
    assert [
        graph["id"]
        for graph in json.loads(printed("--json=model-explorer", "--to=layout"))["graphs"]
    ] == ["layout"]


def test_phases_as_json() -> None:
    done = subprocess.run(
        [HEADRACE, "explain", "--phases", "--json"], check=True, capture_output=True, text=True
    )
    names = [phase["name"] for phase in json.loads(done.stdout)]
    assert names[:5] == "import simplify layout kernels schedule".split()
