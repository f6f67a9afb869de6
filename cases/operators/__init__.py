"""ONNX operators one by one, with inputs to run them on."""
