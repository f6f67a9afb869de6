"""The state that tests of PyTorch's graphs begin with."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture
def fresh_torch() -> Iterator[None]:
    """Nothing is compiled, random numbers begin anew, and a graph left to PyTorch fails the test."""
    import torch
    from headrace.torch import FallbackWarning, _fallback

    torch._dynamo.reset()
    torch.manual_seed(0)
    _fallback.forget_warnings()
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        yield
