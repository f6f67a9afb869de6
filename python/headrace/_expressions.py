"""Tensor expressions: programs written as formulas over the elements of tensors.

n, m, k = hr.var("n m k")
A = hr.placeholder((n, k), "f32", name="A")
B = hr.placeholder((k, m), "f32", name="B")
r = hr.axis(k, name="r")
C = hr.compute((n, m), lambda i, j: hr.sum(A[i, r] * B[r, j], axis=r), name="C")
f = hr.compile(C)
c = f(a, b)
"""

from __future__ import annotations

import builtins
import inspect
import operator
import os
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from headrace import _core
from headrace._arrays import NUMPY_NAMES
from headrace._knobs import Tunable
from headrace._model import Model
from headrace.errors import InvalidArgumentError, TypeMismatchError

if TYPE_CHECKING:
    from headrace._schedules import LaunchSchedule, Schedule

_SHORT_NAMES = {long: short for short, long in NUMPY_NAMES.items()}


class Expr:
    """A scalar expression: numbers, elements of tensors, positions along axes, extents.

    Python's operators apply to it, and the functions of this package (`hr.exp`, `hr.select`, ...).
    """

    __slots__ = ("_core",)
    # NumPy's scalars leave arithmetic with expressions to the expressions.
    __array_ufunc__ = None

    def __init__(self, core: _core.Expr) -> None:
        self._core = core

    @property
    def dtype(self) -> str:
        """The element type, such as "f32"."""
        return self._core.dtype

    def astype(self, dtype: Any) -> Expr:
        """The value converted to another element type."""
        return Expr(_core.expr_cast(self._core, type_name(dtype)))

    def __bool__(self) -> NoReturn:
        raise TypeMismatchError(
            f"expression {self}: expected hr.select, hr.all or hr.any, "
            "got Python's if, and, or, not, or a chained comparison"
        )

    def __iter__(self) -> NoReturn:
        raise TypeMismatchError(f"expression {self}: expected a scalar, got an iteration over it")

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return str(self._core)

    def __add__(self, other: Any) -> Expr:
        return apply("add", self, other)

    def __radd__(self, other: Any) -> Expr:
        return apply("add", other, self)

    def __sub__(self, other: Any) -> Expr:
        return apply("sub", self, other)

    def __rsub__(self, other: Any) -> Expr:
        return apply("sub", other, self)

    def __mul__(self, other: Any) -> Expr:
        return apply("mul", self, other)

    def __rmul__(self, other: Any) -> Expr:
        return apply("mul", other, self)

    def __truediv__(self, other: Any) -> Expr:
        return apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Expr:
        return apply("div", other, self)

    def __floordiv__(self, other: Any) -> Expr:
        return apply("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Expr:
        return apply("floordiv", other, self)

    def __mod__(self, other: Any) -> Expr:
        return apply("mod", self, other)

    def __rmod__(self, other: Any) -> Expr:
        return apply("mod", other, self)

    def __pow__(self, other: Any) -> Expr:
        return apply("pow", self, other)

    def __rpow__(self, other: Any) -> Expr:
        return apply("pow", other, self)

    def __neg__(self) -> Expr:
        return apply("neg", self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return apply("abs", self)

    def __invert__(self) -> Expr:
        return apply("not", self)

    def __and__(self, other: Any) -> Expr:
        return apply("and", self, other)

    def __rand__(self, other: Any) -> Expr:
        return apply("and", other, self)

    def __or__(self, other: Any) -> Expr:
        return apply("or", self, other)

    def __ror__(self, other: Any) -> Expr:
        return apply("or", other, self)

    def __lt__(self, other: Any) -> Expr:
        return apply("lt", self, other)

    def __le__(self, other: Any) -> Expr:
        return apply("le", self, other)

    def __gt__(self, other: Any) -> Expr:
        return apply("gt", self, other)

    def __ge__(self, other: Any) -> Expr:
        return apply("ge", self, other)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return apply("eq", self, other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return apply("ne", self, other)


class Axis(Expr):
    """An axis to reduce along, made by `hr.axis`; in expressions, the position along it."""

    __slots__ = ("axis_core",)

    def __init__(self, core: _core.Axis) -> None:
        super().__init__(core.position)
        self.axis_core = core

    @property
    def name(self) -> str:
        """The name, which schedules and reports use."""
        return self.axis_core.name

    @property
    def extent(self) -> Expr:
        """The number of positions."""
        return Expr(self.axis_core.extent)


class Tensor:
    """A tensor of a program: a placeholder, or a stage made by `hr.compute` or `hr.solve`.

    Indexing it with one expression per dimension reads an element.
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Stage) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The name, which schedules and reports use."""
        return self._core.name

    @property
    def dtype(self) -> str:
        """The element type, such as "f32"."""
        return self._core.dtype

    @property
    def shape(self) -> tuple[int | Expr, ...]:
        """The extents: integers, or expressions of dynamic dimensions."""
        return tuple(plain(size) for size in self._core.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._core.shape)

    def __getitem__(self, indices: Any) -> Expr:
        if not isinstance(indices, tuple):
            indices = (indices,)
        return Expr(self._core.read([to_core(index) for index in indices]))

    def __iter__(self) -> NoReturn:
        raise TypeMismatchError(f"tensor '{self.name}': expected indices, got an iteration over it")

    def __repr__(self) -> str:
        kind = "placeholder" if self._core.is_input else "stage"
        shape = ", ".join(map(str, self._core.shape))
        return f"<headrace {kind} '{self.name}' {self.dtype}[{shape}]>"


def var(names: str, *, min: int = 0, least: int | None = None) -> Expr | tuple[Expr, ...]:
    """Dynamic dimensions, one per name in `names`; calls bind them by the shapes of their arrays.

    `min` is the smallest extent that the program must support. `least` is its deprecated name.

    >>> n, m = hr.var("n m")
    """
    if least is not None:
        warnings.warn("hr.var: 'least' is deprecated, use 'min'", DeprecationWarning, stacklevel=2)
        min = least
    found = [Expr(_core.expr_var(name, min)) for name in names.replace(",", " ").split()]
    if not found:
        raise InvalidArgumentError("var: expected a name, got none")
    return found[0] if len(found) == 1 else tuple(found)


def placeholder(shape: Any, dtype: Any = "f32", name: str | None = None) -> Tensor:
    """An input of a program. An extent is an integer or an expression of `hr.var`.

    >>> A = hr.placeholder((n, 64), "f32", name="A")
    """
    return Tensor(_core.expr_placeholder(to_shape(shape), type_name(dtype), name or ""))


def axis(extent: Any, name: str | None = None) -> Axis:
    """An axis to reduce along: positions from 0 to `extent` - 1; for a pair (low, high), from low
    to high - 1.

    >>> r = hr.axis(k, name="r")
    """
    low, high = extent if isinstance(extent, tuple) else (0, extent)
    return Axis(_core.expr_axis(to_core(low), to_core(high), name or ""))


def compute(
    shape: Any, body: Callable[..., Any], name: str | None = None
) -> Tensor | tuple[Tensor, ...]:
    """A tensor whose element at each point is `body` of its indices; `body` takes one per
    dimension.

    If `body` returns a tuple, as a reduction of tuples does (`hr.reducer`), so does `compute`: a
    tensor for each component, named `name`.0, `name`.1, ... Raises an `Error` if an index may leave
    its tensor with no condition that prevents it.

    >>> T = hr.compute((m, k), lambda i, j: B[j, i], name="T")
    """
    sizes = to_shape(shape)
    names = parameter_names(body, len(sizes), f"stage '{name}'" if name else "a stage")
    count: int | None = None  # of components, if the body returns a tuple

    def call(point: list[_core.Expr], component: int = 0) -> _core.Expr:
        nonlocal count
        value = body(*map(Expr, point))
        if isinstance(value, tuple):
            count = len(value)
            if not value:
                raise InvalidArgumentError(
                    f"stage '{name}': expected a value or a tuple of values, got an empty tuple"
                )
            value = value[component]
        return to_core(value)

    first = Tensor(_core.expr_compute(sizes, call, name or "", names))
    if count is None:
        return first

    def part(component: int) -> Tensor:
        def at(point: list[_core.Expr]) -> _core.Expr:
            return call(point, component)

        title = f"{name}.{component}" if name else ""
        return Tensor(_core.expr_compute(sizes, at, title, names))

    return tuple(map(part, range(count)))


def scan(
    shape: Any,
    step: Callable[..., Any],
    initial: Any = 0.0,
    dtype: Any = "f32",
    name: str | None = None,
) -> Tensor:
    """A recurrence: a tensor that is computed step by step along its first dimension.

    `step` takes the tensor itself and one index per dimension, and returns the value there. It may
    read elements of the tensor that are a constant number of steps back, at most 8. Elements before
    the first step are `initial`: a number, or a function of the indices but the first.

    >>> P = hr.scan((n, k), lambda P, t, j: P[t - 1, j] * A[t, j], initial=1.0, name="P")
    """
    sizes = to_shape(shape)
    what = f"stage '{name}'" if name else "a stage"
    names = parameter_names(step, len(sizes) + 1, what)

    def call(self_core: _core.Stage, point: list[_core.Expr]) -> _core.Expr:
        return to_core(step(Tensor(self_core), *map(Expr, point)))

    def start(point: list[_core.Expr]) -> _core.Expr:
        return to_core(initial(*map(Expr, point)) if callable(initial) else initial)

    if callable(initial):
        parameter_names(initial, len(sizes) - 1, f"initial values of {what}")
    return Tensor(_core.expr_scan(sizes, type_name(dtype), call, start, name or "", names[1:]))


def solve(
    matrix: Tensor,
    right: Tensor,
    *,
    complex: bool = False,
    positive_definite: bool = False,
    name: str | None = None,
) -> Tensor:
    """The solutions x of the linear systems A x = b: `matrix` is [..., n, n], `right` is [..., n,
    r].

    With `complex`, a last dimension of 2 holds real and imaginary part. With `positive_definite`, A
    is Hermitian and positive definite, and only its lower triangle is read. A recipe chooses the
    factorization: "expand x as lu", or "cholesky".

    >>> M, b = hr.placeholder((n, n), "f64", name="M"), hr.placeholder((n, m), "f64", name="b")
    >>> x = hr.solve(M, b, positive_definite=True, name="x")
    """
    cores = to_stages("hr.solve", [matrix, right])
    return Tensor(_core.expr_solve(*cores, complex, positive_definite, name or ""))


def parameter_names(body: Callable[..., Any], rank: int, stage: str) -> list[str]:
    """The function's names of the dimensions, if it takes one parameter for each."""
    try:
        parameters = list(inspect.signature(body).parameters.values())
    except (TypeError, ValueError):
        return []
    if builtins.any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return []
    names = [p.name for p in parameters if p.default is p.empty and p.kind is not p.KEYWORD_ONLY]
    if len(names) != rank:
        raise InvalidArgumentError(
            f"{stage}: expected a function of {rank} parameters, one for each dimension, "
            f"got {len(names)} ({', '.join(names)})"
        )
    return names


def select(condition: Any, yes: Any, no: Any) -> Expr:
    """`yes` if the condition holds, else `no`. The value not chosen may read outside of its tensor.

    >>> padded = hr.compute((n + 2,), lambda i: hr.select(hr.all(i > 0, i <= n), X[i - 1], 0.0))
    """
    return apply("select", condition, yes, no)


def all(*conditions: Any) -> Expr:
    """Whether every condition holds."""
    return joined("and", conditions, True)


def any(*conditions: Any) -> Expr:
    """Whether at least one condition holds."""
    return joined("or", conditions, False)


def joined(op: str, conditions: Sequence[Any], empty: bool) -> Expr:
    result = Expr(to_core(conditions[0] if conditions else empty))
    for condition in conditions[1:]:
        result = apply(op, result, condition)
    return result


def pow(value: Any, exponent: Any) -> Expr:
    """`value` to the power of `exponent`."""
    return apply("pow", value, exponent)


def abs(value: Any) -> Expr:
    """The absolute value."""
    return apply("abs", value)


def compile(
    outputs: Tensor | Sequence[Tensor],
    *,
    name: str | None = None,
    target: str = "cpu",
    expansion: str = "auto",
    plan_cache_size: int = 16,
    specialize: str = "auto",
    recipe: str | Schedule | LaunchSchedule = "",
    accelerator: str | os.PathLike[str] = "",
) -> Model:
    """A program that computes these tensors, as a `Model` that takes the arrays of their
    placeholders.

    The arrays come in the order in which the placeholders were made. The program is compiled when
    it is first called; the options are those of `hr.load`. `recipe` says how its loops run or its
    stages are launched: text, or a schedule made by `hr.schedule`, which also selects the target.
    The compiler makes every choice that the recipe omits. If directives of the schedule have knobs
    (`hr.knob`), the program has their first values, and `Model.space` and `Model.time` the others.

    >>> f = hr.compile(C)
    >>> c = f(np.ones((2, 3), "f4"), np.ones((3, 4), "f4"))
    """
    first = outputs[0] if isinstance(outputs, (list, tuple)) and outputs else outputs
    cores = to_stages("hr.compile", outputs)
    title = name or getattr(first, "name", "") or "expression"
    text = recipe if isinstance(recipe, str) else recipe.recipe
    if not isinstance(recipe, str) and recipe.target != "cpu":
        # A launch is of generated code, as the schedule's stages are.
        target = recipe.target if target == "cpu" else target
        expansion = "generated" if expansion == "auto" else expansion

    def compiled(text: str) -> Model:
        settings = _core.Settings(
            target=target,
            expansion=expansion,
            plan_cache_size=plan_cache_size,
            specialize=specialize,
            recipe=text,
            accelerator=accelerator,
        )
        return Model(_core.expr_compile(cores, title, settings), "headrace.compile(...)")

    model = compiled(text)
    if not isinstance(recipe, str) and recipe.has_knobs:
        model._tunable = Tunable(recipe.space(), compiled)
    return model


def to_stages(function: str, outputs: Tensor | Sequence[Tensor]) -> list[_core.Stage]:
    stages = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    for stage in stages:
        if not isinstance(stage, Tensor):
            raise TypeMismatchError(
                f"{function}: expected tensors made by hr.compute, got {type(stage).__name__}"
            )
    return [stage._core for stage in stages]


def apply(op: str, *operands: Any) -> Expr:
    return Expr(_core.expr_apply(op, [to_core(operand) for operand in operands]))


def to_core(value: Any) -> _core.Expr:
    """Numbers of Python and NumPy stand for expressions."""
    if isinstance(value, Expr):
        return value._core
    if isinstance(value, Tensor):
        if value.ndim == 0:
            return value._core.read([])
        raise TypeMismatchError(
            f"tensor '{value.name}': expected {value.ndim} indices, got the tensor itself"
        )
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return _core.expr_bool(bool(value))
    if hasattr(value, "__index__"):
        number = operator.index(value)
        if not -(2**63) <= number < 2**63:
            raise InvalidArgumentError(f"expression: expected a 64-bit number, got {number}")
        return _core.expr_integer(number)
    if isinstance(value, float) or (getattr(value, "ndim", None) == 0 and hasattr(value, "dtype")):
        return _core.expr_float(float(value))
    raise TypeMismatchError(
        f"expression: expected scalars and expressions, got {type(value).__name__}"
    )


def to_shape(shape: Any) -> list[_core.Expr]:
    if not isinstance(shape, (tuple, list)):
        shape = (shape,)
    return [to_core(size) for size in shape]


def to_axes(axis: Axis | Sequence[Axis]) -> list[_core.Axis]:
    axes = [axis] if isinstance(axis, Expr) or not isinstance(axis, (tuple, list)) else axis
    for item in axes:
        if not isinstance(item, Axis):
            raise TypeMismatchError(f"reduction: expected axis=... made by hr.axis, got {item!r}")
    return [item.axis_core for item in axes]


def plain(size: _core.Expr) -> int | Expr:
    text = str(size)
    return int(text) if text.isdigit() else Expr(size)


def type_name(dtype: Any) -> str:
    """ "f32" from that, or from anything NumPy takes for a type."""
    if isinstance(dtype, str):
        return _SHORT_NAMES.get(dtype, dtype)
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", str(dtype))
    return _SHORT_NAMES.get(name, {"int": "i64", "float": "f64"}.get(name, name))
