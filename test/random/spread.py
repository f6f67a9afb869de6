"""How far right results may be apart where a function is steep: tan of a sum that comes near pi / 2, say.

The range analysis of the generator does not follow numbers that may be anything (`Program.special`). Of these the
reference evaluation is asked again, with every rounded result that other nodes read moved by a few units in its last
place, a direction for each element. What the results differ by is the condition of the program at this point. Values
that are exact stay as they are, so that a function must be right at the number it is given, however steep it is.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from cases.graphs.values import MANTISSA, Program, epsilon
from engines import Engine

TRIES = 8
UNITS = 4


@dataclass
class Spread:
    """The least and the largest of each element; NaN is neither, and may occur in addition to them."""

    low: np.ndarray
    high: np.ndarray
    is_nan: np.ndarray

    @staticmethod
    def of(results: list[np.ndarray]) -> Spread:
        all_ = np.stack([np.asarray(result, np.float64) for result in results])
        return Spread(np.fmin.reduce(all_), np.fmax.reduce(all_), np.isnan(all_).any(axis=0))

    def holds(self, found: np.ndarray) -> np.ndarray:
        """A few tries do not meet the extremes: as much again is allowed on either side. A spread of nothing holds
        nothing: there the ordinary tolerance decides."""
        with np.errstate(all="ignore"):
            width = np.nan_to_num(self.high - self.low, nan=0.0)
            between = (found >= self.low - width) & (found <= self.high + width)
        return (between & (self.high > self.low)) | (np.isnan(found) & self.is_nan)


def is_rounded(program: Program, name: str) -> bool:
    return program.types.get(name) in MANTISSA and program.tolerances.get(name, 0.0) > 0


def moved(program: Program, random: np.random.Generator) -> onnx.ModelProto:
    """The program, at the sizes of its inputs, in which nodes read rounded results times 1 and a few units."""
    model = onnx.ModelProto()
    model.CopyFrom(program.model)
    graph, nodes, instead = model.graph, [], {}
    for value in graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, program.feeds[value.name].shape):
            dim.dim_value = size
    for node in program.model.graph.node:
        reader = onnx.NodeProto()
        reader.CopyFrom(node)
        for i, name in enumerate(reader.input):
            reader.input[i] = instead.get(name, name)
        nodes.append(reader)
        for name in node.output:
            if not is_rounded(program, name):
                continue
            dtype, shape = program.types[name], program.shapes[name]
            units = random.integers(-UNITS, UNITS, shape, endpoint=True)
            factors = np.asarray(1 + units * epsilon(dtype)).astype(dtype)
            graph.initializer.append(numpy_helper.from_array(factors, f"{name}_factors"))
            instead[name] = f"{name}_moved"
            nodes.append(helper.make_node("Mul", [name, f"{name}_factors"], [instead[name]]))
    graph.ClearField("node")
    graph.node.extend(nodes)
    return model


def spreads(program: Program, engine_for, exact: dict[str, np.ndarray]) -> dict[str, Spread]:
    """Of the outputs that may be anything; `exact` are the results where nothing is moved."""
    found = {name: [result] for name, result in exact.items() if name in program.special}
    random = np.random.default_rng(program.seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(TRIES if found else 0):
            path = Path(folder) / f"moved{number}.onnx"
            onnx.save(moved(program, random), path)
            engine: Engine = engine_for(path)
            results = engine.reference(program.feeds)
            for name, all_ in found.items():
                all_.append(results[name])
    return {name: Spread.of(all_) for name, all_ in found.items()}
