"""Inputs with defaults that may be given all the same: initializers of ONNX models, buffers of exported programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from headrace._model import Model


class Defaults:
    """A default is a constant of the program: where it is given, the model is another one, loaded once."""

    def __init__(self, load_given: Callable[[Sequence[str]], Model]) -> None:
        self._load_given = load_given
        self._models: dict[frozenset[str], Model] = {}

    def model_given(self, names: Sequence[str]) -> Model | None:
        """None if the names are not those of such inputs."""
        key = frozenset(names)
        if key not in self._models:
            try:
                self._models.setdefault(key, self._load_given(sorted(key)))
            except InvalidArgumentError:
                return None
        return self._models[key]
