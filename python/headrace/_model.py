"""Programs: loaded from a file or made of expressions, compiled when first called, run, explained."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from headrace import _core, _device
from headrace._arrays import STORAGE, from_output, to_input
from headrace._background import BackgroundTuning
from headrace._defaults import Defaults
from headrace._explanation import Explanation
from headrace._knobs import Space, Tunable, milliseconds_of
from headrace._specs import TensorSpec
from headrace._values import from_value, inner, to_value
from headrace.errors import InvalidArgumentError, MissingInputError


class Model:
    """A program ready to be called; made by `headrace.load` or `headrace.compile`.

    Any number of threads may call it at once.

    >>> logits = digits(images)
    >>> logits = digits(image=images)  # the same, by name

    A program with several outputs returns a tuple, in declared order.

    Inputs are NumPy arrays, PyTorch tensors and anything else that supports DLPack or the buffer
    protocol. They are used in place if they are in C order, and must have the declared element
    type; numbers and lists of numbers are converted. Outputs are NumPy arrays that own their
    memory; `torch.from_dlpack(logits)` shares it.
    """

    def __init__(self, core: _core.Model, maker: str) -> None:
        self._core = core
        self._maker = maker
        self._inputs = tuple(TensorSpec(*spec) for spec in core.inputs)
        self._outputs = tuple(TensorSpec(*spec) for spec in core.outputs)
        self._positions = {spec.name: i for i, spec in enumerate(self._inputs)}
        self._defaults: Defaults | None = None  # of inputs that are not listed
        self._tunable: Tunable | None = None  # if its schedule has knobs
        self._tuning: BackgroundTuning | None = None  # if it was asked for

    @property
    def name(self) -> str:
        """The program's name."""
        return self._core.name

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """The declared inputs, in order."""
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """The declared outputs, in order."""
        return self._outputs

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of an ONNX file, such as the names of classes; empty for a package."""
        return self._core.metadata

    @property
    def weights(self) -> tuple[TensorSpec, ...]:
        """The program's named constants of floating-point type; `headrace.grad` takes their names."""
        return tuple(TensorSpec(*spec) for spec in self._core.weights)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the dynamic dimensions, such as "batch"."""
        return tuple(self._core.symbols)

    @property
    def compiled_versions(self) -> int:
        """The number of compiled versions that are cached now, each for some range of extents."""
        return self._core.compiled_versions

    def __call__(self, /, *args: Any, **kwargs: Any) -> np.ndarray | tuple[np.ndarray, ...]:
        """Run the program on inputs by position or by name.

        Returns an array if there is one output, else a tuple in declared order. Raises
        `MissingInputError`, `ShapeMismatchError` or `TypeMismatchError` if an input does not match
        its declaration, and `OutOfRangeError` or `DivisionByZeroError` for errors in the data.
        """
        model, values = self._bind(args, kwargs)
        return self._pack(model._run(values))

    def run_dict(self, feeds: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Run on inputs by name and return outputs by name.

        The names need not be Python identifiers:

        >>> digits.run_dict({"image": images})["logits"].shape
        (16, 10)
        """
        model, arranged = self._bind((), feeds)
        values = model._run(arranged)
        return {spec.name: value for spec, value in zip(self._outputs, values)}

    def reference(
        self, /, *args: Any, keep_double: bool = False, **kwargs: Any
    ) -> np.ndarray | tuple[np.ndarray, ...]:
        """Evaluate the program operator by operator in double precision: slow, but exact.

        The outputs have their declared types, or float64 with `keep_double`.

        >>> bool(np.allclose(digits(images), digits.reference(images), atol=1e-3))
        True
        """
        model, arranged = self._bind(args, kwargs)
        if model._core.is_split:
            values = model._core.reference_values(model._given(arranged), keep_double)
            return self._pack([from_value(value) for value in values])
        values = model._core.reference(arranged, model._convert, keep_double)
        return self._pack(self._typed(values))

    def compile(self, /, *args: Any, **kwargs: Any) -> Model:
        """Compile for the shapes of these inputs, as a call would, but do not run. Returns the
        model.

        A model that is split into several programs (`is_split`) is run: they depend on values.
        """
        if self._core.is_split:
            self._run(self._arrange(args, kwargs))
            return self
        self._core.compile(self._arrange(args, kwargs), self._convert)
        return self

    def ir(self, phase: str, sizes: Mapping[str, int] | None = None, /, **named_sizes: int) -> str:
        """The program as text after a phase of the compiler (see `headrace.phases`).

        Raises `InvalidArgumentError` if there is no such phase.

        >>> text = digits.ir("kernels", batch=16)
        """
        return self._core.ir(phase, self._sizes(sizes, named_sizes))

    def explain(self, sizes: Mapping[str, int] | None = None, /, **named_sizes: int) -> Explanation:
        """The compiler's report: data movement before and after, kernel by kernel.

        Returns a dict that prints as a table. Amounts are integers if they are known for the
        extents given here, else expressions such as "1024*batch".

        >>> report = digits.explain(batch=16)
        >>> report["after"]["bytes_moved"] < report["before"]["bytes_moved"]
        True
        """
        return Explanation(self._core.explain(self._sizes(sizes, named_sizes)))

    def space(self) -> Space:
        """The points that the knobs of the program's schedule span (`headrace.knob`).

        Raises `InvalidArgumentError` if the schedule has none.
        """
        return self._knobs().space

    def time(self, point: Mapping[str, Any], /, *args: Any, **kwargs: Any) -> float:
        """Compile the program with the schedule at a point of its space, run it, and return the
        milliseconds of a call: the median of several.

        The inputs are those of a call. Without any, floating-point values are random and all
        others zero; then the shapes must be constant.

        >>> ones = hr.compute((8, 16), lambda i, j: i * 0.5 + j, name="ones")
        >>> s = hr.schedule(ones)
        >>> io, ii = s[ones].split("i", hr.knob([2, 4], name="part"))
        >>> kernel = hr.compile(ones, recipe=s)
        >>> best = min(kernel.space(), key=kernel.time)
        """
        model = self._knobs().at(point)
        values = model._arrange(args, kwargs) if args or kwargs else self._some_inputs()
        return milliseconds_of(lambda: model._run(values))

    def _knobs(self) -> Tunable:
        if self._tunable is None:
            raise InvalidArgumentError(
                f"model '{self.name}': expected a schedule with a knob (hr.knob), got none"
            )
        return self._tunable

    def _some_inputs(self) -> list[Any]:
        for spec in self._inputs:
            if not all(isinstance(size, int) for size in spec.shape):
                raise InvalidArgumentError(
                    f"model '{self.name}': expected a value for input '{spec.name}', "
                    f"whose shape is dynamic, got none"
                )
        random = np.random.default_rng(0)
        return [
            random.random(spec.shape).astype(spec.dtype)
            if spec.element_type in ("f16", "bf16", "f32", "f64")
            else np.zeros(spec.shape, spec.dtype)
            for spec in self._inputs
        ]

    def explore(
        self,
        sizes: Mapping[str, int] | None = None,
        /,
        *,
        pes: Sequence[int] = (16, 128),
        granularity: str = "map",
        convention: str = "tight",
        tasks: int = 4096,
        search: int = 32,
        simulate: bool = True,
        **named_sizes: int,
    ) -> dict[str, Any]:
        """Task graphs of the program on arrays of processing elements, as `headrace explore` shows.

        All dynamic dimensions must have values. `pes` are numbers of processing elements.
        `granularity` is "map", a task for every operator or part of one, or "fused", with operators
        in the kernels that the compiler plans. Returns the report as a dict (docs/exploration.md).

        >>> report = digits.explore(batch=1, pes=[16])
        >>> whole = report["explorations"][-1]
        >>> cycles = min(outcome["makespan"] for outcome in whole["outcomes"])
        """
        for name, value, most in (("tasks", tasks, 2**16), ("search", search, 2**16)):
            if not 1 <= value <= most:
                raise InvalidArgumentError(f"{name}: expected 1 to {most}, got {value}")
        elements = [operator.index(count) for count in pes]
        if not elements or not all(1 <= count <= 2**20 for count in elements):
            raise InvalidArgumentError(f"pes: expected integers from 1 to {2**20}, got {list(pes)}")
        given = self._sizes(sizes, named_sizes)
        return json.loads(
            _core.explore(
                self._core, given, elements, granularity, convention, tasks, search, simulate
            )
        )

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self._inputs))
        outputs = ", ".join(map(str, self._outputs))
        return f"<headrace.Model '{self.name}' ({inputs}) -> ({outputs})>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"headrace.Model '{self.name}' cannot be pickled or copied: "
            f"expected {self._maker} in the process that needs it"
        )

    def to(self, target: str, /) -> Model:
        """This program compiled for another target: "cpu", "cuda", "cuda:sm_80", ...

        On "cuda", arrays of a CUDA device are used in place, and outputs are arrays there:
        PyTorch's tensors if an input was one, else `headrace.DeviceArray`. If all inputs are in
        host memory, so are the outputs. Raises `UnsupportedError` if there is no such device.

        >>> logits = digits.to("cuda")(torch.from_numpy(images).cuda())
        """
        return Model(self._core.to(target), self._maker)

    @property
    def is_split(self) -> bool:
        """Whether the model is split into several programs (graph breaks).

        A model is split if shapes, control flow or constants depend on data. Its programs are
        compiled as a call reaches them.
        """
        return self._core.is_split

    @property
    def staged(self) -> bool:
        """The former name of `is_split`."""
        return self.is_split

    def _given(self, values: list[Any]) -> list[Any]:
        return [
            to_value(value, spec.name, spec.element_type)
            for spec, value in zip(self._inputs, values)
        ]

    def _run_values(
        self, values: list[Any], wanted: Sequence[bool] = (), stop: _core.StopFlag | None = None
    ) -> list[Any]:
        """Outputs that are not requested are None."""
        found = self._core.run_values(self._given(values), [*wanted], stop)
        return [from_value(value) for value in found]

    def _run_profiled(
        self, values: list[Any], stop: _core.StopFlag | None
    ) -> tuple[list[Any], list[Any]]:
        """The outputs, and what each step took."""
        found, steps = self._core.run_profiled(self._given(values), stop)
        return [from_value(value) for value in found], steps

    def _run_into(
        self, values: list[Any], outputs: list[Any], stop: _core.StopFlag | None
    ) -> list[Any]:
        return self._core.run_into(values, self._convert, outputs, stop)

    def _run(self, values: list[Any], stop: _core.StopFlag | None = None) -> list[Any]:
        if self._tuning is not None:
            self._tuning.called(self, values)
        if self._core.is_split:
            return self._run_values(values, stop=stop)
        if self._core.on_device:
            outputs = _device.run(self._core, values, self._convert)
            if outputs is not None:
                return outputs
        return self._typed(self._core.run(values, self._convert, stop))

    def _convert(self, value: Any, index: int) -> Any:
        spec = self._inputs[index]
        return to_input(value, spec.name, spec.element_type)

    def _typed(self, values: list[np.ndarray]) -> list[np.ndarray]:
        return [
            value if spec.element_type not in STORAGE else from_output(value, spec.element_type)
            for spec, value in zip(self._outputs, values)
        ]

    @staticmethod
    def _pack(values: list[np.ndarray]) -> np.ndarray | tuple[np.ndarray, ...]:
        return values[0] if len(values) == 1 else tuple(values)

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Model, list[Any]]:
        """The model for these inputs, and its values: another one where inputs with defaults are given."""
        unlisted = [name for name in kwargs if name not in self._positions]
        other = self._defaults.model_given(unlisted) if unlisted and self._defaults else None
        if other is None or len(args) > len(self._inputs):
            return self, self._arrange(args, kwargs)
        named = {spec.name: value for spec, value in zip(self._inputs, args)}
        self._arrange(args, {name: kwargs[name] for name in kwargs if name not in unlisted})
        return other, other._arrange((), {**named, **kwargs})

    def _arrange(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The values in declared order, each given once."""
        count = len(self._inputs)
        if len(args) > count:
            raise InvalidArgumentError(
                f"model '{self.name}': expected {count} input{'s' * (count != 1)} "
                f"({self._names(self._positions)}), got {len(args)}"
            )
        values = [*args] + [None] * (len(self._inputs) - len(args))
        for name, value in kwargs.items():
            position = self._positions.get(name)
            if position is None:
                raise InvalidArgumentError(
                    f"model '{self.name}': expected inputs {self._names(self._positions)}, "
                    f"got '{name}'"
                )
            if position < len(args):
                raise InvalidArgumentError(
                    f"model '{self.name}': expected input '{name}' once, got it by position "
                    f"and by name"
                )
            values[position] = value
        for spec, value in zip(self._inputs, values):
            if value is None and inner(spec.element_type, "optional") is None:
                raise MissingInputError(
                    f"model '{self.name}': input '{spec.name}' is missing: expected {spec}"
                )
        return values

    def _sizes(
        self, sizes: Mapping[str, int] | None, named_sizes: Mapping[str, int]
    ) -> list[int | None]:
        """The sizes in the order of the symbols, None if they stay dynamic."""
        given = {**(sizes or {}), **named_sizes}
        for symbol, size in given.items():
            if symbol not in self.symbols:
                names = self._names(self.symbols)
                expected = f"expected {names}" if names else "the model has no dynamic dimensions"
                raise InvalidArgumentError(f"model '{self.name}': {expected}, got '{symbol}'")
            given[symbol] = operator.index(size)
            if given[symbol] < 0:
                raise InvalidArgumentError(
                    f"model '{self.name}': expected '{symbol}' of 0 or more, got {size}"
                )
        return [given.get(symbol) for symbol in self.symbols]

    @staticmethod
    def _names(names: Any) -> str:
        return ", ".join(f"'{name}'" for name in names)
