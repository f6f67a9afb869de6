"""Recurrent layers over no steps: no outputs, and the initial states as the last ones."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import pytest
from onnx_peer import runtime_results

from cases.operators.recurrences import layer

DIRECTIONS = ["forward", "reverse", "bidirectional"]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_no_steps_leave_the_initial_states(tmp_path: Path, op: str, direction: str) -> None:
    case = layer(op, initial=True, direction=direction, free={0: ["n", 2, 3]})
    path = case.save(tmp_path)
    model = hr.load(path)
    for steps in (5, 0, 2):
        inputs = {**case.inputs, "x0": case.inputs["x0"][:steps]}
        initial = [value for name, value in inputs.items() if name in ("x5", "x6")]
        # ONNX Runtime ends the process over no steps.
        ways = 2 if direction == "bidirectional" else 1
        expected = [np.empty((0, ways, 2, 4)), *initial]
        if steps > 0:
            expected = runtime_results(str(path), inputs)
        for results in (model.run_dict(inputs), model.reference(**inputs)):
            found = results.values() if isinstance(results, dict) else results
            for ours, theirs in zip(found, expected, strict=True):
                assert ours.shape == theirs.shape
                np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


def test_states_are_zero_without_initial_ones(tmp_path: Path) -> None:
    model = hr.load(layer("GRU", steps=0, batch=3).save(tmp_path))
    inputs = layer("GRU", steps=0, batch=3).inputs
    y, h = model.run_dict(inputs).values()
    assert y.shape == (0, 1, 3, 4)
    np.testing.assert_array_equal(h, np.zeros((1, 3, 4)))
