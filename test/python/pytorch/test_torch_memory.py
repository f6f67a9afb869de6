"""Compiled graphs share, change and order memory as eager mode does, and return the same scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch_eager import assert_same, check, compiled, left_to_pytorch, normal  # noqa: E402

pytestmark = pytest.mark.usefixtures("fresh_torch")


def aliases(function: Callable, x: torch.Tensor) -> None:
    """Writes to each result show where they do in eager mode (aliasing)."""
    ours, theirs = x.clone(), x.clone()
    found, wanted = compiled(function)(ours), function(theirs)
    assert_same(found, wanted)
    for i, (one, other) in enumerate(zip(found, wanted)):
        one.add_(i + 1), other.add_(i + 1)
    assert_same([ours, *found], [theirs, *wanted])


def two_parts(x: torch.Tensor) -> list[torch.Tensor]:
    y = (x + 1).view(-1)
    return [y[1:], y[:-1]]


def whole_and_transposed(x: torch.Tensor) -> list[torch.Tensor]:
    y = x + 1
    return [y, y.t(), y.detach()]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [x.view(-1)],
        lambda x: [x.t(), x * 2, x[1:].unsqueeze(0), x],
        lambda x: [x.contiguous(), x.reshape(-1), x.double()],
        lambda x: [x.clone(), x.clone(), x.t().reshape(-1)],
        lambda x: [(x + 1).chunk(2)[0], x.t() + 1],
        two_parts,
        whole_and_transposed,
    ],
)
def test_results_share_memory_as_in_eager_mode(function: Callable) -> None:
    aliases(function, normal(4, 3))
    torch._dynamo.reset()
    check(function, normal(4, 3))


def test_memory_order_of_results() -> None:
    check(lambda x: x.t() + 1, normal(3, 4))
    check(lambda x: (x + 1).expand(5, 3), normal(3))
    layer = torch.nn.Conv2d(3, 4, 3).double().to(memory_format=torch.channels_last)
    x = normal(2, 3, 8, 8).to(memory_format=torch.channels_last)
    torch._dynamo.reset()
    assert_same(compiled(layer)(x), layer(x))


def test_inputs_that_share_memory() -> None:
    def step(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a.add_(1)
        return b * 2

    def go(run: Callable) -> list[torch.Tensor]:
        whole = torch.arange(6.0)
        return [run(whole[:4], whole[2:]), whole]

    run = compiled(step)
    assert_same(run(torch.ones(4), torch.ones(4)), torch.full((4,), 2.0))
    with left_to_pytorch("whose elements share memory"):
        assert_same(go(run), go(step))


def test_an_input_of_repeated_elements_is_changed() -> None:
    """PyTorch fills it, but copies nothing to it."""

    def step(x: torch.Tensor) -> torch.Tensor:
        x.fill_(0.5)
        return x * 2

    def go(run: Callable) -> list[torch.Tensor]:
        x = torch.ones(1, 3).expand(4, 3)
        return [run(x), x]

    with left_to_pytorch("whose elements share memory"):
        assert_same(go(compiled(step)), go(step))


def test_a_result_in_another_order_is_changed_later() -> None:
    """Autograd does not take it for a view, and allows the change."""

    def ordered(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x.transpose(0, 1) * w + 1

    def needed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x.transpose(0, 1) * w).exp()

    def go(run: Callable) -> list[Any]:
        x = torch.linspace(0, 1, 6).double().reshape(2, 3).requires_grad_()
        y = run(x, torch.full((2,), 2.0).double())
        y.mul_(x.detach().T)
        return [y, torch.autograd.grad(y.sum(), x)]

    assert_same(go(compiled(ordered)), go(ordered))
    # Backward reads a tensor of its own, so that this is right where eager mode raises an error.
    y, (gradient,) = go(compiled(needed))
    x = torch.linspace(0, 1, 6).double().reshape(2, 3)
    w = torch.full((2, 1), 2.0).double()
    assert_same([y.detach(), gradient], [((x * w).exp() * x).T, (x * w).exp() * x * w])


@pytest.mark.parametrize("leaf", [True, False], ids=["from a parameter", "with a gradient"])
def test_inputs_with_a_gradient_that_are_changed(leaf: bool) -> None:
    def step(y: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y.mul_(w)
        return y.sum()

    def go(run: Callable) -> list[Any]:
        w = torch.arange(1.0, 5.0).double().requires_grad_()
        y = torch.ones(4).double() if leaf else w * 2
        result = run(y, w)
        return [result, y, torch.autograd.grad(result + (y * y).sum(), w)]

    wanted = go(step)
    with left_to_pytorch("an input that requires a gradient is changed in place"):
        assert_same(go(compiled(step)), wanted, strides=False)


def test_inputs_that_are_kept_and_changed() -> None:
    """Autograd keeps neither operand of the sum: eager mode allows the change."""

    def step(w: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        y = (w + state * 2).tanh()
        state.add_(1)
        return y

    def go(run: Callable) -> list[Any]:
        w, state = torch.ones(4).double().requires_grad_(), torch.arange(4.0).double()
        y = run(w, state)
        return [y, state, torch.autograd.grad(y.sum(), w)]

    assert_same(go(compiled(step)), go(step), strides=False)


# Numbers


def test_numbers_as_results() -> None:
    def sized(x: torch.Tensor) -> tuple:
        return x + 1, x.shape[0] * 2, x.shape[0] / 2, x.shape[0] > 3, x.shape, x.numel() + 1

    run = compiled(sized)
    for batch in (2, 3, 5):
        x = normal(batch, 3)
        assert_same(run(x), sized(x))


def test_numbers_that_change() -> None:
    def scaled(x: torch.Tensor, t: float) -> tuple:
        return x * t + t**2, t * 2

    run = compiled(scaled)
    for t in (0.1, 0.2, 0.3, 4, 5, 7):
        x = normal(3)
        assert_same(run(x, t), scaled(x, t))


def test_random_numbers_that_nobody_uses_are_drawn() -> None:
    def drawn(x: torch.Tensor) -> torch.Tensor:
        torch.rand(4)
        return x + torch.rand(4)

    x = normal(4)
    results = []
    for run in (compiled(drawn), drawn):
        torch.manual_seed(1)
        results.append([run(x), torch.rand(3)])
    assert_same(*results)


def test_changes_in_place_at_every_batch() -> None:
    nn = torch.nn
    layers = [nn.ReLU6(True), nn.Hardtanh(inplace=True), nn.Threshold(0.1, 20, True), nn.ELU(inplace=True),
              nn.LeakyReLU(inplace=True), nn.SiLU(True), nn.ReLU(True)]  # fmt: skip

    def every(x: torch.Tensor) -> list[torch.Tensor]:
        return [layer(x * 2) for layer in layers] + [(x * 2).clamp_(0, 1).clamp_min_(0.1)]

    run = compiled(every)
    for batch in (2, 3, 5):
        check(every, normal(batch, 4), run=run)
