"""Scripts in DML: linear algebra with control flow, compiled as sizes become known."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from headrace import _core, _frames
from headrace.errors import InvalidArgumentError, IoError, TypeMismatchError


def script(
    source: str | os.PathLike[str],
    *,
    arguments: Mapping[str, Any] | None = None,
    script_path: Sequence[str | os.PathLike[str]] = (),
    compile: str = "auto",
    inputs: Sequence[str] = (),
    results: Sequence[str] = (),
) -> Script:
    """A script from its text, or from a file if `source` is a path object.

    `inputs` names the variables that positional arguments of a call are, `results` those that a
    call returns, and nothing else is computed; by default all. `arguments` are the values of the script's `$name`s. Functions that it does not define are
    looked up in the directories of `script_path` and of HEADRACE_SCRIPT_PATH. `compile` says when
    blocks are compiled: "auto" (if it pays), "always", or "never". Raises `InvalidScriptError`,
    with line and column.

    >>> scaled = hr.script("Y = X * 2; total = sum(Y)")
    >>> scaled(X=[[1.0, 2.0]])["total"]
    6.0
    >>> total = hr.script("y = sum(X * X)", inputs=["X"], results=["y"])
    >>> total([[1.0, 2.0]]).y
    5.0
    """
    name, text = "script", source
    if not isinstance(source, str):
        name = os.fspath(source)
        try:
            text = pathlib.Path(name).read_text()
        except OSError as error:
            raise IoError(f"{name}: cannot read the script: {error.strerror}") from error
    folders = [os.fspath(folder) for folder in script_path]
    session = _core.script(name, text, folders, compile, print, list(results))
    given = {str(key): _as_text(value) for key, value in (arguments or {}).items()}
    return Script(session, given, (name, text, folders), tuple(inputs))


def write_script_package(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    inputs: Mapping[str, Any] | None = None,
    results: Sequence[str] = (),
    arguments: Mapping[str, Any] | None = None,
    script_path: Sequence[str | os.PathLike[str]] = (),
    processors: Sequence[str] = (),
) -> None:
    """Compile the script in a file ahead of time into a package, which runs without the compiler.

    The script runs once with `inputs`, the variables that it starts from, and `arguments`, its
    `$name`s: this trial shows what there is to compile. The code serves other dimensions, too;
    parts that the trial did not reach are interpreted. `results` names the variables that are
    outputs; by default all matrices and numbers that the script leaves. `processors` are as in
    `write_package`. `headrace.load` opens the package.

    >>> X, y = np.random.default_rng(0).random((1000, 5)), np.ones((1000, 1))
    >>> script = "examples/scripts/regression.dml"
    >>> hr.write_script_package(script, "fit.hrpkg", inputs={"X": X, "y": y}, results=["B"])
    >>> hr.load("fit.hrpkg")(X=X, y=y)["B"].shape
    (5, 1)
    """
    _core.write_script_package(
        os.fspath(path),
        os.fspath(output),
        list(processors),
        {name: _to_value(name, value) for name, value in (inputs or {}).items()},
        list(results),
        {str(key): _as_text(value) for key, value in (arguments or {}).items()},
        [os.fspath(folder) for folder in script_path],
    )


def packaged_script(package: _core.Package, program: str) -> Script | None:
    """The script of that name, where the package has one."""
    session = _core.packaged_script(package, program, print)
    return None if session is None else Script(session, {})


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return str(value)


class Script:
    """A script ready to be called; made by `headrace.script`, or by `headrace.load` from a package.

    Matrices are NumPy arrays, SciPy sparse matrices, PyTorch tensors and anything else that
    supports DLPack or the buffer protocol; arrays of doubles are used in place. Frames are dicts of
    columns, or tables of pandas. Later calls reuse the code compiled for earlier ones.
    """

    def __init__(
        self,
        session: Any,
        arguments: dict[str, str],
        source: tuple[str, str, list[str]] | None = None,
        inputs: tuple[str, ...] = (),
    ) -> None:
        self._session = session
        self._arguments = arguments
        self._source = source  # None if it is from a package
        self._inputs = inputs

    def with_arguments(self, **arguments: Any) -> Script:
        """This script with values for its `$name`s."""
        texts = {name: _as_text(value) for name, value in arguments.items()}
        return Script(self._session, {**self._arguments, **texts}, self._source, self._inputs)

    def __call__(self, *values: Any, **variables: Any) -> Variables:
        """Run the script on the variables that it starts from; returns the variables that it
        leaves. Positional arguments are the variables that `inputs` of `headrace.script` names.
        """
        if len(values) > len(self._inputs):
            raise InvalidArgumentError(
                f"expected at most {len(self._inputs)} positional arguments "
                f"({', '.join(self._inputs) or 'no inputs are named'}), got {len(values)}"
            )
        for name, value in zip(self._inputs, values, strict=False):
            if name in variables:
                raise InvalidArgumentError(f"variable '{name}' is given twice")
            variables[name] = value
        inputs = {name: _to_value(name, value) for name, value in variables.items()}
        return Variables(self._session.run(inputs, self._arguments))

    def _verify(self, variables: Mapping[str, Any]) -> tuple[str, str]:
        if self._source is None:
            raise InvalidArgumentError(
                "verify: expected a script from a file or a text, got one from a package"
            )
        inputs = {name: _to_value(name, value) for name, value in variables.items()}
        return _core.verify_script(*self._source, inputs, self._arguments)

    @property
    def statistics(self) -> dict[str, Any]:
        """Compilations, cache hits and times of the last call."""
        return self._session.statistics


class Variables(Mapping[str, Any]):
    """The variables of a script after a run, a mapping. Each is converted when it is first read.
    `left["w"]` is `left.w`, too, if the name is not one of a mapping's methods.

    Matrices are NumPy arrays of rank 2, or SciPy CSR matrices if the script has them in sparse
    form; lists are lists of (name, value), frames dicts of columns.
    """

    def __init__(self, variables: Any) -> None:
        self._variables = variables
        self._names = variables.names()
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            if name not in self._names:
                raise KeyError(name)
            self._read[name] = _from_value(self._variables.get(name))
        return self._read[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(f"the script leaves no variable '{name}'")
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<variables {', '.join(self._names)}>"


def _to_value(name: str, value: Any) -> Any:
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic) and value.ndim == 0:
        return value.item()
    if hasattr(value, "_value") and hasattr(value, "_ref"):  # a lazy matrix
        return value._value()
    if _frames.is_frame(value):
        return _frames.to_parts(name, value)
    if hasattr(value, "tocsr"):
        matrix = value.tocsr()
        return (
            *matrix.shape,
            np.ascontiguousarray(matrix.indptr, np.int64),
            np.ascontiguousarray(matrix.indices, np.int64),
            np.ascontiguousarray(matrix.data, np.float64),
        )
    return _to_matrix(name, value)


def _to_matrix(name: str, value: Any) -> np.ndarray:
    try:
        is_array = isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__")
        array = np.asarray(value) if is_array else np.from_dlpack(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise TypeMismatchError(
            f"variable '{name}': expected a matrix or a scalar, got {type(value).__name__} ({error})"
        ) from error
    if array.dtype.kind not in "biuf":
        raise TypeMismatchError(f"variable '{name}': expected numeric values, got {array.dtype}")
    if array.ndim == 1:
        array = array.reshape(-1, 1)  # a vector is a column
    if array.ndim != 2:
        raise InvalidArgumentError(
            f"variable '{name}': expected a matrix of rank 2, got rank {array.ndim}"
        )
    return np.require(array, np.float64, ["C", "A"])


def _from_value(value: Any) -> Any:
    if isinstance(value, list):
        return [(name, _from_value(entry)) for name, entry in value]
    if not isinstance(value, tuple):
        return value
    if value[0] == "frame":
        return _frames.from_parts(value[2])
    rows, columns, offsets, indices, values = value
    try:
        from scipy.sparse import csr_matrix
    except ImportError:
        dense = np.zeros((rows, columns))
        dense[np.repeat(np.arange(rows), np.diff(offsets)), indices] = values
        return dense
    return csr_matrix((values, indices, offsets), shape=(rows, columns))
