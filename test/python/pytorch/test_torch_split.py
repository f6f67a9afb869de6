"""Graphs that are compiled in parts: PyTorch runs operators without a counterpart between programs."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest

hr = pytest.importorskip("headrace")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
F = torch.nn.functional

from headrace.torch import FallbackWarning, _compile, _lower, _report, explain, report  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

pytestmark = pytest.mark.usefixtures("fresh_torch", "split_everywhere")


@pytest.fixture
def split_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts pay however small; `torch.erfinv` and `torch.nextafter` stand for operators without a counterpart."""
    monkeypatch.setattr(_compile, "pays", lambda *_: True)
    is_written = _lower.is_written
    hidden = ("aten.erfinv.default", "aten.nextafter.default", "aten.nextafter_.default")
    monkeypatch.setattr(_lower, "is_written", lambda op: str(op) not in hidden and is_written(op))
    _report.forget_reports()


def missing(x: torch.Tensor) -> torch.Tensor:
    return torch.erfinv(x.tanh() / 2)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64)


def call(function: Callable, inputs: Any) -> dict[str, Any]:
    """All that a call leaves behind, gradients among it."""
    leaves = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    torch.manual_seed(3)
    results = function(*leaves)
    results = results if isinstance(results, (tuple, list)) else [results]
    total = sum((x * x).sum() for x in results if x.requires_grad)
    wanted = [x for x in leaves if x.requires_grad]
    gradients = torch.autograd.grad(total, wanted, allow_unused=True)
    return {"results": results, "gradients": gradients, "random": torch.rand(2)}


def assert_same(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)


def check(
    function: Callable, *inputs: torch.Tensor, programs: int | None = None, **options: Any
) -> None:
    """As in eager mode, and in as many programs as stated."""
    compiled = torch.compile(function, backend="headrace", **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        found = call(compiled, inputs)
    wanted = call(function, inputs)
    for one, other in zip(found["results"], wanted["results"]):
        assert_same(one, other)
        assert one.requires_grad == other.requires_grad
    for one, other in zip(found["gradients"], wanted["gradients"]):
        assert (one is None) == (other is None)
        assert one is None or torch.allclose(one, other, rtol=1e-9, atol=1e-9)
    assert_same(found["random"], wanted["random"])
    assert programs is None or report()[-1].programs == programs


def both_sides(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = (x @ w).sin()
    return missing(y).exp() @ w


def skip_connection(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = (x @ w).sin()
    return missing(y) + y * (w * w).sum()


def only_one_side(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (x * 2).sin(), missing(x), w.exp()


def several_results(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    a, b = (x @ w).chunk(2, dim=-1)
    return missing(a) * b.exp() + a


def tuple_across(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    parts = (x @ w).unbind(0)
    return torch.stack(parts) * missing(w) + torch.stack(parts[::-1]).exp()


def views_across(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x @ w
    rows = y.t()
    z = missing(w)
    return rows.reshape(-1).sum() * z + y[1:].sum() + rows.mean()


def changed_between(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = (x @ w).sin()
    y.mul_(missing(w))
    y += w
    return y.exp() * 2


def changed_view(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x.sin()
    y[0].copy_(missing(w)[0] * 2)
    return y * w


def changed_zeros(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = torch.zeros_like(x)
    z = missing(x)
    y[1:] = z[1:] * w[1:]
    return (y + z).sin()


def saved_and_changed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Autograd keeps neither operand of the sum: it may change."""
    y = x.sin() + w.cos()
    z = missing(w) * 2
    y.add_(z)
    return y.exp()


def random_between(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = F.dropout(x, 0.5) * torch.rand_like(x)
    z = F.dropout(missing(y), 0.5)
    return F.dropout(z + w, 0.3) * torch.randn_like(w)


def without_gradient(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = x @ w
    with torch.no_grad():
        scale = missing(y).exp() + y.abs()
    return (y * scale).sin()


def recording_again(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        a = x.exp()
        with torch.enable_grad():
            b = missing(w) * w
        c = (b * 2).sin()
    return a * b + c


def casts(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    a, b = x.float(), w.float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = a @ b
        z = missing(y.float()).to(torch.bfloat16) @ b
        with torch.autocast("cpu", enabled=False):
            z = z.float() @ b
        y = y @ b
    return (y.float() + z + a @ b).double()


def mapped(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = torch.func.vmap(lambda row: (row * row.sum()).sin())(x)
    z = torch.func.vmap(lambda row: missing(row) + 1)(w)
    return y * z


def recomputed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = checkpoint(lambda a: (a @ w).sin().exp(), x, use_reentrant=False)
    z = checkpoint(lambda a: missing(a.sin()) * 2, y, use_reentrant=False)
    return (y * z).cos()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.round()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2


def own_gradient(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (Doubled.apply((x @ w).exp()) * w).sin()


def with_hook(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = (x @ w).sin()
    y.register_hook(lambda gradient: gradient * 10)
    return (y * w).exp()


def used_in_part(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """The first program has a result without a gradient."""
    y, unused = x * 2, w * 3
    return missing(y) + unused.detach()


FUNCTIONS = {
    "both sides": (both_sides, 2),
    "skip connection": (skip_connection, 2),
    "only one side": (only_one_side, 2),
    "several results": (several_results, 2),
    "tuple": (tuple_across, None),
    "views": (views_across, 2),
    "changed between": (changed_between, None),
    "changed view": (changed_view, None),
    "changed zeros": (changed_zeros, None),
    "saved and changed": (saved_and_changed, None),
    "random": (random_between, 2),
    "no_grad": (without_gradient, 2),
    "enable_grad": (recording_again, None),
    "vmap": (mapped, 2),
    "checkpoint": (recomputed, None),
    "autograd.Function": (own_gradient, 2),
    "hook": (with_hook, 2),
    "detach": (used_in_part, 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_in_eager_mode(name: str) -> None:
    function, programs = FUNCTIONS[name]
    check(function, normal(4, 4), normal(4, 4), programs=programs)


def test_casts_reach_across_parts() -> None:
    inputs = normal(4, 4), normal(4, 4)
    with pytest.warns(FallbackWarning):
        found = call(torch.compile(casts, backend="headrace"), inputs)
    wanted = call(casts, inputs)
    assert report()[-1].programs == 2
    for kind in ("results", "gradients"):
        for one, other in zip(found[kind], wanted[kind]):
            assert one.dtype == other.dtype and (one - other).norm() < 0.02 * other.norm()
    assert not torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("name", ["both sides", "changed between", "views", "tuple"])
def test_any_batch(name: str) -> None:
    """Dynamic dimensions stay so in each program."""
    function, _ = FUNCTIONS[name]
    run = torch.compile(function, backend="headrace", dynamic=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        for size in (4, 6, 9):
            inputs = normal(size, size), normal(size, size)
            found, wanted = call(run, inputs), call(function, inputs)
            for kind in ("results", "gradients"):
                for one, other in zip(found[kind], wanted[kind]):
                    assert_same(one, other)


def test_gradients_of_gradients() -> None:
    def second(run: Callable) -> torch.Tensor:
        x, w = (normal_at(i).requires_grad_() for i in range(2))
        (first,) = torch.autograd.grad(run(x, w).sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), (x, w))

    def normal_at(seed: int) -> torch.Tensor:
        return torch.randn(4, 4, generator=torch.Generator().manual_seed(seed)).double()

    for function in (both_sides, without_gradient):
        torch._dynamo.reset()
        with pytest.warns(FallbackWarning):
            found = second(torch.compile(function, backend="headrace"))
        assert_same(found, second(function))


def test_networks_are_trained_in_parts() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)
            self.again, self.last = torch.nn.BatchNorm2d(4), torch.nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = F.relu(self.norm(self.conv(x)), inplace=True)
            y = F.relu(self.again(missing(y)), inplace=True)
            return self.last(y.mean((2, 3)))

    net = Net().double()
    twin = copy.deepcopy(net)
    with pytest.warns(
        FallbackWarning, match=r"2 programs, \d+% of its work; not supported: aten.erfinv"
    ):
        run = torch.compile(net, backend="headrace")
        run(normal(2, 3, 8, 8))
    twin.load_state_dict(net.state_dict())
    for _ in range(3):
        x = normal(2, 3, 8, 8)
        for each, module in ((run, net), (twin, twin)):
            each(x).square().sum().backward()
            with torch.no_grad():
                for p in module.parameters():
                    p.sub_(p.grad * 1e-3)
                    p.grad = None
    for one, other in zip(net.state_dict().values(), twin.state_dict().values()):
        assert_same(one, other)


def test_strict_names_all_operators() -> None:
    run = torch.compile(both_sides, backend="headrace", options={"strict": True})
    with pytest.raises(Exception, match=r"is not compiled: aten.erfinv.default \(test_torch_split"):
        run(normal(4, 4), normal(4, 4))


def test_the_report_tells_what_is_left() -> None:
    check(skip_connection, normal(4, 4), normal(4, 4), programs=2)
    (graph,) = report()
    assert 0 < graph.compiled < 1
    (left,) = graph.left
    assert left.what == "aten.erfinv.default" and 0 < left.share < 1
    assert left.place is not None and left.place[0] == __file__
    assert "compiled to 2 programs" in str(report())


def test_the_report_counts_compilations() -> None:
    """Sizes that change once become dynamic; further sizes compile nothing."""
    run = torch.compile(lambda x: x.softmax(-1), backend="headrace")
    for rows in (3, 4, 5, 6):
        run(normal(rows, 4))
    assert (report().compiles, report().again) == (2, 1)
    run(normal(3, 4).float())
    assert report().again == 2 and [graph.compile for graph in report()] == [1, 2, 3]
    assert not report()[0].why_again and "dtype mismatch" in report()[2].why_again
    assert "compile 2, because of tensor 'x' size mismatch" in str(report())
    assert report().compiled == 1 and report()[0].microseconds > 0


def test_a_dry_run_changes_nothing() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.dropout(missing(self.norm(x)), 0.5).exp()

    net, x = Net().double(), normal(3, 4)
    before, state = copy.deepcopy(net.state_dict()), torch.get_rng_state()
    (graph,) = explain(net, x)
    assert [left.what for left in graph.left] == ["aten.erfinv.default"] and graph.programs == 2
    assert_same(dict(net.state_dict()), dict(before))
    assert torch.equal(torch.get_rng_state(), state) and not report()


def test_a_part_that_is_too_small_stays_in_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compile, "pays", lambda work, *_: work.operators > 2)
    check(lambda x: missing(x).exp().sin().cos(), normal(4), programs=1)
    assert _compile.TOO_SMALL in {left.what for left in report()[-1].left}


def test_a_mistake_in_one_part_leaves_the_others_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(captured: Any, *rest: Any) -> Any:
        names = [node.name for node in captured.graph.nodes]
        if "cos" in names and "erfinv" not in names:
            return {}["no such key"]
        return lower(captured, *rest)

    lower = _compile.lower
    monkeypatch.setattr(_compile, "lower", faulty)
    run = torch.compile(lambda x: missing(x.sin()).cos(), backend="headrace")
    x = normal(4)
    with pytest.warns(FallbackWarning) as told:
        assert_same(run(x), torch.erfinv(x.sin().tanh() / 2).cos())
    assert any("this is a bug in Headrace" in str(each.message) for each in told)
    assert report()[-1].programs == 1
