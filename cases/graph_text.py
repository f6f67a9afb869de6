"""Models from graphs in ONNX's textual syntax."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def parse(text: str, opset: int = 17, imports: str = "", functions: str = "") -> Any:
    """`imports` are further domains (`, "mine" : 1`), `functions` those of the model."""
    import onnx.parser

    head = f'<ir_version: 8, opset_import: ["" : {opset}{imports}]>'
    return onnx.parser.parse_model(f"{head}\n{text}\n{functions}")


def write(path: Path, text: str, opset: int = 17, imports: str = "", functions: str = "") -> Path:
    path.write_bytes(parse(text, opset, imports, functions).SerializeToString())
    return path
