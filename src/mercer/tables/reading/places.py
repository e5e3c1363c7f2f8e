"""Where a table is that may not fit in memory: a file, several of them, a data set, a query."""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer.rows import Rows
from mercer.rows.door import files_of, lives_elsewhere, one_form, partitioned, source_of
from mercer.rows.files import FoundFile
from mercer.rows.placing import is_of_dask
from mercer.rows.query import is_query
from mercer.rows.source import TableSource, identity_of
from mercer.tables.reading.arrow import as_table
from mercer.tables.reading.errors import TableError, in_file, refused_as
from mercer.tables.reading.format import Wanted, seen_kinds
from mercer.tables.reading.from_memory import checked_kinds, noted
from mercer.tables.reading.parts import Skip, comes_in_parts, held_bytes, parts
from mercer.tables.reading.reading import read
from mercer.tables.reading.table import Table

Kinds = Mapping[str, str] | None


class Place(ABC):
    """Where a table is: its rows can be had part by part, as often as is needed, or all at once.

    Attributes
    ----------
    name : how messages call it
    in_parts : can it be read part by part?
    sized : is it known how large it is, without reading all of it?
    """

    name: str
    in_parts = True
    sized = True

    @abstractmethod
    def parts(self, kinds: Kinds = None, columns: int = 16, skip: Skip | None = None) -> Iterator[Table]:
        """Its rows in order, in tables of some ten thousand; see `parts`."""

    def whole(self, kinds: Kinds = None, empty: bool = False, skip: Skip | None = None) -> Table:
        """All of it; `empty` says whether a table without rows will do, `skip` what need not be read."""
        found = Table.joined(list(self.parts(kinds, skip=skip)))
        if not len(found) and not empty:
            raise TableError("there are no rows.", path=self.name)
        return noted(found, checked_kinds(kinds))

    @abstractmethod
    def held(self, most: float) -> float:
        """About how many bytes it takes as a whole; where nobody knows, it is read until they pass `most`."""

    def identity(self) -> Any:
        """Changes when the rows do; None where that can't be told without reading them."""
        return None


class FilePlace(Place):
    """A file of any kind that `read` takes."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path, self.name = Path(path), os.fspath(path)

    @property
    def in_parts(self) -> bool:  # type: ignore[override]
        return comes_in_parts(self.path)

    def parts(self, kinds: Kinds = None, columns: int = 16, skip: Skip | None = None) -> Iterator[Table]:
        return parts(self.path, kinds, columns, skip=skip)

    def whole(self, kinds: Kinds = None, empty: bool = False, skip: Skip | None = None) -> Table:
        return read(self.path, kinds=kinds, empty=empty)

    def held(self, most: float) -> float:
        return held_bytes(self.path)

    def identity(self) -> Any:
        return identity_of([FoundFile(self.path)])


class TextsPlace(Place):
    """Several text files of the same columns, one after the other. The first says what the columns are.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for number, text in enumerate(["x,city\\n1,Bonn\\n", "city,x\\nUlm,2\\n"]):
    ...     _ = (folder / f"{number}.csv").write_text(text)
    >>> place_of(folder).whole()["city"]
    array(['Bonn', 'Ulm'], dtype=object)
    """

    def __init__(self, paths: Sequence[Path]):
        self.paths = list(paths)
        more = f" and {len(self.paths) - 1:,} more" if len(self.paths) > 1 else ""
        self.name = f"{self.paths[0]}{more}"

    def parts(self, kinds: Kinds = None, columns: int = 16, skip: Skip | None = None) -> Iterator[Table]:
        said, names = checked_kinds(kinds), None
        known = said
        for path in self.paths:
            for table in parts(path, known, columns, True, skip):
                if known is said and len(table):
                    known = seen_kinds(table) | said
                if names is None:
                    names = table.names
                elif odd := sorted(set(names) ^ set(table.names)):
                    raise TableError(
                        f"its columns are not those of {self.paths[0]} "
                        f"({', '.join(map(repr, odd[:5]))}): files that are read together have the same.",
                        path=path,
                    )
                yield table.select(names)

    def held(self, most: float) -> float:
        return sum(held_bytes(path) for path in self.paths)

    def identity(self) -> Any:
        return identity_of([FoundFile(path) for path in self.paths])


class ArrowPlace(Place):
    """What Arrow delivers: folders of Parquet or Arrow files, data sets, DuckDB's relations and queries.

    Examples
    --------
    >>> place = place_of("select i as x, i > 1 as large from range(3) t(i)")
    >>> [table["large"].tolist() for table in place.parts()]
    [['false', 'false', 'true']]
    """

    def __init__(self, source: TableSource):
        self.source, self.name = source, source.name
        self.sized = source.length is not None and source.identity() is not None
        self._kept: list[Any] | None = None  # batches that were read to see how large they are

    def parts(self, kinds: Kinds = None, columns: int = 16, skip: Skip | None = None) -> Iterator[Table]:
        return self._tables(self._batches(skip), kinds)

    def whole(self, kinds: Kinds = None, empty: bool = False, skip: Skip | None = None) -> Table:
        kept, self._kept = self._kept, None
        names = self._names(skip)
        batches = self._batches(skip) if kept is None else (batch.select(names) for batch in kept)
        found = list(self._tables(batches, kinds)) or [self._empty(names)]
        if not any(map(len, found)) and not empty:
            raise TableError("there are no rows.", path=self.name)
        return noted(Table.joined(found), checked_kinds(kinds))

    def held(self, most: float) -> float:
        names, files = self.source.schema.names, self.source.identity() or []
        if self.sized:
            return 2.0 * sum(size for _, size, _ in files) + 8.0 * (self.source.length or 0) * len(names)
        taken, self._kept = 0.0, []
        for batch in self._batches():
            self._kept.append(batch)
            taken += 2.0 * batch.nbytes + 8.0 * len(batch) * len(names)
            if taken > most:
                self._kept = None
                break
        return taken

    def identity(self) -> Any:
        found = self.source.identity()
        return None if found is None else identity_of([FoundFile(path) for path, _, _ in found])

    def _names(self, skip: Skip | None) -> list[str]:
        return [name for name in self.source.schema.names if skip is None or not skip(name)]

    def _empty(self, names: Sequence[str]) -> Table:
        """No rows, with columns of the types that all files have together."""
        import pyarrow as pa

        types = pa.schema([self.source.schema.field(name) for name in names])
        return as_table(types.empty_table(), Wanted(Path(self.name)))

    def _batches(self, skip: Skip | None = None) -> Iterator[Any]:
        names = self._names(skip)
        with refused_as("it can not be read", LookupError, TypeError):
            for batch in self.source.batches(0, names):
                yield batch.select(names)

    def _tables(self, batches: Iterator[Any], kinds: Kinds) -> Iterator[Table]:
        import pyarrow as pa

        known, rows = checked_kinds(kinds), 0
        wanted = Wanted(Path(self.name), known)
        with in_file(self.name):
            for batch in batches:
                batch.validate(full=True)
                if not rows:
                    # Columns without any value have no type of their own in Arrow: files may differ in that.
                    seen = seen_kinds(self._empty(batch.schema.names))
                    wanted = replace(wanted, kinds=seen | known)
                yield as_table(pa.Table.from_batches([batch]), wanted, rows)
                rows += len(batch)


def is_place(X: Any) -> bool:
    """Does X say where a table is, and is none itself? Nothing is opened for the answer.

    >>> is_place("a.csv"), is_place([{"x": 1}]), is_place("select * from 'a.csv'")
    (True, False, True)
    """
    if isinstance(X, str | os.PathLike | Place):
        return True
    if isinstance(X, list | tuple):
        # Names of files; which of them is not there, the door says.
        return all(isinstance(x, str | os.PathLike) for x in X) and any(map(os.path.isfile, X))
    return lives_elsewhere(X) and not (isinstance(X, np.ndarray | Rows) or is_of_dask(X))


def place_of(X: Any) -> Place:
    """The place that X names.

    Parameters
    ----------
    X : a path, a folder, a pattern ("part-*.csv"), a list of files, a ``pyarrow.dataset.Dataset``, a relation
        of DuckDB's, or the text of a query ("select … from 'a.csv'")
        A file may be of any kind that `read` takes; the files of a folder, a pattern or a list are Parquet,
        Arrow, or CSV and TSV (.gz, too).
    """
    if isinstance(X, Place):
        return X
    if isinstance(X, str | os.PathLike):
        text = os.fspath(X)
        with refused_as("it can not be read", OSError, ValueError):
            there, folder = os.path.lexists(text), os.path.isdir(text)
        if not (folder or is_query(text) or glob.has_magic(text)) or (there and not folder):
            return FilePlace(X)
        if is_query(text) and not there:
            return ArrowPlace(source_of(text))
    elif not isinstance(X, list | tuple):
        return ArrowPlace(source_of(X))
    paths = files_of(X)
    if one_form(paths) != "text":
        return ArrowPlace(source_of(X))
    if not isinstance(X, list | tuple) and os.path.isdir(X) and partitioned(Path(X), paths):
        raise TableError(
            "folders such as year=2020 hold columns in their names, which are read of Parquet and Arrow "
            "files only. \"select * from read_csv('…/**/*.csv', hive_partitioning = true)\" reads them.",
            path=X,
        )
    return TextsPlace(paths)
