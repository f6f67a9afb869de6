"""Data that eager mode rejects raises the same kind of exception in a compiled module."""

from __future__ import annotations

import headrace as hr
import pytest

torch = pytest.importorskip("torch")
from torch.nn import functional as F  # noqa: E402

pytestmark = pytest.mark.usefixtures("fresh_torch")

TABLE = torch.arange(20.0).reshape(5, 4)
LONG = torch.arange(6) % 5

CASES = {
    # function, operand, position of the bad element, values that eager mode rejects
    "embedding": (lambda i: F.embedding(i, TABLE), LONG, (5, -1), "index"),
    "index_select": (lambda i: torch.index_select(TABLE, 1, i), LONG % 4, (4, -1), "index"),
    "index": (lambda i: TABLE[:, i], LONG % 4, (4, -5), "index"),
    "nll_loss": (
        lambda i: F.nll_loss(torch.log_softmax(TABLE[:, :3][i.new_zeros(6)], 1), i),
        LONG % 3,
        (3, -1),
        "target",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_indices(name):
    function, good, values, noun = CASES[name]
    compiled = torch.compile(function, backend="headrace")
    torch.testing.assert_close(compiled(good), function(good))
    for value in values:
        bad = good.clone()
        bad[4] = value
        with pytest.raises((IndexError, RuntimeError)):
            function(bad)
        with pytest.raises(hr.OutOfRangeError, match=rf"{noun} {value} at \[4\] is outside"):
            compiled(bad)
        torch.testing.assert_close(compiled(good), function(good))


def test_ignored_targets_are_allowed():
    scores = torch.randn(6, 3)

    def loss(target):
        return F.cross_entropy(scores, target, ignore_index=-7)

    compiled = torch.compile(loss, backend="headrace")
    target = torch.tensor([0, -7, 2, 1, -7, 0])
    torch.testing.assert_close(compiled(target), loss(target))
    with pytest.raises(IndexError, match=r"target -100 at \[0\] is outside \[0, 3\) and is not -7"):
        compiled(torch.tensor([-100, -7, 2, 1, -7, 0]))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64])
def test_division(dtype):
    def functions(a, b):
        floor = torch.div(a, b, rounding_mode="floor")
        return floor, torch.div(a, b, rounding_mode="trunc"), a // b, a % b, torch.fmod(a, b)

    compiled = torch.compile(functions, backend="headrace")
    least = torch.iinfo(dtype).min
    a = torch.tensor([7, -7, least, least, 0, -1] * 11, dtype=dtype)
    b = torch.tensor([-2, 2, least, 3, -1, -1] * 11, dtype=dtype)
    for found, wanted in zip(compiled(a, b), functions(a, b)):
        torch.testing.assert_close(found, wanted)
    # Eager mode ends the process here where integers are wide.
    wrapped = compiled(torch.full((67,), least, dtype=dtype), torch.full((67,), -1, dtype=dtype))
    for found, wanted in zip(wrapped, (least, least, least, 0, 0)):
        assert (found == wanted).all()
    b[-1] = 0
    with pytest.raises(RuntimeError, match="integers divided by 0 at \\[65\\]") as raised:
        compiled(a, b)
    assert isinstance(raised.value, ZeroDivisionError)


def test_training_goes_on():
    table = torch.nn.Embedding(5, 3)
    head = torch.nn.Linear(3, 4)

    def loss(i, target):
        return F.cross_entropy(head(table(i)), target)

    compiled = torch.compile(loss, backend="headrace")
    i, target = torch.tensor([0, 4, 4]), torch.tensor([0, 3, 1])
    compiled(i, target).backward()
    found = table.weight.grad.clone()
    with pytest.raises(IndexError, match=r"index 5 at \[1\]"):
        compiled(torch.tensor([0, 5, 4]), target)
    with pytest.raises(IndexError, match=r"target 4 at \[2\]"):
        compiled(i, torch.tensor([0, 3, 4]))
    table.weight.grad = None
    loss(i, target).backward()
    torch.testing.assert_close(found, table.weight.grad)
