"""Work for GPUs: programs with times to keep, and operators."""
