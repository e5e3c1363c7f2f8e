"""The kinds of files that tables are read from. A new one is imported and named here, and nowhere else."""

from __future__ import annotations

from mercer.tables.reading.arrow import ArrowFile, Parquet
from mercer.tables.reading.delimited import Delimited
from mercer.tables.reading.duck import DuckDB
from mercer.tables.reading.format import Format
from mercer.tables.reading.jsonlines import JsonLines
from mercer.tables.reading.libsvm import Libsvm
from mercer.tables.reading.sqlite import SQLite

# Looked through in this order; text that looks like nothing else is delimited.
FORMATS: tuple[Format, ...] = (
    Parquet(),
    ArrowFile(),
    SQLite(),
    DuckDB(),
    Libsvm(),
    JsonLines(),
    Delimited(),
)
