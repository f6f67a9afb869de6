"""Nodes of com.microsoft whose inputs have other ranks or sizes than they can: one sentence, no reading beyond shapes."""

from __future__ import annotations

from pathlib import Path

import headrace as hr
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from cases.policy import assert_close

F32, I32 = TensorProto.FLOAT, TensorProto.INT32


def load(folder: Path, op: str, inputs: list, outputs: int = 1, **attributes) -> hr.Model:
    names = [f"x{i}" if given else "" for i, given in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain="com.microsoft", **attributes)
    values = [helper.make_tensor_value_info(n, *given) for n, given in zip(names, inputs) if given]
    outs = [helper.make_tensor_value_info(name, F32, None) for name in results]
    graph = helper.make_graph([node], "g", values, outs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets), path)
    return hr.load(path)


IDS, WORDS, VECTOR = (I32, [2, 3]), (F32, [9, 8]), (F32, [8])
HEADS = {"num_heads": 2}
GROUPS = {"num_heads": 4, "kv_num_heads": 2}
QUERY, KEY, LAST, TOTAL = (F32, [1, 3, 32]), (F32, [1, 3, 16]), (I32, [1]), (I32, [])
CACHE = (F32, [1, 2, 5, 8])


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "message"),
    [
        (
            "EmbedLayerNormalization",
            [IDS, None, WORDS, (F32, [5]), None, VECTOR, VECTOR],
            {},
            "expected rank 2",
        ),
        (
            "EmbedLayerNormalization",
            [IDS, None, WORDS, (F32, []), None, VECTOR, VECTOR],
            {},
            "expected rank 2",
        ),
        (
            "EmbedLayerNormalization",
            [IDS, None, WORDS, WORDS, None, VECTOR, VECTOR, (I32, [2])],
            {},
            "expected rank 2",
        ),
        (
            "SkipLayerNormalization",
            [(F32, []), (F32, []), VECTOR],
            {},
            "expected a tensor and a residual",
        ),
        (
            "SkipLayerNormalization",
            [VECTOR, (F32, [2, 8]), VECTOR],
            {},
            "expected a tensor and a residual",
        ),
        (
            "SkipSimplifiedLayerNormalization",
            [(F32, []), (F32, []), VECTOR],
            {},
            "expected a tensor and",
        ),
        (
            "Attention",
            [(F32, [1, 3, 8]), (F32, [8, 24])],
            HEADS | {"qkv_hidden_sizes": [-8, 16, 16]},
            "expected columns",
        ),
        (
            "Attention",
            [(F32, [1, 3, 8]), (F32, [8, 24])],
            HEADS | {"qkv_hidden_sizes": [2**62, 2**62, 24]},
            "columns",
        ),
        (
            "Attention",
            [(F32, [1, 3, 8]), (F32, [8, 24]), None, None, (F32, [1, 1, 2, 4, 4])],
            HEADS,
            "expected keys and values",
        ),
        ("MultiHeadAttention", [(F32, []), KEY, KEY, VECTOR], HEADS, "expected rank 3"),
        (
            "MultiHeadAttention",
            [KEY, KEY, KEY, None, None, None, (F32, [1]), (F32, [1])],
            HEADS,
            "expected rank 4",
        ),
        (
            "RotaryEmbedding",
            [(F32, [3, 8]), (TensorProto.INT64, [1]), (F32, [9, 4]), (F32, [9, 4])],
            {},
            "rank 4",
        ),
        (
            "GroupQueryAttention",
            [QUERY, KEY, KEY, (F32, [1]), CACHE, LAST, TOTAL],
            GROUPS,
            "expected rank 4",
        ),
        (
            "GroupQueryAttention",
            [QUERY, KEY, KEY, (F32, [1, 1, 5, 8]), CACHE, LAST, TOTAL],
            GROUPS,
            "expected 1 x 2 x 5 x 8, got 1 x 1 x 5 x 8",
        ),
        (
            "GroupQueryAttention",
            [QUERY, KEY, KEY, CACHE, (F32, [1, 2, 4, 8]), LAST, TOTAL],
            GROUPS,
            "caches of one length",
        ),
    ],
)
def test_inputs_that_do_not_fit(op, inputs, attributes, message, tmp_path: Path) -> None:
    with pytest.raises(hr.Error, match=message) as error:
        load(tmp_path, op, inputs, **attributes)
    assert op in str(error.value)


def test_caches_of_other_names_run_where_they_fit(tmp_path: Path) -> None:
    """Sizes of one name or another: only the data can tell."""
    cache = (F32, ["any", 2, "past", 8])
    query, key = (F32, ["batch", 3, 32]), (F32, ["batch", 3, 16])
    inputs = [query, key, key, cache, cache, (I32, ["batch"]), TOTAL]
    model = load(tmp_path, "GroupQueryAttention", inputs, outputs=3, **GROUPS)
    x, k, past = np.ones((1, 3, 32)), np.ones((1, 3, 16)), np.ones((1, 2, 5, 8))
    feeds = [a.astype(np.float32) for a in (x, k, k, past, past)]
    y, present, _ = model(*feeds, np.array([7], np.int32), np.array(8, np.int32))
    assert (y.shape, present.shape) == ((1, 3, 32), (1, 2, 8, 8))
    assert_close(y, 1)
    feeds[3] = feeds[4] = np.ones((2, 2, 5, 8), np.float32)
    with pytest.raises(hr.Error, match="GroupQueryAttention"):
        model(*feeds, np.array([7], np.int32), np.array(8, np.int32))
