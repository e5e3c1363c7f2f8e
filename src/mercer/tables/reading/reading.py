"""One door for files: `read` recognises what a file is by its content and its name."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mercer.tables.reading import duck
from mercer.tables.reading.delimited import as_utf8_head
from mercer.tables.reading.errors import TableError, refused_as
from mercer.tables.reading.format import Format, Wanted
from mercer.tables.reading.formats import FORMATS
from mercer.tables.reading.from_memory import checked_kinds, noted
from mercer.tables.reading.table import Table
from mercer.tables.reading.text import head_bytes

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
    form: Format | str | None = None,
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
        how they are written: 31/01/2024 or 01/31/2024. "written" is for copies: words as the file has them,
        blanks and all. Names that are not there are ignored.
    empty : bool
        Whether a table without rows will do. Otherwise it is an error: most likely something was forgotten.
    form : Format, or the name of one, optional
        How the file is read, if it is of a kind of your own, or does not show what it is.

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
    form = recognise(path) if form is None else _form_of(form)
    wanted = Wanted(path, kinds, limit, table, query, empty)
    if table is not None and not form.is_database:
        raise TableError("the file holds one table; table= (--table) is for databases.", path=path)
    if query is None or form.is_database:
        found = form.read(wanted)
    else:
        duck.available(path)  # before a large file is read for it
        source, remarks = form.for_query(wanted)
        found = duck.query_over(source, wanted)
        found = Table(found.columns, found.n_rows, remarks).select(found.names)
    if not found.names or not (found.n_rows or empty):
        raise TableError("the query selects no rows." if query else "there are no rows.", path=path)
    return noted(found, kinds)


def _form_of(form: Any) -> Format:
    known = {f.name: f for f in FORMATS}
    if isinstance(form, Format):
        return form
    if isinstance(form, str) and form in known:
        return known[form]
    if isinstance(form, type) and issubclass(form, Format):
        raise TypeError(f"form must be an object: write {form.__name__}(), with the parentheses")
    raise ValueError(f"form must be a Format, or one of {', '.join(map(repr, known))}; got {form!r}")


def recognise(path: Path) -> Format:
    """What kind of file it is, by its first bytes, then by its name, then by its look."""
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
    for form in FORMATS:
        if form.start and start.startswith(form.start, form.start_at):
            return form
    suffix = path.suffix.lower()
    for beginning, sentence in _REFUSED_STARTS.items():
        if start.startswith(beginning):
            raise TableError(sentence, path=path)
    if suffix in _REFUSED_SUFFIXES:
        raise TableError(_REFUSED_SUFFIXES[suffix], path=path)
    if suffix == ".gz":
        suffix = Path(path.stem).suffix.lower()
    for form in FORMATS:
        if suffix in form.suffixes:
            if form.start and form.always:
                problem = f"it is called {suffix}, but does not begin as a {form.name} file."
                raise TableError(problem, path=path)
            return form
    try:
        return by_look(as_utf8_head(head_bytes(path, 65536)))
    except TableError as error:
        raise TableError(error.problem, path=path) from None


def by_look(head: str) -> Format:
    """What text is that begins so, and has a name that says nothing."""
    return next(form for form in FORMATS if form.looks_so(head))
