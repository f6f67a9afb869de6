"""Schedules: how the loops of a program of tensor expressions run."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from headrace import _core
from headrace._expressions import Axis, Tensor, to_stages
from headrace._knobs import Knob, Knobs, Point, Space, text_of
from headrace.errors import Error, InvalidArgumentError, TypeMismatchError

if TYPE_CHECKING:
    from typing_extensions import Self


class Recipe:
    """A schedule of a program's stages: text that can be printed, saved, edited and applied to
    another program with stages of the same names."""

    _core: _core.Schedule | _core.LaunchSchedule
    target = "cpu"

    def __init__(self, start: Callable[[], Any]) -> None:
        self._start = start
        self._core = start()
        self._knobs = Knobs()
        self._directives: list[Directive] = []

    @property
    def recipe(self) -> str:
        """The directives given so far, one per line; knobs have their first values."""
        return self._core.recipe

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the program's stages."""
        return tuple(self._core.stages)

    def apply(self, recipe: str) -> Self:
        """Apply the lines of a recipe: all of them, or none if one is illegal, which raises an
        `Error`.
        """
        self._direct(lambda core, text: core.apply_text(text), [recipe], [""])
        return self

    @property
    def has_knobs(self) -> bool:
        """Whether a directive was given a knob (`hr.knob`)."""
        return bool(self._knobs.by_name)

    def space(self) -> Space:
        """The points that the knobs of the directives given so far span (`hr.knob`)."""
        if not self.has_knobs:
            raise InvalidArgumentError("schedule: expected a directive with hr.knob, got none")
        knobs, directives = self._knobs.copy(), list(self._directives)

        def recipe_at(point: Point) -> str:
            core = self._start()
            for directive in directives:
                directive.apply_to(core, knobs, point)
            return core.recipe

        return Space(knobs.by_name, recipe_at)

    def at(self, point: Mapping[str, Any]) -> str:
        """The recipe at a point of the space."""
        return self.space().recipe(point)

    def _direct(self, apply: Callable[..., None], arguments: list[Any], names: list[Any]) -> None:
        """Applies a directive, and notes it for other points. `names` are for knobs without a
        name, argument by argument.
        """
        knobs = self._knobs.copy()
        knobs.add(arguments, names)
        directive = Directive(apply, arguments)
        first = knobs.first()
        try:
            directive.apply_to(self._core, knobs, first)
        except Error as error:
            new = {name: first[name] for name in first if name not in self._knobs.by_name}
            if not new:
                raise
            raise type(error)(f"{text_of(new)}: {error}") from None
        self._knobs = knobs
        self._directives.append(directive)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recipe to a file."""
        Path(path).write_text(self.recipe, encoding="utf-8")

    def load(self, path: str | os.PathLike[str]) -> Self:
        """Apply the recipe in a file."""
        return self.apply(Path(path).read_text(encoding="utf-8"))


class Directive:
    """A directive as it was given: its arguments may be knobs."""

    def __init__(self, apply: Callable[..., None], arguments: list[Any]) -> None:
        self.apply = apply  # to a core schedule, with the arguments
        self.arguments = arguments

    def apply_to(self, core: Any, knobs: Knobs, point: Point) -> None:
        values = knobs.resolved(self.arguments, point)
        if not any(left_out(value) for value in values):
            self.apply(core, *values)


def left_out(value: Any) -> bool:
    """Whether a directive with this argument is not given at all."""
    return value is None or (isinstance(value, list) and any(map(left_out, value)))


class Schedule(Recipe):
    """Scheduling directives on the loops of a program's stages; made by `hr.schedule`.

    Each directive is checked when it is given; an illegal one raises an `Error` with the reason.

    >>> s = hr.schedule(C)
    >>> io, ii = s[C].split("i", 8)
    >>> s[C].parallel(io)
    >>> f = hr.compile(C, recipe=s)
    """

    def __getitem__(self, stage: Tensor | str) -> StageSchedule:
        """The loops of a stage, by the tensor or its name."""
        name = stage_name(stage)
        self._core.loops(name)  # says which stages there are
        return StageSchedule(self, name)

    def __repr__(self) -> str:
        lines = [f"{stage}: {self._core.summary(stage)}" for stage in self.stages]
        return "\n".join(["<headrace schedule", *(f"  {line}" for line in lines)]) + ">"


class LaunchSchedule(Recipe):
    """How the stages of a program are launched on a device; made by `hr.schedule`.

    Each launch is checked when it is given; an illegal one raises an `Error` with the reason.

    >>> s = hr.schedule(C, target="cuda:sm_90a")
    >>> s[C].launch("product", tileM=64, tileN=64)
    >>> f = hr.compile(C, recipe=s)
    """

    def __init__(self, start: Callable[[], _core.LaunchSchedule]) -> None:
        super().__init__(start)
        self.target = self._core.target

    def __getitem__(self, stage: Tensor | str) -> StageLaunch:
        """A stage, by the tensor or its name."""
        name = stage_name(stage)
        self._core.launch_of(name)  # says which stages there are
        return StageLaunch(self, name)

    def __repr__(self) -> str:
        lines = [f"{stage}: {self._core.launch_of(stage) or INLINE}" for stage in self.stages]
        return "\n".join(["<headrace launches", *(f"  {line}" for line in lines)]) + ">"


INLINE = "computed where it is read"


class StageLaunch:
    """The launch of one stage."""

    def __init__(self, schedule: LaunchSchedule, name: str) -> None:
        self._schedule = schedule
        self.name = name

    def launch(self, kind: str | Knob, **parameters: int | Knob) -> None:
        """Launch the stage as this kind of kernel. The compiler chooses the parameters that are not
        given.
        """

        def apply(core: _core.LaunchSchedule, kind: str, *values: int) -> None:
            given = [f"{name}={operator.index(value)}" for name, value in zip(parameters, values)]
            core.apply_text(" ".join([f"{self.name}: {kind}", *given]) + "\n")

        names = [f"{self.name}.{name}" for name in ("kind", *parameters)]
        self._schedule._direct(apply, [kind, *parameters.values()], names)

    def __repr__(self) -> str:
        launch = self._schedule._core.launch_of(self.name)
        return f"<headrace stage '{self.name}': {launch or INLINE}>"


class StageSchedule:
    """The loops of one stage. Axes are given by name, or by the object that `hr.axis` made."""

    def __init__(self, schedule: Schedule, name: str) -> None:
        self._schedule = schedule
        self.name = name

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of the loops, outermost first."""
        return tuple(self._schedule._core.loops(self.name))

    def split(
        self, axis: Axis | str, factor: int | Knob, names: tuple[str, str] | None = None
    ) -> tuple[str, str]:
        """Split a loop into an outer one and an inner one of `factor` iterations; returns their
        names.
        """
        axis = axis_name(axis)
        outer, inner = names or (f"{axis}.o", f"{axis}.i")
        self._apply("split", axes=[axis], sizes=[factor], names=[outer, inner])
        return outer, inner

    def tile(self, axes: Sequence[Axis | str], sizes: Sequence[int | Knob]) -> tuple[str, ...]:
        """Split neighbouring loops, and move the inner loops inside all outer ones.

        Returns the names of the outer loops, then of the inner ones.
        """
        axes = [axis_name(axis) for axis in axes]
        names = [f"{axis}.o" for axis in axes] + [f"{axis}.i" for axis in axes]
        self._apply("tile", axes=axes, sizes=list(sizes))
        return tuple(names)

    def reorder(self, *axes: Axis | str | Knob) -> None:
        """Put all loops in this order, outermost first. A knob's values are whole orders."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], Knob) else list(axes)
        self._apply("reorder", axes=order)

    def fuse(self, *axes: Axis | str, name: str | None = None) -> str:
        """Fuse neighbouring loops into one; returns its name."""
        found = [axis_name(axis) for axis in axes]
        fused = name or "_".join(found)
        self._apply("fuse", axes=found, names=[fused])
        return fused

    def parallel(self, axis: Axis | str | Knob) -> None:
        """Share the iterations of the loop among threads."""
        self._apply("parallel", axes=[axis])

    def unroll(self, axis: Axis | str | Knob) -> None:
        """Unroll the loop."""
        self._apply("unroll", axes=[axis])

    def vectorize(self, axis: Axis | str | Knob) -> None:
        """Run the iterations of the innermost loop as lanes of vectors."""
        self._apply("vectorize", axes=[axis])

    def cache_read(self, source: Tensor | str, name: str | None = None) -> StageSchedule:
        """Add a stage that copies the elements of `source` that this stage reads; returns it."""
        found = stage_name(source)
        copy = name or f"{found}.local"
        self._apply("cache_read", target=found, names=[copy])
        return StageSchedule(self._schedule, copy)

    def cache_write(self, name: str | None = None) -> StageSchedule:
        """Compute the stage's values in another stage, from which it copies them; returns that
        stage.
        """
        copy = name or f"{self.name}.local"
        self._apply("cache_write", names=[copy])
        return StageSchedule(self._schedule, copy)

    def compute_at(self, stage: Tensor | StageSchedule | str, axis: Axis | str | Knob) -> None:
        """Compute the stage inside a loop of another one, as far as one iteration needs it."""
        self._apply("compute_at", target=stage_name(stage), axes=[axis])

    def pack(self, source: Tensor | str, at: Axis | str | Knob) -> None:
        """Copy the elements of `source` that an iteration of the loop reads, in the order of its
        reads.
        """
        self._apply("pack", target=stage_name(source), axes=[at])

    def prefetch(self, source: Tensor | str, panels: int | Knob = 1) -> None:
        """Prefetch `source` this many panels (what a tile reads) ahead of their use; 0: never."""
        self._apply("prefetch", target=stage_name(source), sizes=[panels])

    def tensorize(self, axes: Sequence[Axis | str], intrinsic: Intrinsic | str) -> None:
        """Replace the innermost loops, named in the order of its axes, by calls of an intrinsic.

        Raises an `Error` if the loops do not compute what the intrinsic was declared to compute.
        """
        name = intrinsic if isinstance(intrinsic, str) else intrinsic.name
        self._apply("tensorize", target=name, axes=list(axes))

    def __repr__(self) -> str:
        return f"<headrace stage '{self.name}': {self._schedule._core.summary(self.name)}>"

    def _apply(
        self,
        kind: str,
        target: str = "",
        axes: Sequence[Axis | str | Knob] | Knob = (),
        sizes: Sequence[int | Knob] = (),
        names: Sequence[str] = (),
    ) -> None:
        def apply(core: _core.Schedule, axes: list[Any], sizes: list[Any]) -> None:
            loops, factors = [axis_name(axis) for axis in axes], [factor_of(size) for size in sizes]
            core.apply_step(kind, self.name, target, loops, factors, list(names))

        # A factor is named after the loop that it splits.
        sized = axes if axes and not isinstance(axes, Knob) else [kind] * len(sizes)
        labels = [f"{self.name}.{kind}", [f"{self.name}.{name}" for name in sized]]
        self._schedule._direct(apply, [axes, sizes], labels)


class Intrinsic:
    """An operation that a machine computes as a whole, declared by `hr.intrinsic`."""

    def __init__(self, name: str, tensor: Tensor) -> None:
        self.name = name
        self.tensor = tensor

    def __repr__(self) -> str:
        return f"<headrace intrinsic '{self.name}'>"


def intrinsic(
    name: str,
    tensor: Tensor,
    library: str | os.PathLike[str] | None = None,
    symbol: str | None = None,
) -> Intrinsic:
    """Declare an intrinsic, for `tensorize ... with NAME` in recipes.

    `tensor` gives its semantics, over placeholders of constant extents. `symbol` (by default
    `name`) is the C function in the shared `library` that implements it: for every placeholder in
    order, then for the result, it takes a pointer and, per dimension, a stride in elements
    (int64_t). A reduction accumulates into the result. Without a library, code is generated.
    """
    (stage,) = to_stages("hr.intrinsic", tensor)
    _core.declare_intrinsic(name, stage, os.fspath(library or ""), symbol or "")
    return Intrinsic(name, tensor)


@overload
def schedule(outputs: Tensor | Sequence[Tensor]) -> Schedule: ...
@overload
def schedule(outputs: Tensor | Sequence[Tensor], *, target: str) -> Schedule | LaunchSchedule: ...
def schedule(
    outputs: Tensor | Sequence[Tensor], *, target: str = "cpu"
) -> Schedule | LaunchSchedule:
    """An empty schedule of the program that computes these tensors.

    For a CPU, a `Schedule`, which says how loops run; for a device ("cuda", "cuda:sm_80", ...) a
    `LaunchSchedule`, which says how stages are launched.
    """
    stages = to_stages("hr.schedule", outputs)
    if target.partition(":")[0] == "cpu":
        return Schedule(lambda: _core.Schedule(stages))
    return LaunchSchedule(lambda: _core.LaunchSchedule(stages, target))


def stage_name(stage: Tensor | StageSchedule | str) -> str:
    name = stage if isinstance(stage, str) else stage.name
    if not name:
        raise InvalidArgumentError(
            "schedule: expected a tensor with a name (hr.compute(..., name=))"
        )
    return name


def factor_of(size: Any) -> int:
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise TypeMismatchError(f"schedule: expected an integer, got {size!r}")
    return operator.index(size)


def axis_name(axis: Axis | str) -> str:
    if isinstance(axis, str):
        return axis
    if not isinstance(axis, Axis):
        raise TypeMismatchError(
            f"schedule: expected the name of an axis or hr.axis, got {type(axis).__name__}"
        )
    if not axis.name:
        raise InvalidArgumentError("schedule: expected an axis with a name (hr.axis(..., name=))")
    return axis.name
