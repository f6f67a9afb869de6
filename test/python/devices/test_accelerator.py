"""Programs compiled as they were mapped to an accelerator: `accelerator=` of the Python face."""

from __future__ import annotations

import re
from pathlib import Path

import headrace as hr
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from cases.policy import assert_close

MACHINE = Path(__file__).resolve().parents[3] / "examples/accelerators/vector-64.json"


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    """relu(w x + b), with an open batch."""
    source = np.random.default_rng(2)
    weights = {
        "w": source.standard_normal((12, 20)).astype(np.float32),
        "b": source.standard_normal(12).astype(np.float32),
    }
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["dense"], "dense", transB=1),
        helper.make_node("Relu", ["dense"], ["y"], "relu"),
    ]
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 20])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 12])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    path = tmp_path / "layer.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def of_the_machine(model: hr.Model, **sizes: int) -> list[str]:
    """Kernels that are named after one of its operators."""
    names = [kernel["name"] for kernel in model.explain(**sizes)["kernels"]]
    return [name for name in names if re.search(r"_(MVMul|VV[A-Z])", name)]


def images(batch: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal((batch, 20)).astype(np.float32)


def test_a_model_is_compiled_as_it_was_mapped(layer: Path) -> None:
    direct, mapped = hr.load(layer), hr.load(layer, accelerator=MACHINE)
    for batch in (0, 1, 3):
        x = images(batch)
        np.testing.assert_allclose(mapped(x), direct(x), rtol=1e-5, atol=1e-5)
    assert of_the_machine(mapped, batch=3) and not of_the_machine(direct, batch=3)


def test_an_expression_is_compiled_as_it_was_mapped() -> None:
    a = hr.placeholder((6,), "f32", name="a")
    b = hr.placeholder((6,), "f32", name="b")
    product = hr.compute((6,), lambda i: a[i] * b[i], name="product")
    mapped = hr.compile(product, accelerator=str(MACHINE))
    x = np.arange(6, dtype=np.float32)
    np.testing.assert_array_equal(mapped(x, x), x * x)
    assert of_the_machine(mapped)


def test_a_package_holds_the_mapped_program(layer: Path, tmp_path: Path) -> None:
    package = tmp_path / "layer.hrpkg"
    hr.write_package(layer, package, processors=["native"], accelerator=MACHINE)
    x = images(3)
    mapped = hr.load(layer, accelerator=MACHINE)
    assert_close(hr.load(package)(x), mapped(x))
    with pytest.raises(hr.InvalidArgumentError, match="no accelerator .* compiled already"):
        hr.load(package, accelerator=MACHINE)


def test_forward_and_backward_of_a_module_are_mapped() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    net = torch.nn.Linear(5, 3)
    fast = torch.compile(net, backend="headrace", options={"accelerator": MACHINE})
    x = torch.randn(4, 5)
    expected, got = net(x), fast(x)
    torch.testing.assert_close(got, expected)
    (want,) = torch.autograd.grad(expected.square().sum(), [net.weight])
    (have,) = torch.autograd.grad(got.square().sum(), [net.weight])
    torch.testing.assert_close(have, want)


def test_a_file_that_is_no_machine_is_named(layer: Path, tmp_path: Path) -> None:
    with pytest.raises(hr.IoError, match=r"nowhere\.json: cannot open"):
        hr.load(layer, accelerator="nowhere.json")(images(2))
    text = tmp_path / "text.json"
    text.write_text("no JSON")
    with pytest.raises(hr.InvalidFileError, match=r"text\.json: the file is not JSON"):
        hr.load(layer, accelerator=text)(images(2))
