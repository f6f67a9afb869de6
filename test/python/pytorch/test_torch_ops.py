"""Operators of PyTorch, family by family: values and gradients are those of eager mode, in f64.

A family is one graph with one result per operator.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("headrace")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
F = torch.nn.functional

Functions = dict[str, Callable]
pytestmark = pytest.mark.usefixtures("fresh_torch")


def check(
    functions: Functions, *inputs: torch.Tensor, gradients: bool = True, tolerance: float = 1e-9
) -> None:
    def family(*xs: torch.Tensor) -> list[torch.Tensor]:
        return [function(*xs) for function in functions.values()]

    def leaves() -> list[torch.Tensor]:
        return [x.clone().requires_grad_(gradients and x.is_floating_point()) for x in inputs]

    compiled = torch.compile(family, backend="headrace", fullgraph=True)
    ours, theirs = leaves(), leaves()
    results, expected = compiled(*ours), family(*theirs)
    for name, result, value in zip(functions, results, expected):
        assert result.dtype == value.dtype and result.shape == value.shape, name
        torch.testing.assert_close(result, value, rtol=1e-9, atol=1e-9, equal_nan=True, msg=name)
    if not gradients:
        return
    for name, result, value in zip(functions, results, expected):
        if not value.requires_grad:
            continue
        assert result.requires_grad, name
        weight = torch.linspace(0.5, 1.5, value.numel(), dtype=value.dtype).reshape(value.shape)
        options = {"retain_graph": True, "allow_unused": True, "materialize_grads": True}
        found = torch.autograd.grad((result * weight).sum(), used(ours), **options)
        wanted = torch.autograd.grad((value * weight).sum(), used(theirs), **options)
        for one, other in zip(found, wanted):
            torch.testing.assert_close(
                one, other, rtol=tolerance, atol=tolerance,
                msg=lambda text, name=name: f"{name}: {text}",
            )  # fmt: skip


def used(leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    return [x for x in leaves if x.requires_grad]


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64)


def between(low: float, high: float, *shape: int) -> torch.Tensor:
    return torch.rand(shape, dtype=torch.float64) * (high - low) + low


def test_functions_of_one_element() -> None:
    names = ["abs", "neg", "square", "relu", "exp", "exp2", "expm1", "sin", "cos", "tan", "atan",
             "sinh", "cosh", "tanh", "erf", "sigmoid"]  # fmt: skip
    check({name: getattr(torch, name) for name in names}, between(-1.4, 1.4, 5, 7))


def test_functions_of_positive_elements() -> None:
    names = ["reciprocal", "sqrt", "rsqrt", "log", "log1p", "log2", "log10", "asin", "acos"]
    check({name: getattr(torch, name) for name in names}, between(0.1, 0.9, 5, 7))


def test_rounding_and_signs() -> None:
    names = ["floor", "ceil", "round", "trunc", "sign", "isnan", "isinf"]
    x = torch.tensor([-2.5, -1.5, -0.2, 0.0, 0.5, 1.5, float("nan"), float("inf")]).double()
    check({name: getattr(torch, name) for name in names}, x, gradients=False)


def test_activations() -> None:
    names = ["gelu", "silu", "mish", "softplus", "logsigmoid", "elu",
             "selu", "celu", "leaky_relu", "relu6", "hardtanh", "softsign", "tanhshrink"]  # fmt: skip
    functions = {name: getattr(F, name) for name in names}
    functions["gelu tanh"] = lambda x: F.gelu(x, approximate="tanh")
    functions["softplus beta"] = lambda x: F.softplus(x, beta=2.0, threshold=1.0)
    functions["elu alpha"] = lambda x: F.elu(x, alpha=0.3)
    functions["threshold"] = lambda x: F.threshold(x, 0.25, -3.0)
    functions["glu"] = lambda x: F.glu(x, -1)
    functions["prelu"] = lambda x: F.prelu(x, torch.full((1,), 0.3, dtype=x.dtype))
    check(functions, normal(6, 8) * 3 + 0.01)


def test_activations_with_sixths() -> None:
    # PyTorch has 1/6 in f32 in their gradients.
    check({"sigmoid": F.hardsigmoid, "swish": F.hardswish}, normal(6, 8) * 3, tolerance=1e-7)


def test_arithmetic_of_two() -> None:
    functions = {
        "add": lambda a, b: a + b,
        "add alpha": lambda a, b: torch.add(a, b, alpha=3),
        "sub": lambda a, b: a - b,
        "sub alpha": lambda a, b: torch.sub(a, b, alpha=2),
        "rsub": lambda a, b: 2.0 - a,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "floor": lambda a, b: torch.div(a, b, rounding_mode="floor").detach(),
        "trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc").detach(),
        "remainder": lambda a, b: torch.remainder(a, b).detach(),
        "fmod": lambda a, b: torch.fmod(a, b).detach(),
        "pow": lambda a, b: a.abs() ** b,
        "pow 2": lambda a, b: a**2,
        "pow 3": lambda a, b: a**3,
        "pow -1": lambda a, b: b**-1,
        "2 pow": lambda a, b: 2.0**a,
        "maximum": torch.maximum,
        "minimum": torch.minimum,
        "atan2": torch.atan2,
        "hypot": torch.hypot,
        "lerp": lambda a, b: torch.lerp(a.expand(4, 5), b, 0.3),
        "addcmul": lambda a, b: torch.addcmul(a, b, b, value=0.5),
        "addcdiv": lambda a, b: torch.addcdiv(a, b, b + 4, value=0.5),
        "clamp": lambda a, b: torch.clamp(a, -0.5, 0.5),
        "clamp min": lambda a, b: torch.clamp(a, min=-0.5),
        "clamp max": lambda a, b: torch.clamp_max(a, 0.5),
        "clamp tensor": lambda a, b: torch.clamp(a, b - 2.5),
        "where": lambda a, b: torch.where(a > 0, a, b),
        "masked_fill": lambda a, b: a.expand(4, 5).masked_fill(b > 1, -1.0),
    }
    check(functions, normal(4, 1), between(0.5, 2, 5))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
def test_hypot_at_the_ends_of_its_type(dtype: torch.dtype) -> None:
    """Squares of these numbers overflow or vanish; an infinite side wins against NaN."""
    least, most = torch.finfo(dtype).smallest_normal, torch.finfo(dtype).max
    sides = [0.0, -0.0, least, -2 * least, 3.0, -4.0, most / 4, -most / 2, float("inf")]
    sides += [-float("inf"), float("nan")]
    x = torch.tensor(sides, dtype=dtype)
    a, b = (side.contiguous() for side in torch.meshgrid(x, x, indexing="ij"))
    expected = torch.hypot(a.double(), b.double()).to(dtype)
    found = torch.compile(torch.hypot, backend="headrace", fullgraph=True)(a, b)
    rtol = 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(found, expected, rtol=rtol, atol=0, equal_nan=True)


def test_comparisons_and_logic() -> None:
    functions = {
        "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= 2, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= 1.5,
        "and": lambda a, b: (a > 1) & (b > 1), "or": lambda a, b: torch.logical_or(a, b),
        "xor": lambda a, b: (a > 1) ^ (b > 1), "not": lambda a, b: ~(a > 1),
        "logical_not": lambda a, b: torch.logical_not(a), "bitwise": lambda a, b: a & b,
        "mixed": lambda a, b: a + b.double(), "integers": lambda a, b: a // (b + 1),
        "modulo": lambda a, b: (a - 2) % (b + 1), "to": lambda a, b: a.to(torch.float32) * 0.5,
        "true division": lambda a, b: a / (b + 1),
        "any": lambda a, b: torch.any(a > 2, dim=1), "all": lambda a, b: torch.all(a > 0),
    }  # fmt: skip
    check(functions, torch.randint(0, 4, (3, 5)), torch.randint(0, 4, (3, 5)), gradients=False)


def test_movement() -> None:
    functions = {
        "view": lambda x: x.view(6, 4), "reshape": lambda x: x.transpose(0, 1).reshape(-1),
        "flatten": lambda x: x.flatten(1), "unsqueeze": lambda x: x.unsqueeze(-1),
        "squeeze": lambda x: x[:, :1].squeeze(1), "permute": lambda x: x.permute(2, 0, -2),
        "T": lambda x: x[0].T, "expand": lambda x: x[:, :1].expand(2, 5, 4),
        "repeat": lambda x: x.repeat(2, 1, 1, 3), "slice": lambda x: x[:, 1:, ::2],
        "negative": lambda x: x[..., -3:-1], "select": lambda x: x[:, -1],
        "narrow": lambda x: x.narrow(2, 1, 2), "split": lambda x: x.split(3, 2)[0] * 2,
        "chunk": lambda x: x.chunk(2, dim=1)[1] + 1, "unbind": lambda x: x.unbind(1)[2] * 3,
        "flip": lambda x: x.flip(0, -1), "cat": lambda x: torch.cat([x, x * 2], dim=-1),
        "stack": lambda x: torch.stack([x, -x], dim=1), "pad": lambda x: F.pad(x, (1, 2, -1, 1)),
        "pad value": lambda x: F.pad(x, (0, 1), value=7.0), "tril": lambda x: torch.tril(x),
        "triu": lambda x: torch.triu(x, 1), "movedim": lambda x: x.movedim(0, 2),
        "index": lambda x: x[:, torch.tensor([2, 0])], "clone": lambda x: x.clone(),
        "detach": lambda x: x.detach() * x,
    }  # fmt: skip
    check(functions, normal(2, 3, 4))


def test_tensors_made_from_nothing() -> None:
    functions = {
        "zeros": lambda x: torch.zeros(2, 3) + x.sum(), "ones": lambda x: torch.ones_like(x) * x,
        "full": lambda x: torch.full((2,), 3.5, dtype=x.dtype) * x.sum(),
        "full_like": lambda x: torch.full_like(x, 2) * x, "arange": lambda x: x * torch.arange(3),
        "new": lambda x: x.new_ones(2) * x.sum(), "tensor": lambda x: x + torch.tensor(2.5),
    }  # fmt: skip
    check(functions, normal(4, 3))


def test_reductions() -> None:
    functions = {
        "sum": lambda x: x.sum(), "sum axis": lambda x: x.sum((0, 2)),
        "sum keep": lambda x: x.sum(-1, keepdim=True), "mean": lambda x: x.mean(1),
        "amax": lambda x: x.amax(2), "amin": lambda x: x.amin((0, 1)), "max": lambda x: x.max(),
        "prod": lambda x: x.prod(1), "var": lambda x: x.var(1), "std": lambda x: x.std((0, 2)),
        "var biased": lambda x: torch.var(x, 0, correction=0), "norm": lambda x: x.norm(),
        "norm 1": lambda x: x.norm(1, dim=1), "logsumexp": lambda x: torch.logsumexp(x, 1),
        "softmax": lambda x: x.softmax(1), "log_softmax": lambda x: x.log_softmax(-1),
        "normalize": lambda x: F.normalize(x, dim=-1),
    }  # fmt: skip
    check(functions, normal(3, 4, 5))


def test_matrix_products() -> None:
    functions = {
        "mm": lambda a, b: a[0] @ b, "matmul": lambda a, b: a @ b,
        "mv": lambda a, b: a[0] @ b[:, 0], "dot": lambda a, b: a[0, 0] @ b[:, 0],
        "bmm": lambda a, b: torch.bmm(a, a.transpose(1, 2)),
        "linear": lambda a, b: F.linear(a, b.T, b[0]),
        "addmm": lambda a, b: torch.addmm(b[0], a[0], b, beta=0.5, alpha=2),
        "baddbmm": lambda a, b: torch.baddbmm(a[:, :, :1], a, b.expand(2, 4, 5)),
        "einsum": lambda a, b: torch.einsum("bij,jk->kb", a, b), "outer": lambda a, b: torch.outer(b[0], b[1]),
    }  # fmt: skip
    check(functions, normal(2, 3, 4), normal(4, 5))


def test_convolutions() -> None:
    functions = {
        "plain": lambda x, w: F.conv2d(x, w), "padded": lambda x, w: F.conv2d(x, w, padding=1),
        "same": lambda x, w: F.conv2d(x, w, padding="same"),
        "strided": lambda x, w: F.conv2d(x, w, stride=(2, 1), padding=(1, 0)),
        "dilated": lambda x, w: F.conv2d(x, w, dilation=2),
        "bias": lambda x, w: F.conv2d(x, w, w[:, 0, 0, 0]),
        "depthwise": lambda x, w: F.conv2d(x, w[:4, :1], groups=4),
        "grouped": lambda x, w: F.conv2d(x, w[:, :2], groups=2),
        "1d": lambda x, w: F.conv1d(x[:, :, 0], w[:, :, 0], padding=1),
    }  # fmt: skip
    check(functions, normal(2, 4, 7, 6), normal(6, 4, 3, 3))


def test_poolings() -> None:
    functions = {
        "max": lambda x: F.max_pool2d(x, 2), "max strided": lambda x: F.max_pool2d(x, 3, 2, 1),
        "max ceil": lambda x: F.max_pool2d(x, 2, ceil_mode=True),
        "max 1d": lambda x: F.max_pool1d(x[:, :, 0], 2),
        "average": lambda x: F.avg_pool2d(x, 2), "average padded": lambda x: F.avg_pool2d(x, 3, 2, 1),
        "average own": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        "average ceil": lambda x: F.avg_pool2d(x, 2, ceil_mode=True),
        "average divisor": lambda x: F.avg_pool2d(x, 2, divisor_override=3),
        "average 1d": lambda x: F.avg_pool1d(x[:, :, 0], 2),
        "adaptive": lambda x: F.adaptive_avg_pool2d(x, 1),
        "adaptive 7x3": lambda x: F.adaptive_avg_pool2d(x, (7, 3)),
        "unbatched": lambda x: F.max_pool2d(x[0], 2),
        "upsample": lambda x: F.interpolate(x, scale_factor=2, mode="nearest"),
    }  # fmt: skip
    check(functions, normal(2, 3, 7, 6))


def test_normalizations() -> None:
    shift, spread = normal(4), between(0.5, 2, 4)
    functions = {
        "layer": lambda x, s, b: F.layer_norm(x, (6,), s[:6], b[:6]),
        "layer plain": lambda x, s, b: F.layer_norm(x, (5, 6)),
        "group": lambda x, s, b: F.group_norm(x, 2, s[:4], b[:4]),
        "instance": lambda x, s, b: F.instance_norm(x),
        "batch": lambda x, s, b: F.batch_norm(x, shift, spread, s[:4], b[:4]),
        "batch training": lambda x, s, b: F.batch_norm(x, None, None, s[:4], b[:4], training=True),
        "batch 1d": lambda x, s, b: F.batch_norm(x[:, :, 0, 0], shift, spread),
    }  # fmt: skip
    check(functions, normal(3, 4, 5, 6), normal(6), normal(6))


def test_attention() -> None:
    functions = {
        "plain": F.scaled_dot_product_attention,
        "causal": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "scaled": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3),
        "masked": lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, attn_mask=torch.linspace(-1, 1, 25, dtype=q.dtype).reshape(5, 5)
        ),
    }
    check(functions, normal(2, 3, 5, 4), normal(2, 3, 5, 4), normal(2, 3, 5, 4))


def test_losses() -> None:
    target = torch.tensor([1, 0, 3, -100, 2])
    functions = {
        "cross_entropy": lambda x: F.cross_entropy(x, target),
        "sum": lambda x: F.cross_entropy(x, target, reduction="sum"),
        "none": lambda x: F.cross_entropy(x, target, reduction="none"),
        "weighted": lambda x: F.cross_entropy(x, target, torch.tensor([1.0, 2, 3, 4]).double()),
        "smoothed": lambda x: F.cross_entropy(x, target, label_smoothing=0.1),
        "probabilities": lambda x: F.cross_entropy(x, x.detach().softmax(1)),
        "nll": lambda x: F.nll_loss(x, target), "mse": lambda x: F.mse_loss(x, x.detach() + 1),
        "l1": lambda x: F.l1_loss(x, x.detach() + 1), "huber": lambda x: F.smooth_l1_loss(x, x.detach() * 2),
        "bce": lambda x: F.binary_cross_entropy(x.sigmoid(), x.detach().sigmoid()),
        "bce logits": lambda x: F.binary_cross_entropy_with_logits(x, x.detach().sigmoid()),
        "kl": lambda x: F.kl_div(x.log_softmax(1), x.detach().softmax(1), reduction="batchmean"),
    }  # fmt: skip
    check(functions, normal(5, 4))


def test_embedding() -> None:
    indices = torch.tensor([[0, 5, 2], [5, 5, 1]])
    functions = {
        "embedding": lambda table: F.embedding(indices, table),
        "index_select": lambda table: table.index_select(1, indices[0] % 3),
    }
    check(functions, normal(6, 4))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.layer_norm(x, (64,)),
        lambda x: F.group_norm(x.view(2, 8, 64), 4),
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: x.softmax(-1),
    ],
    ids=["layer_norm", "group_norm", "batch_norm", "softmax"],
)
def test_half_widths_are_normalized_in_f32(function, dtype: torch.dtype) -> None:
    """Far from 0, a mean that is rounded to the width of the tensor would spoil the result."""
    x = (torch.randn(16, 64) + 20).to(dtype)
    exact = function(x.double())
    found = torch.compile(function, backend="headrace")(x)
    error, eager = ((y.double() - exact).abs().max() for y in (found, function(x)))
    assert found.dtype == dtype and error <= 2 * eager + 1e-6


def test_gamma_error_and_bessel_functions() -> None:
    special = torch.special
    functions = {
        "lgamma": lambda x, p: torch.lgamma(x),
        "digamma": lambda x, p: torch.digamma(x),
        "trigamma": lambda x, p: torch.polygamma(1, p),
        "mvlgamma": lambda x, p: torch.mvlgamma(p + 2, 3),
        "erfc": lambda x, p: torch.erfc(x),
        "erfcx": lambda x, p: special.erfcx(p),
        "erfinv": lambda x, p: torch.erfinv(0.99 * torch.tanh(x)),
        "i0": lambda x, p: torch.i0(x),
        "i0e": lambda x, p: special.i0e(3 * x),
        "i1": lambda x, p: special.i1(x),
        "i1e": lambda x, p: special.i1e(3 * x),
    }
    x = torch.linspace(-5.3, 11.2, 67, dtype=torch.float64)
    check(functions, x, x.abs() + 0.01, tolerance=1e-7)


@pytest.mark.parametrize("kind", ["amax", "amin", "prod", "mean"])
def test_combined_elements_share_the_gradient(kind: str) -> None:
    """Equal extrema, one factor that is 0, and two of them."""
    index = torch.tensor([0, 2, 0, 2, 1])
    data = torch.tensor([[1.0, 0.0, 3.0], [2.0, 2.0, 0.5], [0.0, 1.5, 2.0]], dtype=torch.float64)
    rows = torch.tensor(
        [[1.0, 2, 3], [0, 1.5, 2], [1, 0, 3], [0, 1, 2], [2, 0, 1]], dtype=torch.float64
    )
    check(
        {
            "index_reduce": lambda d, r: d.index_reduce(0, index, r, kind),
            # Eager mode counts elements that it leaves out, if they are extrema.
            "without": lambda d, r: (d + 0.125).index_reduce(0, index, r, kind, include_self=False),
            "scatter_reduce": lambda d, r: d.scatter_reduce(
                0, index[:, None].expand_as(r), r, kind
            ),
        },
        data,
        rows,
    )


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_images_are_sampled_at_a_grid(padding: str) -> None:
    functions = {
        f"{mode} {corners}": lambda x, at, mode=mode, corners=corners: F.grid_sample(
            x, at, mode=mode, padding_mode=padding, align_corners=corners
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for corners in (False, True)
    }
    check(functions, normal(2, 3, 5, 4), between(-1.6, 1.6, 2, 3, 6, 2))


def test_bytes_wrap_around() -> None:
    first = torch.tensor([[0, 1, 200, 255]] * 2, dtype=torch.uint8)
    second = torch.tensor([3, 255, 100, 2], dtype=torch.uint8)
    functions = {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "divide": lambda x, y: x // (y + 1).clamp(min=1),
        "shift": lambda x, y: (x << 1) + (x >> 2),
        "compare": lambda x, y: x > y,
        "mean": lambda x, y: x.float().mean(),
        "converted": lambda x, y: (x.float() - 128.5).to(torch.uint8),
        "invert": lambda x, y: ~x,
        "max": lambda x, y: x.max(1)[0],
        "sum": lambda x, y: x.sum(1),
    }
    check(functions, first, second, gradients=False)


def test_a_graph_without_inputs_yields_new_tensors() -> None:
    def window() -> torch.Tensor:
        return torch.hann_window(8, dtype=torch.float64).cumsum(0)

    compiled = torch.compile(window, backend="headrace", fullgraph=True)
    compiled().zero_()
    torch.testing.assert_close(compiled(), window())
