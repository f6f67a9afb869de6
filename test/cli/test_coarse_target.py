"""Models on accelerators with intrinsics of their own: mapped by `rewrite`, run by `--target coarse:FILE`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from coarse_models import (
    BIN,
    VECTORS,
    classic,
    good,
    helper,
    interrupted,
    machine,
    network,
    report,
    results,
    run,
    written,
)

pytestmark = pytest.mark.skipif(not BIN, reason="HEADRACE_BIN is not set")

SIZES = [(32, 32), (64, 64), (96, 96), (128, 128), (48, 80)]
large = pytest.mark.skipif(
    not os.environ.get("HEADRACE_LARGE_TESTS"), reason="takes longer: set HEADRACE_LARGE_TESTS=1"
)


def check_maps(model: Path, file: Path, folder: Path, tolerance: float = 1e-5) -> None:
    """Nothing is left over, and the machine's results are those of the CPU."""
    mapped = report(model, file)
    assert mapped["left_over"] == []
    assert [piece["left_over"] for piece in mapped["pieces"]] == [[]]
    expected = results(model, folder / "cpu", "--size=batch=2")
    got = results(model, folder / "coarse", "--size=batch=2", f"--target=coarse:{file}")
    assert got.shape == expected.shape
    assert np.abs(got - expected).max() <= tolerance * np.abs(expected).max()


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_networks_map_to_every_size_with_nothing_left_over(rows, columns, tmp_path):
    file = machine(tmp_path, rows, columns)
    check_maps(classic(tmp_path), file, tmp_path)
    check_maps(network("mlp", tmp_path), file, tmp_path / "mlp")


@large
@pytest.mark.parametrize(("rows", "columns"), SIZES)
@pytest.mark.parametrize("name", ["lenet", "mlp"])
def test_networks_of_full_size_map_to_every_size(name, rows, columns, tmp_path):
    check_maps(network(name, tmp_path, small=False), machine(tmp_path, rows, columns), tmp_path)


def test_lenet_maps_from_its_file(tmp_path):
    check_maps(network("lenet", tmp_path), machine(tmp_path, 128, 128), tmp_path)


def test_results_have_the_numbers_of_the_machine(tmp_path):
    types = pytest.importorskip("ml_dtypes")
    model = classic(tmp_path)
    expected = results(model, tmp_path / "cpu", "--size=batch=4")
    errors = []
    for element, kind, tolerance in (
        ("float32", np.float32, 1e-5),
        ("float16", np.float16, 1e-2),
        ("float8_e4m3fn", types.float8_e4m3fn, 0.3),
    ):
        file = machine(tmp_path, 64, 64, element)
        got = results(model, tmp_path / element, "--size=batch=4", f"--target=coarse:{file}")
        np.testing.assert_array_equal(got, got.astype(kind).astype(np.float32))
        errors.append(np.abs(got - expected).max() / np.abs(expected).max())
        assert errors[-1] <= tolerance
    assert errors == sorted(errors)


@pytest.mark.parametrize("batch", [0, 1, 2, 5])
def test_any_batch_gives_the_results_of_the_cpu(batch, tmp_path):
    model, file = network("mlp", tmp_path), machine(tmp_path, 48, 80)
    size = f"--size=batch={batch}"
    expected = results(model, tmp_path / "cpu", size)
    got = results(model, tmp_path / "coarse", size, f"--target=coarse:{file}")
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


MOVEMENTS = {
    "transpose": (
        lambda: [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1])],
        ["batch", 6, 4],
        {},
    ),
    "slice": (
        lambda: [helper.make_node("Slice", ["x", "from", "to", "axes"], ["t"])],
        ["batch", 2, 6],
        {"from": np.array([1, 0]), "to": np.array([3, 6]), "axes": np.array([1, 2])},
    ),
    "concat": (
        lambda: [helper.make_node("Concat", ["x", "x"], ["t"], axis=2)],
        ["batch", 4, 12],
        {},
    ),
    "pad": (
        lambda: [helper.make_node("Pad", ["x", "pads"], ["t"])],
        ["batch", 4, 9],
        {"pads": np.array([0, 0, 1, 0, 0, 2])},
    ),
    "reshape": (
        lambda: [helper.make_node("Reshape", ["x", "shape"], ["t"])],
        ["batch", 8, 3],
        {"shape": np.array([0, 8, 3])},
    ),
    "mean": (
        lambda: [helper.make_node("ReduceMean", ["x"], ["t"], axes=[2], keepdims=1)],
        ["batch", 4, 1],
        {},
    ),
    "row": (
        lambda: [helper.make_node("Add", ["x", "row"], ["t"])],
        ["batch", 4, 6],
        {"row": np.arange(4, dtype=np.float32).reshape(4, 1)},
    ),
    "products": (
        lambda: [
            helper.make_node("Transpose", ["x"], ["u"], perm=[0, 2, 1]),
            helper.make_node("MatMul", ["x", "u"], ["t"]),
        ],
        ["batch", 4, 4],
        {},
    ),
    "widest": (
        lambda: [helper.make_node("MaxPool", ["x"], ["t"], kernel_shape=[3], strides=[2])],
        ["batch", 4, 2],
        {},
    ),
    "gaps": (
        lambda: [helper.make_node("Conv", ["x", "w"], ["t"], dilations=[2], pads=[2, 1])],
        ["batch", 5, 5],
        {"w": np.linspace(-1, 1, 5 * 4 * 3, dtype=np.float32).reshape(5, 4, 3)},
    ),
    "images with gaps": (
        lambda: [
            helper.make_node("Reshape", ["x", "shape"], ["u"]),
            helper.make_node("Conv", ["u", "w"], ["t"], dilations=[1, 3], strides=[2, 1]),
        ],
        ["batch", 3, 2, 3],
        {
            "shape": np.array([0, 1, 4, 6]),
            "w": np.linspace(-1, 1, 3 * 2 * 2, dtype=np.float32).reshape(3, 1, 2, 2),
        },
    ),
    "groups": (
        lambda: [helper.make_node("Conv", ["x", "w"], ["t"], group=2, pads=[1, 1])],
        ["batch", 6, 6],
        {"w": np.linspace(-1, 1, 6 * 2 * 3, dtype=np.float32).reshape(6, 2, 3)},
    ),
}


@pytest.mark.parametrize("batch", ["batch", 3])
@pytest.mark.parametrize("name", MOVEMENTS)
def test_an_operator_has_a_form_as_a_term(name, batch, tmp_path):
    nodes, output, weights = MOVEMENTS[name]
    relu = helper.make_node("Relu", ["t"], ["y"])
    output = [batch, *output[1:]]
    model = written(tmp_path / "m.onnx", [*nodes(), relu], {"x": [batch, 4, 6]}, output, weights)
    file = machine(tmp_path, 8, 8)
    mapped = report(model, file)
    assert mapped["left_over"] == [] and len(mapped["pieces"]) == 1, mapped
    assert mapped["pieces"][0]["left_over"] == []
    sizes = ["--size=batch=1"] if batch == "batch" else []
    expected = results(model, tmp_path / "cpu", *sizes)
    got = results(model, tmp_path / "coarse", f"--target=coarse:{file}", *sizes)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


WINDOWS = [
    dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    dict(kernel_shape=[3, 2], pads=[2, 0, 0, 1], strides=[2, 1]),
    dict(kernel_shape=[2, 2], dilations=[2, 3]),
    dict(kernel_shape=[2, 2], pads=[1, 1, 1, 1], dilations=[1, 2], strides=[2, 2]),
]


@pytest.mark.parametrize("element", ["float32", "float8_e4m3fn"])
@pytest.mark.parametrize("windows", WINDOWS, ids=str)
def test_padding_is_below_every_number_of_a_maximum(windows, element, tmp_path):
    node = helper.make_node("MaxPool", ["x"], ["y"], **windows)
    shape = ["batch", 2, "rows", "columns"]
    model = written(tmp_path / "m.onnx", [node], {"x": ["batch", 2, 4, 6]}, shape, {})
    file = machine(tmp_path, 8, 8, element)
    assert report(model, file)["left_over"] == []
    # Numbers that float8 has, too: nothing is rounded.
    x = -np.random.default_rng(7).integers(1, 15, (3, 2, 4, 6)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    given = ["run", model, f"--input=x=@{tmp_path / 'x.npy'}", "--output"]
    good(*given, tmp_path / "cpu")
    good(*given, tmp_path / "coarse", f"--target=coarse:{file}")
    good(*given, tmp_path / "mapped", f"--accelerator={file}")
    expected = np.load(tmp_path / "cpu" / "y.npy")
    assert expected.max() < 0
    for folder in ("coarse", "mapped"):
        np.testing.assert_array_equal(np.load(tmp_path / folder / "y.npy"), expected)


def test_a_softmax_maps_up_to_its_division(tmp_path):
    model = network("softmax", tmp_path)
    file = machine(tmp_path, 64, 64, vectors=[*VECTORS, "VVSub", "VVExp"])
    mapped = report(model, file)
    operations = {name for piece in mapped["pieces"] for name in piece["operations"]}
    assert {"VVSub[64]", "VVExp[64]"} <= operations
    left = [text for piece in mapped["pieces"] for text in piece["left_over"]]
    assert left and all(text.startswith("zip[div] of ") for text in left)
    expected = results(model, tmp_path / "cpu")
    for option in (f"--target=coarse:{file}", f"--accelerator={file}"):
        got = results(model, tmp_path / option.split("=")[0].strip("-"), option)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


def test_the_report_says_what_each_piece_became(tmp_path):
    mapped = report(network("mlp", tmp_path), machine(tmp_path, 64, 64))
    assert set(mapped) == {"pieces", "left_over"}
    (piece,) = mapped["pieces"]
    assert {
        "name",
        "operators",
        "term",
        "operations",
        "useful_products",
        "done_products",
        "bytes",
        "cost",
        "extraction",
        "search",
        "left_over",
        "rules",
    } <= set(piece)
    assert piece["operators"][0] == "/0/Gemm" and piece["name"] == piece["operators"][-1]
    assert piece["operations"]["MVMul[64, 64]"] >= 1
    assert piece["useful_products"] == 64 * 32 + 32 * 16 + 16 * 10
    assert "0.weight" in piece["term"] and "input" in piece["term"]


def test_a_function_that_the_machine_lacks_is_named(tmp_path):
    file = machine(tmp_path, 64, 64, vectors=[name for name in VECTORS if name != "VVRelu"])
    model = network("mlp", tmp_path)
    left = report(model, file)["pieces"][0]["left_over"]
    assert left and all(text.startswith("map[relu] of ") for text in left)
    # The target gives those to the CPU, and computes what stands between.
    kernels = json.loads(good("explain", "--json", model, "--target", f"coarse:{file}"))["kernels"]
    kernels = [kernel for kernel in kernels if kernel["kind"] != "copy"]
    where = {kernel["name"]: kernel["where"] for kernel in kernels}
    assert where["/0/Gemm"] == where["/4/Gemm"] == "coarse"
    assert where["/1/Relu"] == where["/3/Relu"] == "cpu"
    reasons = {kernel["why_not"] for kernel in kernels if kernel["where"] == "cpu"}
    assert reasons and all("has no operator for map[relu]" in reason for reason in reasons)
    expected = results(model, tmp_path / "cpu", "--size=batch=2")
    got = results(model, tmp_path / "coarse", "--size=batch=2", f"--target=coarse:{file}")
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


def test_maxima_that_the_machine_lacks_are_left_over_alone(tmp_path):
    file = machine(tmp_path, 64, 64, vectors=[name for name in VECTORS if name != "VVMax"])
    mapped = report(network("lenet", tmp_path), file)
    inside = [text for piece in mapped["pieces"] for text in piece["left_over"]]
    assert all("max" in text.split(" of ")[0] for text in inside), inside
    outside = [left["reason"] for left in mapped["left_over"]]
    assert all("has no operator for" in reason and "max" in reason for reason in outside), outside
    assert len(inside) + len(outside) == 2
    assert all(0 <= piece["cost"] < 1e6 for piece in mapped["pieces"])


def test_what_has_no_form_as_a_term_bounds_the_pieces(tmp_path):
    model, file = interrupted(tmp_path), machine(tmp_path, 16, 16)
    mapped = report(model, file)
    assert [piece["operators"][0] for piece in mapped["pieces"]] == ["first", "last"]
    assert {left["name"] for left in mapped["left_over"]} == {"middle"}
    assert "math.erf" in mapped["left_over"][0]["reason"]
    kernels = json.loads(good("explain", "--json", model, "--target", f"coarse:{file}"))["kernels"]
    where = [kernel["where"] for kernel in kernels if kernel["kind"] != "copy"]
    assert where == ["coarse", "cpu", "coarse"]
    expected = results(model, tmp_path / "cpu", "--size=batch=3")
    got = results(model, tmp_path / "coarse", "--size=batch=3", f"--target=coarse:{file}")
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


def test_a_package_runs_on_the_accelerator(tmp_path):
    model, file = network("mlp", tmp_path), machine(tmp_path, 64, 64, "float16")
    good("compile", model, "--target", f"coarse:{file}", "-o", tmp_path / "mlp.hrpkg")
    direct = results(model, tmp_path / "direct", "--size=batch=2", f"--target=coarse:{file}")
    file.unlink()  # the package has all it needs
    packaged = results(tmp_path / "mlp.hrpkg", tmp_path / "packaged", "--size=batch=2")
    np.testing.assert_array_equal(packaged, direct)


@pytest.mark.parametrize("name", ["softmax", "mish", "layernorm"])
def test_what_cannot_be_mapped_gives_the_results_of_the_cpu(name, tmp_path):
    model, file = network(name, tmp_path), machine(tmp_path, 64, 64)
    expected = results(model, tmp_path / "cpu")
    got = results(model, tmp_path / "coarse", f"--target=coarse:{file}")
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


def test_mistakes_are_explained(tmp_path):
    model, file = interrupted(tmp_path), machine(tmp_path, 16, 16)
    for target, message in (
        ("coarse", "expected the file of an accelerator, as in coarse:"),
        ("coarse:nowhere.json", "nowhere.json: cannot open"),
        (f"coarse:{model}", f"{model}: the file is not JSON"),
    ):
        done = run("run", model, "--random", 1, "--target", target)
        assert done.returncode == 1 and message in done.stderr
    done = run("rewrite", model, "--accelerator", file, "--size", "rows=3")
    assert done.returncode == 1 and "the model has no dynamic dimension 'rows'" in done.stderr
    done = run("rewrite", tmp_path / "nowhere.onnx", "--accelerator", file)
    assert done.returncode == 1 and "nowhere.onnx: cannot open the file" in done.stderr
