"""Edges of operators, and random networks at any batch, as in eager mode."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
F = torch.nn.functional

from headrace.torch import FallbackWarning  # noqa: E402
from torch_eager import assert_same, check, compiled, normal, with_gradients  # noqa: E402

pytestmark = pytest.mark.usefixtures("fresh_torch")


NO_ROW = torch.ones(2, 1, 4, 4, dtype=torch.bool).tril()
NO_ROW[0, :, 0] = False

#: Where functions have corners: both zeros, and the bounds of clips.
CORNERS = torch.tensor([-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0], dtype=torch.float64)
PAIRS = (CORNERS.repeat_interleave(8), CORNERS.repeat(8))

EDGES: dict[str, tuple[Callable, tuple[torch.Tensor, ...]]] = {
    "clip at its bounds": (lambda x: x.clamp(-1, 1), (CORNERS,)),
    "clip at its lower bound": (lambda x: x.clamp(min=0), (CORNERS,)),
    "clip by tensors": (torch.clamp, (CORNERS, CORNERS.flip(0) - 1, CORNERS * 0 + 1.5)),
    "clip by equal tensors": (torch.clamp, (CORNERS, CORNERS * 0 + 0.5, CORNERS * 0 + 0.5)),
    "clip by tensors that cross": (torch.clamp, (CORNERS, CORNERS * 0 + 0.5, CORNERS.flip(0))),
    "likelihood of 0 and 1": (
        lambda x: F.binary_cross_entropy(x, torch.tensor([0.0, 0.3, 1.0]).double().repeat(3), reduction="none"),
        (torch.tensor([0.0, 0.5, 1.0]).double().repeat_interleave(3),),
    ),
    "logit of 0 and 1": (torch.logit, (torch.tensor([0.0, 0.25, 0.5, 1.0]).double(),)),
    "logit with bounds": (lambda x: torch.logit(x, 0.25), (torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0]).double(),)),
    "bounds of hardtanh": (F.hardtanh, (CORNERS,)),
    "bounds of relu6": (F.relu6, (CORNERS * 6,)),
    "leaky relu at 0": (F.leaky_relu, (CORNERS,)),
    "prelu at 0": (F.prelu, (CORNERS[:, None], torch.tensor([0.25]).double())),
    "elu at 0": (lambda x: F.elu(x, 2.0), (CORNERS,)),
    "selu at 0": (F.selu, (CORNERS,)),
    "celu at 0": (lambda x: F.celu(x, 2.0), (CORNERS,)),
    "power of 0": (lambda x: x**0, (CORNERS,)),
    "powers of 0": (lambda x: 0.0**x, (CORNERS,)),
    "angle at the origin": (torch.atan2, PAIRS),
    "x log(y) where x is 0": (lambda x, y: torch.xlogy(x, y.abs() + 0.5), PAIRS),
    "x log(1 + y) where x is 0": (lambda x, y: torch.special.xlog1py(x, y.abs()), PAIRS),
    "quotients that round to integers": (
        lambda x, y: torch.div(x + 1, (y + 3) / 10, rounding_mode="floor") + x,
        PAIRS,
    ),
    "quotients of infinities": (
        lambda x: torch.div(x, torch.inf, rounding_mode="floor") + torch.floor_divide(x.detach(), 0.1) + x,
        (CORNERS,),
    ),
    "norm at 0": (lambda x: x.norm(dim=-1), (torch.zeros(2, 3).double(),)),
    "deviation at 0": (lambda x: x.std(dim=-1), (torch.zeros(2, 3).double(),)),
    "variance of nothing": (lambda x: x.var(dim=0), (torch.zeros(0, 3).double(),)),
    "flip of nothing": (lambda x: x.flip(()) * 1, (normal(3, 4),)),
    "rows that see nothing": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=NO_ROW),
        (normal(2, 2, 4, 8), normal(2, 2, 4, 8), normal(2, 2, 4, 8)),
    ),
    "padding of an embedding": (
        lambda w, i: F.embedding(i, w, padding_idx=1),
        (normal(5, 3), torch.tensor([0, 1, 1, 2, 4])),
    ),
    "logarithms of rows that see nothing": (
        lambda x: torch.where(NO_ROW[0, 0], x, -torch.inf).log_softmax(-1),
        (normal(4, 4),),
    ),
    "negated rows that see nothing": (
        lambda x: (-torch.where(NO_ROW[0, 0], x, torch.inf)).softmax(-1),
        (normal(4, 4),),
    ),
    "narrowed rows that see nothing": (
        lambda x: torch.where(NO_ROW[0, 0], x.float(), -torch.inf).double().softmax(-1),
        (normal(4, 4),),
    ),
    "sum of exponentials of nothing": (
        lambda x: torch.where(NO_ROW[0, 0], x, -torch.inf).logsumexp(-1),
        (normal(4, 4),),
    ),
    "masked softmax": (
        lambda x: torch.where(NO_ROW[1, 0], x * 2, -torch.inf).softmax(-1) @ x,
        (normal(4, 4),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_edges(name: str) -> None:
    function, inputs = EDGES[name]
    check(function, *inputs)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.nan_to_num(x / 0),
        lambda x: torch.where(x > 0, x.sqrt(), 0),
        lambda x: (1 / x.abs()).clamp(max=2),
    ],
    ids=["nan_to_num", "where", "clamp"],
)
def test_infinite_slopes_that_a_mask_hides_are_0(function: Callable) -> None:
    """In eager mode they are NaN: 0 times infinity."""
    x = torch.tensor([0.0, -0.0, -1e-3], dtype=torch.float64)
    _, (eager,) = with_gradients(function, x)
    _, (found,) = with_gradients(compiled(function), x)
    assert eager.isnan().any() and (found == 0).all()


@pytest.mark.parametrize("option", ["sparse", "scale_grad_by_freq"])
def test_embeddings_with_another_gradient(option: str) -> None:
    table, rows = normal(5, 3), torch.tensor([0, 1, 1, 2, 4])
    grads = []
    for run in (compiled(F.embedding), F.embedding):
        weight = table.clone().requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            run(rows, weight, **{option: True}).sum().backward()
        grads.append(weight.grad)
    assert grads[0].layout == grads[1].layout
    assert_same(grads[0].to_dense(), grads[1].to_dense())
    with torch.no_grad():
        assert_same(compiled(F.embedding)(rows, table, **{option: True}), table[rows])


@pytest.mark.parametrize(
    "pick",
    [
        torch.take,
        lambda x, i: x[i],
        lambda x, i: x.index_select(0, i),
        lambda x, i: F.embedding(i, x),
    ],
    ids=["take", "index", "index_select", "embedding"],
)
@pytest.mark.parametrize("counts", [(5, 0, 3), (0, 2)])
def test_no_indices_have_a_gradient_of_zeros(pick: Callable, counts: tuple[int, ...]) -> None:
    run = compiled(pick)
    for count in counts:
        check(pick, normal(3, 4), torch.arange(count) % 3, run=run)


# Networks of all kinds


def random_network(seed: int) -> torch.nn.Module:
    """Layers that keep the last dimension, in any order."""
    nn, width = torch.nn, 6
    choices: list[Callable[[], torch.nn.Module]] = [
        lambda: nn.Linear(width, width), lambda: nn.LayerNorm(width), lambda: nn.ReLU(inplace=True),
        lambda: nn.GELU(), lambda: nn.Softmax(-1), lambda: nn.BatchNorm1d(width), lambda: nn.Hardtanh(),
        lambda: nn.Dropout(0.0), lambda: nn.Tanh(), lambda: nn.RMSNorm(width), lambda: nn.Softplus(),
    ]  # fmt: skip
    picked = torch.randint(len(choices), (5,), generator=torch.Generator().manual_seed(seed))
    return nn.Sequential(nn.Linear(width, width), *(choices[i]() for i in picked)).double()


@pytest.mark.parametrize("seed", range(4))
def test_random_networks_at_any_batch(seed: int) -> None:
    """Also of inputs in other orders, empty or repeated, with some parameters frozen."""
    module = random_network(seed)
    next(module.parameters()).requires_grad_(False)
    twin = copy.deepcopy(module)
    run = compiled(module)
    wide = normal(6, 7).t()
    for x in (normal(5, 6), normal(3, 6), wide, normal(1, 6).expand(4, 6), normal(8, 12)[:, ::2]):
        found, wanted = with_gradients(run, x), with_gradients(twin, x)
        assert_same(found[0], wanted[0], strides=False)
        assert_same(found[1], wanted[1], strides=False)
    module.eval(), twin.eval()
    for batch in (4, 1, 0):
        x = normal(batch, 6)
        assert_same(with_gradients(run, x), with_gradients(twin, x), strides=False)
    assert_same(list(module.buffers()), list(twin.buffers()))


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
def test_channels_last(training: bool, dynamic: bool) -> None:
    """Images and filters are read where they are, and results and gradients are in eager mode's order."""

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4)
            self.pool, self.last = torch.nn.AdaptiveAvgPool2d(1), torch.nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            y = F.relu(self.norm(self.conv(x)), inplace=True)
            return F.max_pool2d(y, 2), self.last(torch.flatten(self.pool(y), 1))

    module = Block().double().to(memory_format=torch.channels_last).train(training)
    twin = copy.deepcopy(module)
    run = compiled(module, dynamic=dynamic)
    for _ in range(2):
        x = normal(2, 3, 8, 8).to(memory_format=torch.channels_last)
        assert_same(with_gradients(run, x), with_gradients(twin, x))
        found, wanted = list(module.parameters()), list(twin.parameters())
        sums = [sum(y.sum() for y in each(x)) for each in (run, twin)]
        assert_same(torch.autograd.grad(sums[0], found), torch.autograd.grad(sums[1], wanted))


def test_convolutions_of_no_channels_have_none() -> None:
    """PyTorch's own rule, whatever the filter says; the convolution is left to PyTorch."""
    x, weight = normal(2, 0, 6), normal(1, 0, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        found = compiled(lambda x, w: F.conv1d(x**2, w))(x, weight)
    assert_same(found, F.conv1d(x**2, weight))
