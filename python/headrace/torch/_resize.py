"""Operators of ATen that resize images: each result is a weighted sum of a few elements of each axis.

Places and weights are constants, computed with PyTorch's own formulas and types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from headrace.torch._context import Context, Tensor, Unsupported, aten, fixed


def blended(
    c: Context, x: Tensor, axis: int, places: torch.Tensor, weights: torch.Tensor
) -> Tensor:
    """Along an axis, result i is the sum over k of element places[i, k] times weights[i, k]."""
    dtype = c.builder.dtype(x)
    shape = [-1 if i == axis else 1 for i in range(c.rank(x))]
    total = None
    for k in range(places.shape[1]):
        part = c.builder.gather(x, c.constant(places[:, k].contiguous()), axis, False)
        if not (weights[:, k] == 1).all():
            factor = c.cast(c.constant(weights[:, k].reshape(shape)), dtype)
            part = c.map("mul", part, factor)
        total = part if total is None else c.map("add", total, part)
    return total


def axis_scale(size: int, wanted: int, align: bool, given: float | None) -> float:
    if align:
        return (size - 1) / (wanted - 1) if wanted > 1 else 0.0
    return 1 / given if given and given > 0 else size / wanted


def source_places(
    size: int, wanted: int, align: bool, given: float | None, cubic: bool, dtype: torch.dtype
) -> torch.Tensor:
    """Where each place of the result is in the source."""
    at = torch.arange(wanted, dtype=dtype)
    scale = torch.tensor(axis_scale(size, wanted, align, given), dtype=dtype)
    if align:
        return at * scale
    source = (at + 0.5) * scale - 0.5
    return source if cubic else source.clamp(min=0)


def linear_taps(source: torch.Tensor, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    low = source.floor().long().clamp(max=size - 1)
    part = (source - low).clamp(0, 1)
    return torch.stack([low, (low + 1).clamp(max=size - 1)], 1), torch.stack([1 - part, part], 1)


def cubic_taps(source: torch.Tensor, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    low = source.floor()
    part = source - low
    places = low.long()[:, None] + torch.arange(-1, 3)
    weights = cubic_weight(torch.stack([part + 1, part, 1 - part, 2 - part], 1), -0.75)
    return places.clamp(0, size - 1), weights


def cubic_weight(x: torch.Tensor, a: float) -> torch.Tensor:
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return torch.where(x <= 1, near, torch.where(x < 2, far, 0))


def smooth_taps(
    size: int, wanted: int, align: bool, given: float | None, reach: int, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """Without aliasing: as many elements as the image shrinks by, and more."""
    scale = axis_scale(size, wanted, align, given)
    support = reach * scale if scale >= 1 else float(reach)
    stretch = 1 / scale if scale >= 1 else 1.0
    count = int(torch.tensor(support).ceil()) * 2 + 1
    center = scale * (torch.arange(wanted, dtype=torch.float64) + 0.5)
    first = (center - support + 0.5).long().clamp(min=0)
    last = (center + support + 0.5).long().clamp(max=size)
    places = first[:, None] + torch.arange(count)
    distance = ((places - center[:, None] + 0.5) * stretch).abs()
    weights = (1 - distance).clamp(min=0) if reach == 1 else cubic_weight(distance, -0.5)
    weights = weights * (places < last[:, None])
    return places.clamp(max=size - 1), (weights / weights.sum(1, keepdim=True)).to(dtype)


RANKS = {"1d": 1, "2d": 2, "3d": 3}


def resized(c: Context, x: Tensor, taps: Any, options: Sequence[Any]) -> Tensor:
    """All axes of an image, one by one; `options` end with a scale for each, if any are given."""
    result = c.value.shape
    rank = len(result) - 2
    scales = scales_in(options, rank)
    dtype = c.builder.dtype(x)
    computed = c.widened(x)
    kind = torch.float64 if dtype == "f64" else torch.float32
    for axis in range(2, rank + 2):
        size, wanted = fixed(c.value_of(0).shape[axis]), fixed(result[axis])
        if size is None or wanted is None:
            raise Unsupported(f"{c.node.target} of a dynamic dimension")
        places, weights = taps(size, wanted, scales[axis - 2], kind)
        computed = blended(c, computed, axis, places, weights)
    return c.cast(computed, dtype)


def scales_in(options: Sequence[Any], rank: int) -> list[float | None]:
    """The last options are scales: one for each axis, or a list of them."""
    if options and isinstance(options[-1], (list, tuple)):
        return list(options[-1])
    given = [*options, *[None] * rank][:rank]
    return [each if isinstance(each, float) else None for each in given]


@aten("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
@aten("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d")
def nearest(c: Context, x: Tensor, size: Any, *options: Any, **named: Any) -> Tensor:
    exact = "exact" in c.node.target.overloadpacket.__name__
    rank = c.rank(x) - 2
    options = (*options, *named.values())
    source, result = c.value_of(0).shape[2:], c.value.shape[2:]
    sizes = list(zip(map(fixed, source), map(fixed, result)))
    whole = all(a and b and b % a == 0 for a, b in sizes)
    plain = all(s is None or s == b / a for s, (a, b) in zip(scales_in(options, rank), sizes) if a)
    if whole and plain:
        return repeated(c, x, [b // a for a, b in sizes])

    def taps(size: int, wanted: int, given: float | None, _: torch.dtype) -> Any:
        scale = torch.tensor(axis_scale(size, wanted, False, given), dtype=torch.float32)
        at = torch.arange(wanted, dtype=torch.float32)
        places = ((at + 0.5 if exact else at) * scale).floor().long().clamp(max=size - 1)
        return places[:, None], torch.ones(wanted, 1)

    return resized(c, x, taps, options)


def repeated(c: Context, x: Tensor, factors: list[int]) -> Tensor:
    """Every element as many times as its axis grows."""
    n, channels, *sizes = c.shape_of(x)
    apart: list[Any] = [n, channels]
    wide: list[Any] = [n, channels]
    for size, factor in zip(sizes, factors):
        apart += [size, 1]
        wide += [size, factor]
    return c.builder.reshape(c.builder.broadcast(c.builder.reshape(x, apart), wide), c.shape)


@aten("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d")
def smooth(c: Context, x: Tensor, size: Any, align: bool, *options: Any, **named: Any) -> Tensor:
    cubic = "cubic" in c.node.target.overloadpacket.__name__

    def taps(size: int, wanted: int, given: float | None, dtype: torch.dtype) -> Any:
        source = source_places(size, wanted, align, given, cubic, dtype)
        return (cubic_taps if cubic else linear_taps)(source, size)

    return resized(c, x, taps, (*options, *named.values()))


@aten("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")
def antialiased(
    c: Context, x: Tensor, size: Any, align: bool, *options: Any, **named: Any
) -> Tensor:
    reach = 2 if "cubic" in c.node.target.overloadpacket.__name__ else 1

    def taps(size: int, wanted: int, given: float | None, dtype: torch.dtype) -> Any:
        return smooth_taps(size, wanted, align, given, reach, dtype)

    return resized(c, x, taps, (*options, *named.values()))


# Pooling to given sizes: windows of different sizes, each a range of elements


def window_ranges(size: int, wanted: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The elements of each window, and which of them are in the window."""
    at = torch.arange(wanted)
    first, last = at * size // wanted, ((at + 1) * size + wanted - 1) // wanted
    count = int((last - first).max())
    places = first[:, None] + torch.arange(count)
    return places.clamp(max=size - 1), places < last[:, None]


def uneven_average(c: Context, x: Tensor, sizes: list[int], wanted: list[int]) -> Tensor:
    dtype, rank = c.builder.dtype(x), c.rank(x)
    x = c.widened(x)
    for i, (size, count) in enumerate(zip(sizes, wanted)):
        places, inside = window_ranges(size, count)
        weights = inside / inside.sum(1, keepdim=True, dtype=torch.float64)
        x = blended(c, x, rank - len(sizes) + i, places, weights)
    return c.cast(x, dtype)


@aten("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max(c: Context, x: Tensor, wanted: Sequence[int]) -> tuple:
    """The maximum of each window and its place in the image, by all elements of the windows."""
    from headrace.torch._order import extremum, taken_at

    spatial = len(wanted)
    sizes = [fixed(size) for size in c.value_of(0).shape[-spatial:]]
    if None in sizes:
        raise Unsupported("adaptive pooling of a dynamic dimension")
    ranges = [
        window_ranges(size, fixed(count)) for size, count in zip(sizes, c.value[0].shape[-spatial:])
    ]
    lead = c.shape_of(x)[: c.rank(x) - spatial]
    numbers = torch.arange(torch.Size(sizes).numel()).reshape(sizes)
    mask = torch.ones(sizes, dtype=torch.bool)
    for i, (places, inside) in enumerate(ranges):
        numbers = numbers.index_select(2 * i, places.reshape(-1)).unflatten(2 * i, places.shape)
        mask = mask.index_select(2 * i, places.reshape(-1)).unflatten(2 * i, places.shape)
        shape = [1] * mask.dim()
        shape[2 * i : 2 * i + 2] = inside.shape
        mask = mask & inside.reshape(shape)
    order = [*range(0, 2 * spatial, 2), *range(1, 2 * spatial, 2)]
    results = numbers.permute(order).shape[:spatial].numel()
    numbers = numbers.permute(order).reshape(results, -1)
    mask = mask.permute(order).reshape(results, -1)
    rows = c.builder.reshape(x, [c.product(lead), torch.Size(sizes).numel()])
    windows = c.builder.gather(rows, c.constant(numbers), 1, False)
    dtype = c.builder.dtype(windows)
    windows = c.select(c.constant(mask), windows, float("-inf"), dtype)
    position = extremum(c, windows, "max", 2)
    value = taken_at(c, windows, position, 2)
    table = c.constant(numbers.reshape(-1))
    start = c.constant(torch.arange(results).reshape(1, results, 1) * numbers.shape[1])
    at = c.builder.gather(table, c.map("add", position, start), 0, False)
    shape = c.sizes(c.value[0].shape)
    return c.builder.reshape(value, shape), c.builder.reshape(at, shape)
