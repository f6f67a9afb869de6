"""Node cases whose scales, sizes, axes and the like are inputs of the graph: right where these are constants."""

from __future__ import annotations

import collections
import dataclasses

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

pytest.importorskip("headrace")
from run import load_cases, unpacked, verdict  # noqa: E402

#: By operator, the inputs that must be known when a model is read.
KNOWN = {
    "Resize": (1, 2, 3),
    "Upsample": (1,),
    "CumSum": (1,),
    "CumProd": (1,),
    "TopK": (1,),
    "OneHot": (1,),
    "CenterCropPad": (1,),
    "AffineGrid": (1,),
    "Col2Im": (1, 2),
    "Pad": (1, 3),
    "DFT": (1, 2),
    "STFT": (1, 3),
    "HannWindow": (0,),
    "HammingWindow": (0,),
    "BlackmanWindow": (0,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "MaxUnpool": (2,),
    "ReduceMax": (1,),
    "ReduceMin": (1,),
}


@dataclasses.dataclass
class KnownCase:
    model: onnx.ModelProto
    data_sets: list
    rtol: float
    atol: float


def with_constants(case) -> KnownCase:
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    graph, node = model.graph, model.graph.node[0]
    known = {node.input[i] for i in KNOWN[node.op_type] if i < len(node.input) and node.input[i]}
    names = [value.name for value in graph.input]
    inputs, expected = case.data_sets[0]
    given = dict(zip(names, map(unpacked, inputs)))
    for name in sorted(known):
        graph.initializer.append(numpy_helper.from_array(np.asarray(given[name]), name))
    for value in [value for value in graph.input if value.name in known]:
        graph.input.remove(value)
    rest = [value for name, value in given.items() if name not in known]
    return KnownCase(model, [(rest, expected)], case.rtol, case.atol)


def test_cases_are_right_where_scales_and_sizes_are_constants() -> None:
    cases = {
        name: with_constants(case)
        for name, case in load_cases().items()
        if len(case.model.graph.node) == 1 and case.model.graph.node[0].op_type in KNOWN
    }
    verdicts = {name: verdict(case) for name, case in cases.items()}
    counts = collections.Counter(kind for kind, _ in verdicts.values())
    failures = {name: found for name, found in verdicts.items() if found[0] != "pass"}
    assert not failures
    assert counts["pass"] >= 110
