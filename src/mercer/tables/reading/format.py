"""What a kind of file must say to be read: the contract of the readers, and what they are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from mercer.tables.reading.cells import Guessed
from mercer.tables.reading.errors import Stray, TableError
from mercer.tables.reading.table import Table
from mercer.tables.reading.text import all_bytes, as_utf8, head_lines, unpacked_size

# Bytes of memory for a byte of text.
_HELD = 4.0
# A row and its place: line of a file, or number.
Row = tuple[int, Any]


@dataclass(frozen=True)
class Wanted:
    """What is to be read: of which file, as which kinds of columns, how many rows (`empty`: none will do), in
    parts of how many, and without which columns; of a database also which table, or what a query selects.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer.tables.reading import Wanted
    >>> file = pathlib.Path(tempfile.mkdtemp(), "rows.txt")
    >>> _ = file.write_text("one\\ntwo\\nthree\\n")
    >>> Wanted(file, limit=2).load()
    (b'one\\ntwo\\n', [])
    """

    path: Path
    kinds: dict[str, str] = field(default_factory=dict)
    limit: int | None = None
    table: str | None = None
    query: str | None = None
    empty: bool = False
    part: int = 1000
    skip: Callable[[str], bool] = lambda name: False

    def load(self, factor: float = 2.0) -> tuple[bytes, list[str]]:
        """The content of a text file, unpacked, as UTF-8, and remarks; of many rows the first lines that have
        something on them. `factor` is how many bytes of memory the work takes for each byte."""
        limit = self.limit
        return as_utf8(all_bytes(self.path, factor) if limit is None else head_lines(self.path, limit))


@dataclass
class Cut:
    """How the rows of a stream are cut into batches, and what its columns are known to be."""

    size: int  # of a batch, which ends at a row number that it divides
    start: int  # rows that are left out
    kinds: dict[str, str]  # what is not said is found in the first rows, and written down here
    look: int  # how many rows are looked at for that

    @property
    def first(self) -> int:
        """Rows of the first batch: it ends where one that begins at row 0 would."""
        return self.size - self.start % self.size

    def learn(self, table: Table) -> None:
        """Write down what the columns of a table are, if it is not known yet."""
        if table.columns.keys() - self.kinds.keys():
            self.kinds |= seen_kinds(table) | self.kinds

    def of_rows(self, rows: Iterator[Row], made: Callable[[list[Row]], Table]) -> Iterator[Table]:
        """Batches from `start` on; `made` learns what columns are from what it is given first."""
        head = list(islice(rows, self.look))
        if head and (self.start or len(head) > self.first):
            made(head)
        rows = chain(head, rows)
        if sum(1 for _ in islice(rows, self.start)) < self.start:
            return
        size = self.first
        while part := list(islice(rows, size)):
            yield made(part)
            size = self.size

    def of_tables(self, parts: Iterable[Table]) -> Iterator[Table]:
        """Batches from `start` on, of tables of any length."""
        left, wanted = self.start, self.first
        waiting: list[Table] = []
        for part in parts:
            waiting.append(part.take(slice(left, None)))
            left = max(left - len(part), 0)
            while sum(map(len, waiting)) >= wanted:
                whole = Table.joined(waiting)
                yield whole.take(slice(wanted))
                waiting, wanted = [whole.take(slice(wanted, None))], self.size
        if sum(map(len, waiting)):
            yield Table.joined(waiting)


def seen_kinds(table: Table) -> dict[str, str]:
    """What the columns of a table look like, so that later rows are read in the same way."""
    return {name: Guessed(table.orders.get(name, table.kind(name))) for name in table.names}


class Format(ABC):
    """A kind of file with a table in it.

    A new one is a class in a file of its own and a line in `formats.py`. It must have `name`, `suffixes` and
    `read`; the rest has defaults. One of text with a row a line is a `LineFormat`, and has `row` instead.

    Attributes
    ----------
    name : how messages call it
    suffixes : ends of file names, such as ".csv"
    start, start_at : bytes by which such a file is known, and where; none for text
    always : whether every such file has those bytes
    is_database : whether it has tables with names, and answers queries itself
    is_sparse : whether a column that a file does not name is one of zeros

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer.tables.reading import Format, Table, read
    >>> class OneNumber(Format):
    ...     name, suffixes = "number", (".number",)
    ...     def read(self, wanted):
    ...         return Table.of({"value": [float(wanted.path.read_text())]})
    >>> file = pathlib.Path(tempfile.mkdtemp(), "pi.number")
    >>> _ = file.write_text("3.14")
    >>> read(file, form=OneNumber())["value"]
    array([3.14])
    """

    name: str
    suffixes: tuple[str, ...]
    start: bytes = b""
    start_at: int = 0
    always: bool = True
    is_database: bool = False
    is_sparse: bool = False

    @abstractmethod
    def read(self, wanted: Wanted) -> Table:
        """The table, or its first rows; `TableError` if there is none to be had."""

    def looks_so(self, head: str) -> bool:
        """Whether text that nothing else is known of looks like such a file."""
        return False

    def parts(self, wanted: Wanted) -> Iterator[Table]:
        """The table in parts, for files that need not be held as a whole."""
        yield self.read(wanted)

    def held(self, wanted: Wanted) -> float:
        """About how many bytes of memory its table takes."""
        return _HELD * unpacked_size(wanted.path)

    def of_lines(self, lines: Iterable[bytes], head: bytes, cut: Cut) -> Iterator[Table]:
        """Batches of a file that is read line by line, as its lines come; `head` is how it begins."""
        raise TypeError(f"{self.name} is not read line by line")

    @property
    def has_lines(self) -> bool:
        """Whether it can be read line by line."""
        return type(self).of_lines is not Format.of_lines

    def for_query(self, wanted: Wanted) -> tuple[Any, tuple[str, ...]]:
        """What a query looks at, for DuckDB, and remarks."""
        from mercer.tables.reading.arrow import to_arrow

        table = self.read(replace(wanted, limit=None, query=None, empty=True))
        return to_arrow(table), table.remarks


def assembled(
    names: list[str],
    column: Callable[[int], Any],
    *,
    line_of: Callable[[int], int] | None = None,
    first_row: int = 0,
    n_rows: int | None = None,
    remarks: Iterable[str] = (),
    in_file: bool = True,
) -> Table:
    """A table of columns that are understood one by one, by number; what is wrong with one gets its place.

    `line_of` gives the line of a row, from 0; without it rows are named by number, the first being
    `first_row`. `n_rows` is needed only without columns.
    """
    columns, said = {}, list(remarks)
    for j, name in enumerate(names):
        try:
            found = column(j)
        except Stray as stray:
            line = None if line_of is None else line_of(stray.row)
            stray.row += first_row
            raise stray.at(name, line, in_file) from None
        except TableError as error:
            error.column = name
            raise
        columns[name] = found.values
        said += found.remarks(name)
    return Table(columns, n_rows, said)
