"""Programs that PyTorch exports (.pt2), read without PyTorch."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

hr = pytest.importorskip("headrace")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.act = nn.ReLU(inplace=True)
        self.head = nn.Linear(8 * 4 * 4, 10)
        self.register_buffer("steps", torch.arange(10) * 1.0, persistent=False)
        self.scale = torch.tensor(2.0)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = F.max_pool2d(self.act(self.norm(self.conv(x))), 2)
        y = y * 2 + y.shape[0] + torch.arange(4)[None]
        y = F.dropout(y.flatten(1), 0.1, self.training)
        return F.softmax(self.head(y) * self.steps + self.scale, -1), y.view(y.shape[0] * 2, -1)


@pytest.fixture(scope="module")
def net() -> Net:
    torch.manual_seed(0)
    return Net().eval()


def exported(
    module: nn.Module, *inputs: torch.Tensor, **options: object
) -> torch.export.ExportedProgram:
    with torch.no_grad():
        return torch.export.export(module, inputs, **options)


def saved(program: torch.export.ExportedProgram, path: Path) -> Path:
    torch.export.save(program, path)
    return path


def results_of(model: object, *inputs: torch.Tensor) -> list[np.ndarray]:
    found = model(*(x.detach().numpy() for x in inputs))
    return list(found) if isinstance(found, (tuple, list)) else [found]


def check(model: object, module: Callable, *inputs: torch.Tensor) -> None:
    with torch.no_grad():
        wanted = module(*(x.clone() for x in inputs))
    wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
    found = results_of(model, *inputs)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-4, atol=1e-5)
        assert ours.dtype == theirs.numpy().dtype


@pytest.mark.parametrize("decomposed", [False, True])
def test_one_program_serves_every_batch(net: Net, tmp_path: Path, decomposed: bool) -> None:
    x = torch.randn(2, 3, 8, 8)
    batch = torch.export.Dim("batch", min=2, max=1000)
    program = exported(net, x, dynamic_shapes=({0: batch},))
    if decomposed:
        program = program.run_decompositions()
    model = hr.load(saved(program, tmp_path / "net.pt2"))
    assert [spec.name for spec in model.inputs] == ["x"]
    check(model, net, x)
    check(model, net, torch.randn(5, 3, 8, 8))


def test_modules_and_exported_programs_are_loaded(net: Net) -> None:
    x = torch.randn(2, 3, 8, 8)
    check(hr.load(net, (x,)), net, x)
    check(hr.load(exported(net, x)), net, x)


def test_packages_are_made_of_exported_programs(net: Net, tmp_path: Path) -> None:
    x = torch.randn(2, 3, 8, 8)
    path = saved(exported(net, x), tmp_path / "net.pt2")
    hr.write_package(path, tmp_path / "net.hrpkg", processors=["native"])
    check(hr.load(tmp_path / "net.hrpkg"), net, x)


def test_pytorch_is_not_imported(net: Net, tmp_path: Path) -> None:
    path = saved(exported(net, torch.randn(2, 3, 8, 8)), tmp_path / "net.pt2")
    program = f"""
import sys, numpy, headrace
first, second = headrace.load({str(path)!r})(numpy.ones((2, 3, 8, 8), numpy.float32))
assert first.shape == (2, 10) and "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def masked(x: torch.Tensor) -> torch.Tensor:
    y = x.new_zeros(4, 6)
    y[1:3, ::2] = 1
    y[0] += x[0, :6]
    y.transpose(0, 1)[2].mul_(3)
    return y.relu_() + x[:, :6]


OPERATORS: dict[str, tuple[Callable, list[tuple[int, ...]]]] = {
    "in place": (masked, [(4, 8)]),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
        [(1, 4, 5, 8), (1, 2, 5, 8), (1, 2, 5, 8)],
    ),
    "transposed convolution": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
        [(1, 4, 5, 5), (4, 3, 3, 3)],
    ),
    "same convolution": (lambda x, w: F.conv1d(x, w, padding="same"), [(2, 3, 9), (4, 3, 4)]),
    "pooling": (
        lambda x: (F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), F.adaptive_avg_pool2d(x, (3, 2))),
        [(1, 2, 8, 7)],
    ),
    "places of maxima": (lambda x: F.max_pool2d(x, 2, return_indices=True), [(2, 3, 6, 6)]),
    "resize": (
        lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear").add(
            F.interpolate(x, size=(8, 8), mode="nearest")
        ),
        [(1, 2, 5, 5)],
    ),
    "cubic": (lambda x: F.interpolate(x, size=(4, 9), mode="bicubic"), [(1, 2, 5, 5)]),
    "pad": (lambda x: F.pad(F.pad(x, (1, 2), mode="reflect"), (-1, 1, 2, 0)), [(2, 3, 6)]),
    "norms": (
        lambda x, w: F.group_norm(x, 2) + F.rms_norm(x, (6,), w) + F.layer_norm(x, (6,), w),
        [(2, 4, 6), (6,)],
    ),
    "index": (
        lambda x: x[torch.tensor([0, 2]), :, torch.tensor([1, -1])] + x.roll(1, 0)[0, :, :1].T,
        [(3, 4, 5)],
    ),
    "order": (lambda x: (*x.sort(-1), *x.topk(2, 0), x.cumsum(1), x.argmax(-1)), [(4, 6)]),
    "parts": (
        lambda x: torch.cat([*x.chunk(3, 1), x.unfold(1, 2, 4).flatten(1)], 1).movedim(0, 1),
        [(3, 6)],
    ),
    "shuffle": (lambda x: F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2) - x, [(1, 8, 3, 3)]),
    "activations": (
        lambda x: F.glu(x) + F.prelu(F.selu(x[:, :3]), torch.tensor([0.2])) + F.celu(x[:, 3:], 2),
        [(4, 6)],
    ),
    "einsum": (lambda a, b: torch.einsum("bik,bjk->bij", a, b), [(2, 3, 4), (2, 5, 4)]),
    "reductions": (
        lambda x: torch.stack([x.std(), x.var(0).sum(), x.logsumexp(1).mean(), x.norm(p=3)]),
        [(4, 6)],
    ),
}


class Wrapped(nn.Module):
    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> object:
        return self.function(*inputs)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    function, shapes = OPERATORS[name]
    torch.manual_seed(1)
    inputs = [torch.randn(shape) for shape in shapes]
    check(hr.load(Wrapped(function), inputs), function, *inputs)


def test_operators_without_a_counterpart_are_named_with_their_lines(tmp_path: Path) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.special.bessel_j0(torch.special.bessel_j1(x))

    path = saved(exported(Wrapped(function), torch.rand(3)), tmp_path / "bessel.pt2")
    with pytest.raises(
        hr.UnsupportedError, match=r"bessel_j1.default \(test_torch_export.py:\d+\), .*j0"
    ):
        hr.load(path)


class Cache(nn.Module):
    """Keeps the last inputs, and counts calls; also changes one of its inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("rows", torch.zeros(4, 3))

    def forward(self, x: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
        self.rows[:3] = self.rows[1:].clone()
        self.rows[3] = x[0]
        total.add_(x.sum(0))
        return self.norm(x) + self.rows.sum(0) + total


@pytest.mark.parametrize("decomposed", [False, True])
def test_new_values_of_buffers_and_inputs_are_outputs(tmp_path: Path, decomposed: bool) -> None:
    torch.manual_seed(0)
    net = Cache()
    x, total = torch.randn(2, 3), torch.randn(3)
    program = exported(net, x, total.clone())
    if decomposed:
        program = program.run_decompositions()
    model = hr.load(saved(program, tmp_path / "cache.pt2"))
    names = [spec.name for spec in model.outputs]
    changed = ["rows", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]
    assert names[1:] == [*(f"new_{name}" for name in changed), "new_total"]
    given: dict[str, np.ndarray] = {}
    for _ in range(3):
        arguments = {"x": x.numpy(), "total": total.numpy().copy()}
        found = dict(zip(names, model(**arguments, **given)))
        with torch.no_grad():
            wanted = net(x, total)
        np.testing.assert_allclose(found[names[0]], wanted.numpy(), rtol=1e-5, atol=1e-6)
        state = {**{n: v.numpy() for n, v in net.state_dict().items()}, "total": total.numpy()}
        for name in [*changed, "total"]:
            np.testing.assert_allclose(found[f"new_{name}"], state[name], rtol=1e-5, atol=1e-6)
        given = {name: found[f"new_{name}"] for name in changed}


def test_a_package_takes_the_buffers_that_it_is_given(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = Cache().eval()
    x, total = torch.randn(2, 3), torch.randn(3)
    path = saved(exported(net, x, total.clone()), tmp_path / "cache.pt2")
    package = tmp_path / "cache.hrpkg"
    hr.write_package(path, package, processors=["native"], given=["rows"])
    model = hr.load(package)
    names = [spec.name for spec in model.outputs]
    assert {spec.name for spec in model.inputs} == {"x", "total", "rows"}
    rows = np.zeros((4, 3), np.float32)
    for _ in range(3):
        found = dict(zip(names, model(x=x.numpy(), total=total.numpy().copy(), rows=rows)))
        with torch.no_grad():
            wanted = net(x, total)
        np.testing.assert_allclose(found[names[0]], wanted.numpy(), rtol=1e-5, atol=1e-6)
        rows = found["new_rows"]
        np.testing.assert_array_equal(rows, net.rows.numpy())
    with pytest.raises(hr.InvalidArgumentError, match="nothing"):
        hr.write_package(path, package, processors=["native"], given=["nothing"])


def test_only_parameters_and_buffers_are_given(tmp_path: Path) -> None:
    x, total = torch.randn(2, 3), torch.randn(3)
    model = hr.load(saved(exported(Cache(), x, total), tmp_path / "cache.pt2"))
    with pytest.raises(hr.InvalidArgumentError, match="nothing"):
        model(x.numpy(), total.numpy(), nothing=x.numpy())


# Files that are not as they should be


def rewritten(path: Path, change: Callable[[str, bytes], bytes]) -> Path:
    target = path.with_name("changed.pt2")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as out:
        for info in source.infolist():
            out.writestr(zipfile.ZipInfo(info.filename), change(info.filename, source.read(info)))
    return target


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("exported") / "small.pt2"
    return saved(exported(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), torch.randn(2, 4)), path)


def test_pickled_tensors_are_refused_by_name(small: Path) -> None:
    def pickled(name: str, content: bytes) -> bytes:
        return content.replace(b'"use_pickle": false', b'"use_pickle": true')

    with pytest.raises(hr.InvalidFileError, match="'0.weight' is pickled"):
        hr.load(rewritten(small, pickled))


def test_weights_that_do_not_fit_are_an_error(small: Path) -> None:
    def cut(name: str, content: bytes) -> bytes:
        return content[:20] if "weight_0" in name else content

    with pytest.raises(hr.InvalidFileError, match="'0.weight': expected 12 elements"):
        hr.load(rewritten(small, cut))


@pytest.mark.parametrize(
    ("sizes", "strides", "offset", "message"),
    [
        ([3, 4], [4, 1], 2**63 - 1, "does not fit into its file"),
        ([1, 1], [1, 1], 2**63 - 1, "expected 9223372036854775808 elements in its file, got 12"),
        ([1 << 40, 4], [0, 1], 0, "12 elements in its file, repeated to 4398046511104"),
    ],
)
def test_places_of_weights_are_those_of_the_file(
    small: Path, sizes: list[int], strides: list[int], offset: int, message: str
) -> None:
    def moved(name: str, content: bytes) -> bytes:
        if not name.endswith("weights_config.json"):
            return content
        described = json.loads(content)
        meta = described["config"]["0.weight"]["tensor_meta"]
        meta["sizes"] = [{"as_int": size} for size in sizes]
        meta["strides"] = [{"as_int": stride} for stride in strides]
        meta["storage_offset"] = {"as_int": offset}
        return json.dumps(described).encode()

    with pytest.raises(hr.InvalidFileError, match=message):
        hr.load(rewritten(small, moved))


def test_shapes_that_are_not_the_operators_are_an_error(small: Path) -> None:
    def changed(name: str, content: bytes) -> bytes:
        if not name.endswith("model.json"):
            return content
        program = json.loads(content)
        values = program["graph_module"]["graph"]["tensor_values"]
        values["linear"]["sizes"][1]["as_int"] = 7
        return json.dumps(program).encode()

    with pytest.raises(hr.InvalidFileError, match="'linear'"):
        hr.load(rewritten(small, changed))


def test_damaged_archives_are_errors(small: Path, tmp_path: Path) -> None:
    content = small.read_bytes()
    path = tmp_path / "damaged.pt2"
    for length in range(0, len(content), 997):
        path.write_bytes(content[:length])
        with pytest.raises(hr.Error):
            hr.load(path)


def test_changed_bytes_of_the_graph_are_errors_or_programs(small: Path) -> None:
    generator = np.random.default_rng(0)
    with zipfile.ZipFile(small) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("model.json"))
        content = archive.read(name)
    for _ in range(60):
        damaged = bytearray(content)
        place = generator.integers(len(damaged))
        damaged[place] = generator.choice(list(b'0123456789-{}[],:"abz'))
        try:
            hr.load(rewritten(small, lambda n, old, new=bytes(damaged): new if n == name else old))
        except hr.Error:
            pass
