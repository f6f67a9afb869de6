"""PyTorch modules on a CUDA device, compiled by Headrace: results, gradients, training."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import warnings

import headrace as hr
import torch
import torch.nn.functional as F
from checks import cases
from compare import NETWORKS, Mish, check_network, compiled, encoder, judge, results
from headrace.torch import FallbackWarning

from cases.torch_models import LeNet, SmallConvNet, mlp


@cases(*NETWORKS)
def test_inference(name: str) -> str:
    return check_network(name, torch.float32, train=False)


@cases(*NETWORKS)
def test_gradients(name: str) -> str:
    return check_network(name, torch.float32, train=True)


@cases("mish", "softmax", "layernorm", "mlp", "encoder", "causal")
def test_bf16(name: str) -> str:
    return check_network(name, torch.bfloat16, train=True)


@cases("mish", "softmax", "layernorm", "causal")
def test_f16(name: str) -> str:
    return check_network(name, torch.float16, train=True)


@cases("mish", "mlp", "bert")
def test_f64(name: str) -> str:
    return check_network(name, torch.float64, train=True)


@cases("generated", "cublas", "cudnn")
def test_expansions(expansion: str) -> str:
    name = "lenet" if expansion == "cudnn" else "bert"
    return check_network(name, torch.float32, train=True, options={"expansion": expansion})


def test_training_follows_eager_mode() -> str:
    torch.manual_seed(0)
    module = LeNet().cuda()
    twin = copy.deepcopy(module)
    images, labels = torch.randn(64, 1, 28, 28, device="cuda"), torch.arange(64).cuda() % 10
    losses = []
    for net, call in ((module, compiled(module)), (twin, twin)):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
        losses.append([])
        for _ in range(30):
            optimizer.zero_grad()
            loss = F.cross_entropy(call(images), labels)
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    for ours, theirs in zip(*losses):
        assert abs(ours - theirs) <= 2e-3 * theirs, losses
    return f"loss {losses[0][0]:.3f} to {losses[0][-1]:.3f}"


def test_autocast() -> None:
    torch.manual_seed(0)
    net = mlp().cuda()
    twin = copy.deepcopy(net)
    call = compiled(net)
    x = torch.randn(64, 20, device="cuda")
    for _ in range(3):
        net.zero_grad(), twin.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            y, expected = call(x), twin(x)
        assert y.dtype == expected.dtype
        torch.testing.assert_close(y, expected, rtol=5e-2, atol=2e-2)
        y.float().sum().backward(), expected.float().sum().backward()
        for one, other in zip(net.parameters(), twin.parameters()):
            assert one.grad.dtype == other.grad.dtype
            scale = other.grad.abs().max().item()
            torch.testing.assert_close(one.grad, other.grad, rtol=5e-2, atol=5e-2 * scale)


def test_module_moves_between_devices() -> None:
    net = hr.module(mlp())
    x = torch.randn(6, 20)
    here = net(x)
    there = net.cuda()(x.cuda())
    assert there.is_cuda
    torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-5)
    net.cuda()(x.cuda()).sum().backward()
    assert net[0].weight.grad.is_cuda
    torch.testing.assert_close(net.cpu()(x), here)


def test_dropout_draws_on_the_device() -> None:
    x = torch.ones(200_000, device="cuda", requires_grad=True)
    call = compiled(lambda x: F.dropout(x, 0.25))
    y = call(x)
    kept = (y != 0).float().mean().item()
    assert abs(kept - 0.75) < 0.01, kept
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach())
    assert not torch.equal(call(x), y)


def test_attention_with_dropout_trains() -> None:
    net = encoder(dropout=0.1).cuda()
    x = torch.randn(2, 24, 64, device="cuda")
    call = compiled(net)
    y = call(x)
    assert torch.isfinite(y).all() and not torch.equal(y, call(x))
    y.sum().backward()
    assert torch.isfinite(net.linear1.weight.grad).all()
    net.eval()
    torch.testing.assert_close(call(x), net(x), rtol=1e-4, atol=1e-5)


def test_one_program_serves_every_batch() -> None:
    torch.manual_seed(0)
    net = SmallConvNet().cuda()
    twin = copy.deepcopy(net)
    call = compiled(net)
    for batch in (3, 5, 2, 8, 17, 1, 64, 5):
        x = torch.randn(batch, 3, 8, 8, device="cuda")
        if batch == 3:
            torch._dynamo.mark_dynamic(x, 0)
        net.zero_grad(), twin.zero_grad()
        y, expected = call(x), twin(x)
        torch.testing.assert_close(y, expected, rtol=1e-3, atol=1e-4)
        y.square().mean().backward(), expected.square().mean().backward()
        torch.testing.assert_close(
            net.conv1.weight.grad, twin.conv1.weight.grad, rtol=2e-3, atol=1e-4
        )


def test_sizes_that_are_computed_with() -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * x.shape[0] / (x.shape[0] + 2)

    call = compiled(scaled, dynamic=True)
    for batch in (3, 4, 9):
        x = torch.randn(batch, 4, device="cuda")
        torch.testing.assert_close(call(x), scaled(x))


VIEWS = {
    "transposed": lambda x: x.transpose(0, 2),
    "strided": lambda x: x[:, ::2],
    "misaligned": lambda x: x.flatten()[1:],
    "misaligned rows": lambda x: x.flatten()[3:231].view(12, 19),
    "expanded": lambda x: x[:1].expand(8, 6, 5),
    "one element": lambda x: x[1, 2, 3],
    "empty": lambda x: x[:0],
    "empty inside": lambda x: x[:, :0],
    "channels last": lambda x: x.view(4, 2, 6, 5).to(memory_format=torch.channels_last),
}


@cases(*VIEWS)
def test_any_layout(name: str) -> None:
    x = VIEWS[name](torch.randn(8, 6, 5, device="cuda"))
    function = lambda x: (x.relu() * 2 + 1, x.sum())  # noqa: E731
    call = compiled(function)
    for _ in range(3):
        for one, other in zip(call(x), function(x)):
            assert one.is_cuda and one.shape == other.shape
            torch.testing.assert_close(one, other)


def test_misaligned_gradients() -> str:
    torch.manual_seed(0)
    x, exact = torch.randn(1001, device="cuda"), Mish().double()
    weight = torch.randn(1000, device="cuda")
    module, twin = Mish(), Mish()
    return judge(
        results(module, compiled(module), x[1:], weight),
        results(twin, twin, x[1:], weight),
        results(exact, exact, x[1:].double(), weight),
        torch.float32,
    )


def test_tensors_on_several_devices_run_in_pytorch() -> None:
    def mixed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * 2 + y.to("cuda")

    x, y = torch.randn(4, device="cuda"), torch.randn(4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = compiled(mixed)(x, y)
    torch.testing.assert_close(result, mixed(x, y))
    said = [str(w.message) for w in caught if issubclass(w.category, FallbackWarning)]
    assert said and "tensors on several devices: cpu, cuda:0" in said[0], said


def test_numbers_in_main_memory_go_along() -> None:
    scale = torch.tensor(3.0)
    call = compiled(lambda x, s: x * s)
    x = torch.randn(4, device="cuda")
    torch.testing.assert_close(call(x, scale), x * 3)


def test_cpu_tensors_in_a_cuda_module_are_pytorchs_error() -> str:
    net = mlp().cuda()
    call = compiled(net)
    try:
        call(torch.randn(6, 20))
    except Exception as error:
        torch.testing.assert_close(
            call(torch.ones(6, 20, device="cuda")), net(torch.ones(6, 20, device="cuda")),
            rtol=1e-4, atol=1e-5,
        )  # fmt: skip
        return type(error).__name__
    raise AssertionError("a CPU tensor was taken")


def test_results_on_the_host_run_in_pytorch() -> None:
    def back(x: torch.Tensor) -> tuple:
        return x + 1, (x * 2).cpu()

    x = torch.randn(4, device="cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        one, two = compiled(back)(x)
    torch.testing.assert_close(one, x + 1)
    torch.testing.assert_close(two, (x * 2).cpu())


def test_target_of_another_kind_runs_in_pytorch() -> None:
    x = torch.randn(4, device="cuda")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.testing.assert_close(compiled(lambda x: x + 1, options={"target": "cpu"})(x), x + 1)
    assert any("on device 'cuda:0' for the target 'cpu'" in str(w.message) for w in caught)
    older = compiled(lambda x: x + 1, options={"target": "cuda:sm_80"})
    torch.testing.assert_close(older(x), x + 1)


def test_gradients_of_gradients_are_those_of_pytorch() -> None:
    x = torch.randn(5, device="cuda", dtype=torch.float64, requires_grad=True)
    second = []
    for call in (compiled(Mish()), Mish()):
        (first,) = torch.autograd.grad(call(x).sum(), x, create_graph=True)
        second += torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(*second)


def test_another_device_number_is_named() -> None:
    code = """
import torch, headrace, headrace.torch
x = torch.ones(3, device="cuda")
print(torch.compile(lambda x: x + 1, backend="headrace")(x).tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "HEADRACE_CUDA_DEVICE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "[2.0, 2.0, 2.0]\n", done.stderr
    assert "programs run on device 1 (the variable HEADRACE_CUDA_DEVICE)" in done.stderr


def test_out_of_memory_is_an_error_like_any_other() -> str:
    call = compiled(lambda x: x[:, None] * x[None, :] + 1, dynamic=True)
    x = torch.randn(100, device="cuda")
    torch.testing.assert_close(call(x), x[:, None] * x[None, :] + 1)
    try:
        call(torch.randn(300_000, device="cuda"))  # 360 GB
    except torch.OutOfMemoryError as error:
        torch.testing.assert_close(call(x), x[:, None] * x[None, :] + 1)
        return str(error).split(". ")[0][:100]
    raise AssertionError("360 GB were there")
