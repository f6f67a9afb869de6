"""Gradients of programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from headrace import _core
from headrace._explanation import format_table
from headrace._model import Model
from headrace._specs import TensorSpec
from headrace.errors import InvalidArgumentError

Arrays = np.ndarray | tuple[np.ndarray, ...]


def grad(model: Model, wrt: str | Iterable[str] | None = None) -> Model:
    """The gradient of a program with one scalar output, as a program of the same inputs.

    `wrt` names inputs or weights (`Model.weights`), by default every floating-point input; the
    gradients are the outputs, in that order. Raises `InvalidArgumentError` for other programs, and
    `UnsupportedError` if an operator has no gradient.

    >>> slope = hr.grad(loss, wrt="X")
    >>> slope(np.ones(3, "f4"))
    array([2., 2., 2.], dtype=float32)
    """
    _expect_scalar(model, "grad")
    return Model(model._core.with_gradient(_names(wrt), False), f"headrace.grad({model._maker})")


def value_and_grad(model: Model, wrt: str | Iterable[str] | None = None) -> ValueAndGrad:
    """The value and the gradient (see `grad`) of a program with one scalar output.

    >>> value, gradient = hr.value_and_grad(loss)(np.ones(3, "f4"))
    """
    _expect_scalar(model, "value_and_grad")
    return ValueAndGrad(model, wrt)


def vjp(model: Model, wrt: str | Iterable[str] | None = None) -> ValueAndGrad:
    """The vector-Jacobian product of a program with any outputs.

    The result is called with the inputs, then with the gradients of the outputs (or `NAME.grad=`),
    and returns the outputs and the gradients of `wrt` (see `grad`).

    >>> logits, slope = hr.vjp(digits)(images, np.ones((16, 10), "f4"))
    """
    return ValueAndGrad(model, wrt)


class ValueAndGrad:
    """A program with its gradient; made by `headrace.value_and_grad` and `headrace.vjp`."""

    def __init__(self, model: Model, wrt: str | Iterable[str] | None = None) -> None:
        core = model._core.with_gradient(_names(wrt), True)
        self.model = Model(core, f"headrace.vjp({model._maker})")
        self._values = len(model.outputs)

    def __call__(self, /, *args: Any, **kwargs: Any) -> tuple[Arrays, Arrays]:
        """Run the program; returns its outputs and the gradients, each an array or a tuple."""
        results = self.model._run(self.model._arrange(args, kwargs))
        return Model._pack(results[: self._values]), Model._pack(results[self._values :])

    def __repr__(self) -> str:
        return f"<headrace.ValueAndGrad of {self.model!r}>"


def forward_backward(
    model: Model, wrt: str | Iterable[str] | None = None, *, memory_budget: int | None = None
) -> ForwardBackward:
    """A program and its gradient as two programs, which may run at different times.

    `memory_budget` bounds the bytes of saved tensors, beyond inputs and outputs, that go from
    forward to backward; other values are recomputed. By default, values are saved or recomputed by
    predicted time.

    >>> pair = hr.forward_backward(digits)
    >>> logits, kept = pair.forward(images)
    >>> gradient = pair.backward(kept, np.ones((16, 10), "f4"))
    """
    return ForwardBackward(*model._core.forward_and_backward(_names(wrt), memory_budget), model)


class ForwardBackward:
    """A forward and a backward program; made by `headrace.forward_backward`."""

    def __init__(
        self,
        forward: _core.Model,
        backward: _core.Model,
        places: list[tuple[bool, int]],
        computed_again: list[str],
        model: Model,
    ) -> None:
        maker = f"headrace.forward_backward({model._maker})"
        self.forward_model = Model(forward, maker)
        self.backward_model = Model(backward, maker)
        #: Operators whose results the backward program computes again.
        self.computed_again = computed_again
        self._places = places
        self._outputs = len(model.outputs)

    @property
    def kept(self) -> tuple[TensorSpec, ...]:
        """The saved tensors, beyond inputs and outputs, that the backward program takes."""
        specs = self.backward_model.inputs
        return tuple(
            spec
            for spec, (is_input, index) in zip(specs, self._places)
            if not is_input and index >= self._outputs
        )

    def forward(self, /, *args: Any, **kwargs: Any) -> tuple[Arrays, list[Any]]:
        """Run the forward program; returns its outputs, and the values that `backward` takes."""
        inputs = self.forward_model._arrange(args, kwargs)
        results = self.forward_model._run(inputs)
        kept = [(inputs if is_input else results)[index] for is_input, index in self._places]
        return Model._pack(results[: self._outputs]), kept

    def backward(self, kept: Sequence[Any], /, *gradients: Any) -> Arrays:
        """Run the backward program on the gradients of the floating-point outputs; returns the
        gradients.
        """
        return self.backward_model(*kept, *gradients)

    def explain(
        self, sizes: dict[str, int] | None = None, /, **named_sizes: int
    ) -> GradientExplanation:
        """Saved tensors, recomputed values and data moved, for each direction (see
        `Model.explain`).
        """
        forward = self.forward_model.explain(sizes, **named_sizes)
        backward = self.backward_model.explain(sizes, **named_sizes)
        kept = [
            {"name": spec.name, "element_type": spec.element_type, "shape": spec.shape}
            for spec in self.kept
        ]
        return GradientExplanation(
            forward=forward, backward=backward, kept=kept, computed_again=self.computed_again
        )

    def __repr__(self) -> str:
        return f"<headrace.ForwardBackward of '{self.forward_model.name}'>"


class GradientExplanation(dict[str, Any]):
    """Keys: forward and backward (each as in `Model.explain`), kept, computed_again."""

    def __str__(self) -> str:
        rows = [["saved in addition to inputs and outputs", "type", "shape"]]
        for tensor in self["kept"]:
            rows.append(
                [tensor["name"], tensor["element_type"], "x".join(map(str, tensor["shape"]))]
            )
        parts = [str(self["forward"]), str(self["backward"]), format_table(rows, left=(0, 1, 2))]
        if self["computed_again"]:
            parts.append("computed again: " + ", ".join(self["computed_again"]))
        return "\n\n".join(parts)


def _names(wrt: str | Iterable[str] | None) -> list[str]:
    if wrt is None:
        return []
    return [wrt] if isinstance(wrt, str) else list(wrt)


def _expect_scalar(model: Model, function: str) -> None:
    outputs = model.outputs
    if len(outputs) != 1 or outputs[0].shape is None or any(size != 1 for size in outputs[0].shape):
        found = ", ".join(map(str, outputs))
        raise InvalidArgumentError(
            f"headrace.{function}: expected a program with one scalar output, got '{model.name}' "
            f"with {found}; headrace.vjp takes gradients of its outputs"
        )
