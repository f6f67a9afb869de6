"""PyTorch modules and exported programs as the files that `torch.export.save` writes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import torch

from headrace.errors import InvalidArgumentError


def exported_bytes(model: Any, example_inputs: Sequence[Any] | None) -> bytes:
    """The content of a `.pt2` file."""
    if isinstance(model, torch.export.ExportedProgram):
        if example_inputs is not None:
            raise InvalidArgumentError(
                "headrace.load: expected no example_inputs for an exported program"
            )
        program = model
    elif isinstance(model, torch.nn.Module):
        with torch.no_grad():
            program = torch.export.export(model, tuple(example_inputs or ()))
    else:
        raise InvalidArgumentError(
            "headrace.load: expected a torch.nn.Module with example_inputs, "
            f"got {type(model).__name__}"
        )
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()
