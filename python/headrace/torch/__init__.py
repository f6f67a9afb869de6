"""PyTorch's face of Headrace: `torch.compile(model, backend="headrace")`."""

import torch._dynamo.trace_rules

from headrace.torch._backend import backend
from headrace.torch._explain import explain
from headrace.torch._fallback import FallbackWarning
from headrace.torch._report import GraphReport, Left, Report, report

# A function that is being traced may call `backward`, and with it what runs programs.
for name in ("headrace.torch", "headrace._tensors"):
    torch._dynamo.trace_rules.add(name)

__all__ = ["FallbackWarning", "GraphReport", "Left", "Report", "backend", "explain", "report"]
