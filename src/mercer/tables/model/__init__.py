"""A table and a question: one call chooses, fits, tests and explains a kernel machine."""

from mercer.tables.model.columns import Columns
from mercer.tables.model.evidence import Evidence
from mercer.tables.model.fit import fit
from mercer.tables.model.model import Model
from mercer.tables.model.schema import Column, Schema
from mercer.tables.model.table_estimators import TableClassifier, TableRegressor

__all__ = ["Column", "Columns", "Evidence", "Model", "Schema", "TableClassifier", "TableRegressor", "fit"]
