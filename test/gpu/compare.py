"""Networks on the device, and how their results are judged: by the errors that PyTorch itself makes."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from headrace.torch import FallbackWarning
from torch import nn

from cases.torch_models import BertLayer, LeNet, SmallConvNet, mlp

warnings.simplefilter("error", FallbackWarning)
torch.backends.cudnn.allow_tf32 = False
torch.backends.cuda.matmul.allow_tf32 = False

EPSILON = {
    torch.float64: 2**-52,
    torch.float32: 2**-23,
    torch.bfloat16: 2**-7,
    torch.float16: 2**-10,
}


class Mish(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.mish(x)


class Causal(nn.Module):
    """Attention by PyTorch's own function."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (y.unflatten(-1, (4, -1)).transpose(1, 2) for y in x.chunk(3, -1))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)


def encoder(width: int = 64, dropout: float = 0.0) -> nn.Module:
    return nn.TransformerEncoderLayer(width, 4, 2 * width, dropout, batch_first=True)


#: Name: module, shape of its input.
NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mish": (Mish, (3, 5, 33)),
    "softmax": (lambda: nn.Softmax(-1), (4, 7, 129)),
    "layernorm": (lambda: nn.LayerNorm(96), (5, 11, 96)),
    "mlp": (mlp, (6, 20)),
    "lenet": (LeNet, (4, 1, 28, 28)),
    "convnet": (SmallConvNet, (4, 3, 8, 8)),
    "bert": (BertLayer, (2, 7, 32)),
    "encoder": (encoder, (2, 24, 64)),
    "causal": (Causal, (2, 16, 192)),
}


def compiled(function: Any, **options: Any) -> Any:
    torch._dynamo.reset()
    return torch.compile(function, backend="headrace", **options)


def results(module: nn.Module, call: Any, x: torch.Tensor, weight: torch.Tensor | None) -> dict:
    """The result, and with a weight of it the gradients."""
    x = x.detach().clone()
    if weight is None:
        with torch.no_grad():
            return {"result": call(x)}
    x.requires_grad_()
    y = call(x)
    (y * weight.to(y.dtype)).sum().backward()
    found = {"result": y.detach(), "input": x.grad}
    found |= {name: p.grad for name, p in module.named_parameters()}
    found |= {name: b for name, b in module.named_buffers() if b.is_floating_point()}
    return found


def largest(tensor: torch.Tensor) -> float:
    return tensor.abs().max().item() if tensor.numel() else 0.0


def judge(found: dict, eager: dict, exact: dict, dtype: torch.dtype) -> str:
    """Errors may be a few times those of eager mode."""
    worst, worst_eager = 0.0, 0.0
    # Relative to the largest value; some gradients would be 0 except for rounding.
    least = 1e-2 * max(map(largest, exact.values()), default=1.0) or 1.0

    def error(name: str, tensor: torch.Tensor) -> float:
        return largest(tensor.double() - exact[name]) / max(largest(exact[name]), least)

    for name, tensor in found.items():
        assert tensor.is_cuda and tensor.dtype == eager[name].dtype, f"{name}: {tensor.device}"
        assert tensor.shape == exact[name].shape, f"{name}: {tuple(tensor.shape)}"
        ours, theirs = error(name, tensor), error(name, eager[name])
        # In f64 eager mode is the reference itself, and has no error.
        assert ours <= 4 * theirs + 32 * EPSILON[dtype], (
            f"{name}: error {ours:.1e}, in eager mode {theirs:.1e}"
        )
        worst, worst_eager = max(worst, ours), max(worst_eager, theirs)
    return f"error {worst:.1e} (eager {worst_eager:.1e})"


def check_network(name: str, dtype: torch.dtype, train: bool, **options: Any) -> str:
    torch.manual_seed(0)
    create, shape = NETWORKS[name]
    module = create().to("cuda", dtype).train(train)
    eager, exact = copy.deepcopy(module), copy.deepcopy(module).double()
    x = torch.randn(shape, device="cuda", dtype=dtype)
    with torch.no_grad():
        weight = torch.randn_like(copy.deepcopy(exact)(x.double())) if train else None
    call = compiled(module, **options)
    for _ in range(3):  # one by one, recorded, replayed
        module.zero_grad()
        module.load_state_dict(eager.state_dict())
        found = results(module, call, x, weight)
    return judge(
        found,
        results(eager, eager, x, weight),
        results(exact, exact, x.double(), weight),
        dtype,
    )
