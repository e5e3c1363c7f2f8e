"""SQL through DuckDB: over the table of a file, called `t`, or over a DuckDB file.

A query may only read, and only what it was given. The connection is cut off from the file system before the
query is looked at, its settings are locked, and anything but one SELECT is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from types import ModuleType
from typing import Any

from mercer.tables.reading import budget
from mercer.tables.reading.arrow import BATCH, needed, refusals, table_from, to_arrow
from mercer.tables.reading.errors import TableError
from mercer.tables.reading.format import Format, Wanted
from mercer.tables.reading.sqlite import choose, quoted
from mercer.tables.reading.table import Table


def available() -> ModuleType:
    """DuckDB, or a sentence that says how to get it."""
    needed("this")
    return needed("this", "DuckDB")


@contextmanager
def _connected(path: str, **more: Any) -> Iterator[Any]:
    """A connection; what DuckDB has to complain of is a `TableError`."""
    duckdb = available()
    with (
        refusals("DuckDB says", duckdb.Error, RuntimeError),
        closing(duckdb.connect(path, config=_config(), **more)) as connection,
    ):
        yield connection


def query_over(data: Any, wanted: Wanted) -> Table:
    """What a query selects from `t`: an Arrow table or data set, or `Scanned`.

    It is in memory, or read by us as DuckDB asks for it; DuckDB itself opens no file.
    """
    with _connected(":memory:") as connection:
        connection.register("t", data)
        _lock(connection)
        try:
            return _selected(connection, wanted)
        except available().Error:
            if isinstance(data, Scanned) and data.error is not None:
                raise data.error from None
            raise


class Scanned:
    """Tables with the columns of the first one, anew for every time that a query goes through them."""

    def __init__(self, first: Table, tables: Callable[[], Iterator[Table]]):
        self._schema, self._tables = to_arrow(first).schema, tables
        self.error: TableError | None = None

    def _batches(self) -> Iterator[Any]:
        try:
            for table in self._tables():
                yield from to_arrow(table).to_batches()
        except TableError as error:
            self.error = error
            raise

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(self._schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)


class DuckDB(Format):
    """A table of a DuckDB file, or what a query selects from it; `t` stands for the table."""

    name = "DuckDB"
    suffixes = (".duckdb",)
    start, start_at = b"DUCK", 8
    is_database = True

    def read(self, wanted: Wanted) -> Table:
        with _connected(str(wanted.path), read_only=True) as connection:
            found = connection.execute(
                "select table_catalog, table_schema, table_name from information_schema.tables "
                "where table_catalog = current_database() order by 2, 3"
            ).fetchall()
            known = {
                row[2] if row[1] == "main" else f"{row[1]}.{row[2]}": ".".join(map(quoted, row))
                for row in found
            }
            chosen = choose(wanted, list(known))
            if chosen is not None and chosen != "t":
                connection.execute(f"create temp view t as select * from {known[chosen]}")
            _lock(connection)
            return _selected(connection, wanted)


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


def _selected(connection: Any, wanted: Wanted) -> Table:
    query = "select * from t" if wanted.query is None else wanted.query
    statements = connection.extract_statements(query)
    if len(statements) != 1 or statements[0].type != available().StatementType.SELECT:
        raise TableError("a query must be one SELECT: it reads, and changes nothing.")
    reader = connection.sql(query).to_arrow_reader(BATCH)
    return table_from(reader, reader.schema, wanted)
