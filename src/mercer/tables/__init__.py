"""From a table to an answer: reading, columns, search, evidence, models, streams, reports, a service.

>>> from mercer.tables import Table
>>> len(Table.of({"size": [1.0, 2.0], "colour": ["red", "blue"]}))
2
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# For those who read types: the same names (tests/test_public_api.py compares them).
if TYPE_CHECKING:
    from mercer.tables import model as model
    from mercer.tables import reading as reading
    from mercer.tables import report as report
    from mercer.tables import serve as serve
    from mercer.tables import stream as stream
    from mercer.tables.model import Column as Column
    from mercer.tables.model import Columns as Columns
    from mercer.tables.model import Evidence as Evidence
    from mercer.tables.model import Model as Model
    from mercer.tables.model import Schema as Schema
    from mercer.tables.model import TableClassifier as TableClassifier
    from mercer.tables.model import TableRegressor as TableRegressor
    from mercer.tables.model.fit import fit as fit
    from mercer.tables.reading import Table as Table
    from mercer.tables.reading import TableError as TableError
    from mercer.tables.reading import read as read
    from mercer.tables.reading import write as write
    from mercer.tables.report import Report as Report
    from mercer.tables.report import model_report as model_report
    from mercer.tables.stream import Streamed as Streamed
    from mercer.tables.stream import run_stream as run_stream

# Name -> room it lives in. Resolved on first use: reading a table must not load what fits or serves a model.
_LAZY = {
    "Column": "model",
    "Columns": "model",
    "Evidence": "model",
    "Model": "model",
    "Report": "report",
    "Schema": "model",
    "Streamed": "stream",
    "Table": "reading",
    "TableClassifier": "model",
    "TableError": "reading",
    "TableRegressor": "model",
    "fit": "model",
    "model_report": "report",
    "read": "reading",
    "run_stream": "stream",
    "write": "reading",
}

_ROOMS = ("model", "reading", "report", "serve", "stream")

__all__ = sorted([*_LAZY, *_ROOMS])

if not TYPE_CHECKING:  # or every name would be one, to those who read types

    def __getattr__(name: str) -> Any:
        if name in _ROOMS:
            return importlib.import_module(f"mercer.tables.{name}")
        if name in _LAZY:
            return getattr(importlib.import_module(f"mercer.tables.{_LAZY[name]}"), name)
        raise AttributeError(f"module 'mercer.tables' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
