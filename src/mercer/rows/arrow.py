"""Tables that Arrow reads: Parquet, Arrow IPC (Feather), any pyarrow.dataset.Dataset, a pyarrow.Table."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from mercer.rows.arrays import spread
from mercer.rows.files import FoundFile, checked
from mercer.rows.source import SourceFiles, TableSource, batch_rows, checked_names, identity_of, sound

# No table has more rows: metadata that promise more lie.
_MOST_ROWS = 1 << 40
# Pages are read through a buffer of so many bytes a column, so that a group of rows may have gigabytes.
_BUFFER = 1 << 18


class PartedFiles(SourceFiles):
    """Files in parts (groups of rows, batches), each of which can be read without those before it."""

    def __init__(self, paths: Sequence[Path]):
        super().__init__(paths)
        self._parts: list[tuple[int, int]] = []  # the file, and which part of it
        sizes: list[int] = []
        schemas = []
        for number, path in enumerate(self.paths):
            schema, rows = self.look(path)
            with sound(path, "file"):
                names = schema.names
            checked_names(names, str(path))
            schemas.append(schema)
            self._parts += [(number, part) for part in range(len(rows))]
            sizes += rows
        self.schema = self.unified(schemas)
        self._starts = list(accumulate(sizes, initial=0))
        self.length = self._starts[-1]
        if self.length > _MOST_ROWS or any(size < 0 for size in sizes):
            raise ValueError(f"{self.name} promises {self.length:,} rows, which can't be")

    def look(self, path: Path) -> tuple[Any, list[int]]:
        """A file's schema, and the rows of its parts."""
        raise NotImplementedError

    def read(self, path: Path, parts: list[int], columns: Sequence[str]) -> Iterator[Any]:
        """Batches of some neighbouring parts of a file."""
        raise NotImplementedError

    def entry(self, row):
        return self._starts[max(bisect_right(self._starts, row, hi=len(self._parts)) - 1, 0)]

    def batches(self, first, columns):
        part = bisect_right(self._starts, first, hi=len(self._parts)) - 1
        while 0 <= part < len(self._parts):
            number = self._parts[part][0]
            stop = part
            while stop < len(self._parts) and self._parts[stop][0] == number:
                stop += 1
            promised = self._starts[stop] - self._starts[part]
            path, seen = self.paths[number], 0
            read = self.read(path, [p for _, p in self._parts[part:stop]], columns)
            for batch in self.files[number].checked(read):
                seen += len(batch)
                if seen > promised:
                    break
                yield batch
            if seen != promised:
                found = "more" if seen > promised else f"{seen:,}"
                raise ValueError(
                    f"{path} is not sound: its metadata promise {promised:,} rows from row "
                    f"{self._starts[part] + 1:,} on, and there are {found}"
                )
            part = stop


class ParquetFiles(PartedFiles):
    """Rows of Parquet files, whose groups of rows can be entered one by one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> file = pathlib.Path(tempfile.mkdtemp(), "a.parquet")
    >>> pq.write_table(pa.table({"x": [1.0, 2.0, 3.0]}), file, row_group_size=2)
    >>> source = ParquetFiles([file])
    >>> source.length, source.entry(1), source.entry(2), [len(b) for b in source.batches(2, ["x"])]
    (3, 0, 2, [1])
    """

    def look(self, path):
        import pyarrow.parquet as pq

        with sound(path, "Parquet file"), pq.ParquetFile(path, pre_buffer=False) as file:
            about = file.metadata
            rows = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
            if sum(rows) != about.num_rows:
                raise ValueError(f"it promises {about.num_rows:,} rows, and its groups {sum(rows):,}")
            return file.schema_arrow, rows

    def read(self, path, parts, columns):
        import pyarrow.parquet as pq

        with (
            sound(path, "Parquet file"),
            pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file,
        ):
            rows = batch_rows(self.schema, columns)
            yield from file.iter_batches(rows, row_groups=parts, columns=list(columns), use_threads=False)

    def stored_bytes(self, columns):
        # About. Metadata know it exactly, but PyArrow ends the process if those of a column are spoilt.
        return sum(size for _, size, _ in self.identity()) * len(columns) // len(self.schema.names)


class IpcFiles(PartedFiles):
    """Rows of Arrow IPC files (Feather), whose batches can be entered one by one."""

    def look(self, path):
        import pyarrow as pa

        with sound(path, "Arrow file"), pa.OSFile(str(path)) as opened:
            schema = pa.ipc.open_file(opened).schema
            # One column is enough to count rows by.
            reader = pa.ipc.open_file(opened, options=pa.ipc.IpcReadOptions(included_fields=[0]))
            rows = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
            return schema, rows

    def read_whole(self):
        return max((b - a for a, b in pairwise(self._starts)), default=0)

    def read(self, path, parts, columns):
        import pyarrow as pa

        rows = batch_rows(self.schema, columns)
        with sound(path, "Arrow file"), pa.OSFile(str(path)) as opened:
            names = pa.ipc.open_file(opened).schema.names
            some = sorted(names.index(name) for name in columns)
            reader = pa.ipc.open_file(
                opened, options=pa.ipc.IpcReadOptions(included_fields=some, use_threads=False)
            )
            for part in parts:
                batch = reader.get_batch(part)
                # A column outside the bounds of its buffer would be read all the same.
                batch.validate(full=True)
                for start in range(0, len(batch), rows):
                    yield batch.slice(start, rows)


class DatasetSource(TableSource):
    """Rows of a pyarrow.dataset.Dataset, in its order.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    name : str, for messages
    whole : bool
        Are its rows all those of its files, and in files of this machine? Then these are its identity.
    """

    def __init__(self, dataset: Any, name: str = "the dataset", whole: bool = False):
        self.dataset, self.name = dataset, name
        self.schema = dataset.schema
        checked_names(self.schema.names, name)
        self._files = {path: FoundFile(path) for path in _local_files(dataset)}
        self._identity = identity_of(list(self._files.values())) if whole else None

    def identity(self):
        return self._identity

    def batches(self, first, columns):
        for found in checked(self._scanned(columns), self._check):
            yield found.record_batch

    def _check(self, found: Any) -> None:
        """The file of a batch that was read must be as it was; all files if there is none."""
        # A fragment in memory has no path.
        paths = self._files if found is None else [getattr(found.fragment, "path", "")]
        for path in paths:
            if path in self._files:
                self._files[path].check()

    def _scanned(self, columns: Sequence[str]) -> Iterator[Any]:
        """Batches, and of which file each is."""
        import pyarrow.dataset as ds

        options: dict[str, Any] = {}
        if getattr(getattr(self.dataset, "format", None), "type_name", "") == "parquet":
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
                pre_buffer=False, use_buffered_stream=True, buffer_size=_BUFFER
            )
        scanner = self.dataset.scanner(
            columns=list(columns),
            batch_size=batch_rows(self.schema, columns),
            batch_readahead=2,
            fragment_readahead=1,
            use_threads=False,
            **options,
        )
        with sound(self.name, "dataset"):
            yield from scanner.scan_batches()


def _local_files(dataset: Any) -> list[str]:
    """Paths of a dataset's files, where they are files of this machine."""
    from pyarrow.fs import LocalFileSystem

    local = isinstance(getattr(dataset, "filesystem", None), LocalFileSystem)
    return sorted(dataset.files) if local else []


class TableInMemory(TableSource):
    """Rows of a pyarrow.Table, or of a pyarrow.RecordBatch.

    Examples
    --------
    >>> import pyarrow as pa
    >>> source = TableInMemory(pa.table({"x": [1.0, 2.0, 3.0]}))
    >>> source.length, [batch.to_pydict() for batch in source.batches(1, ["x"])]
    (3, [{'x': [2.0, 3.0]}])
    """

    def __init__(self, table: Any):
        import pyarrow as pa

        self.table = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
        self.name, self.schema, self.length = "the table", table.schema, len(table)
        checked_names(self.schema.names, self.name)

    def entry(self, row):
        return row

    def batches(self, first, columns):
        wanted = self.table.select(list(columns)).slice(first)
        yield from wanted.to_batches(max_chunksize=batch_rows(self.schema, columns))

    def identity(self):
        some = [self.table.slice(row, 1).to_pylist() for row in spread(len(self.table))]
        looked = hashlib.sha256(repr((self.schema, some)).encode()).hexdigest()
        return [(looked, self.table.nbytes, len(self.table))]
