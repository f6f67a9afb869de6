"""The operators of `bench movement` are valid models that move what their cases say."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from bench.movement import cases, copy_of

CASES = list(cases(1))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_models_have_the_shapes_of_their_cases(case):
    model = onnx.load_from_string(case.model())
    onnx.checker.check_model(model, full_check=True)
    result = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    dims = result.graph.output[0].type.tensor_type.shape.dim
    assert tuple(dim.dim_value for dim in dims) == case.result
    assert case.moved() == 4 * (np.prod(case.shape) + np.prod(case.result))


@pytest.mark.parametrize("threads", (1, 3))
def test_copies_run_on_any_number_of_threads(threads):
    copy_of(8 * 1000, threads)()
