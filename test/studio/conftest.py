"""A studio that tests share, and models for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from studio_process import DIGITS, Studio, started


@pytest.fixture(scope="session")
def digits() -> Iterator[Studio]:
    with started(DIGITS, "--size", "batch=16") as studio:
        yield studio


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with `blocks.onnx`, 200 equal blocks of 50 nodes, and `names.onnx`, whose names are hostile."""
    folder = tmp_path_factory.mktemp("models")
    kinds = ["Relu", "Sigmoid", "Tanh", "Add", "Neg", "Abs", "Mul", "Exp", "Softmax", "Sub"]
    nodes, value = [], "x"
    for block in range(200):
        values = [value]
        for i in range(50):
            kind = kinds[(i * 7 + i // 10) % 10]
            operands = [values[-1]]
            if kind in {"Add", "Mul", "Sub"}:
                operands.append(values[max(0, len(values) - 3)])
            number = block * 50 + i
            nodes.append(helper.make_node(kind, operands, [f"v{number}"], name=f"n{number}"))
            values.append(f"v{number}")
        value = values[-1]
    save(nodes, value, folder / "blocks.onnx")
    names = ["</script><script>document.title='bad'</script>", "<img src=x onerror=alert(1)>"]
    names += ["größe/层/🚀", "n" * 600, "-rf --help", "'\"&lt;`${1}"]
    nodes, value = [], "x"
    for number, name in enumerate(names):
        nodes.append(helper.make_node("Softmax", [value], [f"v{number}"], name=name))
        value = f"v{number}"
    save(nodes, value, folder / "names.onnx")
    return folder


def save(nodes: list[onnx.NodeProto], output: str, path: Path) -> None:
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 16]) for name in ("x", output)
    ]
    graph = helper.make_graph(nodes, "graph", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
