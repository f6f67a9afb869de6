"""Networks as users export them from PyTorch: modules of their own, with random weights."""
