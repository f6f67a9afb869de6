"""The cases in PyTorch, which they are timed next to; products of matrices there are cuBLAS's."""

from __future__ import annotations

import torch

PEERS = {
    "mish": torch.nn.functional.mish,
    "mish_both": lambda x, dy: (
        torch.nn.functional.mish(x),
        torch.ops.aten.mish_backward(dy, x),
    ),
    "softmax": lambda x: torch.softmax(x, -1),
    "layernorm": lambda x, w, b: torch.nn.functional.layer_norm(x, w.shape, w, b),
    "transpose": lambda x: x.T.contiguous(),
    "sum_rows": lambda x: x.sum(1),
    "sum_columns": lambda x: x.sum(0),
    "sum_all": lambda x: x.sum(),
    "matmul": torch.matmul,
    "gradient": lambda a, b: a.T @ b,
    "dense": lambda x, w, b: torch.relu(torch.addmm(b, x, w)),
    "conv": lambda x, w: torch.nn.functional.conv2d(x, w, padding=1),
    "shifts": lambda *xs: [x + i for i, x in enumerate(xs)],
}


def network(name: str):
    """The network of that name on the device, with other weights: only its time is of interest."""
    from cases.networks import MODELS

    return MODELS[name].build().cuda()
