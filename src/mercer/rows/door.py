"""The door for examples: paths, arrays and tables in memory or mapped, datasets, relations, queries."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer._memory import available_memory
from mercer.rows.arrays import ArrayRows
from mercer.rows.base import ChangedRows, Rows, Shard
from mercer.rows.columns import choose, known, listed
from mercer.rows.files import require_ordinary
from mercer.rows.missing import BesideRows, KnownTargetRows, WholeRows, completed, filled, require_way
from mercer.rows.placing import is_of_dask
from mercer.rows.query import QuerySource, is_query, is_relation
from mercer.rows.source import TableSource, needed
from mercer.rows.table import TableRows

# Endings of files, and what they are.
_PACKED = (".gz", ".bz2", ".zst")
_FORMATS = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".csv": "text",
    ".tsv": "text",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
    ".npy": ".npy",
}
# A memory-mapped array of fewer bytes, or that takes less than this share of free memory, is an array like
# any other: joblib hands arrays to its workers that way.
_SMALL, _SHARE = 64 << 20, 0.25


def lives_elsewhere(X: Any) -> bool:
    """Is X for `open_rows`: rows, a path, a large memory-mapped array, a dataset, a relation, a query, Dask?

    A table in memory is not, though `open_rows` takes it. Nothing is imported or opened for the answer.

    Examples
    --------
    >>> lives_elsewhere([[0.0]]), lives_elsewhere("select * from 'big.parquet'")
    (False, True)
    """
    if isinstance(X, Rows):
        return True
    if isinstance(X, np.memmap):
        return X.ndim == 2 and X.nbytes > max(_SMALL, _SHARE * available_memory())
    if isinstance(X, (str, os.PathLike)):
        return _names_files(X)
    if isinstance(X, list):
        # The first is asked first: a long list of words is soon known to be no list of files.
        return len(X) > 0 and all(
            isinstance(x, (str, os.PathLike)) and _form(os.fspath(x)) is not None and os.path.isfile(x)
            for x in X
        )
    return is_relation(X) or _is_of_arrow(X, "Dataset") or is_of_dask(X)


def open_rows(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    columns: Sequence[str] | None = None,
    dtype: Any = None,
    rows: int | None = None,
    cache: Any = None,
    missing: str = "error",
) -> Rows:
    """Examples that live elsewhere, as `Rows`: read in shards, and never all at once.

    Parameters
    ----------
    X : where they are
        The path of a file, a folder, a pattern ("part-*.parquet") or a list of files: Parquet, CSV or TSV
        (.gz, too), Arrow or Feather, .npy. A memory-mapped array; an array in memory. A
        ``pyarrow.dataset.Dataset``, a ``pyarrow.Table``. A relation of DuckDB's, or the text of a query
        ("select … from 'a.csv'"). An array or a data frame of Dask's, which is computed with on the workers
        of the current client. Rows, which are taken as they are but for what the other arguments ask.
    y : the targets
        The name of a column, or names of several; an array, or the path of a .npy file; None if there are
        none.
    sample_weight : the weights
        The name of a column, an array, or the path of a .npy file.
    columns : list of str, optional
        Columns that are features; all but y and the weights if None. They must be numbers.
    dtype : float32 or float64, optional
        Of the points. If None, float32 where the columns are, and float64 else.
    rows : int, optional
        Rows of a shard; some megabytes of them if None.
    cache : None, False or path
        Decoded rows are kept on disk from the first pass on where that pays and the disk has room (None), in
        a private folder that is removed in the end; in a folder of yours, where the next process finds them
        if the files are as they were (path); or not (False). `Rows.remarks` says when they could not be.
        Arrays and tables in memory have nothing to be decoded, and are not kept.
    missing : {"error", "drop", "median"}
        What becomes of rows in which a value is missing: an error that says where; left out; the median of
        the column (of a sample of 10,000 rows) in its place. Missing targets can be left out only. Rows that
        are given as X are not looked at by "error": what is missing in them a fit finds.

    Returns
    -------
    Rows

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "houses.csv")
    >>> _ = file.write_text("area,rooms,city\\n100,4,Bonn\\n80,3,Ulm\\n75,,Ulm\\n")
    >>> rows = open_rows(file, y="city", missing="drop")
    >>> rows.shape, rows.names, rows.shard(0).y.tolist()
    ((2, 2), ('area', 'rooms'), ['Bonn', 'Ulm'])
    """
    require_way(missing)
    if rows is not None and rows < 1:
        raise ValueError(f"a shard must have one row at least, got rows={rows}")
    if isinstance(X, Rows):
        cut = X if rows is None else _recut(X, rows)
        return _again(cut, y, sample_weight, columns, dtype, cache, missing)
    if is_of_dask(X):
        return _of_dask(X, y, sample_weight, columns, dtype, rows, cache, missing)
    if isinstance(X, np.ndarray) or _is_npy(X):
        opened: Rows = _arrays(X, y, sample_weight, columns, dtype, rows)
    else:
        kept = False if _is_of_arrow(X, "Table", "RecordBatch") else cache
        opened = _table(source_of(X), y, sample_weight, columns, dtype, rows, kept)
    return completed(opened, missing)


def source_of(X: Any) -> TableSource:
    """The source that a path, a pattern, a list of paths, a table, a dataset, a relation or a query is."""
    if is_relation(X) or (isinstance(X, str) and is_query(X) and not os.path.lexists(X)):
        return QuerySource(X)
    if _is_of_arrow(X, "Dataset"):
        from mercer.rows.arrow import DatasetSource

        return DatasetSource(X)
    if _is_of_arrow(X, "Table", "RecordBatch"):
        from mercer.rows.arrow import TableInMemory

        return TableInMemory(X)
    if not isinstance(X, (str, os.PathLike, list, tuple)):
        raise ValueError(
            "X must be a path, a memory-mapped array, a table, a dataset, a relation or a query, got "
            f"{type(X).__name__}"
        )
    paths = files_of(X)
    form = one_form(paths)
    if form == ".npy":
        raise ValueError("several .npy files can't be read as one: np.memmap them, or fit on one file")
    needed(f"reading {form} files")
    if form == "text":
        from mercer.rows.text import TextFiles

        return TextFiles(paths)
    from mercer.rows.arrow import DatasetSource, IpcFiles, ParquetFiles

    if not isinstance(X, (list, tuple)) and os.path.isdir(X) and partitioned(Path(X), paths):
        import pyarrow.dataset as ds

        made = ds.dataset(X, format="parquet" if form == "Parquet" else "ipc", partitioning="hive")
        return DatasetSource(made, str(X), whole=True)
    return ParquetFiles(paths) if form == "Parquet" else IpcFiles(paths)


def files_of(X: Any) -> list[Path]:
    """The files that a path, a folder, a pattern or a list of paths names, in order of their names."""
    if isinstance(X, (list, tuple)):
        if not X:
            raise ValueError("the list of files is empty")
        found = [path for one in X for path in files_of(one)]
        return found
    if "://" in str(X):
        raise ValueError(
            f"{X} is not on a disk of this machine: pyarrow.dataset.dataset({str(X)!r}) reads some such "
            "addresses, and is taken as X"
        )
    path = Path(X)
    if path.is_dir():
        files = sorted(f for f in path.rglob("*") if f.is_file() and not _hidden(f.relative_to(path)))
        if not files:
            raise ValueError(f"the folder {path} has no files")
        return files
    if path.exists():
        require_ordinary(path)
        return [path]
    if glob.has_magic(str(path)):
        files = sorted(Path(f) for f in glob.glob(str(path), recursive=True) if os.path.isfile(f))
        if files:
            return files
        raise FileNotFoundError(f"no file is called {path}")
    raise FileNotFoundError(
        f"there is no file {path}" + (f": {path.parent} is no folder" if not path.parent.is_dir() else "")
    )


# -- what X is --------------------------------------------------------------------------------------


def _names_files(X: Any) -> bool:
    text = os.fspath(X)
    if not isinstance(text, str) or len(text) > 100_000 or "\0" in text:
        return False
    if is_query(text):
        return True
    if _form(text) is not None:
        return True  # whether it is there the door says
    return os.path.isdir(text) or (os.path.isfile(text) and not glob.has_magic(text))


def _is_of_arrow(X: Any, *names: str) -> bool:
    """Is X of one of PyArrow's classes? If it is, PyArrow is imported."""
    return any(kind.__module__.startswith("pyarrow.") and kind.__name__ in names for kind in type(X).__mro__)


def _is_npy(X: Any) -> bool:
    return isinstance(X, (str, os.PathLike)) and _form(os.fspath(X)) == ".npy" and not os.path.isdir(X)


def _form(path: str) -> str | None:
    name = path.lower()
    for ending in _PACKED:
        if name.endswith(ending):
            return "text" if _FORMATS.get(os.path.splitext(name[: -len(ending)])[1]) == "text" else None
    return _FORMATS.get(os.path.splitext(name)[1])


def one_form(paths: list[Path]) -> str:
    """What files are that are read together, by their endings; an error if that is not one thing."""
    forms: dict[str, Path] = {}
    for path in paths:
        form = _form(str(path))
        if form is None:
            raise ValueError(
                f"{path} is of an unknown format: its name ends in none of {', '.join(_FORMATS)} "
                "(CSV and TSV also packed: .csv.gz)"
            )
        forms.setdefault(form, path)
    if len(forms) > 1:
        (a, first), (b, second) = list(forms.items())[:2]
        raise ValueError(f"{first} is {a} and {second} is {b}: files that are read together have one format")
    return next(iter(forms))


def _hidden(path: Path) -> bool:
    """Files that Spark and others leave beside the data (_SUCCESS, .crc), and what is in such folders."""
    return any(part.startswith((".", "_")) for part in path.parts)


def partitioned(folder: Path, paths: list[Path]) -> bool:
    """Are there columns in the names of the folders (year=2020)?"""
    return any("=" in part for path in paths for part in path.relative_to(folder).parts[:-1])


# -- rows of it -------------------------------------------------------------------------------------


def _arrays(X: Any, y: Any, w: Any, columns: Any, dtype: Any, rows: int | None) -> Rows:
    if columns is not None:
        raise ValueError(
            "columns= names columns of a table, and an array has none: X[:, [0, 2]] chooses some"
        )
    _require_arrays(y, w, "an array")
    opened = ArrayRows(X, _values(y), _values(w), rows)
    if not opened.shape[0]:
        raise ValueError(f"{X if isinstance(X, (str, os.PathLike)) else 'X'} has no rows")
    return _cast(opened, dtype)


def _of_dask(
    X: Any, y: Any, w: Any, columns: Any, dtype: Any, rows: int | None, cache: Any, missing: str
) -> Rows:
    from mercer.rows.cluster import ClusterRows

    if rows is not None:
        raise ValueError(
            "rows= cuts files and arrays, and blocks of Dask's are shards as they are: X.repartition(…) or "
            "X.rechunk(…) cuts those"
        )
    if cache not in (None, False):
        raise ValueError("cache= is for files: blocks of Dask's stay in the memory of its workers")
    opened = ClusterRows(X, y, w, columns=columns, dtype=dtype, missing=missing)
    return filled(opened) if missing == "median" else opened


def _table(
    source: TableSource, y: Any, w: Any, columns: Any, dtype: Any, rows: int | None, cache: Any
) -> Rows:
    names = source.schema.names
    target = y if _is_column(y, names, source.name) else None
    weight = w if _is_column(w, names, source.name) else None
    chosen = choose(source.schema, source.name, columns, target, weight, dtype)
    source.as_numbers((*chosen.features, *(() if weight is None else (weight,))))
    opened = TableRows(source, chosen, rows, cache)
    y, w = None if target is not None else y, None if weight is not None else w
    if y is None and w is None:
        return opened
    return BesideRows(opened, _values(y), _values(w))


def _again(X: Rows, y: Any, w: Any, columns: Any, dtype: Any, cache: Any, missing: str) -> Rows:
    """Rows that were opened before, with what is asked for besides."""
    _require_arrays(y, w, "rows")
    if cache not in (None, False):
        raise ValueError("cache= is for what is yet to be decoded, and these rows are opened already")
    if missing != "error" and X.on_workers:
        raise ValueError(
            f"missing={missing!r} is for rows of this machine, and these are on the workers of a cluster: "
            "drop or fill in what is missing in the data frame they are from"
        )
    if all(value is None for value in (y, w, columns, dtype)) and missing == "error":
        return X
    # Rows that do not refuse what is missing: it may be in a column that is not asked for any more.
    bare = _bare(X)
    whole = bare is not X and not isinstance(X, KnownTargetRows)
    X = bare if missing != "error" or whole else X
    opened = X if y is None and w is None else BesideRows(X, _values(y), _values(w))
    if columns is not None:
        if opened.names is None:
            raise ValueError("columns= names columns, and these rows have no names of columns")
        index = [list(opened.names).index(name) for name in listed(columns, opened.names, "X")]
        opened = opened.changed(Narrowed(tuple(columns), tuple(index)), width=len(index))
    opened = _cast(opened, dtype)
    return completed(opened, missing) if missing != "error" or whole else opened


def _bare(X: Rows) -> Rows:
    if isinstance(X, WholeRows):
        return X.base
    if type(X) is ChangedRows and (base := _bare(X.base)) is not X.base:
        return ChangedRows(base, X.change, X.dtype, X.shape[1] if X.shape[1] != base.shape[1] else None)
    return X


def _recut(X: Rows, rows: int) -> Rows:
    found = X.recut(rows)
    if max(found.sizes, default=0) > rows:
        raise ValueError(f"these rows can't be cut anew into shards of rows={rows}: they stay where they are")
    return found


def _cast(rows: Rows, dtype: Any) -> Rows:
    if dtype is None or np.dtype(dtype) == rows.dtype:
        return rows
    return rows.changed(Cast(np.dtype(dtype)), dtype)


def _require_arrays(y: Any, w: Any, what: str) -> None:
    for name, other in (("y", y), ("sample_weight", w)):
        if isinstance(other, (str, os.PathLike)) and not _is_npy(other):
            raise ValueError(
                f"X is {what} already, so {name} is an array or the path of a .npy file: got {other!r}"
            )


def _is_column(value: Any, names: Sequence[str], name: str) -> bool:
    """A name of a column (or several), and not an array or a path of one."""
    if value is None or isinstance(value, os.PathLike):
        return False
    if isinstance(value, str):
        if value not in names and _is_npy(value):
            return False
        known(value, names, name)
        return True
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(v, str) for v in value)


def _values(value: Any) -> Any:
    if value is None or isinstance(value, (str, os.PathLike, np.ndarray)):
        return value
    return np.asarray(value)


@dataclass(frozen=True)
class Narrowed:
    """Some columns of the points, as a change of shards."""

    names: tuple[str, ...]
    index: tuple[int, ...]

    def __call__(self, shard: Shard) -> Shard:
        return replace(shard, X=np.ascontiguousarray(shard.X[:, list(self.index)]))


class Cast:
    """Points in another precision, as a change of shards."""

    def __init__(self, dtype: np.dtype):
        if dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, got {dtype}")
        self.dtype = dtype

    def __call__(self, shard: Shard) -> Shard:
        return replace(shard, X=shard.X.astype(self.dtype))
