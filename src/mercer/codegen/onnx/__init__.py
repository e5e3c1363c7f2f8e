"""ONNX graphs; onnx is imported inside functions only."""
