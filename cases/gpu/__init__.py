"""What is run on GPUs: programs with times to keep, and operators."""
