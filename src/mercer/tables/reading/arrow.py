"""Arrow's columns, and the files that hold them: Parquet, Arrow IPC (Feather), in both directions."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.tables.reading.budget import ask
from mercer.tables.reading.cells import WRITTEN, Coded, Understood
from mercer.tables.reading.errors import TableError, checked_names, refused_as
from mercer.tables.reading.format import Format, Wanted, assembled
from mercer.tables.reading.objects import as_kind, as_word, bounded_dates, finite, kind_of
from mercer.tables.reading.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 65_536
# Pages are read through a buffer of so many bytes a column, so that a group of rows may have gigabytes.
_BUFFER = 1 << 18
# Values of a part at most: those of wide tables have fewer rows.
_PART_VALUES = 1 << 19
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def needed(what: str, package: str = "PyArrow") -> ModuleType:
    """PyArrow (or DuckDB), or a sentence that says how to get it."""
    try:
        return importlib.import_module(package.lower())
    except ImportError:
        raise TableError(f"{what} needs {package}: pip install 'mercer[cli]'") from None


def from_arrow(column: Any) -> np.ndarray:
    """A column of a table from an Arrow array; `Stray` for values, `TableError` for types that do not fit."""
    import pyarrow as pa
    import pyarrow.types as is_

    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
        kind = column.type
    if is_.is_null(kind):
        return np.full(len(column), np.nan)
    if is_.is_integer(kind) or is_.is_floating(kind) or is_.is_decimal(kind):
        return finite(column.cast(pa.float64(), safe=False).to_numpy())
    if is_.is_temporal(kind) and not is_.is_interval(kind):
        short = is_.is_date32(kind) or is_.is_time32(kind)
        whole = column.cast(pa.int32() if short else pa.int64())
        unit = "D" if is_.is_date32(kind) else "ms" if is_.is_date64(kind) else kind.unit
        counts = whole.fill_null(0).to_numpy().astype(np.int64)
        missing = whole.is_null().to_numpy()
        if is_.is_duration(kind) or is_.is_time(kind):
            return np.where(missing, np.nan, counts / UNITS[unit])
        dates = counts.astype(f"datetime64[{unit}]")
        dates[missing] = "NaT"
        return bounded_dates(dates)
    if (
        is_.is_boolean(kind)
        or is_.is_dictionary(kind)
        or any(has(kind) for has in (is_.is_string, is_.is_large_string, is_.is_string_view))
    ):
        words = coded(column)
        known = [None if word is None or word == "" else as_word(word) for word in words.words]
        return np.array([*known, None], dtype=object)[words.codes]
    raise TableError(
        f"values of type {kind} are no numbers, words or dates. Take the column apart with a query."
    )


def coded(column: pa.ChunkedArray) -> Coded:
    """The distinct values and which of them each row has: one Python object a word, not one a row."""
    import pyarrow as pa

    if pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    column = column.unify_dictionaries()
    known = column.chunk(0).dictionary if column.num_chunks else pa.array([], pa.string())
    text = pa.types.is_string(known.type)  # for which there is a faster way
    words = known.to_numpy(zero_copy_only=False).tolist() if text else known.to_pylist()
    indices = [chunk.indices.cast(pa.int64()) for chunk in column.chunks]
    codes = [index.fill_null(-1).to_numpy(zero_copy_only=False) for index in indices]
    return Coded(words, np.concatenate([np.zeros(0, np.int64), *codes]))


def table_from(batches: Iterable[pa.RecordBatch], schema: pa.Schema, wanted: Wanted) -> Table:
    """A table from batches, up to a number of rows. All is checked: the bytes may be anyone's."""
    import pyarrow as pa

    kept: list[pa.RecordBatch] = []
    rows = taken = 0
    for batch in batches:
        batch = batch if wanted.limit is None else batch.slice(0, wanted.limit - rows)
        batch.validate(full=True)
        kept.append(batch)
        rows, taken = rows + len(batch), taken + batch.nbytes
        # The batches are held already; a copy of them as columns, and one batch more, must fit.
        need = 8 * rows * len(schema.names) + taken + batch.nbytes
        ask(need, f"more than {rows:,} rows of it")
        if wanted.limit is not None and rows >= wanted.limit:
            break
    return as_table(pa.Table.from_batches(kept, schema), wanted)


def as_table(content: pa.Table, wanted: Wanted, first_row: int = 0) -> Table:
    """A table from Arrow's; what is wrong is named by row, the first being `first_row`."""
    import pyarrow as pa

    checked_names(list(content.column_names))
    content = content.select([name for name in content.column_names if not wanted.skip(name)])
    names = content.column_names

    def column(j: int) -> Understood:
        kind, found = wanted.kinds.get(names[j]), content.column(j)
        if kind in ("text", WRITTEN) and pa.types.is_integer(found.type):
            found = found.cast(pa.string())  # all digits, which a float64 may not hold
        values = as_kind(from_arrow(found), kind)
        return Understood(values, kind_of(values))

    return assembled(names, column, first_row=first_row, n_rows=len(content))


def to_arrow(table: Table) -> pa.Table:
    """The same table for Arrow: double, string, timestamp[us]; missing values are null."""
    pa = needed("Arrow")
    types = {"number": pa.float64(), "text": pa.string(), "date": pa.timestamp("us")}
    return pa.table(
        {
            name: pa.array(column, types[kind_of(column)], from_pandas=True)
            for name, column in table.columns.items()
        }
    )


def _held(about: Any) -> float:
    """Bytes of memory that the table of a Parquet file takes, from its metadata."""
    size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    return 2 * size + 8 * about.num_rows * about.num_columns


class Parquet(Format):
    """Columns with types of their own, in parts that can be read one by one."""

    name = "Parquet"
    suffixes = (".parquet", ".pq")
    start = b"PAR1"

    def read(self, wanted: Wanted) -> Table:
        with self._opened(wanted) as file:
            about = file.metadata
            if wanted.limit is None:
                ask(_held(about))
            size = BATCH if wanted.limit is None else min(wanted.limit, BATCH)
            return table_from(file.iter_batches(size), file.schema_arrow, wanted)

    def held(self, wanted: Wanted) -> float:
        with self._opened(wanted) as file:
            return _held(file.metadata)

    def parts(self, wanted: Wanted) -> Iterator[Table]:
        import pyarrow as pa

        rows = 0
        with self._opened(wanted, pre_buffer=False, buffer_size=_BUFFER) as file:
            names = checked_names(list(file.schema_arrow.names))
            kept = [name for name in names if not wanted.skip(name)]
            size = max(min(wanted.part, _PART_VALUES // max(len(kept), 1)), 1)
            for batch in file.iter_batches(size, columns=kept, use_threads=False):
                batch.validate(full=True)
                yield as_table(pa.Table.from_batches([batch]), wanted, rows)
                rows += len(batch)

    def for_query(self, wanted: Wanted) -> tuple[Any, tuple[str, ...]]:
        """The file itself: a query reads what it needs of it."""
        with refusals("this is no sound Parquet file"):
            import pyarrow.dataset

            return pyarrow.dataset.dataset(wanted.path, format="parquet"), ()

    @contextmanager
    def _opened(self, wanted: Wanted, **options: Any) -> Iterator[Any]:
        with refusals("this is no sound Parquet file"):
            import pyarrow.parquet as pq

            with pq.ParquetFile(wanted.path, **options) as file:
                yield file


class ArrowFile(Format):
    """Arrow IPC files (Feather), and streams, which have no mark in front."""

    name = "Arrow"
    suffixes = (".arrow", ".arrows", ".feather", ".ipc")
    start = b"ARROW1\0\0"
    always = False

    def read(self, wanted: Wanted) -> Table:
        with refusals("this is no sound Arrow file"):
            pa = needed("reading Arrow files")
            ask(2 * wanted.path.stat().st_size)
            data = pa.py_buffer(wanted.path.read_bytes())
            if data[:6].to_pybytes() == b"ARROW1":
                file = pa.ipc.open_file(data)
                batches = (file.get_batch(i) for i in range(file.num_record_batches))
                return table_from(batches, file.schema, wanted)
            stream = pa.ipc.open_stream(data)
            return table_from(iter(stream), stream.schema, wanted)

    def parts(self, wanted: Wanted) -> Iterator[Table]:
        """Batch by batch: one can only be read whole."""
        rows = 0
        with refusals("this is no sound Arrow file"):
            pa = needed("reading Arrow files")
            with pa.OSFile(str(wanted.path)) as file:
                for batch in _batches(file):
                    batch.validate(full=True)
                    content = pa.Table.from_batches([batch])
                    size = max(min(wanted.part, _PART_VALUES // max(batch.num_columns, 1)), 1)
                    for start in range(0, len(batch), size):
                        yield as_table(content.slice(start, size), wanted, rows + start)
                    rows += len(batch)


def _batches(file: Any) -> Iterator[Any]:
    """Those of an Arrow file or stream, one at a time."""
    import pyarrow as pa

    if file.read(6) != b"ARROW1":
        file.seek(0)
        yield from pa.ipc.open_stream(file)
        return
    reader = pa.ipc.open_file(file)
    for number in range(reader.num_record_batches):
        yield reader.get_batch(number)


def refusals(what: str, *more: type[BaseException]) -> Any:
    """Whatever PyArrow says about bytes it can not read, as a `TableError`."""
    pa = needed("this kind of file")
    python = (OSError, ValueError, MemoryError, LookupError, TypeError, ArithmeticError, NotImplementedError)
    return refused_as(what, pa.ArrowException, *python, *more)
