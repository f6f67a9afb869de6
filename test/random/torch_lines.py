"""The lines that random PyTorch modules are made of: each function writes one, for values there are.

A line is an expression, or, behind "!", a statement that changes a value in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Without `hardsigmoid`, `hardswish` and `celu`, whose slopes eager mode has in f32 only.
UNARY = (
    "torch.relu({})", "torch.sigmoid({})", "torch.tanh({})", "torch.exp(torch.tanh({}))", "torch.sin({})",
    "torch.cos({})", "torch.abs({})", "-{}", "torch.square({})", "torch.atan({})", "torch.erf({})",
    "torch.log1p({}.abs())", "torch.sqrt({}.abs() + 0.5)", "torch.rsqrt({} * {} + 1)",
    "torch.reciprocal({}.abs() + 1)", "F.gelu({})", "F.gelu({}, approximate='tanh')", "F.silu({})",
    "F.mish({})", "F.softplus({})", "F.elu({})", "F.selu({})", "F.leaky_relu({}, 0.1)", "F.hardtanh({})",
    "F.logsigmoid({})", "F.relu6({})", "{}.clamp(-1, 0.5)",
    "{}.clamp(min=-0.25)", "torch.nan_to_num({})", "2 - {}", "{} * 1.5", "{} / 3", "{} ** 2",
    "torch.pow({}.abs() + 0.5, 1.5)", "torch.expm1({}.sigmoid())", "{}.clone()", "{}.contiguous()",
    "torch.sinh({}.sigmoid())", "{}.detach() * {}", "F.softsign({})", "F.tanhshrink({})",
    "torch.lgamma({}.abs() + 0.5)", "torch.digamma({}.abs() + 1)", "torch.erfc({})", "torch.special.i0e({})",
    "torch.erfinv({}.tanh() * 0.9)", "torch.special.i1({}.tanh())",
)  # fmt: skip
BINARY = (
    "{} + {}", "{} - {}", "{} * {}", "torch.maximum({}, {})", "torch.minimum({}, {})", "{} / ({}.abs() + 1)",
    "torch.hypot({}, {})", "torch.atan2({}, {}.abs() + 0.5)", "torch.add({}, {}, alpha=2)", "torch.sub({}, {}, alpha=-0.5)",
    "torch.where(b0, {}, {})", "torch.lerp({}, {}, 0.3)", "F.mse_loss({}, {})", "F.smooth_l1_loss({}, {})",
)  # fmt: skip
TERNARY = (
    "torch.addcmul({}, {}, {}, value=0.5)",
    "torch.lerp({}, {}, {})",
    "torch.clamp({}, {} - 2, {} + 2)",
)
FOLDS = ("sum", "mean", "amax", "amin", "logsumexp", "softmax", "log_softmax", "prod")
IN_PLACE = (
    "{}.mul_(2)", "{}.add_({})", "{}.sub_({})", "{}.relu_()", "{}.clamp_(-1, 1)", "{}.sigmoid_()", "{}.neg_()",
    "{}.copy_({})", "{}.fill_(0.5)", "{}.masked_fill_(b0, 0.25)", "{}.addcmul_({}, {})", "{}.div_(2)", "{}.tanh_()",
    "{}.transpose(0, 1).mul_({})", "{}.view(-1).add_(1)", "{}.unsqueeze(0).mul_({})", "{}.permute(1, 0).exp_()",
)  # fmt: skip
RANDOM = (
    "F.dropout({}, 0.3)",
    "F.dropout({}.transpose(0, -1), 0.4)",
    "torch.rand_like({})",
    "{} * torch.randn_like({})",
)


def fill(g: Any, template: str) -> str:
    return template.format(*(g.value() for _ in range(template.count("{}"))))


def unary(g: Any) -> str:
    template = g.pick(*UNARY)
    return template.format(*[g.value()] * template.count("{}"))


def binary(g: Any) -> str:
    return fill(g, g.pick(*BINARY))


def with_scalar_tensor(g: Any) -> str:
    return f"{g.value()} {g.pick('+', '*', '-')} {g.parameter()}"


def ternary(g: Any) -> str:
    return fill(g, g.pick(*TERNARY))


def mask(g: Any) -> str:
    """Of an input: rounding of computed values would decide."""
    name = g.value(lambda x: x.is_leaf)
    if not name.startswith("x"):
        raise LookupError("no input")
    other = g.value()
    return g.pick(
        f"torch.where({name} > 0.1, {other}, {g.pick('0.5', '-' + other)})",
        f"{other}.masked_fill({name} < 0, 0.25)",
        f"({name} >= 0).to({other}.dtype) * {other}",
        f"torch.round({name}) + {other}",
        f"torch.floor({name}) * {other}",
        f"torch.sign({name}) * {other}",
    )


def fold(g: Any) -> str:
    name, kind = g.value(), g.pick(*FOLDS)
    if kind in ("softmax", "log_softmax"):
        return f"{name}.{kind}({g.dim(name)})"
    keep = g.pick("", ", keepdim=True")
    if kind == "prod":
        return f"{name}.tanh().prod({g.dim(name)}{keep})"
    if g.random.random() < 0.2 and kind in ("sum", "mean"):
        return f"{name}.{kind}()"
    dims = {g.dim(name) % g.values[name].dim() for _ in range(g.pick(1, 1, 2))}
    return f"{name}.{kind}({sorted(dims)}{keep})"


def moments(g: Any) -> str:
    name = g.value()
    keep, dim = g.pick("True", "False"), g.dim(name)
    return g.pick(
        f"{name}.var({dim}, keepdim={keep})",
        f"({name}.var({dim}, keepdim={keep}, correction=0) + 0.5).sqrt()",
        f"torch.linalg.vector_norm({name} + 0.5, dim={dim}, keepdim={keep})",
        f"F.normalize({name}, dim={dim})",
        f"{name}.max() - {name}.min()",
    )


def normalization(g: Any) -> str:
    name = g.value(lambda x: x.dim() > 0)
    last = g.shape(name)[-1]
    return g.pick(
        lambda: f"F.layer_norm({name}, [{last}])",
        lambda: f"{g.layer(f'nn.LayerNorm({last})')}({name})",
        lambda: f"{g.layer(f'nn.RMSNorm({last})')}({name})",
        lambda: (
            f"{g.layer(f'nn.BatchNorm1d({g.shape(name)[1] if g.values[name].dim() > 1 else last})')}({name})"
        ),
        lambda: f"F.group_norm({name}, 1)",
        lambda: f"F.instance_norm({name})",
    )()


# Views and movement


def view(g: Any) -> str:
    name = g.value(lambda x: x.dim() > 0)
    rank, shape = g.values[name].dim(), g.shape(name)
    a, b = g.dim(name), g.dim(name)
    order = list(range(rank))
    g.random.shuffle(order)
    at = g.random.randrange(max(1, shape[a]))
    choices = [
        f"{name}.transpose({a}, {b})",
        f"{name}.permute({order})",
        f"{name}.reshape(-1)",
        f"{name}.flatten(0, {min(1, rank - 1)})",
        f"{name}.unsqueeze({g.random.randrange(-rank - 1, rank + 1)})",
        f"{name}.squeeze({a})",
        f"{name}.narrow({a}, {at}, {max(0, shape[a] - at)})",
        f"{name}.select({a}, {at})",
        f"{name}[{at}:]",
        f"{name}[..., ::2]",
        f"{name}[None, ..., {g.random.randrange(-1, max(1, shape[-1]))}]",
        f"{name}.chunk(2, {a})[{g.pick(0, -1)}]",
        f"{name}.split({g.pick(1, 2)}, {a})[{g.pick(0, -1)}]",
        f"{name}.unbind({a})[{at}]",
        f"{name}.movedim({a}, {b})",
        f"{name}.mT",
        f"{name}.expand({[g.pick(1, 2, 3), *shape]})",
        f"{name}.reshape({[*shape[:-2], -1]})",
        f"{name}.unflatten({a}, [-1, 1])",
    ]
    return g.pick(*choices)


def moved(g: Any) -> str:
    name = g.value(lambda x: x.dim() > 0)
    rank, a = g.values[name].dim(), g.dim(name)
    return g.pick(
        f"{name}.flip({a})",
        f"{name}.roll({g.pick(1, -1, 2)}, {a})",
        f"{name}.repeat({[g.pick(1, 2) for _ in range(rank)]})",
        f"F.pad({name}, {[g.pick(0, 1, 2), g.pick(0, 1, -1)]})",
        f"F.pad({name}, {[0, 1] * rank}, value=0.5)",
        f"{name}.tril({g.pick(0, 1, -1)})",
        f"{name}.triu({g.pick(0, 1, -1)})",
        f"torch.zeros_like({name}) + {name}",
        f"torch.ones_like({name})",
        f"{name}.repeat_interleave(2, {a})",
    )


def joined(g: Any) -> str:
    first = g.value()
    shape = g.shape(first)
    same = g.value(lambda x: list(x.shape) == shape)
    if g.random.random() < 0.4:
        return (
            f"torch.stack([{first}, {same}], {g.random.randrange(-len(shape) - 1, len(shape) + 1)})"
        )
    dim = g.dim(first) % len(shape)

    def fits(x: Any) -> bool:
        return x.dim() == len(shape) and all(
            n == m for i, (n, m) in enumerate(zip(x.shape, shape)) if i != dim
        )

    return f"torch.cat([{first}, {g.value(fits)}, {g.value(fits)}], {dim})"


def picked(g: Any) -> str:
    name = g.value(lambda x: x.dim() > 0 and x.shape[0] >= 3)
    return g.pick(
        lambda: f"{name}[i0]",
        lambda: f"{name}.index_select(0, i0)",
        lambda: f"F.embedding(i0, {g.parameter(3, g.pick(1, 4))})",
        lambda: f"{g.layer(f'nn.Embedding(3, {g.pick(1, 2, 5)}, padding_idx=1)')}(i0)",
        lambda: f"F.cross_entropy({g.parameter(4, 3)}[:i0.shape[0]] + {name}.mean(), i0[:4])",
    )()


def combined(g: Any) -> str:
    """Rows and elements that several others are combined into."""
    name = g.value(lambda x: x.dim() > 0 and x.shape[0] >= 3)
    kind, keep = g.pick("amax", "amin", "prod", "mean"), g.pick("True", "False")
    rows = f"{name}[i0]"
    return g.pick(
        lambda: f"{name}.index_reduce(0, i0, {rows} + 0.25, '{kind}', include_self={keep})",
        lambda: (
            f"{name}.scatter_reduce(0, i0.reshape([-1] + [1] * ({name}.dim() - 1)).expand_as({rows}), "
            f"{rows} * 1.5, '{kind}', include_self={keep})"
        ),
        lambda: f"torch.linalg.vector_norm({name} + 0.5, 3, dim=0)",
        lambda: f"F.pairwise_distance({name}, {name}.flip(0) * 0.5, p={g.pick('1.5', '3')})",
        lambda: f"torch.histc({name}.detach(), 4, -2, 2)",
        lambda: f"({name} * 10).clamp(0, 200).to(torch.uint8) % 7 * {name}",
    )()


def sampled(g: Any) -> str:
    name = g.value(lambda x: x.dim() == 4 and x.shape[0] > 0)
    mode = g.pick("bilinear", "nearest", "bicubic")
    beyond, corners = g.pick("zeros", "border", "reflection"), g.pick("True", "False")
    return (
        f"F.grid_sample({name}, {name}.mean(1)[..., None].expand(-1, -1, -1, 2).sigmoid() * 2.1 - 1.03, "
        f"mode='{mode}', padding_mode='{beyond}', align_corners={corners})"
    )


# Products and windows


def product(g: Any) -> str:
    name = g.value(lambda x: x.dim() > 0)
    last = g.shape(name)[-1]
    return g.pick(
        lambda: f"{g.layer(f'nn.Linear({last}, {g.pick(1, 3, 4)})')}({name})",
        lambda: f"{name} @ {g.parameter(last, g.pick(1, 2, 5))}",
        lambda: f"{name} @ {g.value(lambda x: x.dim() > 0 and x.shape[max(-2, -x.dim())] == last)}",
        lambda: f"{name} @ {name}.mT",
        lambda: f"torch.einsum('...i,ij->...j', {name}, {g.parameter(last, 2)})",
        lambda: f"F.linear({name}, {g.parameter(3, last)})",
        lambda: f"torch.addmm({g.parameter(2)}, {name}, {g.parameter(last, 2)}, alpha=0.5)",
        lambda: f"torch.outer({name}, {g.value(lambda x: x.dim() == 1)})",
    )()


def attention(g: Any) -> str:
    name = g.value(lambda x: x.dim() in (3, 4))
    causal = g.pick("", ", is_causal=True")
    return f"F.scaled_dot_product_attention({name}, {name} * 0.5, {name}{causal})"


def window(g: Any) -> str:
    name = g.value(lambda x: x.dim() in (3, 4))
    channels, rank = g.shape(name)[1], g.values[name].dim() - 2
    size, stride, padding = g.pick(1, 2, 3), g.pick(1, 2), g.pick(0, 1)
    return g.pick(
        lambda: (
            f"{g.layer(f'nn.Conv{rank}d({channels}, {g.pick(1, 3)}, {size}, {stride}, {padding})')}({name})"
        ),
        lambda: (
            f"{g.layer(f'nn.Conv{rank}d({channels}, {channels}, {size}, padding=1, groups={channels}, bias=False)')}({name})"
        ),
        lambda: f"F.max_pool{rank}d({name}, 2, {stride})",
        lambda: f"F.avg_pool{rank}d({name}, {size}, {stride})",
        lambda: f"F.adaptive_avg_pool{rank}d({name}, 1)",
        lambda: f"{g.layer(f'nn.BatchNorm{rank}d({channels})')}({name})",
    )()


def changed(g: Any) -> str:
    return "!" + fill(g, g.pick(*IN_PLACE))


def drawn(g: Any) -> str:
    template = g.pick(*RANDOM)
    return template.format(*[g.value()] * template.count("{}"))


def constant(g: Any) -> str:
    return g.pick(
        "torch.arange(3.0, dtype=x0.dtype)",
        "torch.eye(3, dtype=x0.dtype)",
        "torch.full([2, 1], 0.5, dtype=x0.dtype)",
    )


LINES: tuple[Callable[[Any], str], ...] = (
    *[unary] * 4, *[binary] * 4, *[view] * 5, *[fold] * 2, *[changed] * 3, *[product] * 2,
    with_scalar_tensor, ternary, mask, moments, normalization, moved, moved, joined, joined, picked,
    attention, window, drawn, constant, combined, sampled,
)  # fmt: skip
