"""Rows of DuckDB's answers: relations, and queries over files."""

from __future__ import annotations

import re
import tempfile
from typing import Any

from mercer.rows.source import TableSource, batch_rows, checked_names, needed, said

# Memory that DuckDB may take for a query of ours; what does not fit it puts on disk.
_MEMORY = "256MiB"
_QUERY = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)


def is_query(text: str) -> bool:
    """Does it begin as a query does?

    >>> is_query("select x, y from 'big.parquet'"), is_query("selected.csv")
    (True, False)
    """
    return _QUERY.match(text) is not None


def is_relation(value: Any) -> bool:
    """A relation of DuckDB's? That it is there means that DuckDB is imported."""
    kind = type(value)
    return kind.__name__ == "DuckDBPyRelation" and "duckdb" in kind.__module__


class QuerySource(TableSource):
    """The rows of an answer. Every reading asks anew, one at a time.

    Parameters
    ----------
    query : a relation (``connection.sql("select …")``), or the text of a query over files

    Examples
    --------
    >>> source = QuerySource("select i as x, i % 2 = 0 as even from range(3) t(i)")
    >>> [batch.to_pydict() for batch in source.batches(0, ["x", "even"])]
    [{'x': [0, 1, 2], 'even': [True, False, True]}]
    """

    alone = True

    def __init__(self, query: Any):
        duckdb = needed("a query", "DuckDB")
        needed("a query")
        self.name, self.query = "the query", query
        self._error = duckdb.Error
        try:
            with _relation(query) as relation:
                # The types as they will be delivered, without running the whole query.
                self.schema = relation.limit(0).to_arrow_reader(1).schema
        except self._error as error:
            raise ValueError(f"the query failed: {said(error)}") from error
        checked_names(self.schema.names, self.name)

    def __getstate__(self) -> dict[str, Any]:
        # A relation stays in its process. Rows of it that are kept on disk can be read in others, too.
        return self.__dict__ | {"query": self.query if isinstance(self.query, str) else None}

    def batches(self, first, columns):
        if self.query is None:
            raise ValueError(
                "a relation of DuckDB's can only be asked in its own process: give the text of the query, "
                "over files that all processes see"
            )
        rows = batch_rows(self.schema, columns)
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        try:
            with _relation(self.query) as relation:
                reader = relation.project(quoted).to_arrow_reader(rows)
                try:
                    yield from reader
                finally:
                    reader.close()
        except self._error as error:
            raise ValueError(f"the query failed: {said(error)}") from error


class _relation:
    """A relation that is given stays open; a text gets a connection of its own, closed at the end."""

    def __init__(self, query: Any):
        self.query = query
        self.connection: Any = None
        self.spill: Any = None

    def __enter__(self) -> Any:
        if not isinstance(self.query, str):
            return self.query
        import duckdb

        # What does not fit in that memory (a sort, a join) goes to disk, and away in the end.
        self.spill = tempfile.TemporaryDirectory(prefix="mercer-query-")
        self.connection = duckdb.connect(
            ":memory:",
            config={
                "memory_limit": _MEMORY,
                "temp_directory": self.spill.name,
                "autoinstall_known_extensions": "false",
                "allow_community_extensions": "false",
                "python_enable_replacements": "false",
                "threads": "2",
            },
        )
        try:
            statements = self.connection.extract_statements(self.query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise ValueError("a query must be one SELECT: it reads, and changes nothing")
            return self.connection.sql(self.query)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        if self.connection is not None:
            self.connection.close()
            self.spill.cleanup()
