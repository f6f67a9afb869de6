"""headrace verify: what agrees is said to agree, and of what does not the first kernel is named."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

BIN = os.environ.get("HEADRACE_BIN")
TOY = BIN and Path(BIN).parents[1] / "test" / "target" / "toy" / "headrace-toy"
pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"


def run(*words: object, program: Path | str | None = None, **environment: str):
    return subprocess.run(
        [program or BIN, "verify", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )


def report(*words: object, **options) -> dict:
    done = run(*words, "--json", **options)
    assert done.stderr == "" and done.returncode in (0, 1), done
    found = json.loads(done.stdout)
    assert found["holds"] == (done.returncode == 0)
    return found


def convolutions(path: Path, filters: np.ndarray, last: str = "Relu") -> Path:
    """Three convolutions with a function after each; `filters` are those of the second."""
    random = np.random.default_rng(3)
    sizes = [(8, 4, 3, 3), filters.shape, (6, 8, 1, 1)]
    weights = [random.standard_normal(size).astype(np.float32) / 6 for size in sizes]
    weights[1] = filters
    nodes, value = [], "x"
    for i, (weight, function) in enumerate(zip(weights, ["Relu", "Tanh", last])):
        pads = [weight.shape[2] // 2] * 4
        nodes += [
            helper.make_node("Conv", [value, f"w{i}"], [f"c{i}"], name=f"conv{i}", pads=pads),
            helper.make_node(function, [f"c{i}"], [f"f{i}"], name=f"function{i}"),
        ]
        value = f"f{i}"
    graph = helper.make_graph(
        nodes,
        "convolutions",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4, 7, 9])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weight, f"w{i}") for i, weight in enumerate(weights)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def filters(wrong: bool = False) -> np.ndarray:
    values = np.random.default_rng(4).standard_normal((8, 8, 3, 3)).astype(np.float32) / 8
    if wrong:
        values[5, 2, 1, 1] += 0.05
    return values


def package(model: Path) -> Path:
    output = model.with_suffix(".hrpkg")
    subprocess.run(
        [BIN, "compile", model, "-o", output], check=True, capture_output=True, timeout=300
    )
    return output


def test_cases_have_several_sizes_and_kinds_of_values() -> None:
    found = report(DIGITS, "--special")
    assert found["holds"]
    cases = [(case["values"], case["sizes"]["batch"]) for case in found["cases"]]
    assert cases == [
        ("random", 3),
        ("random", 1),
        ("random", 17),
        ("zeros", 3),
        ("negative", 3),
        ("large", 3),
        ("NaN and infinity", 3),
    ]
    assert all(case["steps_compared"] >= 4 for case in found["cases"])


def test_values_inside_of_a_program_are_compared_in_their_layouts(tmp_path: Path) -> None:
    """Channels last, and padding that kernels write."""
    (case,) = report(convolutions(tmp_path / "m.onnx", filters()), "--random=1", "--size=n=2")[
        "cases"
    ][:1]
    assert case["holds"] and case["steps_compared"] >= 3 and case["why_no_steps"] == ""


def test_a_package_of_another_model_differs_first_where_the_models_do(tmp_path: Path) -> None:
    right = convolutions(tmp_path / "right.onnx", filters())
    wrong = package(convolutions(tmp_path / "wrong.onnx", filters(wrong=True)))
    found = report(wrong, "--model", right)
    assert not found["holds"]
    for case in found["cases"]:
        if case["values"] == "zeros":
            continue
        assert not case["holds"]
        assert case["first_wrong"]["node"] in ("conv1", "function1"), case["first_wrong"]
        assert "conv1" in case["first_wrong"]["operators"]
        assert "conv0" not in case["first_wrong"]["operators"]
    text = run(wrong, "--model", right).stdout
    assert "DIFFERS" in text and "first wrong step: " in text
    assert report(package(right), "--model", right)["holds"]


def test_a_package_with_other_kernels_is_compared_by_its_outputs(tmp_path: Path) -> None:
    right = convolutions(tmp_path / "right.onnx", filters())
    other = package(convolutions(tmp_path / "other.onnx", filters()[:, :, :1, :1]))
    found = report(other, "--model", right)
    assert not found["holds"]
    assert found["cases"][0]["first_wrong"] is None
    assert "other kernels" in found["cases"][0]["why_no_steps"]


def toy_model(path: Path) -> Path:
    """Products that the toy computes, one of them after a function that the host computes."""
    nodes = [
        ("MatMul", ["x", "w0"], ["p0"]),
        ("Tanh", ["p0"], ["t"]),
        ("MatMul", ["t", "w1"], ["p1"]),
        ("Relu", ["p1"], ["r"]),
        ("MatMul", ["r", "w2"], ["y"]),
    ]
    random = np.random.default_rng(5)
    weights = [random.standard_normal((8, 8)).astype(np.float32) for _ in range(3)]
    graph = helper.make_graph(
        [helper.make_node(op, i, o, name=f"{op.lower()}_{o[0]}") for op, i, o in nodes],
        "toy",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8])],
        [numpy_helper.from_array(weight, f"w{i}") for i, weight in enumerate(weights)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def test_a_wrong_kernel_is_named_and_saved_with_its_inputs(tmp_path: Path) -> None:
    """A target that computes a function wrong where it is told to."""
    if not TOY.exists():
        pytest.skip("headrace-toy is not built")
    model, saved = toy_model(tmp_path / "m.onnx"), tmp_path / "small.onnx"
    wrong = {"program": TOY, "HEADRACE_TOY_WRONG": "maximumf"}
    assert report(model, "--target=toy", program=TOY)["holds"]
    found = report(model, "--target=toy", "--save", saved, "--bisect", **wrong)
    assert not found["holds"]
    case = found["cases"][0]
    assert case["first_wrong"]["node"] == "relu_r"
    assert case["first_pass"] == ""  # it is the toy that is wrong, not a pass
    assert case["right_with"] == ["the target cpu"]
    assert found["saved_nodes"] == ["relu_r"]
    small = onnx.load(saved)
    onnx.checker.check_model(small)
    assert [node.op_type for node in small.graph.node] == ["Relu"]
    assert {each.name for each in small.graph.initializer} == {"p1"}
    again = report(saved, "--target=toy", **wrong)
    assert [case["values"] for case in again["cases"]] == ["given"]
    assert again["cases"][0]["first_wrong"]["node"] == "relu_r"
    assert report(saved, "--target=toy", program=TOY)["holds"]


def test_what_an_accelerator_computes_is_named_where_nothing_else_differs() -> None:
    machine = ROOT / "examples" / "accelerators" / "vector-64.json"  # computes in float16
    found = report(DIGITS, f"--target=coarse:{machine}", "--size", "batch=2", "--bisect")
    case = found["cases"][0]
    assert not case["holds"] and case["first_wrong"] is None and case["first_pass"] == ""
    assert "takes the result of '/classifier/classifier.3/Gemm' from" in case["note"]


def write(path: Path, nodes, shape) -> Path:
    graph = helper.make_graph(
        nodes,
        "written",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.float32(0.3), "third")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def test_a_jump_that_rounding_crosses_is_no_difference(tmp_path: Path) -> None:
    """0.3 times 10 is above 3 in f32 or not: rounding decides, and floor follows."""
    nodes = [
        helper.make_node("Mul", ["x", "third"], ["m"]),
        helper.make_node("Floor", ["m"], ["y"]),
    ]
    path = write(tmp_path / "floor.onnx", nodes, ["n"])
    assert report(path, "--input=x=4xf32=10,20,30,40")["holds"]


def test_given_inputs_are_one_case() -> None:
    found = report(DIGITS, "--input=image=2x1x8x8xf32=0.5")
    assert [case["values"] for case in found["cases"]] == ["given"]


def test_inputs_that_no_program_takes_are_not_compared(tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    path = write(tmp_path / "add.onnx", nodes, ["n"])
    model = onnx.load(path)
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(4, np.float32), "w"))
    onnx.save(model, path)
    done = run(path, "--size=n=3")
    assert done.returncode == 1 and "not accepted: " in done.stdout
    assert report(path)["cases"][1]["holds"]  # of 1, which is repeated


def test_onnx_runtime_is_compared_as_well() -> None:
    pytest.importorskip("onnxruntime")
    (case,) = report(DIGITS, "--against=onnxruntime", "--input=image=2x1x8x8xf32=0.5")["cases"]
    (other,) = case["others"]
    assert other["name"] == "onnxruntime"
    assert other["missing"] or (other["version"] and other["outputs"][0]["holds"])


def test_a_script_is_compared_with_its_evaluation_on_the_host(tmp_path: Path) -> None:
    script = tmp_path / "fit.dml"
    script.write_text(
        "X = rand(rows=200, cols=10, seed=7)\nw = t(X) %*% (X %*% matrix(1, 10, 1))\n"
        's = sum(exp(X) * 2)\nwrite(w + 1, "w.csv", format="csv")\nprint(s)\n'
    )
    done = subprocess.run(
        [BIN, "verify", script, "--json"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    (case,) = json.loads(done.stdout)["cases"]
    assert {output["name"] for output in case["outputs"]} == {"X", "w", "s", "written w.csv"}
    assert not (tmp_path / "w.csv").exists()


@pytest.mark.parametrize(
    "words, message",
    [
        (["package.hrpkg"], "--model: expected the model of the package"),
        ([DIGITS, "--model", DIGITS], "--model: expected a package"),
        (["script.dml", "--save", "x.onnx"], "--save: expected a model for this option"),
    ],
)
def test_wrong_usage_is_one_line(words: list[object], message: str) -> None:
    done = run(*words)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1
