"""Matrix products, convolutions, poolings and attention of ATen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from headrace.torch._context import Context, Tensor, Unsupported, aten, fixed
from headrace.torch._elementwise import scaled
from headrace.torch._resize import uneven_average

# Matrix products


@aten("mm", "matmul", "mv", "dot")
def product(c: Context, a: Tensor, b: Tensor) -> Tensor:
    return c.builder.matrix_product(a, b)


@aten("bmm")
def batched_product(c: Context, a: Tensor, b: Tensor) -> Tensor:
    """One product where all are with the same matrix: PyTorch repeats it for a batch of rows."""
    same = repeated_matrix(c, c.node.args[1])
    if same is None:
        return c.builder.matrix_product(a, b)
    batch, rows, depth = c.shape_of(a)
    flat = c.builder.reshape(a, [c.builder.arithmetic("mul", batch, rows), depth])
    return c.builder.reshape(c.builder.matrix_product(flat, same), c.shape)


def repeated_matrix(c: Context, node: fx.Node) -> Tensor | None:
    """The matrix that the node is copies of."""
    aten_ops = torch.ops.aten
    while node.op == "call_function" and node.target in (
        aten_ops.view.default,
        aten_ops.reshape.default,
        aten_ops._unsafe_view.default,
    ):
        if node.args[0].meta["val"].shape != node.meta["val"].shape:
            return None
        node = node.args[0]
    if node.op != "call_function" or node.target is not aten_ops.expand.default:
        return None
    source = node.args[0]
    return c.values[source] if source.meta["val"].dim() == 2 else None


@aten("addmm.default", "baddbmm", "addmv")
def add_product(
    c: Context, bias: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    result = scaled(c, c.builder.matrix_product(a, b), alpha)
    return result if beta == 0 else c.map("add", result, scaled(c, bias, beta))


@aten("linear")
def linear(c: Context, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    outer = "abcdefgh"[: c.rank(x) - 1]
    result = c.builder.contract(f"{outer}k,nk->{outer}n", x, weight)
    return result if bias is None else c.map("add", result, bias)


# Windows


def spread(numbers: Sequence[int] | int, rank: int) -> list[int]:
    """One number may stand for every dimension."""
    numbers = [numbers] if isinstance(numbers, int) else list(numbers)
    return numbers * rank if len(numbers) == 1 else numbers


@aten("convolution")
def convolution(
    c: Context, x: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int], transposed: bool,
    output_padding: Sequence[int], groups: int,
) -> Tensor:  # fmt: skip
    rank = c.rank(x) - 2
    strides, dilations, pads = (spread(each, rank) for each in (stride, dilation, padding))
    if transposed:
        extra = spread(output_padding, rank)
        result = transposed_convolution(c, x, weight, strides, pads, dilations, extra, groups)
    else:
        result = c.builder.convolution(x, weight, strides, dilations, pads * 2, groups)
    return result if bias is None else c.map("add", result, c.per_channel(bias, rank + 2))


def transposed_convolution(
    c: Context, x: Tensor, weight: Tensor, strides: list[int], pads: list[int],
    dilations: list[int], extra: list[int], groups: int,
) -> Tensor:  # fmt: skip
    """A convolution of the elements a stride apart with the filter turned around."""
    n, channels, *sizes = c.shape_of(x)
    window = c.shape_of(weight)[2:]
    low = [d * (w - 1) - p for d, w, p in zip(dilations, window, pads)]
    high = [each + more for each, more in zip(low, extra)]
    starts = [0, 0, *(max(each, 0) for each in low)]
    spaced = [
        c.add(c.builder.arithmetic("mul", c.sub(size, 1), stride), 1 + max(a, 0) + max(b, 0))
        for size, stride, a, b in zip(sizes, strides, low, high)
    ]
    wide = c.builder.place(x, starts, [n, channels, *spaced], [1, 1, *strides])
    cut_low = [max(-each, 0) for each in low]
    cut = [a + max(-b, 0) for a, b in zip(cut_low, high)]
    if any(cut):
        kept = [c.sub(size, less) for size, less in zip(spaced, cut)]
        wide = c.builder.slice(wide, [0, 0, *cut_low], [n, channels, *kept], [1] * (len(sizes) + 2))
    turned = turned_filter(c, weight, groups)
    none = [0] * (2 * len(sizes))
    return c.builder.convolution(wide, turned, [1] * len(sizes), dilations, none, groups)


def turned_filter(c: Context, weight: Tensor, groups: int) -> Tensor:
    """[C, M / groups, window] as the filter [M, C / groups, window] that reads backwards."""
    channels, results, *window = c.shape_of(weight)
    rank = len(window) + 2
    apart = c.builder.reshape(weight, [groups, channels // groups, results, *window])
    order = [0, 2, 1, *range(3, rank + 1)]
    shape = [groups * results, channels // groups, *window]
    together = c.builder.reshape(c.builder.transpose(apart, order), shape)
    starts = [0, 0, *(size - 1 for size in window)]
    return c.builder.slice(together, starts, shape, [1, 1, *[-1] * len(window)])


def batched(c: Context, x: Tensor, rank: int) -> Tensor:
    """An image may come without a batch."""
    return x if c.rank(x) == rank + 2 else c.unsqueeze(x, [0])


def overhang(
    c: Context, sizes: Sequence[Any], results: Sequence[Any], window: Sequence[int],
    strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int],
) -> list[int]:  # fmt: skip
    """How much further than its high pad the last window reaches, the size being rounded up."""
    extra = []
    for open_size, result, w, s, d, p in zip(sizes, results, window, strides, dilations, pads):
        size = fixed(open_size)
        if size is None:
            raise Unsupported("ceil_mode over a dynamic dimension")
        extra.append(max((fixed(result) - 1) * s + (w - 1) * d + 1 - (size + 2 * p), 0))
    return extra


@aten("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(
    c: Context, x: Tensor, window: Sequence[int], stride: Sequence[int] = (),
    padding: Sequence[int] = (0,), dilation: Sequence[int] = (1,), ceil_mode: bool = False,
) -> tuple:  # fmt: skip
    rank = 3 if "3d" in c.node.target.overloadpacket.__name__ else 2
    window = spread(window, rank)
    strides = spread(stride, rank) if stride else window
    dilations, pads = spread(dilation, rank), spread(padding, rank)
    high = pads
    if ceil_mode:
        sizes, results = c.value_of(0).shape[-rank:], c.value[0].shape[-rank:]
        extra = overhang(c, sizes, results, window, strides, dilations, pads)
        high = [p + e for p, e in zip(pads, extra)]
    result = c.builder.pool(
        "max", batched(c, x, rank), window, strides, dilations, [*pads, *high], False
    )
    return c.builder.reshape(result, c.sizes(c.value[0].shape)), None


@aten("avg_pool1d", "avg_pool2d", "avg_pool3d")
def average_pool(
    c: Context, x: Tensor, window: Sequence[int], stride: Sequence[int] = (),
    padding: Sequence[int] = (0,), ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    rank = int(c.node.target.overloadpacket.__name__[8])
    window = spread(window, rank)
    strides, pads = spread(stride, rank) if stride else window, spread(padding, rank)
    x = batched(c, x, rank)
    high = pads
    if ceil_mode:
        sizes, results = c.value_of(0).shape[-rank:], c.value.shape[-rank:]
        extra = overhang(c, sizes, results, window, strides, [1] * rank, pads)
        if count_include_pad and any(extra):
            # The stated padding counts, what is beyond it does not: it becomes part of the image.
            x = c.builder.pad(x, [0, 0, *pads], [0, 0, *pads], 0.0)
            pads, count_include_pad = [0] * rank, False
        high = [p + e for p, e in zip(pads, extra)]
    kind = "sum" if divisor_override else "average"
    result = c.builder.pool(kind, x, window, strides, [1] * rank, [*pads, *high], count_include_pad)
    if divisor_override:
        result = c.map("div", result, divisor_override)
    return c.builder.reshape(result, c.shape)


@aten("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def adaptive_average_pool(c: Context, x: Tensor, sizes: Sequence[int]) -> Tensor:
    rank = len(sizes)
    source, result = c.value_of(0).shape[-rank:], c.value.shape[-rank:]
    if all(size == 1 for size in result):
        last = c.rank(x)
        return c.builder.reduce("mean", x, list(range(last - rank, last)), True)
    sizes, wanted = list(map(fixed, source)), list(map(fixed, result))
    if None in sizes:
        raise Unsupported("adaptive pooling of a dynamic dimension")
    if any(size % count for size, count in zip(sizes, wanted)):
        return uneven_average(c, x, sizes, wanted)
    window = [size // count for size, count in zip(sizes, wanted)]
    pooled = c.builder.pool(
        "average", batched(c, x, rank), window, window, [1] * rank, [0] * (2 * rank), False
    )
    return c.builder.reshape(pooled, c.shape)


# Attention


@aten("_scaled_dot_product_flash_attention_for_cpu")
def attention(
    c: Context, query: Tensor, key: Tensor, value: Tensor, dropout_p: float = 0.0,
    is_causal: bool = False, *, attn_mask: Tensor | None = None, scale: float | None = None,
) -> tuple:  # fmt: skip
    if dropout_p:
        raise Unsupported("dropout inside of attention")
    if scale is None and fixed(c.value_of(0).shape[-1]) is None:
        raise Unsupported("attention of a free depth")
    depth = fixed(c.value_of(0).shape[-1])
    bias = None if attn_mask is None else c.cast(attn_mask, c.builder.dtype(query))
    factor = depth**-0.5 if scale is None else scale
    # A query whose keys are all masked gets 0, and so do its gradients.
    masked = attn_mask is not None
    return c.builder.attention(query, key, value, bias, factor, is_causal, masked), None
