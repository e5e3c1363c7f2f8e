"""The doors for files: `read` takes one as a whole, `batches` what may not fit in memory.

What a file is shows in its content and its name. What the columns of a stream are is seen in the first rows
and holds for the rest; nothing is kept but the batch at hand.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from mercer._params import require_count
from mercer.tables.reading import duck
from mercer.tables.reading.delimited import as_utf8_head
from mercer.tables.reading.errors import TableError, in_file, refused_as, shown
from mercer.tables.reading.format import Cut, Format, Row, Wanted
from mercer.tables.reading.formats import FORMATS
from mercer.tables.reading.from_memory import checked_kinds, noted
from mercer.tables.reading.records import batches_of_rows
from mercer.tables.reading.table import Table
from mercer.tables.reading.text import head_bytes, lines_of, unpacked

# Rows of a file that say what its columns are, if a batch has fewer. Nobody waits for these.
LOOK = 1000
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
    form : Format, or the name or ending of one ("csv"), optional
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
    if limit is not None:
        require_count(limit, "limit", 1)
    with in_file(path):
        if query is not None and not query.encode(errors="ignore").strip():
            raise TableError("the query is empty.")
        form = recognise(path) if form is None else form_of(form)
        wanted = Wanted(path, kinds, limit, table, query, empty)
        if table is not None and not form.is_database:
            raise TableError("the file holds one table; table= (--table) is for databases.")
        if query is None or form.is_database:
            found = form.read(wanted)
        else:
            duck.available()  # before a large file is read for it
            source, remarks = form.for_query(wanted)
            found = duck.query_over(source, wanted)
            found = Table(found.columns, found.n_rows, remarks).select(found.names)
        if not found.names or not (found.n_rows or empty):
            raise TableError("the query selects no rows." if query else "there are no rows.")
        return noted(found, kinds)


def batches(
    source: Any,
    size: int = 256,
    *,
    start: int = 0,
    kinds: Mapping[str, str] | None = None,
    form: Format | str | None = None,
) -> Iterator[Table]:
    """Tables of `size` rows from something that may not fit in memory.

    Parameters
    ----------
    source : path, binary file, table, or iterator of dicts
        CSV and its relatives, JSON lines (both also packed) and Parquet are read as they are asked for; other
        files as a whole. So is a binary file, such as ``sys.stdin.buffer``: line by line where it is text.
    size : int
        Rows of a batch. Batches end at row numbers that `size` divides, wherever they begin.
    start : int
        Leave out so many rows.
    kinds : mapping from names to "number", "text" or "date", optional
        What these columns shall be, instead of what they look like in the first rows.
    form : Format, or the name or ending of one ("csv"), optional
        How it is read; by default as its first bytes, its name or its look say.

    Raises
    ------
    TableError
        For a value that is not what its column was in the first rows; by line.

    Examples
    --------
    >>> rows = ({"a": i, "b": "x"} for i in range(5))
    >>> for table in batches(rows, 2, start=1):
    ...     print(table["a"])
    [1.]
    [2. 3.]
    [4.]
    """
    require_count(size, "size", 1)
    require_count(start, "start", 0)
    cut = Cut(size, start, checked_kinds(kinds), size)
    if isinstance(source, (str, os.PathLike)):
        cut.look = max(size, LOOK)
        return _of_file(Path(source), cut, form)
    if hasattr(source, "readline"):
        return _piped(source, cut, form)
    if isinstance(source, Iterator):
        return batches_of_rows(_dicts(source), cut, in_file=False)
    return cut.of_tables([Table.of(source, kinds=cut.kinds)])


def _of_file(path: Path, cut: Cut, form: Format | str | None) -> Iterator[Table]:
    with in_file(path):
        found = recognise(path) if form is None else form_of(form)
        if not found.has_lines:
            yield from cut.of_tables(found.parts(Wanted(path, cut.kinds)))
            return
        with unpacked(path) as file:
            yield from found.of_lines(lines_of(file), head_bytes(path), cut)


def _piped(file: BinaryIO, cut: Cut, form: Format | str | None) -> Iterator[Table]:
    """Batches of an open file: of text as its lines come, of other kinds once all of it is there."""
    with in_file(str(getattr(file, "name", "stream")).replace("<stdin>", "standard input")):
        lines, blank = lines_of(file), 0
        for first in lines:
            if first.strip():
                break
            blank += 1
        else:
            raise TableError("it is empty.")
        found = _known(first) or by_look(first.decode("utf-8", "replace")) if form is None else form_of(form)
        if found.has_lines:
            whole = chain([b"\n"] * blank, [first], lines)  # so that lines count
            yield from found.of_lines(whole, first, cut)
            return
        with spooled(file, b"\n" * blank + first) as path:
            yield from cut.of_tables(found.parts(Wanted(path, cut.kinds)))


@contextmanager
def spooled(file: BinaryIO, start: bytes = b"", form: str | None = None) -> Iterator[Path]:
    """What comes through an open file, and began with `start`, in a file on disk for a while."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table{form_of(form).suffixes[0] if form else ''}")
        with open(path, "wb") as out:
            out.write(start)
            shutil.copyfileobj(file, out)
        yield path


def _dicts(source: Iterator[Any]) -> Iterator[Row]:
    for i, row in enumerate(source, 1):
        if not isinstance(row, Mapping):
            raise TableError(f"{shown(row)} is no dict of names and values.", row=i)
        yield i, {str(key): value for key, value in row.items()}


def form_of(form: Any) -> Format:
    """A kind of file by its name or an ending of its files."""
    known = {f.name: f for f in FORMATS}
    endings = {ending.lstrip("."): f for f in FORMATS for ending in f.suffixes}
    if isinstance(form, Format):
        return form
    if isinstance(form, str) and form in known | endings:
        return (known | endings)[form]
    if isinstance(form, type) and issubclass(form, Format):
        raise TypeError(f"form must be an object: write {form.__name__}(), with the parentheses")
    said = f"{', '.join(map(repr, known))}, or an ending such as {', '.join(map(repr, endings))}"
    raise ValueError(f"form must be a Format, or one of {said}; got {form!r}")


def recognise(path: Path) -> Format:
    """What kind of file it is, by its first bytes, then by its name, then by its look."""
    with refused_as("it can not be read", OSError, ValueError):
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            raise TableError("there is no such file.") from None
        if not stat.S_ISREG(mode):
            what = "a folder" if stat.S_ISDIR(mode) else "no ordinary file"
            raise TableError(f"this is {what}; give the path of a file with a table.")
        with open(path, "rb") as file:
            start = file.read(16)
    if not start:
        raise TableError("the file is empty.")
    if known := _known(start):
        return known
    suffix = path.suffix.lower()
    if suffix in _REFUSED_SUFFIXES:
        raise TableError(_REFUSED_SUFFIXES[suffix])
    if suffix == ".gz":
        suffix = Path(path.stem).suffix.lower()
    for form in FORMATS:
        if suffix in form.suffixes:
            if form.start and form.always:
                raise TableError(f"it is called {suffix}, but does not begin as a {form.name} file.")
            return form
    return by_look(as_utf8_head(head_bytes(path, 65536)))


def _known(start: bytes) -> Format | None:
    """The kind of file that begins so, if its first bytes say; those that are not read are refused."""
    for form in FORMATS:
        if form.start and start.startswith(form.start, form.start_at):
            return form
    for beginning, sentence in _REFUSED_STARTS.items():
        if start.startswith(beginning):
            raise TableError(sentence)
    return None


def by_look(head: str) -> Format:
    """What text is that begins so, and has a name that says nothing."""
    return next(form for form in FORMATS if form.looks_so(head))
