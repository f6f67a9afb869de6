"""Random operators draw what eager mode draws for the same seed, whatever the order in memory."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("headrace")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
F = torch.nn.functional

pytestmark = pytest.mark.usefixtures("fresh_torch")

#: Functions of a tensor of three dimensions.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "dropout": lambda x: F.dropout(x, 0.4),
    "dropout in place": lambda x: F.dropout(x * 2, 0.4, inplace=True),
    "dropout of dropout": lambda x: F.dropout(F.dropout(x, 0.4) * 2, 0.3),
    "alpha_dropout": lambda x: F.alpha_dropout(x, 0.4, True),
    "dropout of channels": lambda x: F.dropout1d(x, 0.4),
    "native_dropout": lambda x: torch.native_dropout(x, 0.3, True)[0],
    "bernoulli": lambda x: torch.bernoulli(x, 0.4),
    "bernoulli, a method": lambda x: x.bernoulli(0.4),
    "bernoulli_": lambda x: torch.empty_like(x).bernoulli_(0.4),
    "bernoulli of tensors": lambda x: torch.bernoulli(x.sigmoid()),
    "bernoulli_ of tensors": lambda x: torch.empty_like(x).bernoulli_(x.sigmoid()),
    "rand": lambda x: torch.rand(3, 20, dtype=x.dtype),
    "rand_like": torch.rand_like,
    "randn": lambda x: torch.randn(3, 20, dtype=x.dtype),
    "randn_like": torch.randn_like,
    "randn_like in C order": lambda x: torch.randn_like(x, memory_format=torch.contiguous_format),
    "randint": lambda x: torch.randint(2, 90, (3, 4)) + torch.randint(90, (3, 4)),
    "randint_like": lambda x: torch.randint_like(x, 70) + torch.randint_like(x, 2, 70),
    "uniform_": lambda x: torch.empty_like(x).uniform_(-1, 3),
    "normal_": lambda x: x.clone().normal_(1, 2),
    "normal of numbers": lambda x: torch.normal(1.0, 2.0, (3, 4), dtype=x.dtype),
    "normal of tensors": lambda x: torch.normal(x, 2.0) + torch.normal(1.0, x.abs()) + torch.normal(x, x.abs()),
    "random_": lambda x: torch.empty_like(x).random_(9) + torch.empty_like(x).random_(3, 9),
    "random_ without bounds": lambda x: torch.empty_like(x).random_(),
    "exponential_": lambda x: torch.empty_like(x).exponential_(2.0),
    "geometric_": lambda x: torch.empty_like(x).geometric_(0.3),
    "cauchy_": lambda x: torch.empty_like(x).cauchy_(0.3),
    "log_normal_": lambda x: torch.empty_like(x).log_normal_(0.3, 0.2),
    "gumbel_softmax": F.gumbel_softmax,
}  # fmt: skip

ORDERS: dict[str, Callable[[], Any]] = {
    "C order": lambda: torch.randn(4, 6, 5),
    "transposed": lambda: torch.randn(4, 5, 6).transpose(1, 2),
    "permuted": lambda: torch.randn(5, 6, 4).permute(2, 1, 0),
    "with gaps": lambda: torch.randn(4, 6, 9)[:, :, ::2],
}


def seeded(function: Callable[..., Any], *arguments: Any) -> Any:
    torch.manual_seed(7)
    return function(*arguments)


@pytest.mark.parametrize(
    ("order", "dtype"),
    [
        ("C order", torch.float32),
        ("transposed", torch.float64),
        ("permuted", torch.float32),
        ("with gaps", torch.float64),
    ],
)
def test_random_operators(order: str, dtype: torch.dtype) -> None:
    functions = list(FUNCTIONS.values())

    def every(x: Any) -> list[Any]:
        results = [torch.rand(3, dtype=x.dtype)]
        for function in functions:
            results.append(function(x))
        return [*results, torch.rand(3, dtype=x.dtype)]

    x = ORDERS[order]().to(dtype)
    found, wanted = (seeded(run, x) for run in (torch.compile(every, backend="headrace"), every))
    for name, one, other in zip(["before", *FUNCTIONS, "after"], found, wanted):
        torch.testing.assert_close(
            one, other, rtol=1e-5, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}"
        )


@pytest.mark.parametrize("batch_first", [True, False])
def test_encoder_layers_in_training(batch_first: bool) -> None:
    module = torch.nn.TransformerEncoderLayer(16, 4, 32, 0.3, batch_first=batch_first).double()
    twin, x = copy.deepcopy(module), torch.randn(3, 7, 16).double()
    found, wanted = seeded(torch.compile(module, backend="headrace"), x), seeded(twin, x)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)
    found.square().sum().backward(), wanted.square().sum().backward()
    for one, other in zip(module.parameters(), twin.parameters()):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-9, atol=1e-9)


def test_sizes_and_probabilities_that_change() -> None:
    def noisy(x: Any, p: float) -> Any:
        return (
            F.dropout(x.transpose(0, 1), 0.4) * torch.rand_like(x).t()
            + torch.empty_like(x).uniform_(0, p).t()
        )

    compiled = torch.compile(noisy, backend="headrace", dynamic=True)
    for rows, p in ((3, 0.5), (5, 0.25), (7, 2.0)):
        x = torch.randn(rows, rows + 3)
        torch.testing.assert_close(seeded(compiled, x, p), seeded(noisy, x, p))


def test_random_tensors_and_numbers_in_any_order() -> None:
    def mixed(x: Any, t: float, u: float) -> Any:
        return torch.rand(()) * x + t * torch.randn(()) - u * torch.rand(x.shape[0], 1)

    compiled = torch.compile(mixed, backend="headrace", dynamic=True)
    for t, u in ((0.5, 2.0), (0.25, 3.0), (0.125, 4.0)):
        x = torch.randn(4, 5)
        torch.testing.assert_close(seeded(compiled, x, t, u), seeded(mixed, x, t, u))
