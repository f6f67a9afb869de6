"""Weights are in memory once: after they were folded and packed, for versions of other sizes, and while packages are
made. Each case runs in a process of its own, whose resident set is measured beyond that of a model without weights, and
without code: that of the compiler leaves memory, too, after it compiled large weights.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

WIDTH = 2048
LAYER = WIDTH * WIDTH * 4 / 2**20  # MiB

MEASURE = """
import re, sys
import headrace, numpy as np

def mebibytes(what):
    with open("/proc/self/status") as file:
        return int(re.search(what + r":\\s*(\\d+) kB", file.read())[1]) / 1024

def resident(code):
    total, counts = 0, False
    with open("/proc/self/smaps") as file:
        for line in file:
            if head := re.match(r"[0-9a-f]+-[0-9a-f]+ ..(.)", line):
                counts = (head[1] == "x") == code
            elif counts and line.startswith("Rss:"):
                total += int(line.split()[1])
    return total / 1024

def ran(model, rows):
    model(np.ones((rows, model.inputs[0].shape[1]), np.float32))
    return resident(code=False)

path = sys.argv[1]
"""
RUNS = "model = headrace.load(path)\nprint(ran(model, 2), ran(model, 1), ran(model, 3), mebibytes('VmHWM'))"
CODE = "model = headrace.load(path)\nran(model, 2)\nprint(resident(code=True))"
PACKS = "headrace.write_package(path, path + '.hrpkg')\nprint(mebibytes('VmHWM'))"
AGAIN = "for _ in range(6):\n    model = headrace.load(path)\n    print(ran(model, 2))"
UNPACKS = "model = headrace.load(path + '.hrpkg')\nprint(ran(model, 2), ran(model, 1))"


def write_chain(path: Path, layers: int, width: int) -> Path:
    """Products with transposed weights, which are folded and then packed."""
    rng = np.random.default_rng(3)
    nodes, names = [], ["x", *(f"v{i}" for i in range(layers))]
    for i in range(layers):
        nodes.append(helper.make_node("Gemm", [names[i], f"w{i}"], [names[i + 1]], transB=1))
    weights = [
        numpy_helper.from_array(rng.standard_normal((width, width), np.float32), f"w{i}")
        for i in range(layers)
    ]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", width])],
        [helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, ["rows", width])],
        weights,
    )
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    return path


def measured(script: str, path: Path) -> list[float]:
    """On a machine whose costs give products to the library, weights would also stay as they are in the file."""
    run = subprocess.run(
        [sys.executable, "-c", MEASURE + script, str(path)],
        env={**os.environ, "HEADRACE_RATES": "derived"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(value) for value in run.stdout.split()]


@pytest.fixture(scope="module")
def empty(tmp_path_factory) -> Path:
    """As many layers, without weights to speak of."""
    return write_chain(tmp_path_factory.mktemp("empty") / "model.onnx", 12, 32)


# A file of up to 64 MiB is copied, so that what happens to it does not matter; a larger one is mapped.
@pytest.mark.parametrize(("layers", "copies"), [(3, 2), (12, 1)])
def test_versions_for_other_sizes_share_weights_that_were_packed(tmp_path, empty, layers, copies):
    path = write_chain(tmp_path / "model.onnx", layers, WIDTH)
    beyond = np.subtract(measured(RUNS, path), measured(RUNS, empty))
    weights = copies * layers * LAYER
    assert np.all(beyond[:3] < weights + 20)
    # One on its way: as it is in the file, transposed, and packed.
    assert beyond[3] < weights + 3 * LAYER + 20


def test_packages_are_made_and_run_with_weights_once(tmp_path, empty):
    path = write_chain(tmp_path / "model.onnx", 12, WIDTH)
    for script, allowed in ((PACKS, 3 * LAYER + 20), (UNPACKS, 20)):
        beyond = np.subtract(measured(script, path), measured(script, empty))
        assert np.all(beyond < 12 * LAYER + allowed)


def test_models_that_are_gone_leave_no_weights(tmp_path):
    after = measured(AGAIN, write_chain(tmp_path / "model.onnx", 3, WIDTH))
    # The old model is freed when the new one exists: at most two at a time.
    assert max(after[2:]) < after[1] + LAYER


def test_the_compilers_code_leaves_memory_after_large_weights(tmp_path):
    (code,) = measured(CODE, write_chain(tmp_path / "model.onnx", 12, WIDTH))
    assert code < 20  # Python and NumPy; LLVM and MLIR take 90 as they compile
