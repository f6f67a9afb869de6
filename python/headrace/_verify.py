"""Programs compared with the reference evaluation, and the numeric policy by which results agree."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from headrace import _core
from headrace._load import load
from headrace._model import Model
from headrace._script import Script, script
from headrace._values import to_any_value, to_value
from headrace.errors import InvalidArgumentError


class Verification(dict[str, Any]):
    """The report of `headrace.verify`; true if everything agrees, and prints as text.

    Keys: model, package, holds; cases, a list (each with values, sizes, holds, refused, outputs,
    steps_compared, steps_left_out, why_no_steps, first_wrong, first_pass, right_with, note,
    others); saved, saved_nodes, not_saved. docs/verify.md describes them.
    """

    def __init__(self, report: Mapping[str, Any], text: str) -> None:
        super().__init__(report)
        self._text = text

    @property
    def holds(self) -> bool:
        """Whether everything agrees."""
        return self["holds"]

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self._text


def verify(
    model: Model | Script | str | os.PathLike[str],
    inputs: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    reference: Model | str | os.PathLike[str] | None = None,
    seed: int = 0,
    sizes: Mapping[str, int] | None = None,
    special: bool = False,
    steps: bool = True,
    bisect: bool = False,
    save: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Verification:
    """Compare a compiled program with the reference evaluation in double precision.

    Without `inputs` several cases are made: dynamic dimensions of 1, of small odd extents and of
    larger ones; random numbers, zeros, negative and large ones, with `special` also NaN and
    infinities. `sizes` fixes dynamic dimensions. Unless `steps` is false, the values that kernels
    store are compared, too, and the report names the first that differs. `reference` is the model
    of a package. `save` is an ONNX file to write with the part of the model that differs and its
    inputs; with `bisect` the report names the first pass that changes the result; both require the
    model's path. `settings` are those of `headrace.load`, for a path. For a script, compiled blocks
    are compared with their evaluation on the host.

    >>> report = hr.verify("examples/digits/digits.onnx")
    >>> report.holds
    True
    """
    if isinstance(model, (str, os.PathLike)) and os.fspath(model).endswith(".dml"):
        model = script(pathlib.Path(model))
    if isinstance(model, Script):
        variables = dict(inputs) if isinstance(inputs, Mapping) else {}
        return _parsed(model._verify(variables))
    path = "" if isinstance(model, Model) else os.fspath(model)
    for name, is_given in (("save", save is not None), ("bisect", bisect)):
        if is_given and not path.endswith(".onnx"):
            raise InvalidArgumentError(
                f"{name}: expected the path of an ONNX model to verify, got {path or 'a Model'}"
            )
    saved: list[Any] = [[], []]
    if isinstance(model, Model):
        compiled = model
    else:
        if not path.endswith(".hrpkg"):
            saved = _core.saved_inputs(path)
        compiled = _loaded(path, saved[0], settings)
    if isinstance(compiled, Script):
        return _parsed(compiled._verify({}))
    source, package = compiled, None
    if reference is not None:
        source = reference if isinstance(reference, Model) else _loaded(reference, [], {})
        package = compiled._core
    values = _values(source, inputs)
    if not values and saved[0] and len(saved[0]) == len(source.inputs):
        by_name = dict(zip(*saved))
        values = [by_name[spec.name] for spec in source.inputs]
    return _parsed(
        _core.verify(
            source._core,
            package,
            values,
            seed,
            source._sizes(sizes, {}),
            special,
            steps,
            bisect,
            path,
            _core.Settings(**settings, given_inputs=saved[0]),
            "" if save is None else os.fspath(save),
        )
    )


def _loaded(path: str | os.PathLike[str], given: list[str], settings: Mapping[str, Any]) -> Model:
    model = load(path, **settings)
    if given:
        model = model._defaults.model_given(given) or model
    return model


def _values(model: Model, inputs: Mapping[str, Any] | Sequence[Any] | None) -> list[Any]:
    if inputs is None:
        return []
    is_mapping = isinstance(inputs, Mapping)
    arranged = model._arrange(() if is_mapping else inputs, inputs if is_mapping else {})
    return [
        to_value(value, spec.name, spec.element_type) for spec, value in zip(model.inputs, arranged)
    ]


def _parsed(report: tuple[str, str]) -> Verification:
    return Verification(json.loads(report[0]), report[1])


class Judgement(NamedTuple):
    """Whether a result agrees with the exact one, and how far it is off: root mean squares."""

    holds: bool
    error: float
    allowed: float
    scale: float
    float32_error: float
    steep: int
    text: str


def judge(
    found: np.ndarray,
    exact: np.ndarray,
    rounded: Sequence[np.ndarray] = (),
    disturbed: Sequence[np.ndarray] = (),
) -> Judgement:
    """Judge a result by the numeric policy, which is stated here only (src/verify/Policy.h).

    The root mean square of the errors against `exact`, in float64, is at most three times that of
    the worst of `rounded`, evaluations in the result's own type, or a unit in the last place of the
    result as a whole. `disturbed` are evaluations with larger errors; they show where a program is
    steep, and any result is right.
    """
    pair = [_number("found", found), _number("exact", exact)]
    others = [[_number("rounded", each) for each in runs] for runs in (rounded, disturbed)]
    return Judgement(**_core.judge(pair, *others))


def _number(name: str, array: np.ndarray) -> Any:
    return to_any_value(np.asarray(array), name)
