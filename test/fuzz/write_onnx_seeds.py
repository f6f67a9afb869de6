"""Writes small models as seeds: those of the operators' tests, and one for each operator that the onnx package has cases of.

    python test/fuzz/write_onnx_seeds.py build/fuzz-corpus/onnx

Mutations of a model seldom make the name of another operator: the fuzz target is given one of each.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from cases.operators.compute import compute_cases
from cases.operators.microsoft import microsoft_cases
from cases.operators.movement import movement_cases

MOST_BYTES = 4096  # what is longer is mostly weights, which mutations would change in vain


def operators_of(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield f"{node.domain}.{node.op_type}"
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from operators_of(inner)


def with_constants(model: onnx.ModelProto, inputs: list) -> onnx.ModelProto:
    """What may be shapes, axes, conditions, words or files is in the model, numbers stay inputs."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    kept = []
    for value, given in zip(model.graph.input, inputs):
        is_constant = isinstance(given, np.ndarray) and given.dtype.kind in "biuOSU"
        if is_constant:
            result.graph.initializer.append(numpy_helper.from_array(given, value.name))
        else:
            kept.append(value)
    del result.graph.input[:]
    result.graph.input.extend(kept)
    return result


def node_cases() -> Iterator[bytes]:
    """The smallest case with each operator that has none yet: control flow and functions bring several."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        cases = [case for case in load_model_tests(kind="node") if case.model is not None]
    models = []
    for case in cases:
        model = with_constants(case.model, case.data_sets[0][0])
        names = {*operators_of(model.graph)}
        names |= {f"{f.domain}.{f.name}" for f in model.functions}
        names |= {value.type.WhichOneof("value") for value in model.graph.input}
        content = model.SerializeToString()
        if len(content) <= MOST_BYTES:
            models.append((len(content), content, names))
    seen: set[str] = set()
    for _, content, names in sorted(models, key=lambda entry: entry[0]):
        if not names <= seen:
            seen |= names
            yield content


def external_data() -> bytes:
    """Weights in the file that the fuzz target has next to its models."""
    weights = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[2, 3])
    weights.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "weights.bin"), ("offset", "8"), ("length", "24")):
        weights.external_data.add(key=key, value=value)
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 2])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 3])
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y])
    graph.initializer.append(weights)
    opset = [helper.make_opsetid("", 20)]
    return helper.make_model(graph, opset_imports=opset).SerializeToString()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    own = (
        case.model().SerializeToString()
        for case in [*compute_cases(), *movement_cases(), *microsoft_cases()]
    )
    for kind, models in (("operator", own), ("node", node_cases()), ("files", [external_data()])):
        for number, model in enumerate(models):
            if len(model) <= MOST_BYTES:
                (folder / f"{kind}{number}.onnx").write_bytes(model)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
