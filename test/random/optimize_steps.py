"""Random sequences of steps of guided optimization: the program computes the same after each sequence.

    python test/random/optimize_steps.py MODEL.onnx ... --count 200 --seed 0

Each sequence takes a model, does one to four random legal steps (of a random kind each), and compares the results of
the compiled program, which follows the saved recipe, with the reference evaluation in double precision. Then it undoes
all steps, and the recipe has to be that of the start.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

import headrace as hr
import numpy as np
import onnx

from cases.policy import assert_close

VERBS = (
    "fuse",
    "separate",
    "merge",
    "layout",
    "expand",
    "walk",
    "pack",
    "slice",
    "leave",
    "schedule",
)


def with_sizes(path: Path, size: int, folder: Path) -> Path:
    """The model with each dynamic dimension of this size: recipes are complete for one size."""
    model = onnx.load(path)
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_param"):
                dim.dim_value = size
    fixed = folder / path.name
    onnx.save(model, fixed)
    return fixed


def inputs_of(model: hr.Model, seed: int) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    values = []
    for spec in model.inputs:
        shape = list(spec.shape)
        dtype = np.dtype(str(spec.dtype))
        if dtype.kind == "f":
            values.append(generator.standard_normal(shape).astype(dtype))
        else:
            values.append(generator.integers(0, 2, shape).astype(dtype))
    return values


def run_sequence(path: Path, seed: int) -> list[str]:
    choose = random.Random(seed)
    model = hr.load(path)
    guided = hr.optimize(model, start=choose.choice(("auto", "unfused")))
    start, done = guided.recipe, []
    wanted = choose.randint(1, 4)
    for _ in range(4 * wanted):
        legal = [step["step"] for step in guided.steps(choose.choice(VERBS)) if step["legal"]]
        if not legal:
            continue
        done.append(choose.choice(legal))
        guided.apply(done[-1])
        if len(done) == wanted:
            break
    values = inputs_of(model, seed)
    expected = model.reference(*values, keep_double=True)
    found = hr.load(path, recipe=guided.recipe)(*values)
    assert_close(found, expected, tolerance=1e-4)
    while guided.undo():
        pass
    assert guided.recipe == start, "undoing all steps gives another recipe"
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=3, help="of each dynamic dimension")
    options = parser.parse_args()
    failed = steps = 0
    folder = tempfile.TemporaryDirectory()
    models = [with_sizes(path, options.size, Path(folder.name)) for path in options.models]
    for number in range(options.count):
        path = models[number % len(models)]
        seed = options.seed + number
        try:
            steps += len(run_sequence(path, seed))
        except (AssertionError, hr.Error) as error:
            failed += 1
            print(f"{path.name}, seed {seed}: {error}", flush=True)
    print(
        f"{options.count} sequences of {steps} steps on {len(options.models)} models: {failed} wrong"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
