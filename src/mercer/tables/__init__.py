"""From a table to an answer: reading, columns, search, evidence, models, streams, reports, a service.

>>> from mercer.tables import Table
>>> len(Table.of({"size": [1.0, 2.0], "colour": ["red", "blue"]}))
2
"""

from __future__ import annotations

import importlib
from typing import Any

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


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"mercer.tables.{name}")
    if name in _LAZY:
        return getattr(importlib.import_module(f"mercer.tables.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'mercer.tables' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
