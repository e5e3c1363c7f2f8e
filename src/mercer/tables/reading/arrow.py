"""Arrow's columns, and the files that hold them: Parquet, Arrow IPC (Feather), in both directions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.tables.reading.budget import ask
from mercer.tables.reading.cells import Coded
from mercer.tables.reading.errors import Stray, TableError, checked_names, refused_as
from mercer.tables.reading.objects import as_kind, as_word, bounded_dates, finite, kind_of
from mercer.tables.reading.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 65_536
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def needed(what: str) -> ModuleType:
    """PyArrow, or a sentence that says how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise TableError(f"{what} needs PyArrow: pip install 'mercer[cli]'") from None
    return pyarrow


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
        return bounded_dates(np.where(missing, np.datetime64("NaT"), counts.astype(f"datetime64[{unit}]")))
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


def table_from(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path, kinds: dict[str, str], limit: int | None
) -> Table:
    """A table from batches, up to a number of rows. All is checked: the bytes may be anyone's."""
    import pyarrow as pa

    names = checked_names(list(schema.names), path)
    kept: list[pa.RecordBatch] = []
    rows = taken = 0
    for batch in batches:
        batch = batch if limit is None else batch.slice(0, limit - rows)
        batch.validate(full=True)
        kept.append(batch)
        rows, taken = rows + len(batch), taken + batch.nbytes
        # The batches are held already; a copy of them as columns, and one batch more, must fit.
        ask(path, 8 * rows * len(names) + taken + batch.nbytes, f"more than {rows:,} rows of it")
        if limit is not None and rows >= limit:
            break
    table = pa.Table.from_batches(kept, schema)
    columns = {}
    for i, name in enumerate(names):
        try:
            columns[name] = as_kind(from_arrow(table.column(i)), kinds.get(name))
        except Stray as stray:
            raise stray.at(name, path) from None
        except TableError as error:
            raise TableError(error.problem, path=path, column=name) from None
    return Table(columns, rows)


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


def read_parquet(path: Path, kinds: dict[str, str], limit: int | None = None) -> Table:
    """A Parquet file."""
    with refusals(path, "this is no sound Parquet file"):
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            about = file.metadata
            if limit is None:
                size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
                ask(path, 2 * size + 8 * about.num_rows * about.num_columns)
            batches = file.iter_batches(BATCH if limit is None else min(limit, BATCH))
            return table_from(batches, file.schema_arrow, path, kinds, limit)


def read_ipc(path: Path, kinds: dict[str, str], limit: int | None = None) -> Table:
    """An Arrow IPC file (Feather) or stream."""
    with refusals(path, "this is no sound Arrow file"):
        schema, batches = open_ipc(path)
        return table_from(batches, schema, path, kinds, limit)


def open_ipc(path: Path) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """What an Arrow IPC file says its columns are, and its batches, one by one."""
    pa = needed(f"{path}: reading Arrow files")
    ask(path, 2 * path.stat().st_size)
    data = pa.py_buffer(path.read_bytes())
    if data[:6].to_pybytes() == b"ARROW1":
        file = pa.ipc.open_file(data)
        return file.schema, (file.get_batch(i) for i in range(file.num_record_batches))
    stream = pa.ipc.open_stream(data)
    return stream.schema, iter(stream)


def refusals(path: Path, what: str, *more: type[BaseException]) -> Any:
    """Whatever PyArrow says about bytes it can not read, as a `TableError`."""
    pa = needed(f"{path}: this kind of file")
    python = (OSError, ValueError, MemoryError, LookupError, TypeError, ArithmeticError, NotImplementedError)
    return refused_as(path, what, pa.ArrowException, *python, *more)
