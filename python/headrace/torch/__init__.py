"""PyTorch's face of Headrace: `torch.compile(model, backend="headrace")`."""

from headrace.torch._backend import FallbackWarning, backend

__all__ = ["FallbackWarning", "backend"]
