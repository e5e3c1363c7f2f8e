"""SQLite files, opened for reading only. A query is SQLite's own SQL, and sees this file and nothing else."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from mercer.tables.reading.budget import ask
from mercer.tables.reading.cells import Coded, Understood, understood
from mercer.tables.reading.errors import Stray, TableError, checked_names, refused_as, shown
from mercer.tables.reading.format import Format, Wanted, assembled
from mercer.tables.reading.objects import as_word, from_objects, kind_of
from mercer.tables.reading.table import Table

BATCH = 1000
LONGEST = 1_000_000  # bytes of one value; a view can make any number of such from nothing
_TABLES = "select name from sqlite_master where type in ('table', 'view') and name not glob 'sqlite_*'"
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
# Functions that reach beyond the query: code from outside, pointers of the full-text search.
_FORBIDDEN = {"load_extension", "fts3_tokenizer"}


class SQLite(Format):
    """A table of a SQLite file, or what a query selects from it; `t` stands for the table."""

    name = "SQLite"
    suffixes = (".sqlite", ".sqlite3", ".db")
    start = b"SQLite format 3\0"
    is_database = True

    def read(self, wanted: Wanted) -> Table:
        errors = (sqlite3.Error, sqlite3.Warning, OSError, OverflowError, UnicodeError, MemoryError)
        address = f"{wanted.path.absolute().as_uri()}?mode=ro"
        with (
            refused_as("SQLite says", *errors),
            closing(sqlite3.connect(address, uri=True)) as connection,
        ):
            _restrict(connection)
            chosen = choose(wanted, [name for (name,) in connection.execute(_TABLES)])
            if chosen is not None and chosen != "t":
                connection.execute(f"create temp view t as select * from main.{quoted(chosen)}")
            connection.set_authorizer(_authorize)
            return _rows(connection, wanted)


def choose(wanted: Wanted, names: list[str]) -> str | None:
    """The table that is meant. A query may do without; otherwise there must be only one, or one is named."""
    listed = ", ".join(map(shown, names[:20])) + (", …" if len(names) > 20 else "")
    if wanted.table is not None:
        if wanted.table not in names:
            raise TableError(f"there is no table {shown(wanted.table)}. There are: {listed or 'none'}.")
        return wanted.table
    if len(names) == 1:
        return names[0]
    if wanted.query is not None:
        return None
    if not names:
        raise TableError("there is no table in this file.")
    raise TableError(f"there are {len(names)} tables; say which with table= (--table): {listed}.")


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _restrict(connection: sqlite3.Connection) -> None:
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    for setting in ("trusted_schema = off", "cell_size_check = on", "temp_store = memory", "mmap_size = 0"):
        connection.execute(f"pragma {setting}")
    # Python looks after signals now and then, so that a query without end can be interrupted.
    connection.set_progress_handler(lambda: 0, 1_000_000)


def _authorize(action: int, first: Any, second: Any, *_: Any) -> int:
    allowed = action in _ALLOWED or (action == sqlite3.SQLITE_FUNCTION and second not in _FORBIDDEN)
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _rows(connection: sqlite3.Connection, wanted: Wanted) -> Table:
    limit = wanted.limit
    cursor = connection.execute("select * from t" if wanted.query is None else wanted.query)
    if cursor.description is None:
        raise TableError("the query selects nothing. It must be one SELECT.")
    names = checked_names([str(column[0]) for column in cursor.description])
    columns: list[list[Any]] = [[] for _ in names]
    rows = 0
    while batch := cursor.fetchmany(BATCH if limit is None else min(BATCH, limit - rows)):
        rows += len(batch)
        for column, values in zip(columns, zip(*batch, strict=True), strict=True):
            column.extend(values)
        # What is held is held; the next batch, and the arrays to come, must fit.
        ask(len(names) * (8 * rows + 2000 * BATCH), f"more than {rows:,} rows of it")
        if limit is not None and rows >= limit:
            break
    return assembled(names, lambda j: _column(columns[j], wanted.kinds.get(names[j])))


def _column(values: list[Any], kind: str | None) -> Understood:
    """A column of values, each with a type of its own.

    Text is understood as in CSV files, of which such tables are often made: dates are text in SQLite, too.
    """
    types = set(map(type, values))
    if bytes in types:
        row = next(i for i, value in enumerate(values) if isinstance(value, bytes))
        raise Stray(row, "holds bytes, which are no number, word or date. Leave the column out with a query.")
    if str in types or kind not in (None, "number"):
        return understood(Coded.of(None if value is None else as_word(value) for value in values), kind)
    found = from_objects(values, kind)
    return Understood(found, kind_of(found))
