"""SQL through DuckDB: over the table of a file, called `t`, or over a DuckDB file.

A query may only read, and only what it was given. The connection is cut off from the file system before the
query is looked at, its settings are locked, and anything but one SELECT is refused.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

from mercer.tables.reading import budget
from mercer.tables.reading.arrow import needed, refusals, table_from
from mercer.tables.reading.errors import TableError
from mercer.tables.reading.sqlite import choose, quoted
from mercer.tables.reading.table import Table

BATCH = 65_536


def available(path: Path) -> ModuleType:
    """DuckDB, or a sentence that says how to get it."""
    try:
        import duckdb
    except ImportError:
        raise TableError("this needs DuckDB: pip install 'mercer[cli]'", path=path) from None
    needed(f"{path}: this")
    return duckdb


def query_over(data: Any, query: str, path: Path, kinds: dict[str, str], limit: int | None) -> Table:
    """What a query selects from `t`.

    Parameters
    ----------
    data : Arrow table or data set
        What `t` is. It is in memory, or read by Arrow as DuckDB asks for it; DuckDB itself opens no file.
    query : str
    path : Path
        The file that errors speak of.
    kinds : dict
    limit : int or None
    """
    duckdb = available(path)
    with (
        refusals(path, "DuckDB says", duckdb.Error, RuntimeError),
        closing(duckdb.connect(":memory:", config=_config())) as connection,
    ):
        connection.register("t", data)
        _lock(connection)
        return _selected(connection, duckdb, query, path, kinds, limit)


def read_duckdb(
    path: Path, kinds: dict[str, str], limit: int | None, table: str | None, query: str | None
) -> Table:
    """A table of a DuckDB file, or what a query selects from it; `t` stands for the table."""
    duckdb = available(path)
    with (
        refusals(path, "DuckDB says", duckdb.Error, RuntimeError),
        closing(duckdb.connect(str(path), read_only=True, config=_config())) as connection,
    ):
        known = {
            name
            if schema == "main"
            else f"{schema}.{name}": f"{quoted(database)}.{quoted(schema)}.{quoted(name)}"
            for database, schema, name in connection.execute(
                "select table_catalog, table_schema, table_name from information_schema.tables "
                "where table_catalog = current_database() order by 2, 3"
            ).fetchall()
        }
        chosen = choose(path, list(known), table, query)
        if chosen is not None and chosen != "t":
            connection.execute(f"create temp view t as select * from {known[chosen]}")
        _lock(connection)
        return _selected(
            connection, duckdb, query if query is not None else "select * from t", path, kinds, limit
        )


def _config() -> dict[str, str]:
    return {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "memory_limit": f"{max(budget.available_memory() * 3 // 4 >> 20, 64)}MiB",
        "temp_directory": "",  # what does not fit in memory is refused, not written to disk
        "python_enable_replacements": "false",  # Python's variables are no tables
    }


def _lock(connection: Any) -> None:
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")


def _selected(
    connection: Any, duckdb: ModuleType, query: str, path: Path, kinds: dict[str, str], limit: int | None
) -> Table:
    statements = connection.extract_statements(query)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise TableError("a query must be one SELECT: it reads, and changes nothing.", path=path)
    reader = connection.sql(query).to_arrow_reader(BATCH)
    return table_from(reader, reader.schema, path, kinds, limit)
