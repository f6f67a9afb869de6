"""Facts about a tensor before anything runs: its type, its shape, and its range.

`low` and `high` enclose every element; `error` bounds, in units of the type's rounding, how far two
right implementations may be apart. An error of 0 says that the elements are exact: small multiples of
a power of two that every implementation must agree on. Where a function jumps (a comparison, a floor, a
conversion), the generator only feeds it exact values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(t) for t in (np.float32, np.float64, np.float16)] + [BF16]
INTEGERS = [np.dtype(t) for t in (np.int64, np.int32, np.int16, np.int8)]
NUMBERS = FLOATS + INTEGERS
BOOL = np.dtype(bool)
ANY = [*NUMBERS, BOOL]
MANTISSA = {np.dtype(np.float64): 53, np.dtype(np.float32): 24, np.dtype(np.float16): 11, BF16: 8}
LARGEST = {np.dtype(np.float16): 6e4}


def epsilon(dtype: np.dtype) -> float:
    return 2.0 ** (1 - MANTISSA[dtype]) if dtype in MANTISSA else 0.0


@dataclass
class Value:
    name: str
    dtype: np.dtype
    # Sizes as the model declares them: numbers, or names of dynamic dimensions.
    dims: tuple[int | str, ...]
    shape: tuple[int, ...]
    low: float = 0.0
    high: float = 0.0
    # Elements are multiples of this; only meaningful while they are exact.
    grid: float = 1.0
    error: float = 0.0
    # NaN, infinities, -0.0 and the largest numbers may be among the elements.
    special: bool = False
    is_constant: bool = False
    # The result of a node, not an input or a constant.
    is_computed: bool = False

    @property
    def bound(self) -> float:
        return max(abs(self.low), abs(self.high))

    @property
    def is_exact(self) -> bool:
        return self.error == 0

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_fixed(self) -> bool:
        return all(isinstance(d, int) for d in self.dims)

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def range(self) -> Range:
        """Of a result that holds the same elements."""
        return Range(self.low, self.high, self.grid, self.error, self.special)


@dataclass
class Range:
    """The known range of an operator's result."""

    low: float
    high: float
    grid: float = 1.0
    error: float = 0.0
    special: bool = False

    @property
    def bound(self) -> float:
        return max(abs(self.low), abs(self.high))

    def rounded(self, dtype: np.dtype, exact_inputs: bool, work: float = 1.0) -> Range:
        """Adds what rounding `work` times costs, unless the result fits the type exactly."""
        if dtype not in MANTISSA:
            return self
        if (
            exact_inputs
            and self.error == 0
            and self.bound < self.grid * 2.0 ** (MANTISSA[dtype] - 1)
        ):
            return self
        self.error += work * max(self.bound, 2.0**-14)
        return self


@dataclass
class Program:
    """A model with its inputs, and how far apart right results may be."""

    seed: int
    model: object
    feeds: dict[str, np.ndarray]
    # For every value, not for outputs alone: shrinking turns inner values into outputs.
    tolerances: dict[str, float] = field(default_factory=dict)
    special: set[str] = field(default_factory=set)
    types: dict[str, np.dtype] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    # Whether f32 holds every f64 value that must be exact.
    fits_single: bool = False
    operators: set[str] = field(default_factory=set)
