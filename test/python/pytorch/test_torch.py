"""PyTorch modules compiled by Headrace: they behave as they do in eager mode."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

hr = pytest.importorskip("headrace")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from headrace.torch import FallbackWarning, _compile, _execute, _runnable  # noqa: E402

from cases.torch_models import MODELS, BertLayer, LeNet, SmallConvNet, mlp  # noqa: E402

TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-9}
both_types = pytest.mark.parametrize("dtype", TOLERANCE, ids=["f32", "f64"])
models = pytest.mark.parametrize("name", MODELS)
pytestmark = pytest.mark.usefixtures("fresh_torch")


def make(name: str, dtype: torch.dtype) -> tuple[torch.nn.Module, torch.nn.Module, torch.Tensor]:
    """The module, its twin, and an input."""
    create, shape = MODELS[name]
    module = create().to(dtype)
    return module, copy.deepcopy(module), torch.randn(shape, dtype=dtype)


def assert_close(found: torch.Tensor, wanted: torch.Tensor, what: str) -> None:
    tolerance = TOLERANCE.get(wanted.dtype, 0) * max(1.0, wanted.abs().max().item())
    assert (found - wanted).abs().max().item() <= tolerance, what


@models
@both_types
def test_inference(name: str, dtype: torch.dtype) -> None:
    module, twin, x = make(name, dtype)
    module.eval(), twin.eval()
    with torch.no_grad():
        assert_close(torch.compile(module, backend="headrace")(x), twin(x), name)


@models
@both_types
def test_gradients_of_all_parameters(name: str, dtype: torch.dtype) -> None:
    module, twin, x = make(name, dtype)
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    result, expected = torch.compile(module, backend="headrace")(ours), twin(theirs)
    assert_close(result, expected, "result")
    weight = torch.randn_like(expected)
    (result * weight).sum().backward()
    (expected * weight).sum().backward()
    assert_close(ours.grad, theirs.grad, "input")
    for (label, one), other in zip(module.named_parameters(), twin.parameters()):
        assert_close(one.grad, other.grad, label)
    for (label, one), other in zip(module.named_buffers(), twin.buffers()):
        assert_close(one, other, label)


def test_loss_inside_of_the_graph() -> None:
    module, twin, x = make("mlp", torch.float64)
    target = torch.tensor([0, 1, 2, 3, 4, 0])

    def loss(net: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(net(x), target)

    torch.compile(loss, backend="headrace")(module, x).backward()
    loss(twin, x).backward()
    for one, other in zip(module.parameters(), twin.parameters()):
        assert_close(one.grad, other.grad, "parameter")


def test_only_what_requires_a_gradient_gets_one() -> None:
    module, _, x = make("mlp", torch.float32)
    for parameter in module[0].parameters():
        parameter.requires_grad_(False)
    torch.compile(module, backend="headrace")(x).sum().backward()
    assert x.grad is None and module[0].weight.grad is None
    assert module[2].weight.grad is not None


def test_running_statistics_follow_training_and_evaluation() -> None:
    module, twin, x = make("convnet", torch.float64)
    compiled = torch.compile(module, backend="headrace")
    for _ in range(3):
        compiled(x), twin(x)
    assert module.norm1.num_batches_tracked.item() == 3
    for (label, one), other in zip(module.named_buffers(), twin.buffers()):
        assert_close(one, other, label)
    module.eval(), twin.eval()
    assert_close(compiled(x), twin(x), "evaluation")


def test_dropout_draws_what_eager_mode_would() -> None:
    module = BertLayer(dropout=0.3).double()
    twin = copy.deepcopy(module)
    x = torch.randn(2, 7, 32).double()
    compiled = torch.compile(module, backend="headrace")
    for _ in range(2):
        torch.manual_seed(7)
        result = compiled(x)
        torch.manual_seed(7)
        expected = twin(x)
        assert_close(result, expected, "result")
    result.sum().backward(), expected.sum().backward()
    assert_close(module.query.weight.grad, twin.query.weight.grad, "gradient")
    module.eval(), twin.eval()
    assert_close(compiled(x), twin(x), "evaluation")


# Sizes


def test_one_program_serves_every_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    create = _execute.Executor.__init__
    monkeypatch.setattr(
        _execute.Executor,
        "__init__",
        lambda self, *args: (made.append(self), create(self, *args))[1],
    )
    module, twin, _ = make("lenet", torch.float64)
    compiled = torch.compile(module, backend="headrace")
    for batch in (3, 5, 2, 8, 17):
        x = torch.randn(batch, 1, 28, 28).double()
        if batch == 3:
            torch._dynamo.mark_dynamic(x, 0)
        module.zero_grad(), twin.zero_grad()
        result, expected = compiled(x), twin(x)
        assert_close(result, expected, f"batch {batch}")
        result.square().mean().backward(), expected.square().mean().backward()
        assert_close(module.conv1.weight.grad, twin.conv1.weight.grad, f"batch {batch}")
    assert len(made) == 1
    (training,) = made[0].trainings.values()
    assert training.forward.model.compiled_versions == 1
    assert training.backward.model.compiled_versions == 1


def test_sizes_that_are_computed_with() -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * x.shape[0] / (x.shape[0] + 2)

    compiled = torch.compile(scaled, backend="headrace", dynamic=True)
    for batch in (3, 4, 9):
        x = torch.randn(batch, 4)
        torch.testing.assert_close(compiled(x), scaled(x))


@pytest.mark.parametrize(
    ("function", "others", "given"),
    [
        (lambda x: x * x.shape[0] / (x.shape[0] + 2), (), []),
        (lambda x: x.sum() / (x.numel() - 1) + x.shape[1] // 2, (), []),
        (lambda x, k: x + k * x.shape[0], (7, 11, 5), ["number 0"]),
        (lambda x, k: x + (k + 1) * x.shape[0] - k, (0.5, 2.25, -1.5), None),
    ],
)
def test_only_python_numbers_are_inputs_beside_tensors(
    monkeypatch: pytest.MonkeyPatch, function, others: tuple, given: list[str] | None
) -> None:
    programs = []

    def record(*arguments: object) -> object:
        programs.append(lower(*arguments))
        return programs[-1]

    lower = _compile.lower
    monkeypatch.setattr(_compile, "lower", record)
    compiled = torch.compile(function, backend="headrace", dynamic=True)
    for i, batch in enumerate((3, 4, 9)):
        arguments = [torch.randn(batch, 4).double(), *others[i : i + 1]]
        torch.testing.assert_close(compiled(*arguments), function(*arguments))
    names = [name for name in programs[-1].names if not name.startswith("input ")]
    assert not any(name.startswith("size") for name in names)
    assert given is None or names == given


def test_sizes_in_the_way_are_settled() -> None:
    # The dense layer fixes height and width, which only PyTorch's conditions know.
    module, twin, _ = make("lenet", torch.float64)
    compiled = torch.compile(module, backend="headrace", dynamic=True)
    for batch in (3, 5):
        x = torch.randn(batch, 1, 28, 28).double()
        assert_close(compiled(x), twin(x), f"batch {batch}")


def test_attention_of_any_length() -> None:
    module, twin, _ = make("bert", torch.float64)
    compiled = torch.compile(module, backend="headrace", dynamic=True)
    for batch, length in ((2, 7), (3, 5), (4, 11)):
        x = torch.randn(batch, length, 32).double()
        assert_close(compiled(x), twin(x), f"{batch} x {length}")


def test_causal_attention_of_any_length() -> None:
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    compiled = torch.compile(attend, backend="headrace", dynamic=True, fullgraph=True)
    for queries, keys in ((7, 7), (5, 11), (300, 200)):
        q, k, v = (torch.randn(2, 3, rows, 16) for rows in (queries, keys, keys))
        assert_close(compiled(q, k, v), attend(q, k, v), f"{queries} x {keys}")


# Memory


def test_tensors_are_used_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    as_capsule = _runnable.as_capsule

    def record(x: torch.Tensor) -> object:
        seen.append((x.data_ptr(), torch.from_dlpack(as_capsule(x)).data_ptr()))
        return as_capsule(x)

    monkeypatch.setattr(_runnable, "as_capsule", record)
    module, _, x = make("mlp", torch.float32)
    torch.compile(module, backend="headrace")(x).sum().backward()
    pointers = {x.data_ptr(), *(p.data_ptr() for p in module.parameters())}
    assert pointers <= {given for given, _ in seen}
    assert all(given == used for given, used in seen if given in pointers)


def test_any_strides() -> None:
    x = torch.randn(4, 6, 5).double()
    compiled = torch.compile(lambda x: x.relu() + 1, backend="headrace")
    negative = torch.view_as_complex(torch.randn(4, 3, 2).double()).conj().imag
    misaligned = torch.frombuffer(bytearray(33), dtype=torch.float32, offset=1)
    assert negative.is_neg() and misaligned.data_ptr() % 4 != 0
    for view in (x.transpose(0, 2), x[::2, :, 1:], x.expand(2, 4, 6, 5), negative):
        torch.testing.assert_close(compiled(view), view.relu() + 1)
    for view in (misaligned, torch.zeros(9)[1:].requires_grad_()):
        torch.testing.assert_close(compiled(view), view.relu() + 1)


def test_inputs_changed_in_place() -> None:
    def step(x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + 1

    ours, theirs = torch.ones(4), torch.ones(4)
    compiled = torch.compile(step, backend="headrace")
    for _ in range(2):
        torch.testing.assert_close(compiled(ours), step(theirs))
        torch.testing.assert_close(ours, theirs)


def test_inputs_and_constants_as_results() -> None:
    def several(x: torch.Tensor) -> tuple:
        return x, x + 1, x.shape[0], None, torch.ones(2)

    x = torch.randn(3)
    results = torch.compile(several, backend="headrace")(x)
    assert results[0] is x and results[2] == 3 and results[3] is None
    torch.testing.assert_close(results[1], x + 1)
    torch.testing.assert_close(results[4], torch.ones(2))


# Fallback to PyTorch


def test_fallback_warns_once_and_names_the_operator() -> None:
    def unknown(x: torch.Tensor) -> torch.Tensor:
        return torch.special.bessel_j0(x) * 2

    x = torch.randn(5)
    with pytest.warns(FallbackWarning, match=r"'graph' runs in PyTorch.*aten\.special_bessel_j0"):
        result = torch.compile(unknown, backend="headrace")(x)
    torch.testing.assert_close(result, unknown(x))
    torch._dynamo.reset()
    torch.compile(unknown, backend="headrace")(x)  # a second warning would be an error


class Bessel(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.special.bessel_j0(x.detach())


def test_each_model_that_falls_back_warns_once() -> None:
    for _ in range(2):
        net = hr.module(torch.nn.Sequential(torch.nn.Linear(3, 3), Bessel()))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default")
            for batch in (2, 3, 4):
                net(torch.randn(batch, 3))
        assert [each.category for each in told] == [FallbackWarning]


def test_fallback_names_every_operator_and_its_line() -> None:
    def several(x: torch.Tensor) -> torch.Tensor:
        y = torch.special.bessel_j0(x)
        return y + torch.special.bessel_y0(x.relu())

    first = several.__code__.co_firstlineno
    file = Path(__file__).name
    reason = ", ".join(
        rf"aten.special_bessel_{kind}0.default \({file}:{first + line}\)"
        for kind, line in (("j", 1), ("y", 2))
    )
    with pytest.warns(FallbackWarning, match=reason) as told:
        torch.compile(several, backend="headrace")(torch.randn(5))
    assert (told[0].filename, told[0].lineno) == (__file__, first + 1)
    torch._dynamo.reset()
    strict = torch.compile(several, backend="headrace", options={"strict": True})
    with pytest.raises(
        Exception, match=f"UnsupportedError: headrace: 'graph' is not compiled: {reason}"
    ):
        strict(torch.randn(5))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"speed": 1}, "expected options among .*'strict', 'target', 'training'.*, got 'speed'"),
        ({"strict": 3}, "expected True or False for 'strict', got 3"),
        ({"plan_cache_size": "x"}, "wrong type: plan_cache_size='x'"),
        ({"target": "toaster"}, "unknown target 'toaster'"),
        ({"expansion": "fast"}, "unknown expansion 'fast'"),
    ],
)
def test_options_are_checked(options: dict, reason: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=f"headrace.module: .*{reason}"):
        hr.module(torch.nn.ReLU(), **options)
    compiled = torch.compile(torch.relu, backend="headrace", options=options)
    with pytest.raises(Exception, match=f"backend 'headrace': .*{reason}"):
        compiled(torch.ones(2))


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune"])
def test_modes_of_pytorch(mode: str) -> None:
    compiled = torch.compile(lambda x: x + 1, backend="headrace", mode=mode)
    torch.testing.assert_close(compiled(torch.ones(2)), torch.full((2,), 2.0))


def test_other_modes_are_refused() -> None:
    compiled = torch.compile(lambda x: x + 1, backend="headrace", mode="fastest")
    with pytest.raises(Exception, match="expected a mode among .*'max-autotune'.*, got 'fastest'"):
        compiled(torch.ones(2))


def test_compiling_warns_of_nothing() -> None:
    """Of no deprecated name of PyTorch, say."""
    module, twin, _ = make("bert", torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = torch.compile(module, backend="headrace", dynamic=True)
        for batch, length in ((2, 7), (3, 5)):
            x = torch.randn(batch, length, 32).double()
            result = compiled(x)
            assert_close(result, twin(x), f"{batch} x {length}")
            result.sum().backward()


def test_headrace_is_imported_without_pytorch() -> None:
    code = "import sys; sys.modules['torch'] = None; import headrace; headrace.phases()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_pytorch_module_says_so() -> None:
    code = (
        "import sys; sys.modules['torch'] = None; import headrace as hr\n"
        "try: hr.module(1)\n"
        "except hr.UnsupportedError as error: print(error)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "headrace.module: expected the package torch, got none\n"


# Modules


def test_module_stays_what_it_is() -> None:
    net = LeNet()
    keys, parameters = list(net.state_dict()), list(net.parameters())
    assert hr.module(net, training=True) is net
    assert list(net.state_dict()) == keys
    assert all(a is b for a, b in zip(net.parameters(), parameters))
    twin = LeNet()
    twin.load_state_dict(net.state_dict())
    x = torch.randn(2, 1, 28, 28)
    net.eval(), twin.eval()
    assert_close(net(x), twin(x), "evaluation")
    net.train()
    net(x).sum().backward()
    assert net.conv1.weight.grad is not None
    net.to(torch.float64), twin.to(torch.float64)
    assert_close(net(x.double()), twin(x.double()), "f64")


def test_module_as_decorator() -> None:
    @hr.module
    class Net(torch.nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(width, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x).relu()

    net = Net(4)
    x = torch.randn(2, 4)
    torch.testing.assert_close(net(x), torch.relu(x @ net.linear.weight.T + net.linear.bias))
    net(x).sum().backward()
    assert net.linear.weight.grad is not None
    twin = copy.deepcopy(net)
    twin.linear.bias.data += 1
    assert_close(twin(x), torch.relu(x @ net.linear.weight.T + net.linear.bias + 1), "copy")


def through_file(value: object) -> object:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda net: pickle.loads(pickle.dumps(net)),
    "torch.save": through_file,
}


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("traced", [False, True], ids=["module", "GraphModule"])
def test_copies_of_a_module_are_compiled(
    kind: str, traced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if traced and kind == "copy":
        pytest.skip("a GraphModule makes its copies itself")
    compiled = []
    lower = _compile.lower
    monkeypatch.setattr(_compile, "lower", lambda *args: (compiled.append(args), lower(*args))[1])
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
    whole = hr.module(torch.fx.symbolic_trace(net) if traced else net)
    twice = COPIES[kind](COPIES[kind](whole))
    x = torch.randn(2, 3)
    torch.testing.assert_close(twice(x), whole(x))
    assert len(compiled) == 2
    parameter = next(iter(twice.parameters()))
    assert (parameter is next(iter(whole.parameters()))) == (kind == "copy")
    with torch.no_grad():
        parameter.add_(1)
    torch.testing.assert_close(twice(x), twice._call_impl(x))
    twice.load_state_dict(through_file(whole.state_dict()))
    torch.testing.assert_close(twice(x), whole(x))


@pytest.mark.parametrize("create", [mlp, LeNet])
def test_module_for_inference_keeps_no_gradient(create) -> None:
    net = hr.module(create(), training=False)
    x = torch.randn(6, 20) if create is mlp else torch.randn(6, 1, 28, 28)
    assert not net(x).requires_grad


def test_module_refuses_other_things() -> None:
    with pytest.raises(hr.InvalidArgumentError, match="expected a torch.nn.Module .* got int"):
        hr.module(3)


def test_threads_share_a_module() -> None:
    net = SmallConvNet().eval()
    twin = copy.deepcopy(net)
    hr.module(net)
    inputs = [torch.randn(4, 3, 8, 8) for _ in range(4)]
    net(inputs[0])
    results: dict[int, torch.Tensor] = {}

    def run(i: int) -> None:
        with torch.no_grad():
            for _ in range(5):
                results[i] = net(inputs[i])

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, x in enumerate(inputs):
        assert_close(results[i], twin(x), f"thread {i}")
