"""A table: columns of numbers, words and dates, of one length. It needs no library of data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from mercer.tables.reading.cells import DatesRead
from mercer.tables.reading.errors import TableError, checked_names, shown
from mercer.tables.reading.objects import kind_of

# A table is dense: so many values (1.6 GB of numbers) are made of sparse data, and no more.
DENSE_LIMIT = 200_000_000
KINDS = {"f": np.dtype(np.float64), "O": np.dtype(object), "M": np.dtype("datetime64[us]")}


class Table:
    """Columns of one length, by name. Not changed once it is there.

    A column is an array of one of three kinds:

    ========  ====================  =============
    kind      dtype                 missing value
    ========  ====================  =============
    number    float64               NaN
    text      object, holding str   None
    date      datetime64[us], UTC   NaT
    ========  ====================  =============

    `Table.of` makes one from almost anything; the constructor takes columns that are of these kinds already.

    Parameters
    ----------
    columns : mapping from names to arrays
    n_rows : int, optional
        Needed only without columns.
    remarks : sequence of str
        What a reader wants to be known about how it understood the file.

    Attributes
    ----------
    names : tuple of str
    columns : mapping from names to arrays
    n_rows : int
    remarks : tuple of str

    Examples
    --------
    >>> table = Table.of({"price": [10, None, 30], "city": ["Bonn", "Köln", None]})
    >>> table
    Table(3 rows: price number, city text)
    >>> table["price"]
    array([10., nan, 30.])
    >>> table.take([0, 2]).drop("price")["city"]
    array(['Bonn', None], dtype=object)
    """

    __slots__ = ("columns", "n_rows", "remarks")

    columns: Mapping[str, np.ndarray]
    n_rows: int
    remarks: tuple[str, ...]

    def __init__(
        self, columns: Mapping[str, np.ndarray], n_rows: int | None = None, remarks: Iterable[str] = ()
    ):
        checked_names(list(columns))
        held: dict[str, np.ndarray] = {}
        for name, column in columns.items():
            if (
                not isinstance(column, np.ndarray)
                or column.ndim != 1
                or column.dtype != KINDS.get(column.dtype.kind)
            ):
                raise TableError(
                    "a column must be a one-dimensional array of float64, datetime64[us] or str as objects. "
                    "Table.of makes such columns.",
                    column=name,
                )
            n_rows = len(column) if n_rows is None else n_rows
            if len(column) != n_rows:
                raise TableError(f"has {len(column):,} rows, others have {n_rows:,}.", column=name)
            view = column.view()
            view.flags.writeable = False
            held[name] = view
        self.columns = MappingProxyType(held)
        self.n_rows = n_rows or 0
        self.remarks = tuple(remarks)

    @staticmethod
    def of(X: Any, names: Iterable[str] | None = None, kinds: Mapping[str, str] | None = None) -> Table:
        """A table from what people have.

        Parameters
        ----------
        X : 2-D array, DataFrame, pyarrow Table, dict of columns, list of dicts, list of rows, or one record
            Data frames are those of pandas and polars. A dict of which every value is a single one is a
            record, and one row; a dict of lists or arrays has columns.
            Strings stay words here, whatever they look like; logical values become "true" and "false",
            categories become words, durations become seconds, times in a zone become UTC.
        names : names of columns, optional
            For arrays and rows, which have none; "x1", "x2", … by default.
        kinds : mapping from names to "number", "text" or "date", optional
            What these columns shall be. "D/M/Y" and "M/D/Y" are dates, and say how they are written:
            31/01/2024 or 01/31/2024. "written" is for copies: words as a file has them, blanks and all. Names
            that are not there are ignored.

        Examples
        --------
        >>> Table.of(np.eye(2))
        Table(2 rows: x1 number, x2 number)
        >>> Table.of([{"a": 1, "b": "x"}, {"a": 2}])["b"]
        array(['x', None], dtype=object)
        >>> Table.of({"a": 1, "b": "x"}), len(Table.of({"a": [1, 2], "b": ["x", "y"]}))
        (Table(1 row: a number, b text), 2)
        >>> Table.of([{"day": "2024-02-29"}], kinds={"day": "date"})["day"]
        array(['2024-02-29T00:00:00.000000'], dtype='datetime64[us]')
        """
        from mercer.tables.reading.from_memory import table_from_memory

        return table_from_memory(X, names, kinds)

    @staticmethod
    def joined(tables: Sequence[Table]) -> Table:
        """Tables of the same columns, one below the other."""
        if len(tables) == 1:
            return tables[0]
        columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0].names}
        remarks = dict.fromkeys(remark for table in tables for remark in table.remarks)
        return Table(columns, sum(map(len, tables)), remarks)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.columns)

    def __len__(self) -> int:
        return self.n_rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self.columns[name]
        except KeyError:
            raise TableError(_absent(name, self.names)) from None

    def kind(self, name: str) -> str:
        """The kind of a column: "number", "text" or "date"."""
        return kind_of(self[name])

    @property
    def orders(self) -> dict[str, str]:
        """How dates were written that are not ISO 8601: "D.M.Y", "D/M/Y" or "M/D/Y", by column."""
        said = {r.column: r.order for r in self.remarks if isinstance(r, DatesRead)}
        return {name: order for name, order in said.items() if name in self and self.kind(name) == "date"}

    def take(self, rows: Any) -> Table:
        """Some of the rows: numbers, a mask or a slice."""
        if not self.columns:
            return Table({}, len(np.empty(self.n_rows)[rows]), self.remarks)
        return Table({name: column[rows] for name, column in self.columns.items()}, remarks=self.remarks)

    def select(self, names: Iterable[str]) -> Table:
        """Some of the columns, in this order."""
        columns = {name: self[name] for name in names}
        remarks = [r for r in self.remarks if not isinstance(r, DatesRead) or r.column in columns]
        return Table(columns, self.n_rows, remarks)

    def drop(self, *names: str) -> Table:
        """All columns but these."""
        for name in names:
            self[name]
        return self.select([name for name in self.names if name not in names])

    def __eq__(self, other: object) -> bool:
        """The same names in the same order, and the same values; missing equals missing."""
        if not isinstance(other, Table):
            return NotImplemented
        return (self.names, self.n_rows) == (other.names, other.n_rows) and all(
            a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype != object)
            for a, b in zip(self.columns.values(), other.columns.values(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        said = [f"{name} {self.kind(name)}" for name in self.names[:8]]
        said += [f"… {len(self.names):,} columns"] * (len(self.names) > 8)
        return f"Table({self.n_rows:,} row{'s' * (self.n_rows != 1)}: {', '.join(said)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (dict(self.columns), self.n_rows, self.remarks)


def _absent(name: str, names: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(str(name), names[:1000], 1)
    listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"there is no column {shown(name)}. " + (
        f"Do you mean {shown(close[0])}?" if close else f"There are: {listed}."
    )
