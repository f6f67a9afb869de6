"""Schedules: how the loops of a program of tensor expressions are to run."""

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
        """All that was said so far, a line each."""
        return self._core.recipe

    @property
    def stages(self) -> tuple[str, ...]:
        return tuple(self._core.stages)

    def apply(self, recipe: str) -> Self:
        """Give the lines of a recipe: all of them, or none if one is not legal."""
        self._core.apply_text(recipe)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        Path(path).write_text(self.recipe, encoding="utf-8")

    def load(self, path: str | os.PathLike[str]) -> Self:
        return self.apply(Path(path).read_text(encoding="utf-8"))


class Schedule(Recipe):
    """Steps on the loops of a program's stages; each is checked when it is given.

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
    """How the stages of a program are launched on a device; each launch is checked when it is given.

    >>> s = hr.schedule(C, target="cuda")
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
        """Launch it so. The compiler chooses all that is not given."""
        given = [f"{name}={operator.index(value)}" for name, value in parameters.items()]
        self._core.apply_text(" ".join([f"{self.name}: {kind}", *given]) + "\n")

    def __repr__(self) -> str:
        return f"<headrace stage '{self.name}': {self._core.launch_of(self.name) or INLINE}>"


class StageSchedule:
    """The loops of one stage. Axes are given by name, or as made by `hr.axis`."""

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
        """Two loops instead of one: over parts of `factor` iterations, and inside one."""
        axis = axis_name(axis)
        outer, inner = names or (f"{axis}.o", f"{axis}.i")
        self._apply("split", axes=[axis], sizes=[factor], names=[outer, inner])
        return outer, inner

    def tile(self, axes: Sequence[Axis | str], sizes: Sequence[int]) -> tuple[str, ...]:
        """Splits of neighbouring loops, with the inner ones moved inside all outer ones.

        Returns the names of the outer loops, then of the inner ones.
        """
        axes = [axis_name(axis) for axis in axes]
        names = [f"{axis}.o" for axis in axes] + [f"{axis}.i" for axis in axes]
        self._apply("tile", axes=axes, sizes=list(sizes))
        return tuple(names)

    def reorder(self, *axes: Axis | str) -> None:
        """All loops in another order, outermost first."""
        self._apply("reorder", axes=[axis_name(axis) for axis in axes])

    def fuse(self, *axes: Axis | str, name: str | None = None) -> str:
        """One loop instead of neighbours."""
        found = [axis_name(axis) for axis in axes]
        fused = name or "_".join(found)
        self._apply("fuse", axes=found, names=[fused])
        return fused

    def parallel(self, axis: Axis | str) -> None:
        """The iterations are shared among threads."""
        self._apply("parallel", axes=[axis_name(axis)])

    def unroll(self, axis: Axis | str) -> None:
        self._apply("unroll", axes=[axis_name(axis)])

    def vectorize(self, axis: Axis | str) -> None:
        self._apply("vectorize", axes=[axis_name(axis)])

    def cache_read(self, source: Tensor | str, name: str | None = None) -> StageSchedule:
        """A copy of the elements of `source` that the stage reads, as a stage to be placed."""
        found = stage_name(source)
        copy = name or f"{found}.local"
        self._apply("cache_read", target=found, names=[copy])
        return StageSchedule(self._core, copy)

    def cache_write(self, name: str | None = None) -> StageSchedule:
        """The stage's values computed apart, then copied to their place."""
        copy = name or f"{self.name}.local"
        self._apply("cache_write", names=[copy])
        return StageSchedule(self._core, copy)

    def compute_at(self, stage: Tensor | StageSchedule | str, axis: Axis | str) -> None:
        """Computed inside a loop of another stage, as far as one iteration needs it."""
        self._apply("compute_at", target=stage_name(stage), axes=[axis_name(axis)])

    def pack(self, source: Tensor | str, at: Axis | str) -> None:
        """Copies the elements of `source` that a loop reads, in the order of its reads."""
        self._apply("pack", target=stage_name(source), axes=[axis_name(at)])

    def prefetch(self, source: Tensor | str, panels: int = 1) -> None:
        """Fetches `source` so many panels ahead of their use (all that a tile reads); 0: never."""
        self._apply("prefetch", target=stage_name(source), sizes=[panels])

    def tensorize(self, axes: Sequence[Axis | str], intrinsic: Intrinsic | str) -> None:
        """One call of an intrinsic instead of the innermost loops, named in order of its axes.

        Refused where the loops do not compute what the intrinsic was declared to compute.
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
    """Something a machine computes in one go, declared by `hr.intrinsic`."""

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
    """Declare an intrinsic: recipes may say `tensorize ... with NAME` from now on.

    `tensor` says what it computes, over placeholders of constant sizes. `symbol` (else `name`) of
    the shared `library` is the C function that does: for every placeholder in order, then for the
    result, it takes a pointer and, per dimension, how many elements apart neighbours lie (int64_t).
    It combines what it reduces into what the result holds. Without a library, code is generated.
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
    """A schedule of the program that computes these tensors, without a step yet.

    On a processor it says how loops run; on a device ("cuda", "cuda:sm_80", ...) how stages are
    launched.
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
