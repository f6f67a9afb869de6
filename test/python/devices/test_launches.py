"""Recipes of devices: how stages are launched. What is rejected, and what becomes of what is not."""

from __future__ import annotations

import zipfile

import headrace as hr
import pytest

TARGET = "cuda:sm_90a"


def product(m=256, n=384, k=512, dtype="f32"):
    """In f32, of whatever is multiplied."""
    A = hr.placeholder((m, k), dtype, name="A")
    B = hr.placeholder((k, n), dtype, name="B")
    r = hr.axis(k, name="r")
    return hr.compute(
        (m, n),
        lambda i, j: hr.sum(A[i, r].astype("f32") * B[r, j].astype("f32"), axis=r),
        name="C",
    )


def dense(**sizes):
    C = product(**sizes)
    return C, hr.compute(C.shape, lambda i, j: hr.max(C[i, j], 0.0), name="D")


def doubled(*shape):
    X = hr.placeholder(shape, "f32", name="X")
    return hr.compute(shape, lambda *i: X[i] * 2.0 + 1.0, name="Y")


def row_sums(rows=64, columns=512):
    X = hr.placeholder((rows, columns), "f32", name="X")
    r = hr.axis(columns, name="r")
    return hr.compute((rows,), lambda i: hr.sum(X[i, r], axis=r), name="S")


def column_sums(rows=4096, columns=1000):
    X = hr.placeholder((rows, columns), "f32", name="X")
    r = hr.axis(rows, name="r")
    return hr.compute((columns,), lambda j: hr.sum(X[r, j], axis=r), name="S")


def transposed(rows=100, columns=200):
    X = hr.placeholder((columns, rows), "f32", name="X")
    return hr.compute((rows, columns), lambda i, j: X[j, i], name="T")


def code(outputs, recipe="", target=TARGET):
    """The kernels' PTX."""
    model = hr.compile(outputs, target=target, expansion="generated", recipe=recipe)
    return model.ir("llvm")


def recipe_of(outputs, recipe="", target=TARGET):
    model = hr.compile(outputs, target=target, expansion="generated", recipe=recipe)
    return "".join(kernel["recipe"] for kernel in model.explain()["kernels"])


LAUNCHES = {
    "points": (doubled(64, 1000), "Y: points vector=2 threads=1024"),
    "points alone": (doubled(64, 1000), "Y: points vector=1"),
    "rows": (row_sums(), "S: rows lanes=8"),
    "a row a block": (row_sums(), "S: rows lanes=64"),
    "rows walked": (row_sums(), "S: rows held=0"),
    "columns": (column_sums(), "S: columns splits=5 threads=64"),
    "columns by blocks": (row_sums(), "S: columns threads=128 vector=4 splits=2"),
    "tiles": (transposed(), "T: tiles threads=512"),
    "product": (product(), "C: product tileM=64 tileN=128"),
    "product in parts": (product(), "C: product tileK=8 splits=4"),
    "product of halves": (product(dtype="bf16"), "C: product"),
    "tensor cores": (product(dtype="bf16"), "C: tensorcores tileM=64 tileN=64"),
    "tensor cores in parts": (product(dtype="f16"), "C: tensorcores splits=4"),
    "warp groups": (product(dtype="bf16"), "C: warpgroups tileN=128 stages=3"),
    "low warp groups": (product(dtype="f16"), "C: warpgroups tileM=64 blocks=10"),
    "high warp groups": (product(dtype="bf16"), "C: warpgroups tileM=192 tileN=128"),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_what_is_said_shows_and_changes_the_code(name):
    outputs, line = LAUNCHES[name]
    found = recipe_of(outputs, line)
    stage, _, said = line.partition(": ")
    assert found.startswith(f"{stage}: {said.split()[0]} ") and found.count("\n") == 1
    assert set(said.split()) <= set(found.split())
    assert code(outputs, line) != code(outputs)


@pytest.mark.parametrize("name", LAUNCHES)
def test_what_explain_prints_is_a_recipe(name):
    outputs, line = LAUNCHES[name]
    for given in ("", line):
        printed = recipe_of(outputs, given)
        assert recipe_of(outputs, printed) == printed
        assert code(outputs, printed) == code(outputs, given)


REFUSED = [
    # the text
    (doubled(8), "Y", "line 1, column 1: expected a step (fold, leave, "),
    (doubled(8), "Y: poinst", "got 'poinst'; did you mean 'points'?"),
    (doubled(8), "\n: points", "line 2, column 1: expected the name of a stage, got ':'"),
    (doubled(8), "Y:", "column 3: expected a kind of launch, got the end of the line"),
    (doubled(8), "Y: split i by 4", "column 4: expected a kind of launch (points, rows, columns, "),
    (doubled(8), "Y: points tileM=4", "expected a parameter of 'points' (threads, vector), got"),
    (doubled(8), "Y: points threads", "expected '=' after 'threads', got the end of the line"),
    (doubled(8), "Y: points threads=many", "from 0 to 1048576 for 'threads', got 'many'"),
    (doubled(8), "Y: points threads=-32", "expected a number from 0 to"),
    (doubled(8), "Y: points threads=99999999999999999999", "expected a number from 0 to"),
    (doubled(8), "Y: points threads=64 threads=32", "expected each parameter once"),
    (doubled(8), "Z: points", "line 1: there is no stage 'Z'; there are 'Y'"),
    (doubled(8), "Y: points\nY: points", "line 2: stage 'Y' has a line already, line 1"),
    # all kinds
    (doubled(8), "Y: points threads=0", "threads: expected a multiple of 32, at most 1024"),
    (doubled(8), "Y: points threads=100", "threads: expected a multiple of 32"),
    (doubled(8), "Y: points threads=2048", "threads: expected a multiple of 32, at most 1024"),
    # points
    (doubled(8), "Y: points vector=3", "vector: expected 1, 2, 4, 8 or 16"),
    (doubled(42), "Y: points vector=4", "vector: expected at most 2: more are not contiguous"),
    (transposed(), "T: points vector=2", "vector: expected at most 1"),
    (row_sums(), "S: points vector=2", "vector: expected at most 1"),
    # rows
    (doubled(8, 8), "Y: rows", "expected a reduction along rows, got none"),
    (column_sums(), "S: rows", "expected contiguous rows"),
    (row_sums(), "S: rows lanes=0", "lanes: expected a power of two that divides threads"),
    (row_sums(), "S: rows lanes=3", "lanes: expected a power of two that divides threads=128"),
    (row_sums(), "S: rows lanes=64 threads=128", "at most 32, or all threads, which are 128"),
    (row_sums(64, 510), "S: rows vector=4", "vector: expected at most 2"),
    (row_sums(), "S: rows lanes=32 held=3", "held: expected 0, or 4 for rows of 512 elements"),
    (row_sums(), "S: rows lanes=1 held=128", "held: expected at most 128 elements in a thread's"),
    (row_sums(64, 50_000), "S: rows lanes=1024 vector=1 held=49", "held: expected at most 32 elements"),
    (row_sums(hr.var("n"), hr.var("m")), "S: rows held=4", "held: expected 0, rows being of unknown length"),
    # columns
    (doubled(8, 8), "Y: columns", "expected a reduction by one operation"),
    (column_sums(hr.var("n"), 1000), "S: columns", "expected sizes that are known"),
    (column_sums(), "S: columns lanes=32 threads=64", "lanes: expected 1, or all threads"),
    (row_sums(), "S: columns threads=96", "threads: expected a power of two if all threads compute one result"),
    (column_sums(), "S: columns splits=0", "splits: expected 1 to 1024 of 4096 elements"),
    (column_sums(100), "S: columns splits=101", "splits: expected 1 to 100 of 100 elements"),
    (column_sums(), "S: columns vector=4 lanes=1", "vector: expected at most 1"),
    (row_sums(64, 510), "S: columns vector=4", "expected a number that divides the 510 elements"),
    # tiles
    (doubled(8, 8), "Y: tiles", "expected an element-wise function of one tensor that is transposed"),
    (transposed(), "T: tiles along=1", "along: expected 0: the contiguous dimension of the operand"),
    (transposed(), "T: tiles threads=96", "threads: expected a power of two, so that they share"),
    # products
    (row_sums(), "S: product", "expected a matmul: sums of products of two tensors'"),
    (product(), "C: product tileM=48", "tileM: expected a multiple of 32, at most 512"),
    (product(), "C: product tileN=100", "tileN: expected a multiple of"),
    (product(), "C: product tileK=6", "tileK: expected a multiple of 4"),
    (product(), "C: product tileK=0", "tileK: expected a multiple of 4"),
    (product(), "C: product threadM=6", "threadM: expected a multiple of 4, at most 32"),
    (product(), "C: product threadN=0", "threadN: expected a multiple of 4"),
    (product(), "C: product tileM=1024", "tileM: expected a multiple of 32, at most 512"),
    (product(), "C: product tileM=512 tileN=512 threadM=8 threadN=4", "at most 1024 threads"),
    (product(), "C: product tileM=64 tileN=64 threads=0", "threads: expected 128 for tiles of"),
    (product(), "C: product tileM=64 tileN=64 threads=64", "threads: expected 128 for tiles of"),
    (product(), "C: product tileM=128 tileN=128 tileK=32", "at most 49152 bytes of shared memory"),
    (product(), "C: product tileM=64 tileN=64 tileK=12", "tileK: expected rows of a tile whose 3"),
    (product(), "C: product tileM=64 tileN=64 tileK=4", "tileM: expected tiles whose 64 vectors"),
    (product(), "C: product tileM=128 tileN=128 threadM=32 threadN=16", "threadM: expected at most"),
    (product(), "C: product splits=0", "splits: expected 1 to"),
    (product(), "C: product splits=33", "splits: expected 1 to 32, the depth having 32 tiles"),
    (product(), "C: product splits=20", "splits: expected 16: parts of 2 tiles leave none of 32"),
    (product(k=500), "C: product splits=2", "expected 1, the depth 500 not being a known multiple"),
    # tensor cores
    (product(), "C: tensorcores", "expected a matmul of two tensors in f16 or two in bf16"),
    (product(dtype="bf16"), "C: tensorcores threadM=24", "threadM: expected a multiple of 16"),
    (product(dtype="bf16"), "C: tensorcores threadN=12", "threadN: expected a multiple of 8"),
    (product(dtype="bf16"), "C: tensorcores tileK=24", "tileK: expected a multiple of 16"),
    (product(dtype="bf16"), "C: tensorcores tileM=128 tileN=128 tileK=64", "bytes of shared memory"),
    # warp groups
    (product(), "C: warpgroups", "expected a matmul of two tensors in f16 or two in bf16"),
    (product(dtype="bf16"), "C: warpgroups tileM=96", "tileM: expected a multiple of 64, at most 256"),
    (product(dtype="bf16"), "C: warpgroups tileN=320", "tileN: expected a multiple of 64, at most 256"),
    (product(dtype="bf16"), "C: warpgroups tileK=32", "tileK: expected 64"),
    (product(dtype="bf16"), "C: warpgroups tileM=128 threads=256", "threads: expected 384: a group of 128 for"),
    (product(dtype="bf16"), "C: warpgroups tileM=192 tileN=256", "tileN: expected at most 128 reg"),
    (product(dtype="bf16"), "C: warpgroups tileN=256 stages=1", "stages: expected 2 to 4 in the 232448 bytes"),
    (product(dtype="bf16"), "C: warpgroups tileN=256 stages=5", "stages: expected 2 to 4 in the 232448 bytes"),
    (product(dtype="bf16"), "C: warpgroups blocks=0", "blocks: expected 1 to 65535"),
    (product(dtype="bf16"), "C: warpgroups padded=4", "padded: expected a multiple of 8"),
    (product(9_000_001, k=9, dtype="bf16"), "C: warpgroups padded=1024", "padded: expected copies"),
    (product(n=hr.var("n"), dtype="bf16"), "C: warpgroups", "expected a known number of columns"),
]  # fmt: skip


@pytest.mark.parametrize(("outputs", "recipe", "reason"), REFUSED, ids=[r[1] for r in REFUSED])
def test_refused(outputs, recipe, reason):
    model = hr.compile(outputs, target=TARGET, expansion="generated", recipe=recipe)
    with pytest.raises(hr.InvalidArgumentError) as error:
        model.explain()
    assert str(error.value).startswith("recipe, ") and "\n" not in str(error.value)
    assert reason in str(error.value)


def test_other_devices_have_no_warp_groups():
    line = "C: warpgroups"
    with pytest.raises(hr.InvalidArgumentError, match="expected a device with warp groups"):
        recipe_of(product(dtype="bf16"), line, target="cuda:sm_80")


def test_the_error_names_the_line():
    with pytest.raises(
        hr.InvalidArgumentError, match="^recipe, line 1: 'C: product tileM=48': tileM: expe"
    ):
        code(product(), "C: product tileM=48")


def test_a_stage_that_is_computed_where_it_is_read_can_be_launched():
    _, D = dense()
    assert recipe_of(D).startswith("D: product ")
    first, second = recipe_of(D, "C: product tileM=64 tileN=64").splitlines()
    assert first.startswith("C: product ") and " tileM=64 " in first
    assert second == "D: points threads=256 vector=4"
    # Reductions on the way to points are launched, too.
    assert recipe_of(D, "D: points").splitlines()[0].startswith("C: product ")
    with pytest.raises(hr.InvalidArgumentError, match="'D: product': expected a matmul"):
        recipe_of(D, "C: product\nD: product")


def test_names_of_kernels_stand_for_names_that_nobody_gave(tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="first:1"),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "w"], ["c"], name="second"),
        helper.make_node("Softmax", ["c"], ["y"], name="last"),
    ]
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, (64, 64)) for name in ("x", "w", "y")
    ]
    graph = helper.make_graph(nodes, "test", values[:2], values[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)

    def recipe(given):
        program = hr.load(path, target=TARGET, expansion="generated", recipe=given)
        return [kernel["recipe"].strip() for kernel in program.explain()["kernels"]]

    before = recipe("")
    assert [line.split(":")[0] for line in before] == ["first_1", "second", "last"]
    changed = recipe("second: product tileM=64 tileN=64  # this one alone\n")
    assert changed[0] == before[0] and changed[2] == before[2] and " tileM=64 " in changed[1]
    assert recipe("first_1/contract: product")[0].splitlines()[1].startswith("first_1: points ")
    with pytest.raises(hr.InvalidArgumentError, match="a stage of several kernels: 'first_1/contr"):
        recipe("contract: product")
    with pytest.raises(hr.InvalidArgumentError, match="there are 'first_1/contract', 'first_1', "):
        recipe("third: product")


def test_schedule(tmp_path):
    C, D = dense()
    s = hr.schedule(D, target=TARGET)
    assert s.stages == ("C", "D") and s.target == TARGET and s.recipe == ""
    assert "C: computed where it is read" in repr(s) and "product" in repr(s[D])
    s[D].launch("product", tileM=64, tileN=64)
    assert s.recipe == "D: product tileM=64 tileN=64\n" and "tileM=64" in repr(s)
    for kind, parameters in (("product", {"tileM": 48}), ("rows", {}), ("nothing", {})):
        with pytest.raises(hr.InvalidArgumentError):
            hr.schedule(D, target=TARGET)[D].launch(kind, **parameters)
    with pytest.raises(hr.InvalidArgumentError, match="has a line already"):
        s[D].launch("product")
    with pytest.raises(TypeError):
        hr.schedule(D, target=TARGET)[D].launch("product", tileM="64")
    with pytest.raises(hr.InvalidArgumentError, match="expected one of the stages C, D, got 'E'"):
        s["E"]
    assert s.recipe == "D: product tileM=64 tileN=64\n"
    s.save(tmp_path / "recipe.txt")
    again = hr.schedule(D, target=TARGET).load(tmp_path / "recipe.txt")
    assert again.recipe == s.recipe
    model = hr.compile(D, recipe=s)
    assert " tileM=64 " in model.explain()["kernels"][0]["recipe"]
    assert isinstance(hr.schedule(C, target="cpu"), hr.Schedule)


def test_packages_hold_what_was_said(tmp_path):
    pytest.importorskip("onnx")
    from cases.gpu.onnx_models import write_formula
    from cases.gpu.programs import Case

    model, package = tmp_path / "model.onnx", tmp_path / "model.hrpkg"
    write_formula(Case("open", "matmul", (("rows", 256), (256, 512))), model)
    line = "MatMul_y: product tileM=64 tileN=64 tileK=8\n"

    def images(recipe):
        hr.write_package(model, package, target=TARGET, recipe=recipe)
        with zipfile.ZipFile(package) as archive:
            return archive.read("code/0-sm_90a.json"), archive.read("manifest.json")

    chosen, given = images(""), images(line)
    assert given[0] != chosen[0] and b" tileK=8 " in given[1] and b" tileK=8 " not in chosen[1]
    with pytest.raises(hr.InvalidArgumentError, match="threads: expected a multiple of 32"):
        hr.write_package(model, package, target=TARGET, recipe="MatMul_y: points threads=1")
    with pytest.raises(hr.InvalidArgumentError, match="expected one model for a recipe"):
        hr.write_package([model, model], package, target=TARGET, recipe=line)
    hr.write_package(model, package, processors=["native"])
    with pytest.raises(hr.InvalidArgumentError, match="no recipe for a package"):
        hr.load(package, recipe=line)
