"""Machines for other programmes: ONNX graphs made from the formulas of kernels."""

from mercer.onnx.export import to_onnx

__all__ = ["to_onnx"]
