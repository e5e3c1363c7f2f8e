"""Models on disk: `save` and `load` in a format that holds data and no code; docs/models.md describes it."""

from mercer.io.errors import ModelFileError
from mercer.io.files import load, save

__all__ = ["ModelFileError", "load", "save"]
