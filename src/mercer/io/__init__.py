"""Models on disk: `save` and `load` in a format that holds data and no code; `to_onnx` for other programmes.

The format is described in docs/models.md.
"""

from mercer.io.errors import ModelFileError
from mercer.io.files import load, save
from mercer.io.onnx import to_onnx

__all__ = ["ModelFileError", "load", "save", "to_onnx"]
