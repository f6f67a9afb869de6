"""The benchmark models, small: compiled code against the reference evaluation and ONNX Runtime.

The numeric policy (headrace._verify.judge), with ONNX Runtime as the evaluation in f32.
"""

from __future__ import annotations

from pathlib import Path

import headrace
import numpy as np
import pytest
from headrace._verify import judge

ROOT = Path(__file__).resolve().parents[3]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
MODELS = ["lenet", "mlp", "resnet18", "mobilenet_v2", "bert_layer", "mish", "softmax", "layernorm"]
TARGETS = ["cpu", "cpu:x86-64-v3", "cpu:x86-64-v2"]


def random_inputs(model: headrace.Model, batch: int) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [
        rng.standard_normal(
            [batch if isinstance(size, str) else size for size in spec.shape]
        ).astype(spec.dtype)
        for spec in model.inputs
    ]


def check_against_references(path: Path, target: str, batch: int) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model = headrace.load(path, target=target)
    inputs = random_inputs(model, batch)
    try:
        ours = model(*inputs)
    except headrace.InvalidArgumentError as error:  # a CPU that is not this one
        pytest.skip(str(error))
    exact = model.reference(*inputs, keep_double=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [spec.name for spec in model.inputs]
    theirs = session.run(None, dict(zip(names, inputs)))[0]
    judgement = judge(ours, exact, [theirs.astype(np.float64)])
    assert judgement.holds, judgement.text


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", MODELS)
def test_model_within_numeric_policy(
    small_models: Path, name: str, target: str, batch: int
) -> None:
    check_against_references(small_models / f"{name}.onnx", target, batch)


@pytest.mark.parametrize("batch", [0, 1, 2, 16])
def test_digits_at_every_batch(batch: int) -> None:
    check_against_references(DIGITS, "cpu", batch)


@pytest.mark.parametrize("expansion", ["generated", "openblas", "auto"])
@pytest.mark.parametrize("name", ["mlp", "bert_layer", "lenet", "resnet18"])
def test_every_expansion_gives_the_same_answer(
    small_models: Path, name: str, expansion: str
) -> None:
    path = small_models / f"{name}.onnx"
    model = headrace.load(path, expansion=expansion)
    inputs = random_inputs(model, 3)
    np.testing.assert_allclose(model(*inputs), model.reference(*inputs), rtol=1e-4, atol=1e-5)


def test_sizes_share_compiled_versions(small_models: Path) -> None:
    model = headrace.load(small_models / "mlp.onnx")
    for batch in (1, 2, 3, 7, 64):
        inputs = random_inputs(model, batch)
        np.testing.assert_allclose(model(*inputs), model.reference(*inputs), rtol=1e-4, atol=1e-5)
    # One for a batch of 1, one for all larger ones.
    assert model.compiled_versions == 2


@pytest.mark.parametrize("name", ["resnet18", "bert_layer"])
def test_packages_compute_what_the_model_does(small_models: Path, tmp_path: Path, name) -> None:
    path = small_models / f"{name}.onnx"
    headrace.write_package(path, tmp_path / "model.hrpkg", processors=["x86-64-v2", "native"])
    model = headrace.load(path, expansion="generated")
    package = headrace.load(tmp_path / "model.hrpkg")
    for batch in (1, 3) if model.symbols else (1,):
        inputs = random_inputs(model, batch)
        np.testing.assert_allclose(package(*inputs), model(*inputs), rtol=1e-4, atol=1e-5)
