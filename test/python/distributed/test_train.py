"""Data-parallel training over a cluster of three nodes on this machine."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from headrace.distributed import _train, _training

from cases.policy import assert_close

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

SOURCE = """
import torch
import headrace as hr

def training():
    layers = [torch.nn.Linear(12, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Dropout(0.2)]
    net = torch.nn.Sequential(*layers, torch.nn.Linear(16, 3))

    def loss(net, x, label):
        return torch.nn.functional.cross_entropy(net(x), label)

    return hr.distributed.Training(net, loss, torch.optim.Adam(net.parameters(), 0.01))

def plain():
    net = torch.nn.Linear(12, 3)
    loss = lambda net, x, label: torch.nn.functional.cross_entropy(net(x), label)
    return hr.distributed.Training(net, loss, torch.optim.SGD(net.parameters(), 0.1))

def fails():
    net = torch.nn.Linear(12, 3)

    def loss(net, x, label):
        return net(x)

    return hr.distributed.Training(net, loss, torch.optim.SGD(net.parameters(), 0.1))

def other():
    return 3
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "training.py").write_text(SOURCE)
    return str(tmp_path / "training.py")


@pytest.fixture(scope="module")
def data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((150, 12)).astype(np.float32)
    return {"x": x, "label": (x @ rng.standard_normal((12, 3))).argmax(axis=1)}


def state(report: hr.distributed.TrainReport) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in report.module.state_dict().items()}


def equal(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    return first.keys() == second.keys() and all((first[n] == second[n]).all() for n in first)


def test_any_number_of_workers_gives_the_same_bits(cluster, source: str, data, tmp_path) -> None:
    settings = {"batch": 40, "epochs": 2, "shards": 5, "cluster": cluster.address}
    runs = [
        hr.distributed.train(f"{source}:training", data, workers=workers, **settings)
        for workers in (1, 2, 4)
    ]
    assert len(runs[0].losses) == 8 and runs[0].losses[-1] < runs[0].losses[0]
    for run in runs[1:]:
        assert run.losses == runs[0].losses
        assert equal(state(run), state(runs[0]))


def test_interrupted_runs_continue(cluster, source: str, data, tmp_path: Path) -> None:
    given = {name: tmp_path / f"{name}.npy" for name in data}
    for name, path in given.items():
        np.save(path, data[name])
    settings = {"batch": 64, "epochs": 3, "cluster": cluster.address}
    whole = hr.distributed.train(f"{source}:training", given, **settings)

    def stop(done: int, *_) -> None:
        if done == 4:
            raise KeyboardInterrupt

    settings["checkpoint"] = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        hr.distributed.train(f"{source}:training", given, progress=stop, **settings)
    (tmp_path / "run" / "step-00000008.npz").write_bytes(b"half of a file")
    rest = hr.distributed.train(f"{source}:training", given, **settings)
    assert rest.resumed == 4 and rest.losses == whole.losses[4:]
    assert equal(state(rest), state(whole))
    with pytest.raises(hr.InvalidArgumentError, match="batch 64, expected 32"):
        hr.distributed.train(f"{source}:training", given, **{**settings, "batch": 32})


def test_a_training_is_that_of_eager_mode(cluster, source: str, data) -> None:
    report = hr.distributed.train(
        f"{source}:plain", data, batch=50, epochs=2, shards=4, seed=3, cluster=cluster.address
    )
    made = _training.make(f"{source}:plain", SOURCE, 3)
    rows = _train._Rows(data)
    run = _train._Run(made, ("", ""), rows, {"batch": 50, "shards": 4, "seed": 3})
    for step, found in enumerate(report.losses):
        taken = rows.take(run._batch(step))
        loss = made.loss(made.module, **{name: torch.from_numpy(a) for name, a in taken.items()})
        made.optimizer.zero_grad()
        loss.backward()
        made.optimizer.step()
        assert_close(np.float32(found), loss.detach().numpy())
    assert_close(state(report)["weight"], made.module.weight.detach().numpy())


def test_mistakes_are_named(cluster, source: str, data) -> None:
    def train(function: str, given=data, **settings) -> None:
        hr.distributed.train(function, given, cluster=cluster.address, **{"batch": 50, **settings})

    for function, given, settings, message in (
        (
            f"{source}:training",
            {"x": np.ones((3, 12)), "label": np.ones(4)},
            {},
            "equally many rows",
        ),
        (f"{source}:training", [], {}, "equally many rows"),
        (f"{source}:training", {"x": "none.npy"}, {}, "data: none.npy"),
        (f"{source}:training", data, {"batch": 0}, "batch: expected 1 or more, got 0"),
        (f"{source}:nothing", data, {}, "expected a function 'nothing'"),
        (f"{source}:other", data, {}, "expected a headrace.distributed.Training, got int"),
        ("none.py:training", data, {}, "none.py: No such file"),
        ("training", data, {}, "expected 'package.module:function'"),
    ):
        with pytest.raises(hr.InvalidArgumentError, match=message):
            train(function, given, **settings)
    with pytest.raises(
        hr.distributed.TrainingError, match="step 0: .*expected a tensor of one element"
    ):
        train(f"{source}:fails")
