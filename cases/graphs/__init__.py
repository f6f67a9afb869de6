"""Random ONNX graphs: a seed is a program."""
