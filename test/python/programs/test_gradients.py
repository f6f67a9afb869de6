"""Gradients from Python: of small programs, of the benchmark models against PyTorch's autograd."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest

from cases.policy import assert_close


@pytest.fixture
def loss(write_model) -> hr.Model:
    """The sum of squared differences: one number."""
    return hr.load(
        write_model(
            [
                ("Sub", ["x", "target"], ["difference"]),
                ("Mul", ["difference", "difference"], ["squares"]),
                ("ReduceSum", ["squares"], ["loss"]),
            ],
            [("x", "FLOAT", ["n", 3]), ("target", "FLOAT", ["n", 3])],
            [("loss", "FLOAT", [1, 1])],
        )
    )


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_grad_of_a_loss(loss: hr.Model, n: int) -> None:
    x, target = numbers(n, 3), numbers(n, 3, seed=1)
    dx, dtarget = hr.grad(loss)(x, target)
    assert_close(dx, 2 * (x - target))
    assert_close(dtarget, 2 * (target - x))


def test_phases_of_a_gradient_are_shown(loss: hr.Model) -> None:
    gradient = hr.grad(loss)
    assert "x.grad" not in gradient.ir("merge") and "x.grad" in gradient.ir("differentiate")
    assert "hr.kernel" in gradient.ir("kernels")
    with pytest.raises(hr.InvalidArgumentError, match="unknown phase 'merge'"):
        loss.ir("merge")


def test_value_and_grad_by_name(loss: hr.Model) -> None:
    x, target = numbers(4, 3), numbers(4, 3, seed=1)
    value, dtarget = hr.value_and_grad(loss, wrt="target")(target=target, x=x)
    assert_close(value, [[np.sum((x - target) ** 2)]])
    assert_close(dtarget, 2 * (target - x))


def test_vjp_takes_gradients_of_outputs(sum_and_difference: hr.Model) -> None:
    a, b, up, down = (numbers(2, 3, seed=i) for i in range(4))
    program = hr.vjp(sum_and_difference)
    assert [spec.name for spec in program.model.inputs] == ["a", "b", "sum.grad", "difference.grad"]
    (total, difference), (da, db) = program(a, b, up, down)
    assert_close(total, a + b)
    assert_close(difference, a - b)
    assert_close(da, up + down)
    assert_close(db, up - down)


def test_forward_then_backward(digits: hr.Model, images: np.ndarray) -> None:
    pair = hr.forward_backward(digits)
    image = images[:3]
    logits, kept = pair.forward(image)
    np.testing.assert_array_equal(logits, digits(image))
    up = numbers(*logits.shape)
    gradient = pair.backward(kept, up)
    _, expected = hr.vjp(digits)(image, up)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-5)


def test_memory_budget(digits: hr.Model, images: np.ndarray) -> None:
    pair = hr.forward_backward(digits, memory_budget=0)
    assert pair.kept == ()
    assert pair.computed_again
    image = images[:2]
    logits, kept = pair.forward(image)
    up = numbers(*logits.shape)
    _, expected = hr.vjp(digits)(image, up)
    np.testing.assert_allclose(pair.backward(kept, up), expected, rtol=1e-4, atol=1e-5)
    assert "computed again" in str(pair.explain(batch=2))


def test_weights_by_name(digits: hr.Model, images: np.ndarray) -> None:
    names = [spec.name for spec in digits.weights]
    logits, gradients = hr.vjp(digits, wrt=names)(images[:4], np.ones((4, 10), np.float32))
    for spec, gradient in zip(digits.weights, gradients):
        assert gradient.shape == spec.shape


def test_errors_name_what_is_wrong(digits: hr.Model, loss: hr.Model) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="expected a program with one scalar output"):
        hr.grad(digits)
    with pytest.raises(hr.InvalidArgumentError, match="got 'y'; the inputs are 'x', 'target'"):
        hr.grad(loss, wrt="y")


def test_mish_keeps_its_input_only(write_model) -> None:
    shape = [8, 32, 224, 224]
    model = hr.load(
        write_model(
            [
                ("Softplus", ["x"], ["a"]),
                ("Tanh", ["a"], ["b"]),
                ("Mul", ["x", "b"], ["y"]),
            ],
            [("x", "FLOAT", shape)],
            [("y", "FLOAT", shape)],
        )
    )
    explanation = hr.forward_backward(model).explain()
    assert explanation["kept"] == []
    assert explanation["computed_again"] == []
    tensor = 4 * 8 * 32 * 224 * 224
    for direction, tensors in [("forward", 2), ("backward", 3)]:
        assert explanation[direction]["after"]["kernels"] == 1
        assert explanation[direction]["after"]["bytes_moved"] == tensors * tensor


def test_softmax_moves_what_it_must(write_model) -> None:
    shape = [8, 16, 64, 512]
    model = hr.load(
        write_model([("Softmax", ["x"], ["y"])], [("x", "FLOAT", shape)], [("y", "FLOAT", shape)])
    )
    explanation = hr.forward_backward(model).explain()
    assert explanation["kept"] == []
    tensor = 4 * 8 * 16 * 64 * 512
    for direction, tensors in [("forward", 2), ("backward", 3)]:
        assert explanation[direction]["after"]["kernels"] == 1
        assert explanation[direction]["after"]["bytes_moved"] == tensors * tensor


def test_layer_norm_goes_through_memory_once_each_way(write_model) -> None:
    shape = [8, 512, 1024]
    model = hr.load(
        write_model(
            [("LayerNormalization", ["x", "scale", "bias"], ["y"])],
            [("x", "FLOAT", shape), ("scale", "FLOAT", [1024]), ("bias", "FLOAT", [1024])],
            [("y", "FLOAT", shape)],
        )
    )
    explanation = hr.forward_backward(model).explain()
    tensor = 4 * 8 * 512 * 1024
    assert sum(4 * np.prod(kept["shape"]) for kept in explanation["kept"]) <= tensor / 100
    for direction, tensors in [("forward", 2), ("backward", 3)]:
        moved = explanation[direction]["after"]["bytes_moved"]
        assert tensors * tensor <= moved < (tensors + 0.1) * tensor


@pytest.mark.parametrize("name", ["lenet", "mlp", "resnet18", "mobilenet_v2", "bert_layer"])
def test_models_against_autograd(small_models: Path, name: str) -> None:
    torch = pytest.importorskip("torch")
    onnx = pytest.importorskip("onnx")
    from cases.networks import MODELS

    path = small_models / f"{name}.onnx"
    model = hr.load(path)
    files = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    weights = [spec.name for spec in model.weights if spec.name in files and files[spec.name].ndim]
    batch = (3, *MODELS[name].small_shape[1:])
    x = numbers(*batch)
    up = numbers(*model(x).shape, seed=1)
    value, gradients = hr.vjp(model, wrt=["input", *weights])(x, up)

    module = MODELS[name].build(small=True).double()
    image = torch.from_numpy(x).double().requires_grad_()
    result = module(image)
    result.backward(torch.from_numpy(up).double())
    np.testing.assert_allclose(value, result.detach().numpy(), rtol=1e-3, atol=1e-4)
    expected = {"input": image.grad}
    parameters = dict(module.named_parameters())
    for weight in weights:
        if weight in parameters:
            expected[weight] = parameters[weight].grad
        else:  # the exporter transposes the weights of products, and gives them another name
            for parameter in parameters.values():
                same = parameter.detach().float().numpy().T
                if same.shape == files[weight].shape and np.array_equal(same, files[weight]):
                    expected[weight] = parameter.grad.T
    # Some gradients are 0 except for rounding: errors count against the largest of all as well.
    largest = max(
        float(gradient.abs().max()) for gradient in expected.values() if gradient is not None
    )
    compared = 0
    for weight, gradient in zip(["input", *weights], gradients):
        if weight not in expected or expected[weight] is None:
            continue  # statistics of normalizations are not parameters
        exact = expected[weight].numpy()
        error = np.abs(gradient - exact).max() / max(np.abs(exact).max(), 1e-3 * largest)
        assert error < 1e-4, f"{name}: the gradient of '{weight}' is off by {error:.1e}"
        compared += 1
    assert compared == 1 + sum(1 for parameter in parameters.values())
