"""Lazy matrices: NumPy's operators on matrices, computed as one program when a result is needed."""

from headrace.matrices._functions import read
from headrace.matrices._matrix import Matrix, evaluate, matrix

__all__ = ["Matrix", "evaluate", "matrix", "read"]
