"""Tables of a file, part after part: what does not fit in memory is read as fast as what does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from mercer.tables.reading.errors import in_file
from mercer.tables.reading.format import Format, Wanted
from mercer.tables.reading.from_memory import checked_kinds
from mercer.tables.reading.reading import batches, recognise
from mercer.tables.reading.table import Table

Skip = Callable[[str], bool]
# Values of a part.
_VALUES = 1 << 19


def comes_in_parts(path: str | os.PathLike[str]) -> bool:
    """Can a file be read part by part: is it CSV or TSV, Parquet, Arrow, or JSON lines?"""
    with in_file(Path(path)):
        form = recognise(Path(path))
    return form.has_lines or type(form).parts is not Format.parts


def held_bytes(path: str | os.PathLike[str]) -> float:
    """About how many bytes of memory the table of a file takes, while it is read and afterwards."""
    with in_file(Path(path)):
        return recognise(Path(path)).held(Wanted(Path(path)))


def parts(
    path: str | os.PathLike[str],
    kinds: Mapping[str, str] | None = None,
    columns: int = 16,
    empty: bool = False,
    skip: Skip | None = None,
) -> Iterator[Table]:
    """The rows of a file in tables of some ten thousand, in order; nothing is kept but the part at hand.

    Parameters
    ----------
    path : path of a CSV, TSV, Parquet, Arrow or JSON lines file
        Others are read as a whole, if they fit in memory.
    kinds : mapping from names to kinds, optional
        As in `read`. What is not said shows in the first part, and holds for the rest.
    columns : int
        About how many columns there are: parts of wide tables have fewer rows.
    empty : bool
        Whether a text with a line of names and no rows will do.
    skip : function, optional
        Says of a name whether that column is left out; what is in it then does not matter.

    Raises
    ------
    TableError
        Where the file is not sound, or a value is not what its column was before; by line or row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "houses.csv")
    >>> _ = file.write_text("price,city\\n310,Bonn\\n275,Ulm\\n")
    >>> [table["price"].tolist() for table in parts(file)]
    [[310.0, 275.0]]
    """
    path, known = Path(path), checked_kinds(kinds)
    rows = max(_VALUES // max(columns, 1), 1000)
    with in_file(path):
        form = recognise(path)
        if type(form).parts is Format.parts:
            for table in batches(path, rows, kinds=known, form=form):
                yield table if skip is None else table.select([n for n in table.names if not skip(n)])
            return
        wanted = Wanted(path, known, empty=empty, part=rows)
        yield from form.parts(wanted if skip is None else replace(wanted, skip=skip))
