"""Graphs that fail to compile or to run are run by PyTorch, with a warning that says why."""

from __future__ import annotations

from typing import Any

import pytest

hr = pytest.importorskip("headrace")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch_eager import assert_same, compiled, left_to_pytorch, normal  # noqa: E402

pytestmark = pytest.mark.usefixtures("fresh_torch")


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

    x = normal(3)
    monkeypatch.setattr(_compile, "lower", lambda *_: {}["no such key"])
    with left_to_pytorch("PyTorch: KeyError: 'no such key' .this is a bug in Headrace"):
        assert_same(compiled(torch.sin)(x), x.sin())


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
