"""Models from the text of their graphs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import headrace as hr
import pytest


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., hr.Model]:
    """A model from the text of its graph."""
    pytest.importorskip("onnx")
    from cases import graph_text

    def make(text: str, **options: Any) -> hr.Model:
        return hr.load(graph_text.write(tmp_path / "model.onnx", text, **options))

    return make
