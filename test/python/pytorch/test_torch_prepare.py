"""Parameters that are prepared once per version (headrace/torch/_prepare.py), here on the CPU."""

from __future__ import annotations

import copy

import headrace.torch  # noqa: F401
import pytest
import torch
from headrace.torch import _prepare
from torch import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(8, 16, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        self.apart = nn.Conv2d(16, 16, 3, groups=16)
        self.other = nn.BatchNorm2d(16, affine=False)
        self.last = nn.Linear(16, 5)
        for norm in (self.norm, self.other):
            nn.init.normal_(norm.running_mean)
            nn.init.uniform_(norm.running_var, 0.5, 2)
        nn.init.uniform_(self.norm.weight, 0.5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm(self.first(x)))
        return self.last(self.other(self.apart(y)).mean((2, 3)))


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has parameters prepared on CPUs, too, and notes each time that is done."""
    times: list[int] = []
    compute = _prepare.Preparation.computed

    def computed(self: _prepare.Preparation, given: list[torch.Tensor]) -> _prepare.Known:
        times.append(len(given))
        return compute(self, given)

    monkeypatch.setattr(_prepare, "DEVICES", ("cpu",))
    monkeypatch.setattr(_prepare.Preparation, "computed", computed)
    torch._dynamo.reset()
    return times


def error(found: torch.Tensor, module: nn.Module, x: torch.Tensor) -> float:
    expected = copy.deepcopy(module).double()(x.double())
    return float((found.double() - expected).norm() / expected.norm())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_changes_of_parameters_are_seen(prepared: list[int], dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    module = Block().eval().to(dtype)
    x = torch.randn(2, 8, 9, 9, dtype=dtype)
    limit = 1e-5 if dtype == torch.float32 else 2e-2
    compiled = torch.compile(module, backend="headrace", options={"strict": True})
    with torch.no_grad():
        for _ in range(2):
            assert error(compiled(x), module, x) < limit
        assert len(prepared) == 1
        module.norm.running_var.mul_(3)
        assert error(compiled(x), module, x) < limit
        assert len(prepared) == 2
        module.load_state_dict({name: value * 0.9 for name, value in module.state_dict().items()})
        assert error(compiled(x), module, x) < limit
        module.last.weight = nn.Parameter(module.last.weight * 2)
        assert error(compiled(x), module, x) < limit


def test_training_takes_parameters_as_they_are(prepared: list[int]) -> None:
    module = Block().eval()
    compiled = torch.compile(module, backend="headrace", options={"strict": True})
    compiled(torch.randn(2, 8, 9, 9)).sum().backward()
    assert module.first.weight.grad is not None
    assert not prepared


def test_parameters_of_inference_mode_have_no_versions(prepared: list[int]) -> None:
    with torch.inference_mode():
        module = Block().eval()
        x = torch.randn(2, 8, 9, 9)
        compiled = torch.compile(module, backend="headrace", options={"strict": True})
        compiled(x)
        module.norm.running_var.mul_(3)
        assert error(compiled(x), module, x) < 1e-5
