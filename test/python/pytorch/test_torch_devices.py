"""Compilation of PyTorch's graphs whose tensors are on a CUDA device; needs no device."""

from __future__ import annotations

from typing import Any

import pytest

hr = pytest.importorskip("headrace")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.nn.functional as F  # noqa: E402
from headrace.torch import _capture, _compile, _decompositions, _lower  # noqa: E402
from headrace.torch._context import Unsupported  # noqa: E402

from cases.torch_models import MODELS  # noqa: E402

pytestmark = pytest.mark.usefixtures("fresh_torch")


def lowered(
    function: Any, *inputs: torch.Tensor, there: Any = lambda i: True, **options: Any
) -> _lower.Program:
    """The program of the function, as if inputs whose number is `there` were on a device."""
    programs = []

    def grab(module: torch.fx.GraphModule, examples: list[Any]) -> Any:
        nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
        for number, node in enumerate(nodes):
            fake = node.meta["example_value"]
            if isinstance(fake, torch.Tensor) and there(number):
                with fake.fake_mode:
                    node.meta["example_value"] = torch.empty_strided(
                        fake.shape, fake.stride(), dtype=fake.dtype, device="cuda:0"
                    )
        programs.append(_compile.lower_settling(_capture.capture(module), "test", options))
        return module.forward

    torch.compile(function, backend=grab)(*inputs)
    return programs[0]


def refusal(*args: Any, **options: Any) -> str:
    with pytest.raises(Exception) as caught:
        lowered(*args, **options)
    reason = getattr(caught.value, "inner_exception", caught.value)
    assert isinstance(reason, Unsupported), reason
    return str(reason)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("train", [False, True], ids=["inference", "training"])
def test_networks_become_programs_of_the_device(name: str, train: bool) -> None:
    if name == "encoder" and not torch.backends.cuda.is_built():
        pytest.skip("PyTorch without CUDA cannot choose among its kinds of attention")
    create, shape = MODELS[name]
    program = lowered(create().train(train), torch.randn(shape))
    assert program.device == torch.device("cuda:0") and program.model.on_device
    assert ".target sm_" in program.model.ir("llvm", [])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_other_element_types(dtype: torch.dtype) -> None:
    create, shape = MODELS["bert"]
    program = lowered(create().to(dtype), torch.randn(shape, dtype=dtype))
    forward, backward, _, _ = program.model.forward_and_backward(program.names[:3], None)
    for model in (forward, backward):
        assert ".target sm_" in model.ir("llvm", [])


@pytest.mark.parametrize("pool", [F.max_pool2d, F.avg_pool2d])
def test_gradients_of_overlapping_windows(pool: Any) -> None:
    program = lowered(lambda x: pool(x, 3, 2, 1), torch.randn(2, 4, 14, 14))
    _, backward, _, _ = program.model.forward_and_backward(program.names, None)
    assert ".target sm_" in backward.ir("llvm", [])


def test_running_statistics_are_written_back() -> None:
    create, shape = MODELS["convnet"]
    module = create().train()
    buffers = len(list(module.buffers()))
    assert len(lowered(module, torch.randn(shape)).mutated) == buffers


def test_dropout_draws_on_the_device() -> None:
    (draw,) = lowered(lambda x: F.dropout(x, 0.25), torch.randn(5)).draws
    assert draw.device == torch.device("cuda:0")
    assert (draw.method, draw.arguments) == ("bernoulli_", [0.75])


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("_scaled_dot_product_efficient_attention", (None, False)),
        ("_scaled_dot_product_flash_attention", (0.0, True)),
        ("_scaled_dot_product_cudnn_attention", (None, False, 0.0, True)),
        ("_scaled_dot_product_efficient_attention", (None, False, 0.2, True)),
    ],
)
def test_attention_is_what_it_is_elsewhere(name: str, arguments: tuple[Any, ...]) -> None:
    operator = getattr(torch.ops.aten, name).default
    q, k, v = (torch.randn(2, 3, 5, 8) for _ in range(3))
    results = _decompositions.attention(operator, q, k, v, *arguments)
    assert len(results) == len(operator._schema.returns)
    values = dict(zip([a.name for a in operator._schema.arguments[3:]], arguments))
    if not values.get("dropout_p"):
        causal = values.get("is_causal", False)
        expected = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        torch.testing.assert_close(results[0], expected)
    else:  # of the first row one element is left, or none
        first = results[0][:, :, 0] / v[:, :, 0]
        assert set(first.mul(0.8).round(decimals=3).abs().unique().tolist()) <= {0.0, 1.0}


def test_numbers_in_main_memory_go_along() -> None:
    program = lowered(
        lambda x, s: x * s, torch.randn(4), torch.tensor(3.0), there=lambda number: number == 0
    )
    assert program.device == torch.device("cuda:0")


def test_tensors_on_several_devices_are_left_to_pytorch() -> None:
    x, y = torch.randn(4), torch.randn(4)
    assert (
        refusal(lambda x, y: (x + 1, y + 1), x, y, there=lambda number: number == 0)
        == "tensors on several devices: cpu, cuda:0"
    )
    assert refusal(lambda x: (x + 1, x.cpu()), x) == "tensors on several devices: cpu, cuda:0"


def test_the_target_must_be_of_the_device() -> None:
    x = torch.randn(4)
    assert lowered(lambda x: x + 1, x, target="cuda:sm_80").model.on_device
    assert (
        refusal(lambda x: x + 1, x, target="cpu")
        == "tensors on device 'cuda:0' for the target 'cpu'"
    )


def test_the_number_of_the_device_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CUDA_DEVICE", "1")
    assert refusal(lambda x: x + 1, torch.randn(4)) == (
        "tensors on device 'cuda:0': programs run on device 1 (the variable HEADRACE_CUDA_DEVICE)"
    )


def test_a_matrix_is_not_repeated_for_a_batch() -> None:
    """PyTorch writes a dense layer over rows that are not in order as so many products."""
    x, weight = torch.randn(50, 4, 32), torch.randn(64, 32)
    program = lowered(lambda x, w: F.linear(x.transpose(0, 1), w), x, weight)
    moved = program.model.explain([])["before"]["bytes_moved"]
    assert moved < 4 * 3 * (x.numel() + weight.numel() + 50 * 4 * 64)
