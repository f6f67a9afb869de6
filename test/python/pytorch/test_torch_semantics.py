"""Semantics of PyTorch's graphs beyond their operators: autograd, memory, the caller's view.

Each is as in eager mode; where Headrace does not compile it, the warning names it.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest

hr = pytest.importorskip("headrace")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
F = torch.nn.functional

from headrace.torch import FallbackWarning  # noqa: E402

pytestmark = pytest.mark.usefixtures("fresh_torch")


def compiled(function: Callable, **options: Any) -> Callable:
    return torch.compile(function, backend="headrace", **options)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64)


def assert_same(found: Any, wanted: Any, strides: bool = True) -> None:
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted):
            assert_same(one, other, strides)
    elif isinstance(wanted, torch.Tensor):
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9, equal_nan=True)
        assert found.requires_grad == wanted.requires_grad
        assert not strides or found.stride() == wanted.stride()
    else:
        assert type(found) is type(wanted) and found == wanted


def with_gradients(function: Callable, *inputs: torch.Tensor) -> tuple[Any, Any]:
    leaves = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    result = function(*leaves)
    results = result if isinstance(result, (tuple, list)) else [result]
    total = sum(x.sum() for x in results if isinstance(x, torch.Tensor) and x.requires_grad)
    wanted = [x for x in leaves if x.requires_grad]
    return result, torch.autograd.grad(total, wanted, allow_unused=True)


def check(function: Callable, *inputs: torch.Tensor, run: Callable | None = None) -> None:
    found = with_gradients(run or compiled(function), *inputs)
    wanted = with_gradients(function, *inputs)
    assert_same(found[0], wanted[0])
    assert_same(found[1], wanted[1], strides=False)


def left_to_pytorch(reason: str) -> Any:
    return pytest.warns(FallbackWarning, match=reason)


# Autograd


def test_what_is_computed_without_autograd_is_constant() -> None:
    def inner(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            t = x @ w
            with torch.enable_grad():
                u = x.sum()
        return (x @ w) * t * u

    check(inner, normal(3, 4), normal(4, 5))


def test_autograd_switched_on_inside() -> None:
    def inner(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.enable_grad():
            y = x * x
        return y, x * 2

    x = normal(3).requires_grad_()
    with torch.no_grad():
        found, wanted = compiled(inner)(x), inner(x)
    assert_same(found, wanted)
    assert_same(*(torch.autograd.grad(y.sum(), x) for y, _ in (found, wanted)), strides=False)


def test_results_know_whether_they_have_a_gradient() -> None:
    def several(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return a * b, b.exp(), (a * 3).detach(), a > 0

    run = compiled(several)
    for needs_a, needs_b in ((True, False), (False, True), (True, True), (False, False)):
        a, b = normal(3).requires_grad_(needs_a), normal(3).requires_grad_(needs_b)
        assert_same(run(a, b), several(a, b))


def test_inputs_that_autograd_does_not_reach_have_no_gradient() -> None:
    check(lambda a, b: a * 2 + b.detach(), normal(3), normal(3))
    a, b = normal(3).requires_grad_(), normal(3).requires_grad_()
    first, _ = compiled(lambda a, b: (a * 2, b * 3))(a, b)
    first.sum().backward()
    assert b.grad is None and a.grad is not None


def behind_no_grad(x: torch.Tensor) -> torch.Tensor:
    y = x * 3
    with torch.no_grad():
        y.mul_(2)
    return y + 1


def behind_detach(x: torch.Tensor) -> torch.Tensor:
    y = x * 3
    y.detach().mul_(2)
    return y + 1


def with_hook(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y.register_hook(lambda gradient: gradient * 10)
    return y.sin()


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.round()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


REFUSED: dict[str, tuple[Callable, str]] = {
    "no_grad": (behind_no_grad, "changed behind autograd"),
    "detach": (behind_detach, "changed behind autograd"),
    "hook": (with_hook, "register_hook"),
    "function": (lambda x: StraightThrough.apply(x) * 2, "torch.autograd.Function"),
    "grad": (lambda x: torch.func.grad(lambda y: (y**3).sum())(x) * x, "torch.func.grad"),
    "jvp": (lambda x: torch.func.jvp(torch.sin, (x,), (x,))[1], "torch.func.jvp"),
    "cond": (lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)), "higher_order.cond"),
    "linalg": (
        lambda x: torch.linalg.cholesky(x.outer(x) + torch.eye(4)),
        "aten._linalg_check_errors",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_left_to_pytorch_by_name(name: str) -> None:
    function, reason = REFUSED[name]
    with left_to_pytorch(reason):
        check(function, normal(4))


def test_functions_with_gradients_of_their_own_compile_for_inference() -> None:
    x = normal(5)
    with torch.no_grad():
        assert_same(compiled(StraightThrough.apply)(x), x.round())


def test_vmap_and_checkpoints() -> None:
    from torch.utils.checkpoint import checkpoint

    check(lambda x: torch.func.vmap(lambda y: (y * y.sum()).exp())(x), normal(5, 3))
    check(lambda x: checkpoint(lambda y: y.sin().exp(), x, use_reentrant=False) * 2, normal(4))


@pytest.mark.parametrize("hooks", ["checkpoint", "save_on_cpu"])
def test_hooks_of_saved_tensors_around_a_graph(hooks: str) -> None:
    """Also for gradients of gradients, which PyTorch takes of the forward pass that it does again."""
    from torch.utils.checkpoint import checkpoint

    def function(x: torch.Tensor) -> torch.Tensor:
        return (x.sin() * x).exp()

    def around(run: Callable) -> Callable:
        def call(x: torch.Tensor) -> torch.Tensor:
            if hooks == "checkpoint":
                return checkpoint(run, x, use_reentrant=False)
            with torch.autograd.graph.save_on_cpu():
                return run(x)

        return call

    x, run = normal(4), compiled(function)
    found, wanted = (gradient_of_gradient(around(each), x) for each in (run, function))
    assert_same(found, wanted, strides=False)
    assert_same(with_gradients(around(run), x)[1], with_gradients(function, x)[1], strides=False)


def cubes(x: torch.Tensor) -> torch.Tensor:
    return (x**3).sum()


def sine_without_gradient(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x.sin()
    return y * x


TRANSFORMED: dict[str, tuple[Callable, str]] = {
    "vmap(grad)": (torch.func.vmap(torch.func.grad(cubes)), "torch.func.grad"),
    "vmap(jacrev)": (torch.func.vmap(torch.func.jacrev(torch.sin)), "torch.func.grad"),
    "hessian": (lambda x: torch.func.hessian(cubes)(x[0]), "torch.func.j"),
    "no_grad": (torch.func.vmap(sine_without_gradient), "torch.no_grad inside"),
    "bessel": (torch.func.vmap(lambda y: torch.special.bessel_j0(y)), "aten.special_bessel_j0"),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transforms_left_to_pytorch(name: str) -> None:
    """Levels that the graph entered by then are left again."""
    function, reason = TRANSFORMED[name]
    x = normal(3, 4)
    with left_to_pytorch(reason):
        found = compiled(lambda x: function(x))(x)
    assert_same(found, function(x))


def test_states_of_a_graph_that_is_left_are_left_too() -> None:
    def narrow(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.special.bessel_j0((x @ x.T).float())

    x = torch.randn(3, 3)
    with left_to_pytorch("aten.special_bessel_j0"):
        assert_same(compiled(narrow)(x), narrow(x))
    assert not torch.is_autocast_enabled("cpu")


def test_associative_scan() -> None:
    from torch._higher_order_ops.associative_scan import associative_scan

    def combine(a: Any, b: Any) -> Any:
        return a[0] * b[0], a[1] * b[0] + b[1]

    def scan(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return associative_scan(combine, (a, b), dim=1, combine_mode="generic")[1]

    check(scan, normal(2, 5, 3), normal(2, 5, 3))


def gradient_of_gradient(run: Callable, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    x = x.clone().requires_grad_()
    y = run(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return first, *torch.autograd.grad(y.sum() + first.pow(2).sum(), x)


def test_gradients_of_gradients() -> None:
    def dropped(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x * x * x, 0.4)

    x = normal(4, 6)
    for function in (lambda x: x.exp().sin(), dropped):
        torch._dynamo.reset()
        found = gradient_of_gradient(compiled(function), x)
        assert_same(found, gradient_of_gradient(function, x), strides=False)


def test_gradients_of_gradients_of_a_network_with_state() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh())
    module.double()
    twin = copy.deepcopy(module)
    x = normal(5, 3)
    found, wanted = gradient_of_gradient(compiled(module), x), gradient_of_gradient(twin, x)
    assert_same(found, wanted, strides=False)
    assert_same(list(module.buffers()), list(twin.buffers()))


def test_backward_called_from_the_function() -> None:
    layer = torch.nn.Linear(3, 2).double()
    twin = copy.deepcopy(layer)

    def step(layer: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        loss = layer(x).square().sum()
        loss.backward()
        return loss.detach()

    x = normal(4, 3)
    assert_same(compiled(step)(layer, x), step(twin, x))
    assert_same(layer.weight.grad, twin.weight.grad, strides=False)


# Memory


def aliases(function: Callable, x: torch.Tensor) -> None:
    """Writes to each result show where they do in eager mode (aliasing)."""
    ours, theirs = x.clone(), x.clone()
    found, wanted = compiled(function)(ours), function(theirs)
    assert_same(found, wanted)
    for i, (one, other) in enumerate(zip(found, wanted)):
        one.add_(i + 1), other.add_(i + 1)
    assert_same([ours, *found], [theirs, *wanted])


def two_parts(x: torch.Tensor) -> list[torch.Tensor]:
    y = (x + 1).view(-1)
    return [y[1:], y[:-1]]


def whole_and_transposed(x: torch.Tensor) -> list[torch.Tensor]:
    y = x + 1
    return [y, y.t(), y.detach()]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [x.view(-1)],
        lambda x: [x.t(), x * 2, x[1:].unsqueeze(0), x],
        lambda x: [x.contiguous(), x.reshape(-1), x.double()],
        lambda x: [x.clone(), x.clone(), x.t().reshape(-1)],
        lambda x: [(x + 1).chunk(2)[0], x.t() + 1],
        two_parts,
        whole_and_transposed,
    ],
)
def test_results_share_memory_as_in_eager_mode(function: Callable) -> None:
    aliases(function, normal(4, 3))
    torch._dynamo.reset()
    check(function, normal(4, 3))


def test_memory_order_of_results() -> None:
    check(lambda x: x.t() + 1, normal(3, 4))
    check(lambda x: (x + 1).expand(5, 3), normal(3))
    layer = torch.nn.Conv2d(3, 4, 3).double().to(memory_format=torch.channels_last)
    x = normal(2, 3, 8, 8).to(memory_format=torch.channels_last)
    torch._dynamo.reset()
    assert_same(compiled(layer)(x), layer(x))


def test_inputs_that_share_memory() -> None:
    def step(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a.add_(1)
        return b * 2

    def go(run: Callable) -> list[torch.Tensor]:
        whole = torch.arange(6.0)
        return [run(whole[:4], whole[2:]), whole]

    run = compiled(step)
    assert_same(run(torch.ones(4), torch.ones(4)), torch.full((4,), 2.0))
    with left_to_pytorch("whose elements share memory"):
        assert_same(go(run), go(step))


def test_an_input_of_repeated_elements_is_changed() -> None:
    """PyTorch fills it, but copies nothing to it."""

    def step(x: torch.Tensor) -> torch.Tensor:
        x.fill_(0.5)
        return x * 2

    def go(run: Callable) -> list[torch.Tensor]:
        x = torch.ones(1, 3).expand(4, 3)
        return [run(x), x]

    with left_to_pytorch("whose elements share memory"):
        assert_same(go(compiled(step)), go(step))


def test_a_result_in_another_order_is_changed_later() -> None:
    """It is not a view for autograd, which forbids changes of views that a function has made."""

    def ordered(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x.transpose(0, 1) * w + 1

    def needed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x.transpose(0, 1) * w).exp()

    def go(run: Callable) -> list[Any]:
        x = torch.linspace(0, 1, 6).double().reshape(2, 3).requires_grad_()
        y = run(x, torch.full((2,), 2.0).double())
        y.mul_(x.detach().T)
        return [y, torch.autograd.grad(y.sum(), x)]

    assert_same(go(compiled(ordered)), go(ordered))
    # Backward reads a tensor of its own, so that this is right where eager mode raises an error.
    y, (gradient,) = go(compiled(needed))
    x = torch.linspace(0, 1, 6).double().reshape(2, 3)
    w = torch.full((2, 1), 2.0).double()
    assert_same([y.detach(), gradient], [((x * w).exp() * x).T, (x * w).exp() * x * w])


@pytest.mark.parametrize("leaf", [True, False], ids=["from a parameter", "with a gradient"])
def test_inputs_with_a_gradient_that_are_changed(leaf: bool) -> None:
    def step(y: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y.mul_(w)
        return y.sum()

    def go(run: Callable) -> list[Any]:
        w = torch.arange(1.0, 5.0).double().requires_grad_()
        y = torch.ones(4).double() if leaf else w * 2
        result = run(y, w)
        return [result, y, torch.autograd.grad(result + (y * y).sum(), w)]

    wanted = go(step)
    with left_to_pytorch("an input that requires a gradient is changed in place"):
        assert_same(go(compiled(step)), wanted, strides=False)


# Numbers


def test_numbers_as_results() -> None:
    def sized(x: torch.Tensor) -> tuple:
        return x + 1, x.shape[0] * 2, x.shape[0] / 2, x.shape[0] > 3, x.shape, x.numel() + 1

    run = compiled(sized)
    for batch in (2, 3, 5):
        x = normal(batch, 3)
        assert_same(run(x), sized(x))


def test_numbers_that_change() -> None:
    def scaled(x: torch.Tensor, t: float) -> tuple:
        return x * t + t**2, t * 2

    run = compiled(scaled)
    for t in (0.1, 0.2, 0.3, 4, 5, 7):
        x = normal(3)
        assert_same(run(x, t), scaled(x, t))


def test_random_numbers_that_nobody_uses_are_drawn() -> None:
    def drawn(x: torch.Tensor) -> torch.Tensor:
        torch.rand(4)
        return x + torch.rand(4)

    x = normal(4)
    results = []
    for run in (compiled(drawn), drawn):
        torch.manual_seed(1)
        results.append([run(x), torch.rand(3)])
    assert_same(*results)


def test_changes_in_place_at_every_batch() -> None:
    nn = torch.nn
    layers = [nn.ReLU6(True), nn.Hardtanh(inplace=True), nn.Threshold(0.1, 20, True), nn.ELU(inplace=True),
              nn.LeakyReLU(inplace=True), nn.SiLU(True), nn.ReLU(True)]  # fmt: skip

    def every(x: torch.Tensor) -> list[torch.Tensor]:
        return [layer(x * 2) for layer in layers] + [(x * 2).clamp_(0, 1).clamp_min_(0.1)]

    run = compiled(every)
    for batch in (2, 3, 5):
        check(every, normal(batch, 4), run=run)


# Edges of operators

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


FAILURES = {
    "error": (hr.UnsupportedError("no such kernel\nand more"), "not supported: no such kernel$"),
    "defect": (hr.InternalError("no such kernel"), r"PyTorch: no such kernel \(this is a bug in Headrace; please report it\)$"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAILURES)
def test_what_fails_runs_in_pytorch(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.torch import _runnable

    error, message = FAILURES[kind]

    def fail(self: Any, inputs: Any) -> Any:
        raise error

    monkeypatch.setattr(_runnable.Runnable, "__call__", fail)
    x = normal(3)
    run = compiled(torch.sin)
    with left_to_pytorch(message):
        assert_same(run(x), x.sin())
    assert_same(run(x), x.sin())


def test_a_mistake_of_the_compiler_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.torch import _compile

    monkeypatch.setattr(_compile, "lower", lambda *_: {}["no such key"])
    with left_to_pytorch("PyTorch: KeyError: 'no such key' .this is a bug in Headrace"):
        assert_same(compiled(torch.sin)(CORNERS), CORNERS.sin())


def test_exceptions_of_others_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.torch import _runnable

    def fail(self: Any, inputs: Any) -> Any:
        raise torch.OutOfMemoryError("no memory")

    x = normal(3).requires_grad_()
    y = compiled(torch.sin)(x)
    monkeypatch.setattr(_runnable.Runnable, "__call__", fail)
    with pytest.raises(torch.OutOfMemoryError):
        compiled(torch.cos)(x)
    with pytest.raises(torch.OutOfMemoryError):
        y.sum().backward()


def test_a_backward_pass_that_fails_runs_in_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.torch import _runnable

    x = normal(3).requires_grad_()
    run = compiled(torch.sin)
    y = run(x)

    def fail(self: Any, inputs: Any) -> Any:
        raise hr.UnsupportedError("no such kernel")

    monkeypatch.setattr(_runnable.Runnable, "__call__", fail)
    with left_to_pytorch("no such kernel"):
        y.sum().backward()
    assert_same(x.grad, x.detach().cos(), strides=False)
    assert_same(run(x), x.sin())


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


def test_inputs_that_are_kept_and_changed() -> None:
    """Autograd keeps neither operand of the sum: eager mode allows the change."""

    def step(w: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        y = (w + state * 2).tanh()
        state.add_(1)
        return y

    def go(run: Callable) -> list[Any]:
        w, state = torch.ones(4).double().requires_grad_(), torch.arange(4.0).double()
        y = run(w, state)
        return [y, state, torch.autograd.grad(y.sum(), w)]

    assert_same(go(compiled(step)), go(step), strides=False)
