"""Decompositions of PyTorch's operators, by its own rules or ours."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch._decomp import core_aten_decompositions
from torch._decomp.decompositions import one_layer_lstm

from headrace.torch._aten import is_written
from headrace.torch._context import Unsupported
from headrace.torch._results import memory_order

_table: dict[Any, Any] = {}


def decompositions() -> dict[Any, Any]:
    """PyTorch's own rules for whatever has no function here."""
    if not _table:
        _table.update(
            (op, rule) for op, rule in core_aten_decompositions().items() if not is_written(op)
        )
        _table[torch.ops.aten._transformer_encoder_layer_fwd.default] = transformer_encoder_layer
        _table[torch.ops.aten.mkldnn_rnn_layer.default] = recurrent_layer
        _table[torch.ops.aten.native_dropout.default] = dropout
        _table[torch.ops.aten.bernoulli.p] = bernoulli
        for name in ATTENTIONS:
            operator = getattr(torch.ops.aten, name).default
            _table[operator] = functools.partial(attention, operator)
    return _table


def dropout(x: torch.Tensor, p: float, train: bool | None) -> tuple[torch.Tensor, torch.Tensor]:
    if train is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    kept = torch.bernoulli(x, 1 - p)
    return x * (kept / (1 - p) if p < 1 else kept), kept.bool()


def bernoulli(x: torch.Tensor, p: float = 0.5, generator: Any = None) -> Any:
    """
    A tensor filled in place, as the noise of `dropout`, keeps its order in memory and is filled in
    that order, but the function that replaces the change yields C order.
    """
    order = memory_order(x)
    if order is None:
        return NotImplemented
    drawn = torch.ops.aten.bernoulli.p(x.permute(order).contiguous(), p, generator=generator)
    return drawn.permute([order.index(dim) for dim in range(x.dim())])


#: Of an LSTM, among the kinds of layers of oneDNN.
LSTM = 2


def recurrent_layer(
    x: torch.Tensor, input_weight: Any, hidden_weight: Any, input_bias: Any, hidden_bias: Any,
    hidden: Any, cell: Any, reverse: bool, batch_sizes: list[int], mode: int, hidden_size: int,
    num_layers: int, has_biases: bool, bidirectional: bool, batch_first: bool, train: bool,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """A layer of an LSTM in one direction, which PyTorch leaves to oneDNN, step by step.

    The sequence is the first dimension; the other arguments are of the module that the layer is in.
    """
    if mode != LSTM or batch_sizes:
        raise Unsupported("this form of aten.mkldnn_rnn_layer")
    weights = [input_weight, hidden_weight, input_bias, hidden_bias]
    state = [each.reshape(each.shape[-2:]) for each in (hidden, cell)]
    found, after = one_layer_lstm(x, state, weights, has_biases, reverse)
    last = (each.reshape(hidden.shape) for each in after)
    return found, *last, x.new_empty(0, dtype=torch.uint8)


#: The operators of attention on CUDA devices.
ATTENTIONS = (
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_cudnn_attention",
)


def attention(operator: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """All of them as the one operator that there is a function for, or as what it consists of."""
    names = [argument.name for argument in operator._schema.arguments]
    given = {**dict(zip(names, args)), **kwargs}
    q, k, v = (given[name] for name in ("query", "key", "value"))
    mask, causal = given.get("attn_bias"), given.get("is_causal", False)
    dropout, scale = given.get("dropout_p", 0.0), given.get("scale")
    if q.shape[1] != k.shape[1]:
        raise Unsupported("attention with fewer heads of keys than of queries")
    if dropout == 0 and q.shape[-1] == v.shape[-1]:
        result, _ = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            q, k, v, 0.0, causal, attn_mask=mask, scale=scale
        )
    else:
        result, _ = torch.ops.aten._scaled_dot_product_attention_math(
            q, k, v, mask, dropout, causal, scale=scale
        )
        # With the strides of the operator, which views of the result rely on.
        result = result.transpose(1, 2).contiguous().transpose(1, 2)
    # The rest is for its own gradient.
    tensor = torch._C.TensorType.get()
    rest = operator._schema.returns[1:]
    return result, *(q.new_empty(0) if tensor.isSubtypeOf(r.type) else 0 for r in rest)


def transformer_encoder_layer(
    x: torch.Tensor, embed_dim: int, heads: int, qkv_weight: Any, qkv_bias: Any, proj_weight: Any,
    proj_bias: Any, use_gelu: bool, norm_first: bool, eps: float, norm1_weight: Any,
    norm1_bias: Any, norm2_weight: Any, norm2_bias: Any, ffn1_weight: Any, ffn1_bias: Any,
    ffn2_weight: Any, ffn2_bias: Any, mask: Any = None, mask_type: Any = None,
) -> torch.Tensor:  # fmt: skip
    """The encoder layer, which PyTorch fuses into one operator for inference."""
    if mask is not None:
        raise Unsupported("a masked aten._transformer_encoder_layer_fwd")

    def attend(y: torch.Tensor) -> torch.Tensor:
        batch, length, width = y.shape
        parts = F.linear(y, qkv_weight, qkv_bias).chunk(3, -1)
        q, k, v = (p.reshape(batch, length, heads, width // heads).transpose(1, 2) for p in parts)
        mixed = F.scaled_dot_product_attention(q, k, v)
        return F.linear(mixed.transpose(1, 2).reshape(batch, length, width), proj_weight, proj_bias)

    def feed(y: torch.Tensor) -> torch.Tensor:
        inner = F.linear(y, ffn1_weight, ffn1_bias)
        return F.linear(F.gelu(inner) if use_gelu else F.relu(inner), ffn2_weight, ffn2_bias)

    def norm1(y: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(y, (embed_dim,), norm1_weight, norm1_bias, eps)

    def norm2(y: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(y, (embed_dim,), norm2_weight, norm2_bias, eps)

    if norm_first:
        x = x + attend(norm1(x))
        return x + feed(norm2(x))
    x = norm1(x + attend(x))
    return norm2(x + feed(x))
