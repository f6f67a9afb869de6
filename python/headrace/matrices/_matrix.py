"""Lazy matrices and what can be done with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace import _core, _script
from headrace.errors import InvalidArgumentError, ShapeMismatchError, TypeMismatchError
from headrace.matrices import _numpy
from headrace.matrices._graph import Node, Plan, Ref, given

#: Rows and columns; () of a scalar. None if the operation has to be executed to know it.
Shape = tuple[int, ...] | None

_FLOAT32, _FLOAT64, _BOOL = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.bool_)
#: Scalars that are part of a program. Others are its inputs, so that it serves any value.
_LITERALS = (0, 1, 2, -1, 0.5)


class Matrix:
    """A matrix, or a scalar, that is computed when it is needed: by `compute`, by `evaluate`, by
    NumPy, `float` or `print`. All operations that were not computed until then are one program.

    A matrix has two dimensions, as has every row and column of it; an array of rank 1 is a column.
    Operators, comparisons, slices, `@`, `.T` and NumPy's functions (`np.exp`, `np.where`,
    `np.linalg.solve`) make further lazy matrices. Made by `headrace.matrix` and `headrace.read`.

    >>> X = hr.matrix(np.arange(6.0).reshape(3, 2))
    >>> (X.T @ (2 * X)).compute()
    array([[40., 52.],
           [52., 70.]])
    """

    __array_priority__ = 1000

    def __init__(self, ref: Ref, shape: Shape, dtype: np.dtype = _FLOAT64) -> None:
        self._ref = ref
        self._shape = shape
        self.dtype = dtype

    # --- Results ----------------------------------------------------------------------------------

    def _value(self) -> Any:
        node, i = self._ref
        if node.values is None:
            Plan([self._ref]).run()
        assert node.values is not None
        return node.values[i]

    def compute(self) -> Any:
        """The result: an array of rank 2, a SciPy CSR matrix if it is kept sparse, or a scalar.

        The matrix keeps its result, which later programs start from; the array is read-only.
        """
        result = _script._from_value(self._value().get())
        if isinstance(result, (int, float)):
            return bool(result) if self.dtype == _BOOL else result
        if hasattr(result, "astype") and result.dtype != self.dtype:
            result = result.astype(self.dtype)
        for array in [result] if isinstance(result, np.ndarray) else _arrays_of(result):
            array.flags.writeable = False
        return result

    def explain(self, level: str = "hops") -> str:
        """The operations that the result needs, with dimensions and density. With "runtime" they
        are executed, and the kernels are shown that were compiled for them."""
        if level not in ("hops", "runtime"):
            raise InvalidArgumentError(f"explain: expected hops or runtime, got '{level}'")
        return Plan([self._ref]).explain(level)

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns); () of a scalar. Of a file, it is known once the file was read."""
        if self._shape is None:
            self._shape = tuple(self._value().shape)
        return self._shape

    @property
    def ndim(self) -> int:
        """2, or 0 of a scalar."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of cells."""
        return int(np.prod(self.shape))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        result = self.compute()
        if hasattr(result, "toarray"):
            result = result.toarray()
        array = np.asarray(result, dtype)
        return array.copy() if copy else array

    def item(self) -> Any:
        """The value of a scalar, or of a matrix of one cell."""
        return np.asarray(self).item()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("the truth of a matrix of several cells is ambiguous")
        return bool(self.item())

    def to_scipy(self) -> Any:
        """The result as a SciPy CSR matrix."""
        from scipy.sparse import csr_matrix

        return csr_matrix(self.compute())

    def to_pandas(self, columns: Sequence[str] | None = None) -> Any:
        """The result as a table of pandas."""
        import pandas

        return pandas.DataFrame(np.array(self), columns=columns)

    def to_arrow(self, columns: Sequence[str] | None = None) -> Any:
        """The result as a table of Arrow; columns without names are called c1, c2, ..."""
        import pyarrow

        array = np.asarray(self)
        names = list(columns or [f"c{i + 1}" for i in range(array.shape[1])])
        return pyarrow.table(
            {name: np.ascontiguousarray(array[:, i]) for i, name in enumerate(names)}
        )

    def __repr__(self) -> str:
        node, _ = self._ref
        shape = "?" if self._shape is None else " x ".join(map(str, self._shape)) or "scalar"
        state = "computed" if node.values is not None else f"{node.function}, not computed"
        return f"<headrace.Matrix {shape} {self.dtype}, {state}>"

    def __str__(self) -> str:
        return str(self.compute())

    # --- Operators --------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Matrix:
        return cellwise("+", self, other)

    def __radd__(self, other: Any) -> Matrix:
        return cellwise("+", other, self)

    def __sub__(self, other: Any) -> Matrix:
        return cellwise("-", self, other)

    def __rsub__(self, other: Any) -> Matrix:
        return cellwise("-", other, self)

    def __mul__(self, other: Any) -> Matrix:
        return cellwise("*", self, other)

    def __rmul__(self, other: Any) -> Matrix:
        return cellwise("*", other, self)

    def __truediv__(self, other: Any) -> Matrix:
        return cellwise("/", self, other)

    def __rtruediv__(self, other: Any) -> Matrix:
        return cellwise("/", other, self)

    def __pow__(self, other: Any) -> Matrix:
        return cellwise("^", self, other)

    def __rpow__(self, other: Any) -> Matrix:
        return cellwise("^", other, self)

    def __floordiv__(self, other: Any) -> Matrix:
        return applied("floor", cellwise("/", self, other))

    def __rfloordiv__(self, other: Any) -> Matrix:
        return applied("floor", cellwise("/", other, self))

    def __mod__(self, other: Any) -> Matrix:
        return self - other * (self // other)

    def __rmod__(self, other: Any) -> Matrix:
        return other - self * (other // self)

    def __matmul__(self, other: Any) -> Matrix:
        return product(self, other)

    def __rmatmul__(self, other: Any) -> Matrix:
        return product(other, self)

    def __neg__(self) -> Matrix:
        return Matrix((Node("-", [("", self._ref)]), 0), self._shape, _computed(self))

    def __pos__(self) -> Matrix:
        return self

    def __abs__(self) -> Matrix:
        return applied("abs", self)

    def __lt__(self, other: Any) -> Matrix:
        return cellwise("<", self, other)

    def __le__(self, other: Any) -> Matrix:
        return cellwise("<=", self, other)

    def __gt__(self, other: Any) -> Matrix:
        return cellwise(">", self, other)

    def __ge__(self, other: Any) -> Matrix:
        return cellwise(">=", self, other)

    def __eq__(self, other: object) -> Matrix:  # type: ignore[override]
        return cellwise("==", self, other)

    def __ne__(self, other: object) -> Matrix:  # type: ignore[override]
        return cellwise("!=", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: Any) -> Matrix:
        return cellwise("&", self, other)

    def __rand__(self, other: Any) -> Matrix:
        return cellwise("&", other, self)

    def __or__(self, other: Any) -> Matrix:
        return cellwise("|", self, other)

    def __ror__(self, other: Any) -> Matrix:
        return cellwise("|", other, self)

    def __invert__(self) -> Matrix:
        return Matrix((Node("!", [("", self._ref)]), 0), self._shape, _BOOL)

    # --- Movement ---------------------------------------------------------------------------------

    @property
    def T(self) -> Matrix:  # noqa: N802
        """The transpose."""
        if self._shape == ():
            return self
        shape = None if self._shape is None else self._shape[::-1]
        return Matrix((Node("t", [("", self._ref)]), 0), shape, self.dtype)

    def transpose(self) -> Matrix:
        """The transpose."""
        return self.T

    def reshape(self, *shape: Any) -> Matrix:
        """The cells, row by row, as a matrix of another shape; one dimension may be -1."""
        sizes = tuple(shape[0]) if len(shape) == 1 and np.iterable(shape[0]) else shape
        if len(sizes) == 1:
            sizes = (*sizes, 1)  # a vector is a column
        if len(sizes) != 2:
            raise InvalidArgumentError(f"reshape: expected two dimensions, got {sizes}")
        known = int(np.prod([size for size in sizes if size != -1]))
        rows, cols = (self.size // max(known, 1) if size == -1 else int(size) for size in sizes)
        if rows * cols != self.size:
            raise ShapeMismatchError(f"reshape: {self.shape} has no {rows} x {cols} cells")
        operands = [("", self._ref), ("rows", scalar(rows)), ("cols", scalar(cols))]
        return Matrix((Node("matrix", operands), 0), (rows, cols), self.dtype)

    def astype(self, dtype: Any) -> Matrix:
        """The matrix whose result has another type: float64, float32 or bool."""
        wanted = np.dtype(dtype)
        if wanted not in (_FLOAT32, _FLOAT64, _BOOL):
            raise TypeMismatchError(f"astype: expected float64, float32 or bool, got {wanted}")
        if wanted == _BOOL and self.dtype != _BOOL:
            return self != 0
        return Matrix(self._ref, self._shape, wanted)

    def __getitem__(self, key: Any) -> Matrix:
        rows, cols = key if isinstance(key, tuple) else (key, slice(None))
        for axis, part in enumerate((rows, cols)):
            if isinstance(part, (Matrix, np.ndarray, list)):
                return self._selected(part, axis, cols if axis == 0 else rows)
        bounds = [_bounds(part, size) for part, size in zip((rows, cols), self.shape, strict=True)]
        shape = tuple(end - begin for begin, end in bounds)
        if 0 in shape:
            return matrix(np.zeros(shape))
        operands: list[tuple[str, Any]] = [("", self._ref)]
        for (begin, end), size in zip(bounds, self.shape, strict=True):
            whole = begin == 0 and end == size
            operands += (
                [("", None), ("", None)] if whole else [("", scalar(begin + 1)), ("", scalar(end))]
            )
        part = Matrix((Node("index", operands), 0), shape, self.dtype)
        single = not isinstance(rows, slice) and not isinstance(cols, slice)
        return applied("as.scalar", part) if single else part

    def _selected(self, mask: Any, axis: int, others: Any) -> Matrix:
        """The rows or columns at which a mask is true."""
        chosen = mask if isinstance(mask, Matrix) else matrix(np.asarray(mask))
        if chosen.dtype != _BOOL:
            raise TypeMismatchError(
                "an index: expected integers, slices or a mask of booleans, got an array of numbers"
            )
        if chosen.size != self.shape[axis]:
            raise ShapeMismatchError(
                f"an index: expected a mask of {self.shape[axis]}, got {chosen.shape}"
            )
        column = chosen.reshape(-1, 1) if axis == 0 else chosen.reshape(1, -1)
        operands = [
            ("target", self._ref),
            ("margin", "rows" if axis == 0 else "cols"),
            ("select", column._ref),
            ("empty.return", False),
        ]
        result = Matrix((Node("removeEmpty", operands), 0), None, self.dtype)
        whole = isinstance(others, slice) and others == slice(None)
        return (
            result
            if whole
            else result[(slice(None), others) if axis == 0 else (others, slice(None))]
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        """Other cells from here on; matrices made of this one before keep the old ones."""
        rows, cols = key if isinstance(key, tuple) else (key, slice(None))
        bounds = [_bounds(part, size) for part, size in zip((rows, cols), self.shape, strict=True)]
        shape = tuple(end - begin for begin, end in bounds)
        made = value if isinstance(value, Matrix) or np.ndim(value) == 0 else matrix(value)
        fits = isinstance(made, Matrix) and made.shape == shape
        filled = made if fits else cellwise("+", matrix(np.zeros(shape)), made)
        operands: list[tuple[str, Any]] = [("", self._ref), ("", filled._ref)]
        for begin, end in bounds:
            operands += [("", scalar(begin + 1)), ("", scalar(end))]
        self._ref = (Node("assign", operands), 0)

    # --- Reductions -------------------------------------------------------------------------------

    def sum(self, axis: int | None = None) -> Matrix:
        """The sum of all cells, of each column (axis 0) or of each row (axis 1)."""
        return reduced("sum", "Sums", self, axis)

    def mean(self, axis: int | None = None) -> Matrix:
        """The mean of all cells, of each column (axis 0) or of each row (axis 1)."""
        return reduced("mean", "Means", self, axis)

    def prod(self, axis: int | None = None) -> Matrix:
        """The product of all cells, of each column (axis 0) or of each row (axis 1)."""
        return reduced("prod", "Prods", self, axis)

    def min(self, axis: int | None = None) -> Matrix:
        """The smallest cell, of each column (axis 0) or of each row (axis 1)."""
        return reduced("min", "Mins", self, axis)

    def max(self, axis: int | None = None) -> Matrix:
        """The largest cell, of each column (axis 0) or of each row (axis 1)."""
        return reduced("max", "Maxs", self, axis)

    def var(self, axis: int | None = None, ddof: int = 0) -> Matrix:
        """The variance, as NumPy defines it."""
        count = self.size if axis is None else self.shape[axis]
        return ((self - self.mean(axis)) ** 2).sum(axis) / float(count - ddof)

    def std(self, axis: int | None = None, ddof: int = 0) -> Matrix:
        """The standard deviation, as NumPy defines it."""
        return applied("sqrt", self.var(axis, ddof))

    def all(self, axis: int | None = None) -> Matrix:
        """Whether no cell is 0."""
        return (self != 0).min(axis).astype(bool)

    def any(self, axis: int | None = None) -> Matrix:
        """Whether some cell is not 0."""
        return (self != 0).max(axis).astype(bool)

    def argmax(self, axis: int) -> Matrix:
        """The position of the first of the largest cells, from 0, in each column or row."""
        return _first(self, self.max(axis), axis)

    def argmin(self, axis: int) -> Matrix:
        """The position of the first of the smallest cells, from 0, in each column or row."""
        return _first(self, self.min(axis), axis)

    def cumsum(self, axis: int = 0) -> Matrix:
        """Sums of the cells so far, down each column or along each row."""
        name = "cumsum" if _axis(axis) == 0 else "rowcumsum"
        return Matrix((Node(name, [("", self._ref)]), 0), self._shape, _computed(self))

    def trace(self) -> Matrix:
        """The sum of the diagonal."""
        return Matrix((Node("trace", [("", self._ref)]), 0), (), _computed(self))

    def dot(self, other: Any) -> Matrix:
        """The matrix product."""
        return product(self, other)

    # --- NumPy's functions ------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        rule = _numpy.UFUNCS.get(ufunc)
        return NotImplemented if rule is None else rule(*inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        rule = _numpy.FUNCTIONS.get(function)
        return NotImplemented if rule is None else rule(*args, **kwargs)


def _arrays_of(result: Any) -> list[np.ndarray]:
    return [part for part in vars(result).values() if isinstance(part, np.ndarray)]


# --- Making them ----------------------------------------------------------------------------------


def matrix(array: Any) -> Matrix:
    """A lazy matrix of an array, a SciPy sparse matrix, or a numeric table of pandas or Arrow.

    An array of doubles in row-major order is used in place: it must not change before the last
    program that reads it was computed. Results of float32 operands are float32 (computed in
    double precision). A vector is a column.

    >>> X = hr.matrix([[1.0, 2.0], [3.0, 4.0]])
    >>> float((X * X).sum())
    30.0
    """
    if isinstance(array, Matrix):
        return array
    if hasattr(array, "column_names") and hasattr(array, "column"):  # Arrow
        columns = [array.column(i).to_numpy() for i in range(len(array.column_names))]
        array = np.column_stack(columns) if columns else np.zeros((array.num_rows, 0))
    elif hasattr(array, "iloc") and hasattr(array, "to_numpy"):  # pandas
        array = array.to_numpy()
    kept = _kept_type(array)
    node = given_value(array)
    assert node.values is not None
    return Matrix((node, 0), tuple(node.values[0].shape), kept)


def _kept_type(array: Any) -> np.dtype:
    """float32 and bool stay what they are; all other numbers are doubles."""
    name = str(getattr(array, "dtype", "")).removeprefix("torch.")
    return {"float32": _FLOAT32, "bool": _BOOL}.get(name, _FLOAT64)


def given_value(value: Any) -> Node:
    """A node of an array or a scalar."""
    return given(_core.ScriptValue(_script._to_value("matrix", value)))


def evaluate(*matrices: Matrix) -> list[Any]:
    """The results of several lazy matrices, computed as one program.

    >>> X = hr.matrix(np.ones((4, 2)))
    >>> hr.evaluate(X.sum(), X.sum(axis=0))
    [8.0, array([[4., 4.]])]
    """
    for each in matrices:
        if not isinstance(each, Matrix):
            raise TypeMismatchError(f"evaluate: expected lazy matrices, got {type(each).__name__}")
    Plan([each._ref for each in matrices]).run()
    return [each.compute() for each in matrices]


def scalar(value: Any) -> Any:
    """An operand: a literal, or an input of the program."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, str)) or value in _LITERALS:
        return value
    return (given_value(value), 0)


# --- Rules ----------------------------------------------------------------------------------------


def _operand(value: Any) -> tuple[Any, Shape, np.dtype | None]:
    """What a node takes, its shape, and its type, which Python's scalars do not have."""
    if isinstance(value, Matrix):
        return value._ref, value._shape, value.dtype
    if np.ndim(value) == 0 and not hasattr(value, "tocsr"):
        if not isinstance(value, (bool, int, float, np.generic)):
            raise TypeMismatchError(f"expected a matrix or a number, got {type(value).__name__}")
        return scalar(value), (), None
    made = matrix(value)
    return made._ref, made._shape, made.dtype


def _common(dtypes: Sequence[np.dtype | None]) -> np.dtype:
    known = [dtype for dtype in dtypes if dtype is not None and dtype != _BOOL]
    return _FLOAT32 if known and all(dtype == _FLOAT32 for dtype in known) else _FLOAT64


def _computed(x: Matrix) -> np.dtype:
    return _common([x.dtype])


def _broadcast(function: str, a: Shape, b: Shape) -> Shape:
    if a is None or b is None:
        return a if b == () else b if a == () else None
    if a == () or b == ():
        return a or b
    shape = []
    for left, right in zip(a, b, strict=True):
        if left != right and 1 not in (left, right):
            raise ShapeMismatchError(
                f"'{function}' of matrices of {a[0]} x {a[1]} and {b[0]} x {b[1]}"
            )
        shape.append(right if left == 1 else left)
    return tuple(shape)


_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=", "&", "|", "xor")


def cellwise(function: str, a: Any, b: Any) -> Matrix:
    """A function of two operands' cells."""
    (left, left_shape, left_type), (right, right_shape, right_type) = _operand(a), _operand(b)
    shape = _broadcast(function, left_shape, right_shape)
    dtype = _BOOL if function in _COMPARISONS else _common([left_type, right_type])
    if shape and left_shape and right_shape:
        if left_shape == (1, 1) != right_shape:
            left = (Node("as.scalar", [("", left)]), 0)
        elif right_shape == (1, 1) != left_shape:
            right = (Node("as.scalar", [("", right)]), 0)
        elif left_shape[0] == right_shape[1] == 1 and shape not in (left_shape, right_shape):
            # A row and a column: the column comes first.
            ones = matrix(np.ones((shape[0], 1)))
            left = product(ones, Matrix(left, left_shape))._ref
        elif left_shape[1] == right_shape[0] == 1 and shape not in (left_shape, right_shape):
            operands = [("", left), ("", right), ("", function)]
            return Matrix((Node("outer", operands), 0), shape, dtype)
    return Matrix((Node(function, [("", left), ("", right)]), 0), shape, dtype)


def applied(function: str, x: Any, dtype: np.dtype | None = None) -> Matrix:
    """A function of one operand's cells; as.scalar of a matrix of one."""
    made = x if isinstance(x, Matrix) else matrix(x)
    shape = () if function == "as.scalar" else made._shape
    return Matrix((Node(function, [("", made._ref)]), 0), shape, dtype or _computed(made))


def _axis(axis: int) -> int:
    if axis not in (0, 1, -1, -2):
        raise InvalidArgumentError(f"expected axis 0 or 1, got {axis}")
    return axis % 2


def reduced(whole: str, each: str, x: Matrix, axis: int | None) -> Matrix:
    """An aggregate of all cells, or of each row or column."""
    if x._shape == ():
        return x
    if axis is None:
        return Matrix((Node(whole, [("", x._ref)]), 0), (), _computed(x))
    name = ("col" if _axis(axis) == 0 else "row") + each
    shape: Shape = None
    if x._shape is not None:
        shape = (1, x._shape[1]) if _axis(axis) == 0 else (x._shape[0], 1)
    return Matrix((Node(name, [("", x._ref)]), 0), shape, _computed(x))


def _first(x: Matrix, best: Matrix, axis: int) -> Matrix:
    """The position of the first cell that is equal to the best one."""
    count = x.shape[_axis(axis)]
    behind = np.arange(count, 0.0, -1)
    weights = matrix(behind.reshape((-1, 1) if _axis(axis) == 0 else (1, -1)))
    return float(count) - ((x == best) * weights).max(axis)


def product(a: Any, b: Any) -> Matrix:
    """The matrix product."""
    left, right = (x if isinstance(x, Matrix) else matrix(x) for x in (a, b))
    shape: Shape = None
    if left._shape is not None and right._shape is not None:
        if not left._shape or not right._shape:
            raise ShapeMismatchError("'@': expected matrices, got a scalar")
        if left._shape[1] != right._shape[0]:
            raise ShapeMismatchError(
                f"'@' of matrices of {left._shape[0]} x {left._shape[1]} and "
                f"{right._shape[0]} x {right._shape[1]}: expected as many columns on the left as "
                "rows on the right"
            )
        shape = (left._shape[0], right._shape[1])
    operands = [("", left._ref), ("", right._ref)]
    return Matrix((Node("%*%", operands), 0), shape, _common([left.dtype, right.dtype]))


def _bounds(part: Any, size: int) -> tuple[int, int]:
    """The half-open range that an integer or a slice means."""
    if isinstance(part, slice):
        begin, end, step = part.indices(size)
        if step != 1:
            raise InvalidArgumentError(f"an index: expected slices of step 1, got {step}")
        return begin, max(begin, end)
    at = int(part)
    if not -size <= at < size:
        raise InvalidArgumentError(f"an index: expected {-size} to {size - 1}, got {at}")
    at %= size
    return at, at + 1
