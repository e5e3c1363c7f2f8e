"""One door for files: `read` recognises what a file is by its content and its name."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mercer.tables.reading import arrow, delimited, duck, jsonlines, libsvm, sqlite
from mercer.tables.reading.errors import TableError, refused_as
from mercer.tables.reading.of import checked_kinds, noted
from mercer.tables.reading.table import Table
from mercer.tables.reading.text import head_bytes

_READERS: dict[str, Callable[[Path, dict[str, str], int | None], Table]] = {
    "delimited": delimited.read_delimited,
    "parquet": arrow.read_parquet,
    "arrow": arrow.read_ipc,
    "libsvm": libsvm.read_libsvm,
    "json lines": jsonlines.read_json_lines,
}
_DATABASES: dict[str, Callable[[Path, dict[str, str], int | None, str | None, str | None], Table]] = {
    "sqlite": sqlite.read_sqlite,
    "duckdb": duck.read_duckdb,
}
_SUFFIXES = {
    ".csv": "delimited",
    ".tsv": "delimited",
    ".tab": "delimited",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".duckdb": "duckdb",
    ".db": "sqlite",
}
_BINARY = {"parquet": "Parquet", "sqlite": "SQLite", "duckdb": "DuckDB"}
_PICKLE = "a pickle can run any code when it is opened, so it is not. Save the table as CSV or Parquet."
_ARRAYS = (
    "arrays are no table. Load it with numpy.load(path, allow_pickle=False) and give the array to Table.of."
)
_PACKED = "this kind of packed file is not read. Unpack it, or use gzip for text."
_SHEET = "spreadsheets are not read. Save the sheet as CSV."
_OTHER = "HDF5 files are not read. Save the table as Parquet or CSV."
_REFUSED_SUFFIXES = {
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), _PICKLE),
    **dict.fromkeys((".npz", ".npy"), _ARRAYS),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), _SHEET),
    **dict.fromkeys((".zip", ".bz2", ".xz", ".zst", ".7z"), _PACKED),
    **dict.fromkeys((".h5", ".hdf5"), _OTHER),
}
_REFUSED_STARTS = {
    **{b"\x80" + bytes([version]): _PICKLE for version in range(2, 6)},
    b"\x93NUMPY": _ARRAYS,
    b"PK\x03\x04": "this is a ZIP archive (as .npz and .xlsx are). Unpack it; save sheets as CSV.",
    b"\xd0\xcf\x11\xe0": _SHEET,
    b"BZh": _PACKED,
    b"\xfd7zXZ": _PACKED,
    b"\x28\xb5\x2f\xfd": _PACKED,
    b"\x89HDF": _OTHER,
    b"FEA1": "this is Feather of version 1. Write it again as version 2 (Arrow), or as Parquet.",
    b"PARE": "this Parquet file is encrypted.",
}


def read(
    path: str | os.PathLike[str],
    *,
    query: str | None = None,
    table: str | None = None,
    limit: int | None = None,
    kinds: Mapping[str, str] | None = None,
    empty: bool = False,
) -> Table:
    """Read a table from a file.

    CSV and TSV (also with semicolons or bars, also packed with gzip), Parquet, Arrow (Feather), LIBSVM, JSON
    lines, SQLite, DuckDB. What a file is shows in its first bytes, then in its name.

    Parameters
    ----------
    path : path of the file
    query : str, optional
        One SELECT; `t` is the table of the file. It is DuckDB's SQL, except for SQLite files, which are asked
        in their own. It can read this file only, and write nothing.
    table : str, optional
        Which table of a database. Needed only if there are several.
    limit : int, optional
        Read no more than this many rows: of the file, or of what the query selects.
    kinds : mapping from names to "number", "text" or "date", optional
        What these columns shall be, instead of what they look like. "D/M/Y" and "M/D/Y" are dates, and say
        how they are written: 31/01/2024 or 01/31/2024. Names that are not there are ignored.
    empty : bool
        Whether a table without rows will do. Otherwise it is an error: most likely something was forgotten.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If it can not be read, or would not fit in memory; the message names file, line and column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "houses.csv"
    >>> _ = file.write_text("price;sold;city\\n10,5;2024-01-31;Bonn\\n;2024-02-29;Köln\\n", encoding="utf-8")
    >>> read(file)
    Table(2 rows: price number, sold date, city text)
    >>> read(file, query="select city from t where price > 10")["city"]
    array(['Bonn'], dtype=object)
    """
    path, kinds = Path(path), checked_kinds(kinds)
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise ValueError(f"limit must be a whole number above 0, not {limit!r}")
    if query is not None and not query.encode(errors="ignore").strip():
        raise TableError("the query is empty.", path=path)
    form = recognise(path)
    if form in _DATABASES:
        found = _DATABASES[form](path, kinds, limit, table, query)
    elif table is not None:
        raise TableError("the file holds one table; table= (--table) is for databases.", path=path)
    elif query is not None:
        duck.available(path)  # before a large file is read for it
        source, remarks = _source(form, path, kinds)
        found = duck.query_over(source, query, path, kinds, limit)
        found = Table(found.columns, found.n_rows, remarks).select(found.names)
    else:
        found = _READERS[form](path, kinds, limit)
    if not found.names or not (found.n_rows or empty):
        if query:
            raise TableError("the query selects no rows.", path=path)
        if form == "delimited":
            line = delimited.header_line(path)
            raise TableError("there are names of columns, but no rows below them.", path=path, line=line)
        raise TableError("there are no rows.", path=path)
    return noted(found, kinds)


def _source(form: str, path: Path, kinds: dict[str, str]) -> tuple[Any, tuple[str, ...]]:
    """What a query looks at: the file itself where it has types, else the table as it is read; remarks."""
    if form == "parquet":
        arrow.needed(f"{path}: reading Parquet")
        import pyarrow.dataset

        with arrow.refusals(path, "this is no sound Parquet file"):
            return pyarrow.dataset.dataset(path, format="parquet"), ()
    if form == "delimited" and not delimited.fits(path):
        return delimited.lazily(path, kinds)
    table = _READERS[form](path, kinds, None)
    return arrow.to_arrow(table), table.remarks


def recognise(path: Path) -> str:
    """What kind of file it is."""
    with refused_as(path, "it can not be read", OSError, ValueError):
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            raise TableError("there is no such file.", path=path) from None
        if not stat.S_ISREG(mode):
            what = "a folder" if stat.S_ISDIR(mode) else "no ordinary file"
            raise TableError(f"this is {what}; give the path of a file with a table.", path=path)
        with open(path, "rb") as file:
            start = file.read(16)
    if not start:
        raise TableError("the file is empty.", path=path)
    if form := _by_start(start):
        return form
    suffix = path.suffix.lower()
    for beginning, sentence in _REFUSED_STARTS.items():
        if start.startswith(beginning):
            raise TableError(sentence, path=path)
    if suffix in _REFUSED_SUFFIXES:
        raise TableError(_REFUSED_SUFFIXES[suffix], path=path)
    if suffix == ".gz":
        suffix = Path(path.stem).suffix.lower()
    form = _SUFFIXES.get(suffix)
    if form in _BINARY:
        raise TableError(f"it is called {suffix}, but does not begin as a {_BINARY[form]} file.", path=path)
    return form or _by_look(path)


def _by_start(start: bytes) -> str | None:
    if start.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if start[8:12] == b"DUCK":
        return "duckdb"
    if start.startswith(b"PAR1"):
        return "parquet"
    return "arrow" if start.startswith(b"ARROW1\0\0") else None


def _by_look(path: Path) -> str:
    """Text with a name that says nothing."""
    head = delimited.as_utf8_head(head_bytes(path, 65536))
    if libsvm.looks_so(head):
        return "libsvm"
    if head.lstrip().startswith("{"):
        return "json lines"
    if head.lstrip().startswith("["):
        raise TableError(
            "this is one JSON array; JSON lines are read, with one object a line. In Python, "
            "Table.of(json.load(file)) makes a table of it.",
            path=path,
        )
    return "delimited"
