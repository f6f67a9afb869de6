"""hr.verify: programs of all kinds against the reference, and the numeric policy in Python."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from headrace._verify import judge


def test_the_shipped_network_agrees_kernel_by_kernel(digits_path: Path) -> None:
    report = hr.verify(digits_path)
    assert report and report.holds
    assert len(report["cases"]) == 6
    assert all(case["steps_compared"] >= 4 for case in report["cases"])
    assert str(report).startswith("digits.onnx: agrees with the reference")


def test_a_model_is_verified_on_given_inputs(digits, images: np.ndarray) -> None:
    report = hr.verify(digits, {"image": images[:5]})
    (case,) = report["cases"]
    assert report.holds and case["values"] == "given"
    assert case["outputs"][0]["elements"] == 50


def test_sizes_are_fixed_by_name(digits) -> None:
    cases = hr.verify(digits, sizes={"batch": 2}, steps=False)["cases"]
    assert [case["sizes"] for case in cases] == [{"batch": 2}] * 4
    assert {case["steps_compared"] for case in cases} == {0}


def test_an_expression_is_verified() -> None:
    n, m = hr.var("n m")
    X = hr.placeholder((n, m), "f32")
    r = hr.axis(m)
    norm = hr.compile(hr.compute((n,), lambda i: hr.sqrt(hr.sum(X[i, r] ** 2, axis=r))))
    report = hr.verify(norm)
    assert report.holds, str(report)


def test_a_long_sum_has_the_error_of_single_precision() -> None:
    """One value after the other: the policy knows what rounding such a sum has."""
    n, m = hr.var("n m")
    X = hr.placeholder((n, m), "f32")
    r = hr.axis(n)
    columns = hr.compile(hr.compute((m,), lambda j: hr.sum(X[r, j], axis=r)))
    x = np.random.default_rng(0).random((50000, 3), np.float32)
    report = hr.verify(columns, [x])
    assert report.holds, str(report)


def test_functions_inside_of_an_operator_are_rounded_too() -> None:
    """Gelu is 0.5 x (1 + tanh(...)): of a large negative x it has the rounding of 1, in any single precision."""
    helper = pytest.importorskip("onnx.helper")
    x, y = (helper.make_tensor_value_info(name, 1, [3]) for name in "xy")
    node = helper.make_node("Gelu", ["x"], ["y"], approximate="tanh")
    opset = [helper.make_opsetid("", 20)]
    model = helper.make_model(helper.make_graph([node], "test", [x], [y]), opset_imports=opset)
    report = hr.verify(hr.load(model), {"x": np.array([-1, -2, -5], np.float32)})
    assert report.holds, str(report)


def test_steps_of_a_recurrence_are_rounded_too() -> None:
    """One step of a GRU: 1 - z, tanh and their product each have an error."""
    helper = pytest.importorskip("onnx.helper")
    x = helper.make_tensor_value_info("x", 1, [1, 1, 2])
    y = helper.make_tensor_value_info("y", 1, [1, 2, 1, 2])
    weights = {
        "w": [
            [[-1, -2], [2, 4], [3, -2], [3, 4], [1, -1], [-1, 2]],
            [[0, 3], [0, -2], [4, 1], [1, -3], [1, 3], [3, 0]],
        ],
        "r": [
            [[3, 3], [-4, -4], [4, 4], [-2, 3], [-4, 1], [-4, 0]],
            [[1, -2], [3, 4], [-1, -1], [3, -3], [3, 4], [3, -1]],
        ],
    }
    constants = [
        helper.make_tensor(name, 1, [2, 6, 2], np.ravel(values) / 4)
        for name, values in weights.items()
    ]
    node = helper.make_node(
        "GRU",
        ["x", "w", "r"],
        ["y"],
        direction="bidirectional",
        hidden_size=2,
        linear_before_reset=1,
    )
    graph = helper.make_graph([node], "test", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    report = hr.verify(hr.load(model), {"x": np.array([[[-2, 0.5]]], np.float32)})
    assert report.holds, str(report)


def test_a_package_is_verified_against_its_model(digits_path: Path, tmp_path: Path) -> None:
    package = tmp_path / "digits.hrpkg"
    hr.write_package(digits_path, package)
    report = hr.verify(package, reference=digits_path)
    assert report.holds and report["package"] == "digits.hrpkg"
    assert all(case["steps_compared"] >= 4 for case in report["cases"]), str(report)
    hr.write_package(digits_path, package, processors=["native"], sizes={"batch": 2})
    report = hr.verify(package, reference=digits_path, sizes={"batch": 2})
    assert report.holds and report["cases"][0]["steps_compared"] >= 4, str(report)


def test_a_model_that_runs_in_stages_is_compared_by_its_outputs(write_model) -> None:
    path = write_model(
        [("NonZero", ["x"], ["i"]), ("Cast", ["i"], ["y"], {"to": 1})],
        [("x", "FLOAT", ["n", 3])],
        [("y", "FLOAT", [2, "k"])],
    )
    report = hr.verify(path)
    assert report.holds, str(report)
    assert "split into several programs" in report["cases"][0]["why_no_steps"]


def test_strings_are_compared(write_model) -> None:
    onnx = pytest.importorskip("onnx")
    path = write_model(
        [("StringNormalizer", ["x"], ["y"], {"case_change_action": "UPPER"})],
        [("x", "STRING", ["n"])],
        [("y", "STRING", None)],
    )
    assert onnx.load(path).graph.output
    report = hr.verify(path, {"x": np.array(["a", "b"], dtype=object)})
    assert report.holds, str(report)


def test_a_script_is_compared_with_the_host() -> None:
    fit = hr.script("w = t(X) %*% (X %*% matrix(1, ncol(X), 1)); s = sum(abs(w))")
    report = hr.verify(fit, {"X": np.random.default_rng(0).random((300, 20))})
    assert report.holds, str(report)
    assert {output["name"] for output in report["cases"][0]["outputs"]} == {"w", "s"}


def test_errors_name_what_is_expected(digits, digits_path: Path, tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="save: expected the path of an ONNX model"):
        hr.verify(digits, save=tmp_path / "x.onnx")
    package = tmp_path / "digits.hrpkg"
    hr.write_package(digits_path, package, processors=["native"], sizes={"batch": 1})
    with pytest.raises(hr.UnsupportedError, match="expected a model to show reference results"):
        hr.verify(package)


def test_the_policy_is_three_times_the_error_of_single_precision() -> None:
    exact = np.linspace(-1, 1, 10001)
    rounded = exact + 1e-6 * np.cos(np.arange(10001))
    assert judge(exact + 2e-6, exact, [rounded]).holds
    wrong = judge(exact + 3e-6, exact, [rounded])
    assert not wrong.holds and wrong.error == pytest.approx(3e-6, rel=1e-3)
    assert "expected" in wrong.text
    assert not judge(np.float32([1]), np.float64([2])).holds
    assert not judge(np.int32([1]), np.int64([1])).holds
