"""Inputs and outputs of programs, described."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headrace._arrays import numpy_dtype


class TensorSpec(NamedTuple):
    """An input or output: its name, element type ("f32"), and shape.

    A dimension is an int, or a str if it is dynamic: the name of a symbol ("batch"), or an
    expression of such names ("2*batch"). A value that is not a numeric tensor has the type "string",
    "sequence(f32)" or "optional(f32)"; the shape is None if the rank is not known.
    """

    name: str
    element_type: str
    shape: tuple[int | str, ...] | None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type as NumPy's; bf16 and narrower ones need the package ml_dtypes."""
        if self.element_type == "string":
            return np.dtype(object)
        return numpy_dtype(self.element_type)

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.name}: {self.element_type}"
        sizes = (str(size) or "?" for size in self.shape)
        return f"{self.name}: {self.element_type}[{', '.join(sizes)}]"
