"""Schedules: how the loops of a program of tensor expressions run."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from headrace import _core
from headrace._expressions import Axis, Tensor, to_stages
from headrace.errors import InvalidArgumentError, TypeMismatchError

if TYPE_CHECKING:
    from typing_extensions import Self


class Recipe:
    """A schedule of a program's stages: text that can be printed, saved, edited and applied to
    another program with stages of the same names."""

    _core: _core.Schedule | _core.LaunchSchedule
    target = "cpu"

    @property
    def recipe(self) -> str:
        """The directives given so far, one per line."""
        return self._core.recipe

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the program's stages."""
        return tuple(self._core.stages)

    def apply(self, recipe: str) -> Self:
        """Apply the lines of a recipe: all of them, or none if one is illegal, which raises an
        `Error`.
        """
        self._core.apply_text(recipe)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recipe to a file."""
        Path(path).write_text(self.recipe, encoding="utf-8")

    def load(self, path: str | os.PathLike[str]) -> Self:
        """Apply the recipe in a file."""
        return self.apply(Path(path).read_text(encoding="utf-8"))


class Schedule(Recipe):
    """Scheduling directives on the loops of a program's stages; made by `hr.schedule`.

    Each directive is checked when it is given; an illegal one raises an `Error` with the reason.

    >>> s = hr.schedule(C)
    >>> io, ii = s[C].split("i", 8)
    >>> s[C].parallel(io)
    >>> f = hr.compile(C, recipe=s)
    """

    def __init__(self, core: _core.Schedule) -> None:
        self._core = core

    def __getitem__(self, stage: Tensor | str) -> StageSchedule:
        """The loops of a stage, by the tensor or its name."""
        name = stage_name(stage)
        self._core.loops(name)  # says which stages there are
        return StageSchedule(self._core, name)

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

    def __init__(self, core: _core.LaunchSchedule) -> None:
        self._core = core
        self.target = core.target

    def __getitem__(self, stage: Tensor | str) -> StageLaunch:
        """A stage, by the tensor or its name."""
        name = stage_name(stage)
        self._core.launch_of(name)  # says which stages there are
        return StageLaunch(self._core, name)

    def __repr__(self) -> str:
        lines = [f"{stage}: {self._core.launch_of(stage) or INLINE}" for stage in self.stages]
        return "\n".join(["<headrace launches", *(f"  {line}" for line in lines)]) + ">"


INLINE = "computed where it is read"


class StageLaunch:
    """The launch of one stage."""

    def __init__(self, core: _core.LaunchSchedule, name: str) -> None:
        self._core = core
        self.name = name

    def launch(self, kind: str, **parameters: int) -> None:
        """Launch the stage as this kind of kernel. The compiler chooses the parameters that are not
        given.
        """
        given = [f"{name}={operator.index(value)}" for name, value in parameters.items()]
        self._core.apply_text(" ".join([f"{self.name}: {kind}", *given]) + "\n")

    def __repr__(self) -> str:
        return f"<headrace stage '{self.name}': {self._core.launch_of(self.name) or INLINE}>"


class StageSchedule:
    """The loops of one stage. Axes are given by name, or by the object that `hr.axis` made."""

    def __init__(self, core: _core.Schedule, name: str) -> None:
        self._core = core
        self.name = name

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of the loops, outermost first."""
        return tuple(self._core.loops(self.name))

    def split(
        self, axis: Axis | str, factor: int, names: tuple[str, str] | None = None
    ) -> tuple[str, str]:
        """Split a loop into an outer one and an inner one of `factor` iterations; returns their
        names.
        """
        axis = axis_name(axis)
        outer, inner = names or (f"{axis}.o", f"{axis}.i")
        self._apply("split", axes=[axis], sizes=[factor], names=[outer, inner])
        return outer, inner

    def tile(self, axes: Sequence[Axis | str], sizes: Sequence[int]) -> tuple[str, ...]:
        """Split neighbouring loops, and move the inner loops inside all outer ones.

        Returns the names of the outer loops, then of the inner ones.
        """
        axes = [axis_name(axis) for axis in axes]
        names = [f"{axis}.o" for axis in axes] + [f"{axis}.i" for axis in axes]
        self._apply("tile", axes=axes, sizes=list(sizes))
        return tuple(names)

    def reorder(self, *axes: Axis | str) -> None:
        """Put all loops in this order, outermost first."""
        self._apply("reorder", axes=[axis_name(axis) for axis in axes])

    def fuse(self, *axes: Axis | str, name: str | None = None) -> str:
        """Fuse neighbouring loops into one; returns its name."""
        found = [axis_name(axis) for axis in axes]
        fused = name or "_".join(found)
        self._apply("fuse", axes=found, names=[fused])
        return fused

    def parallel(self, axis: Axis | str) -> None:
        """Share the iterations of the loop among threads."""
        self._apply("parallel", axes=[axis_name(axis)])

    def unroll(self, axis: Axis | str) -> None:
        """Unroll the loop."""
        self._apply("unroll", axes=[axis_name(axis)])

    def vectorize(self, axis: Axis | str) -> None:
        """Run the iterations of the innermost loop as lanes of vectors."""
        self._apply("vectorize", axes=[axis_name(axis)])

    def cache_read(self, source: Tensor | str, name: str | None = None) -> StageSchedule:
        """Add a stage that copies the elements of `source` that this stage reads; returns it."""
        found = stage_name(source)
        copy = name or f"{found}.local"
        self._apply("cache_read", target=found, names=[copy])
        return StageSchedule(self._core, copy)

    def cache_write(self, name: str | None = None) -> StageSchedule:
        """Compute the stage's values in another stage, from which it copies them; returns that
        stage.
        """
        copy = name or f"{self.name}.local"
        self._apply("cache_write", names=[copy])
        return StageSchedule(self._core, copy)

    def compute_at(self, stage: Tensor | StageSchedule | str, axis: Axis | str) -> None:
        """Compute the stage inside a loop of another one, as far as one iteration needs it."""
        self._apply("compute_at", target=stage_name(stage), axes=[axis_name(axis)])

    def pack(self, source: Tensor | str, at: Axis | str) -> None:
        """Copy the elements of `source` that an iteration of the loop reads, in the order of its
        reads.
        """
        self._apply("pack", target=stage_name(source), axes=[axis_name(at)])

    def prefetch(self, source: Tensor | str, panels: int = 1) -> None:
        """Prefetch `source` this many panels (what a tile reads) ahead of their use; 0: never."""
        self._apply("prefetch", target=stage_name(source), sizes=[panels])

    def tensorize(self, axes: Sequence[Axis | str], intrinsic: Intrinsic | str) -> None:
        """Replace the innermost loops, named in the order of its axes, by calls of an intrinsic.

        Raises an `Error` if the loops do not compute what the intrinsic was declared to compute.
        """
        name = intrinsic if isinstance(intrinsic, str) else intrinsic.name
        self._apply("tensorize", target=name, axes=[axis_name(axis) for axis in axes])

    def __repr__(self) -> str:
        return f"<headrace stage '{self.name}': {self._core.summary(self.name)}>"

    def _apply(
        self,
        kind: str,
        target: str = "",
        axes: Sequence[str] = (),
        sizes: Sequence[int] = (),
        names: Sequence[str] = (),
    ) -> None:
        self._core.apply_step(kind, self.name, target, list(axes), list(sizes), list(names))


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
        return Schedule(_core.Schedule(stages))
    return LaunchSchedule(_core.LaunchSchedule(stages, target))


def stage_name(stage: Tensor | StageSchedule | str) -> str:
    name = stage if isinstance(stage, str) else stage.name
    if not name:
        raise InvalidArgumentError(
            "schedule: expected a tensor with a name (hr.compute(..., name=))"
        )
    return name


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
