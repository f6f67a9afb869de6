"""Code for levels of x86-64: its vectors, and its results where this machine can run it."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close


def product(rows, columns, inner):
    A = hr.placeholder((rows, inner), "f32", name="A")
    B = hr.placeholder((inner, columns), "f32", name="B")
    k = hr.axis(inner, name="k")
    return hr.compute((rows, columns), lambda i, j: hr.sum(A[i, k] * B[k, j], axis=k), name="C")


def product_model(path, rows, columns, inner):
    onnx = pytest.importorskip("onnx")
    value, helper = onnx.helper.make_tensor_value_info, onnx.helper
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["c"])],
        "product",
        [value("a", 1, (rows, inner)), value("b", 1, (inner, columns))],
        [value("c", 1, (rows, columns))],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


@pytest.mark.parametrize(
    ("level", "register", "wider"),
    [("x86-64-v4", "zmm", "none"), ("x86-64-v3", "ymm", "zmm")],
)
def test_products_multiply_and_add_whole_vectors(tmp_path, level, register, wider):
    objdump = shutil.which("llvm-objdump-19") or shutil.which("objdump")
    if not objdump:
        pytest.skip("no disassembler")
    model = product_model(tmp_path / "product.onnx", 256, 256, 256)
    package = tmp_path / "product.hrpkg"
    hr.write_package(model, package, processors=[level])
    with zipfile.ZipFile(package) as archive:
        (code,) = [name for name in archive.namelist() if name.endswith(".so")]
        archive.extract(code, tmp_path)
    shown = subprocess.run(
        [objdump, "-d", tmp_path / code], check=True, capture_output=True, text=True
    ).stdout
    lines = shown.splitlines()
    fused = [line for line in lines if "vfmadd" in line and register in line]
    # The tile of registers, without a vector that is spilled and read again between them.
    assert len({line.split()[-1].split(",")[-1] for line in fused}) >= 8
    assert not [line for line in lines if re.search(rf"%{wider}\d", line)]
    assert not [line for line in fused if "(%rsp" in line]


@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("sizes", [(64, 64, 64), (97, 101, 53), (5, 300, 64)])
def test_levels_compute_the_same(level, sizes):
    f = hr.compile(product(*sizes), target=f"cpu:{level}", expansion="generated")
    rows, columns, inner = sizes
    random = np.random.default_rng(0)
    a, b = random.random((rows, inner), "f4"), random.random((inner, columns), "f4")
    try:
        found = f(a, b)
    except hr.InvalidArgumentError as error:
        assert "cannot run code" in str(error)
        pytest.skip(f"this machine is no {level}")
    assert_close(found, a @ b)
