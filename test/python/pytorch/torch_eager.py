"""Compiled functions compared with eager mode: values, strides, gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from headrace.torch import FallbackWarning


def compiled(function: Callable, **options: Any) -> Callable:
    return torch.compile(function, backend="headrace", **options)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64)


def assert_same(found: Any, wanted: Any, strides: bool = True) -> None:
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted):
            assert_same(one, other, strides)
    elif isinstance(wanted, torch.Tensor):
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9, equal_nan=True)
        assert found.requires_grad == wanted.requires_grad
        assert not strides or found.stride() == wanted.stride()
    else:
        assert type(found) is type(wanted) and found == wanted


def with_gradients(function: Callable, *inputs: torch.Tensor) -> tuple[Any, Any]:
    leaves = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    result = function(*leaves)
    results = result if isinstance(result, (tuple, list)) else [result]
    total = sum(x.sum() for x in results if isinstance(x, torch.Tensor) and x.requires_grad)
    wanted = [x for x in leaves if x.requires_grad]
    return result, torch.autograd.grad(total, wanted, allow_unused=True)


def check(function: Callable, *inputs: torch.Tensor, run: Callable | None = None) -> None:
    found = with_gradients(run or compiled(function), *inputs)
    wanted = with_gradients(function, *inputs)
    assert_same(found[0], wanted[0])
    assert_same(found[1], wanted[1], strides=False)


def left_to_pytorch(reason: str) -> Any:
    return pytest.warns(FallbackWarning, match=reason)
