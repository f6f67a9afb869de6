"""Autograd over compiled graphs is that of eager mode; what is left to PyTorch is named in a warning."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
F = torch.nn.functional

from torch_eager import assert_same, check, compiled, left_to_pytorch, normal, with_gradients  # noqa: E402

pytestmark = pytest.mark.usefixtures("fresh_torch")


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
