"""Architectures in PyTorch against eager mode: what counts as right, and the table of outcomes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("headrace")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import nn  # noqa: E402

from bench.zoo import check as checks  # noqa: E402
from bench.zoo import run  # noqa: E402
from cases.torch_zoo import Architecture, architectures  # noqa: E402


@pytest.fixture(autouse=True)
def traced_layers() -> Iterator[None]:
    """PyTorch passes over recurrent modules unless told."""
    with torch._dynamo.config.patch(allow_rnn=True):
        yield


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", ["graph attention", "mixture of experts", "LSTM"])
def test_an_architecture_is_compiled(name: str, training: bool) -> None:
    outcome = checks.check(architectures()[f"plain/{name}"], training)
    assert (outcome.kind, outcome.text) == ("right", "")
    assert outcome.compiled >= run.ENOUGH and outcome.programs


@pytest.mark.parametrize(
    "options",
    [
        {"bidirectional": True},
        {"bias": False, "batch_first": True},
        {"num_layers": 2, "dropout": 0.3},
    ],
)
def test_every_form_of_an_lstm_is_compiled(options: dict[str, object]) -> None:
    lstm = Architecture(
        "plain", "LSTM", lambda: nn.LSTM(4, 3, **options), lambda: {"0": torch.randn(3, 2, 4)}
    )
    for training in (False, True):
        outcome = checks.check(lstm, training)
        assert (outcome.kind, outcome.compiled, outcome.text) == ("right", 1, "")


def test_a_difference_is_found() -> None:
    expected = {"result 0": torch.tensor([1.0, 100.0]), "gradient of w": torch.tensor([1e-3])}
    off = {**expected, "result 0": torch.tensor([1.5, 100.0])}
    assert not checks.difference(expected, expected, 1e-3, 0)
    assert "result 0 differs by 0.5" in checks.difference(off, expected, 1e-3, 0)
    missing = {"result 0": expected["result 0"]}
    assert "gradient of w" in checks.difference(missing, expected, 1e-3, 0)
    nan = {**expected, "gradient of w": torch.tensor([torch.nan])}
    assert "gradient of w differs" in checks.difference(nan, expected, 1e-3, 0)


def test_the_table_counts_and_names_what_is_not_compiled() -> None:
    right = {"kind": "right", "compiled": 1.0, "left": []}
    rows = list(
        run.table(
            {
                "plain/one": {"inference": right, "training": {**right, "kind": "wrong"}},
                "plain/two": {"inference": {**right, "compiled": 0.5, "left": ["aten.fft"]}},
                "timm/three": {"inference": {**right, "kind": "eager"}},
            }
        )
    )
    assert "| plain PyTorch, inference | 2 | 1 | 0 | 0 |" in rows
    assert "| plain PyTorch, training | 1 | 0 | 1 | 0 |" in rows
    assert "| plain/two, inference | 50% | `aten.fft` |" in rows
    assert not any("timm" in row for row in rows)
