"""The benchmark models, in their small variants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

torch = pytest.importorskip("torch", reason="PyTorch makes the benchmark models")
from torch import nn

from bench.models import make as maker
from bench.run import MODEL_NAMES
from cases.networks import MODELS


def test_runner_knows_every_model() -> None:
    assert MODEL_NAMES == tuple(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_file_is_valid_and_complete(small_models: Path, name: str) -> None:
    path = small_models / f"{name}.onnx"
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.load(str(path))
    assert [(opset.domain, opset.version) for opset in model.opset_import] == [("", 17)]
    assert [value.name for value in model.graph.input] == ["input"]
    assert [value.name for value in model.graph.output] == ["output"]
    assert not any(tensor.external_data for tensor in model.graph.initializer)


@pytest.mark.parametrize("name", MODELS)
def test_batch_is_free_exactly_where_declared(small_models: Path, name: str) -> None:
    graph = onnx.load(str(small_models / f"{name}.onnx")).graph
    for value in (*graph.input, *graph.output):
        first, *others = value.type.tensor_type.shape.dim
        assert (first.dim_param == "batch") == MODELS[name].dynamic_batch
        assert all(dim.dim_value > 0 for dim in others)


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2"])
def test_batch_norms_are_kept_and_distinct(small_models: Path, name: str) -> None:
    graph = onnx.load(str(small_models / f"{name}.onnx")).graph
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    norms = [node for node in graph.node if node.op_type == "BatchNormalization"]
    assert len(norms) == sum(node.op_type == "Conv" for node in graph.node)
    for norm in norms:
        for parameter in norm.input[1:]:
            assert np.unique(weights[parameter]).size == weights[parameter].size


@pytest.mark.parametrize("name", MODELS)
def test_values_stay_in_range(name: str) -> None:
    output = MODELS[name].build(small=True)(torch.randn(MODELS[name].shape(small=True)))
    assert 1e-3 < output.abs().max() < 100


def test_weights_depend_on_the_name_only() -> None:
    torch.manual_seed(1)
    first = MODELS["resnet18"].build(small=True).state_dict()
    torch.manual_seed(2)
    second = MODELS["resnet18"].build(small=True).state_dict()
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_a_wrong_export_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export = maker.export

    def export_other_weights(model, module: nn.Module, path: Path, small: bool) -> None:
        export(model, module, path, small)
        with torch.no_grad():
            module[0].weight.mul_(1.01)

    monkeypatch.setattr(maker, "export", export_other_weights)
    with pytest.raises(RuntimeError, match="mlp: expected ONNX Runtime within"):
        maker.make(MODELS["mlp"], tmp_path, small=True)
    assert list(tmp_path.iterdir()) == []
