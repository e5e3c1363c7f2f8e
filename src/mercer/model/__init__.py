"""A table and a question: one call chooses, fits, tests and explains a kernel machine."""

from mercer.model.columns import Columns
from mercer.model.evidence import Evidence
from mercer.model.fit import fit
from mercer.model.model import Model
from mercer.model.schema import Column, Schema

__all__ = ["Column", "Columns", "Evidence", "Model", "Schema", "fit"]
