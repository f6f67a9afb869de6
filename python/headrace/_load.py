"""Models and packages loaded from files or memory, and packages written."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from headrace import _core
from headrace._background import BackgroundTuning
from headrace._defaults import Defaults
from headrace._model import Model
from headrace._script import Script, packaged_script
from headrace._values import to_any_value
from headrace.errors import InvalidArgumentError


class Serializable(Protocol):
    """What `onnx.ModelProto` is asked for."""

    def SerializeToString(self) -> bytes: ...  # noqa: N802


InMemory = bytes | bytearray | memoryview | Serializable


def load(
    path: str | os.PathLike[str] | InMemory | Any,
    example_inputs: Sequence[Any] | None = None,
    *,
    target: str = "cpu",
    expansion: str = "auto",
    plan_cache_size: int = 16,
    specialize: str = "auto",
    program: str = "",
    recipe: str = "",
    accelerator: str | os.PathLike[str] = "",
    tuning: str | os.PathLike[str] = "auto",
    tune: str = "",
    threads: int = 0,
) -> Model | Script:
    """Load a program from a file: an ONNX model or a program that PyTorch exported (`.pt2`), which
    are compiled when they are first called, or a package, which is compiled already (see
    `write_package`). Returns a `Script` for a packaged script, else a `Model`.

    `path` may also be the model itself: the bytes of such a file, an `onnx.ModelProto` without
    external data, a `torch.export.ExportedProgram`, or a `torch.nn.Module` together with
    `example_inputs`, the arguments that PyTorch exports the module for (docs/pytorch.md).

    `target`: "cpu", "cuda", ... (see `Model.to`).
    `expansion`: how matmuls and similar operators are computed: "generated" code, a library
    ("openblas", "cublas"), or "auto" for the one predicted to be faster.
    `plan_cache_size`: the maximum number of cached versions for different shapes.
    `specialize`: when a program with dynamic dimensions is compiled for exact shapes, which is
    faster: "auto" (in the background, once calls have taken as long as compiling did), "always"
    (before a call with new shapes) or "never" (docs/onnx.md).
    `program`: selects one of several programs in a package.
    `recipe`: choices of the compiler as text, all or some (docs/recipes.md).
    `accelerator`: the file of an accelerator to whose operators the program is mapped first
    (docs/rewriting.md).
    `tuning`: results of tuning that schedules are taken from: "auto" for those in the user's cache,
    "never", or the path of a file (docs/tuning.md).
    `tune`: "background" tunes the model at path `path` beside its calls, in a process of low
    priority, for the shapes of the first call; later calls use the faster program.
    `threads`: the number of threads of a call; 0 for that of the process (`get_threads`).

    Raises `InvalidFileError`, `InvalidModelError` or `UnsupportedError`, whose message names the
    node.

    >>> digits = hr.load("examples/digits/digits.onnx")
    >>> digits.inputs[0].shape
    ('batch', 1, 8, 8)
    """
    data = bytes_of(path, example_inputs)
    package = None
    if data is None:
        path = os.fspath(path)
        package = _core.open_package(path)
    if package is not None and (found := packaged_script(package, program)):
        return found
    maker = f"headrace.load({path!r})" if data is None else "headrace.load of the same bytes"
    settings = {
        "target": target,
        "expansion": expansion,
        "plan_cache_size": plan_cache_size,
        "specialize": specialize,
        "recipe": recipe,
        "accelerator": accelerator,
        "program": program,
        "tuning": os.fspath(tuning),
    }
    if tune not in ("", "background"):
        raise InvalidArgumentError(f"tune: expected 'background', got {tune!r}")
    if tune and (data is not None or package is not None):
        raise InvalidArgumentError(
            f"tune: expected the path of an ONNX file or an exported program, got {maker}"
        )

    def load_given(names: Sequence[str]) -> Model:
        given = _core.Settings(**settings, given_inputs=[*names])
        core = _core.load(path, package, given) if data is None else _core.load_bytes(data, given)
        core.use_threads(operator.index(threads))
        return Model(core, maker)

    model = load_given(())
    # Holds the bytes of a model in memory, which are let go where nothing is loaded again.
    _inputs, _outputs, defaults = model._core.declared
    model._defaults = Defaults(load_given) if defaults else None
    if tune:
        model._tuning = BackgroundTuning(path, target, lambda: load_given(()))
    return model


def bytes_of(model: Any, example_inputs: Sequence[Any] | None = None) -> bytes | None:
    """The file's content for a model in memory, None for a path."""
    if example_inputs is not None or hasattr(model, "graph_signature"):
        from headrace.torch._export import exported_bytes

        return exported_bytes(model, example_inputs)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    serialize = getattr(model, "SerializeToString", None)
    return None if serialize is None else serialize()


def write_package(
    models: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    target: str = "cpu",
    processors: Sequence[str] = (),
    expansion: str = "generated",
    sizes: Mapping[str, int] | None = None,
    recipe: str = "",
    accelerator: str | os.PathLike[str] = "",
    samples: Sequence[Mapping[str, Any]] = (),
    given: Sequence[str] = (),
) -> None:
    """Compile ONNX models ahead of time into one package, which runs without the compiler.

    `processors`: x86-64 microarchitecture levels ("x86-64-v3"), or "native"; by default the package
    has code for all levels, and the best is chosen when it is loaded. With the target "cuda" (or
    "cuda:sm_80", ...) the package runs on a CUDA device instead. `sizes` fixes dynamic dimensions.
    `recipe` is that of `load`, for one model; `expansion` and `accelerator` apply to all models.
    `samples` are inputs by name that models split into several programs are tried with: sizes that
    differ between them stay dynamic. Without samples, random numbers of three sizes are tried.
    `given` names parameters, buffers or initializers of a model that are inputs of its program: a
    buffer that the model changes is given to a call as the call before returned it (`new_NAME`).

    >>> hr.write_package("examples/digits/digits.onnx", "digits.hrpkg")
    >>> logits = hr.load("digits.hrpkg")(images)
    """
    paths = [models] if isinstance(models, (str, os.PathLike)) else models
    _core.write_package(
        [os.fspath(path) for path in paths],
        os.fspath(output),
        target,
        list(processors),
        expansion,
        [(name, operator.index(size)) for name, size in (sizes or {}).items()],
        recipe,
        accelerator,
        [{name: to_any_value(value, name) for name, value in sample.items()} for sample in samples],
        list(given),
    )
