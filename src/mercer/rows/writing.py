"""Columns into a file, block by block: what is predicted for a file larger than memory."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from mercer._files import replacing
from mercer.rows.npy import NpyAppender
from mercer.rows.source import needed

Block = Mapping[str, Any]


def write_blocks(path: str | os.PathLike[str], blocks: Iterable[Block], *, replace: bool = False) -> int:
    """Write columns, block after block, in the memory of one block; the file appears when it is whole.

    Parameters
    ----------
    path : path of the file
        Its ending says what is written: .parquet, .csv, .tsv, or .npy (one column, or several side by side).
    blocks : iterable of dict
        Columns by name: arrays of equal length, the same names and types in every block. They are not asked
        for before the path has been found good.
    replace : bool
        Replace a file that is there. If not, that is an error before anything is computed.

    Returns
    -------
    int
        How many rows were written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "answers.csv")
    >>> write_blocks(file, ({"row": np.arange(2) + i, "score": np.full(2, 0.5)} for i in (0, 2)))
    4
    >>> print(file.read_text())
    row,score
    0,0.5
    1,0.5
    2,0.5
    3,0.5
    <BLANKLINE>
    """
    path = Path(path)
    writer = writer_of(path)
    require_free(path, replace)
    with _refusals(path), replacing(path) as out:
        rows = writer(out, _checked(blocks))
        # Somebody may have made the file in the meantime.
        require_free(path, replace)
    return rows


def writer_of(path: Path) -> Callable[[IO[bytes], Iterator[Block]], int]:
    """What writes such a file; an error for endings that nothing is known about."""
    writers = {".parquet": _parquet, ".pq": _parquet, ".csv": _csv, ".tsv": _tsv, ".npy": _npy}
    ending = path.suffix.lower()
    if ending not in writers:
        raise ValueError(
            f"{path} can't be written: its name must end in one of {', '.join(writers)}, to say what it "
            "shall be"
        )
    if ending != ".npy":
        needed(f"writing {ending} files block by block")
    return writers[ending]


def require_free(path: Path, replace: bool = False) -> None:
    """An error if a file can't be written there, or is there and shall not be replaced."""
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(folder))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder", str(path))
    if os.path.lexists(path) and not replace:
        raise FileExistsError(
            errno.EEXIST, "it is there already, and is not replaced unasked (replace=True does)", str(path)
        )
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "nothing can be written in this folder", str(folder))


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """A full disk said plainly: which file, and that nothing of it is left."""
    try:
        yield
    except OSError as error:
        full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        if error.errno not in full:
            raise
        why = os.strerror(error.errno or errno.ENOSPC).lower()
        raise OSError(
            error.errno, f"not written ({why}); no part of it is left, make room and try again", str(path)
        ) from error


def _checked(blocks: Iterable[Block]) -> Iterator[dict[str, np.ndarray]]:
    names: list[str] | None = None
    for block in blocks:
        found = {name: np.asarray(values) for name, values in block.items()}
        names = list(found) if names is None else names
        if list(found) != names:
            raise ValueError(f"a block has the columns {list(found)}, and the first one had {names}")
        if len({len(values) for values in found.values()}) != 1:
            raise ValueError("the columns of a block have different lengths")
        yield found
    if names is None:
        raise ValueError("there are no rows to write")


def _tables(blocks: Iterator[Block], nan_is_missing: bool) -> Iterator[Any]:
    """Blocks as Arrow's tables, of the first one's types."""
    import pyarrow as pa

    schema = None
    for block in blocks:
        arrays = {}
        for name, values in block.items():
            if values.ndim != 1:
                raise ValueError(
                    f"column {name!r} has the shape {values.shape}, and a table's columns have one axis"
                )
            values = values.astype(object) if values.dtype.kind == "U" else values
            arrays[name] = pa.array(values, from_pandas=nan_is_missing)
        table = pa.table(arrays)
        schema = table.schema if schema is None else schema
        yield table if table.schema == schema else table.cast(schema)


def _parquet(out: IO[bytes], blocks: Iterator[Block]) -> int:
    import pyarrow.parquet as pq

    rows, writer = 0, None
    try:
        for table in _tables(blocks, nan_is_missing=False):
            writer = pq.ParquetWriter(out, table.schema) if writer is None else writer
            writer.write_table(table)
            rows += len(table)
    finally:
        if writer is not None:
            writer.close()
    return rows


def _csv(out: IO[bytes], blocks: Iterator[Block], delimiter: str = ",") -> int:
    import pyarrow.csv as text

    rows = 0
    for table in _tables(blocks, nan_is_missing=True):
        if not rows:
            out.write((delimiter.join(_cell(name, delimiter) for name in table.column_names) + "\n").encode())
        options = text.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="needed")
        text.write_csv(table, out, options)
        rows += len(table)
    return rows


def _tsv(out: IO[bytes], blocks: Iterator[Block]) -> int:
    return _csv(out, blocks, "\t")


def _cell(name: str, delimiter: str) -> str:
    special = any(sign in name for sign in (delimiter, '"', "\n", "\r"))
    return '"' + name.replace('"', '""') + '"' if special else name


def _npy(out: IO[bytes], blocks: Iterator[Block]) -> int:
    appended = NpyAppender(out)  # type: ignore[arg-type]
    for block in blocks:
        arrays = list(block.values())
        array = arrays[0] if len(arrays) == 1 else np.column_stack(arrays)
        if array.dtype.kind not in "fiub":
            raise ValueError(f".npy files hold numbers here, not {array.dtype}: write .parquet or .csv")
        appended.append(array)
    appended.finish()
    return appended.rows
