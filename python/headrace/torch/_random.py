"""Random operators of ATen: PyTorch draws their numbers at each call, as eager mode would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from headrace.torch._context import Context, Tensor, Unsupported, aten, dtype_name
from headrace.torch._numbers import Number


@dataclass
class Draw:
    """A random tensor that is drawn for the program at each call.

    Which element gets which number depends on the tensor's order in memory.
    """

    method: str  # of a tensor, which it fills in place
    arguments: list[Any]  # those that change from call to call are `Number`, here and below
    shape: list[Any]
    strides: list[Any]
    dtype: torch.dtype
    device: torch.device
    used: bool  # else drawn for the sake of those after it

    def __call__(self, symbols: dict[Any, Any]) -> torch.Tensor:
        def now(values: list[Any]) -> list[Any]:
            return [x(symbols) if isinstance(x, Number) else x for x in values]

        drawn = torch.empty_strided(
            now(self.shape), now(self.strides), dtype=self.dtype, device=self.device
        )
        return getattr(drawn, self.method)(*now(self.arguments))


def draw(
    c: Context,
    method: str,
    *arguments: Any,
    memory: torch.Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor | None:
    """One more input of the program; None if nothing reads it.

    It is drawn in the order of `memory`, else of the result, and in `dtype`, else in the result's.
    """
    if c.node.kwargs.get("generator") is not None:
        raise Unsupported("a generator of random numbers")

    def known(values: Sequence[Any]) -> list[Any]:
        symbolic = (torch.SymInt, torch.SymFloat)
        return [Number(x, c.symbols) if isinstance(x, symbolic) else x for x in values]

    memory = c.value if memory is None else memory
    dtype = dtype or c.value.dtype
    shape, strides, used = known(memory.shape), known(memory.stride()), bool(c.node.users)
    drawn = Draw(method, known(arguments), shape, strides, dtype, c.value.device, used)
    if used:
        return c.extra_input("random", drawn, dtype_name(dtype), c.shape)
    c.extra.append(("", drawn))
    return None


@aten("rand", "rand_like")
def uniform(c: Context, *_: Any, **__: Any) -> Tensor | None:
    return draw(c, "uniform_")


@aten("randn", "randn_like")
def normal(c: Context, *_: Any, **__: Any) -> Tensor | None:
    return draw(c, "normal_")


@aten("normal.float_float")
def normal_of_numbers(c: Context, mean: Any, deviation: Any, *_: Any, **__: Any) -> Tensor | None:
    return draw(c, "normal_", mean, deviation)


@aten("normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor")
def normal_of_tensors(
    c: Context, mean: Any, deviation: Any = 1.0, *, generator: Any = None
) -> Tensor | None:
    drawn = draw(c, "normal_", memory=c.value.contiguous())
    if drawn is None:
        return None
    return c.map("add", c.map("mul", drawn, deviation), mean)


@aten("randint.default", "randint.low")
def integers(c: Context, *bounds_and_shape: Any, **_: Any) -> Tensor | None:
    return draw(c, "random_", *([0, *bounds_and_shape[:-1]])[-2:])


@aten("randint_like.default", "randint_like.low_dtype")
def integers_like(c: Context, x: Tensor, *bounds: Any, **_: Any) -> Tensor | None:
    return draw(c, "random_", *([0, *bounds])[-2:])


@aten("bernoulli.p")
def bernoulli(c: Context, x: Tensor, p: float = 0.5, **_: Any) -> Tensor | None:
    return draw(c, "bernoulli_", p)


@aten("bernoulli.default", "bernoulli.Tensor")
def bernoulli_of_tensor(
    c: Context, x: Tensor, p: Tensor | None = None, *, generator: Any = None
) -> Tensor | None:
    """As the distribution does: a uniform number of the type of the probability is less than that."""
    dtype = c.value_of(0 if p is None else 1).dtype
    if dtype not in (torch.float32, torch.float64):
        raise Unsupported(f"probabilities of {dtype}")
    drawn = draw(c, "uniform_", memory=None if p is None else c.value_of(0), dtype=dtype)
    if drawn is None:
        return None
    return c.cast(c.map("less", drawn, x if p is None else p), c.dtype)


#: What tensors are filled with in place, which functionalization turns into functions of them.
FILLS = {
    "uniform": "uniform_",
    "normal_functional": "normal_",
    "random": "random_",
    "exponential": "exponential_",
    "geometric": "geometric_",
    "cauchy": "cauchy_",
    "log_normal": "log_normal_",
}


@aten(*FILLS)
def filled(c: Context, x: Tensor, *arguments: Any, **named: Any) -> Tensor | None:
    names = [each.name for each in c.node.target._schema.arguments[1:] if not each.kwarg_only]
    given = [*arguments, *(named[name] for name in names if name in named)]
    return draw(c, FILLS[c.node.target.overloadpacket.__name__], *given, memory=c.value_of(0))
