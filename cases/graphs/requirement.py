"""Requirements of an operator on a value that it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cases.graphs.values import Value

#: Beyond this error, the tolerance is so large that a comparison shows nothing.
MOST_ERROR = 1e3


@dataclass
class Requirement:
    dtypes: Sequence[np.dtype]
    dims: tuple[int | str, ...] | None = None
    ranks: Sequence[int] | None = None
    low: float = -64.0
    high: float = 64.0
    # Where the operator jumps, or is compared to the bit.
    exact: bool = False
    accept: Callable[[Value], bool] | None = None
    # No NaN, infinities and the like among the elements.
    calm: bool = True

    def fits_shape(self, value: Value) -> bool:
        return (
            (self.dims is None or value.dims == self.dims)
            and (self.ranks is None or value.rank in self.ranks)
            and (self.accept is None or self.accept(value))
        )

    def fits_range(self, value: Value) -> bool:
        return value.low >= self.low and value.high <= self.high

    def fits_kind(self, value: Value) -> bool:
        """Whether the value has the properties that no further node could give it."""
        return (
            value.error <= MOST_ERROR
            and not (self.exact and not value.is_exact)
            and not (self.calm and value.special)
        )

    def fits(self, value: Value) -> bool:
        return (
            value.dtype in self.dtypes
            and self.fits_range(value)
            and self.fits_kind(value)
            and self.fits_shape(value)
        )
