"""The door for data in memory: arrays, data frames, dicts and records become a `Table`."""

from __future__ import annotations

import math
import sys
from collections.abc import Container, Iterable, Mapping
from os import PathLike
from typing import Any

import numpy as np

from mercer._xp import require_sound
from mercer.tables.reading.cells import ORDERS, WRITTEN, DatesRead, dates_in
from mercer.tables.reading.errors import Stray, TableError, checked_names
from mercer.tables.reading.objects import as_kind, as_word, bounded_dates, finite, from_objects
from mercer.tables.reading.table import DENSE_LIMIT, Table


def table_from_memory(X: Any, names: Iterable[str] | None, kinds: Mapping[str, str] | None) -> Table:
    """See `Table.of`."""
    kinds = checked_kinds(kinds)
    columns = _columns(X, None if names is None else list(names))
    made = {name: column_of(values, name, kinds.get(name)) for name, values in columns.items()}
    return noted(Table(made, X.n_rows, X.remarks) if isinstance(X, Table) else Table(made), kinds)


def noted(table: Table, kinds: Mapping[str, str]) -> Table:
    """The same table, which remembers how dates were said to be written."""
    known = table.orders
    said = [DatesRead(n, str(k)) for n, k in kinds.items() if k in ORDERS and n in table and n not in known]
    return Table(table.columns, table.n_rows, (*table.remarks, *said)) if said else table


def with_dates(table: Table, said: Container[str] = ()) -> Table:
    """The same table; words that are all dates become dates, but where it was said what they are."""
    columns, remarks = dict(table.columns), list(table.remarks)
    for name in table.names:
        if table.kind(name) == "text" and name not in said:
            found = dates_in(table[name])
            columns[name] = found.values
            remarks += found.remarks(name)
    return Table(columns, table.n_rows, remarks)


def checked_kinds(kinds: Mapping[str, str] | None) -> dict[str, str]:
    """What columns shall be, as a dict."""
    for name, kind in (kinds or {}).items():
        if kind not in ("number", "text", "date", WRITTEN, *ORDERS):
            raise ValueError(
                f"kinds[{name!r}] is {kind!r}; it must be 'number', 'text' or 'date', or the order in which "
                f"dates are written: {', '.join(map(repr, ORDERS))}"
            )
    return dict(kinds or {})


def column_of(values: Any, name: str, kind: str | None = None) -> np.ndarray:
    """A column from anything with one dimension."""
    try:
        if type(values).__module__.partition(".")[0] == "pyarrow":
            from mercer.tables.reading.arrow import from_arrow

            return as_kind(from_arrow(values), kind)
        array = _as_array(values)
        if array.dtype.kind in "bOUT":
            return from_objects(array if array.dtype.kind == "O" else array.tolist(), kind)
        return as_kind(_plain(array), kind)
    except Stray as stray:
        raise stray.at(name) from None
    except TableError as error:
        error.column = name
        raise


def _as_array(values: Any) -> np.ndarray:
    """An array with one element a row; numbers and words in one list stay what they are."""
    if str(getattr(values, "dtype", None)) == "category":  # of pandas: words, even where they are numbers
        words = np.array([*(as_word(category) for category in values.cat.categories), None], dtype=object)
        return words[np.asarray(values.cat.codes)]
    if hasattr(values, "to_numpy"):
        values = np.asarray(values.to_numpy())
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise TableError(f"a column has one dimension, this one {values.ndim}.")
        return values
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TableError(
            "a column must be a list or an array, or every one a single value: that is a record, and one row."
        )
    values = list(values)
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # one by one: lists in a list would make a matrix
        array[i] = value
    return array


def _plain(array: np.ndarray) -> np.ndarray:
    """Numbers and dates as they are kept; durations in seconds."""
    if array.dtype.kind in "iuf":
        return finite(array.astype(np.float64, copy=False))
    if array.dtype.kind == "M":
        return bounded_dates(array)
    if array.dtype.kind == "m":
        return np.where(np.isnat(array), np.nan, array / np.timedelta64(1, "s"))
    raise TableError(f"values of dtype {array.dtype} are no numbers, words or dates.")


def _columns(X: Any, names: list[str] | None) -> dict[str, Any]:
    """Names and what is under them."""
    if hasattr(X, "collect"):
        raise TableError("the data are not there yet: call collect() first.")
    if hasattr(X, "toarray"):  # before dicts: SciPy's dok_matrix is one, of pairs of indices
        return _from_rows(_dense(X), names)
    if isinstance(X, Table):
        found: dict[str, Any] = dict(X.columns)
    elif isinstance(X, Mapping):
        found = _named(X.keys(), X.values())
        if found and all(map(_is_value, found.values())):  # a record: no column is one value
            found = {n: [v[()] if isinstance(v, np.ndarray) else v] for n, v in found.items()}
    elif (pa := sys.modules.get("pyarrow")) and isinstance(X, pa.Table | pa.RecordBatch):
        found = _named(X.schema.names, X.columns)
    elif isinstance(X, np.ndarray) and X.dtype.names:
        found = {name: X[name] for name in X.dtype.names}
    elif hasattr(X, "columns") and hasattr(X, "shape"):  # pandas, polars
        found = _named(
            X.columns, (X.iloc[:, i] if hasattr(X, "iloc") else X[:, i] for i in range(X.shape[1]))
        )
    elif hasattr(X, "__arrow_c_stream__") and len(getattr(X, "shape", (0, 0))) == 1:
        raise TableError(
            "a Series may be a column or a row: give X.to_frame() for a column, X.to_dict() for one row."
        )
    elif hasattr(X, "__arrow_c_stream__"):
        import pyarrow

        return _columns(pyarrow.table(X), names)
    elif isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X):
        keys = dict.fromkeys(key for row in X for key in row)
        found = _named(keys, ([row.get(key) for row in X] for key in keys))
    else:
        return _from_rows(X, names)
    if names is not None:
        raise TableError("the columns have names already; names= is for arrays.")
    return found


def _is_value(value: Any) -> bool:
    """Is this one value, and no list of them?"""
    single = isinstance(value, str | bytes) or not isinstance(value, Iterable)
    return single or (isinstance(value, np.ndarray) and not value.ndim)


def _named(names: Iterable[Any], columns: Iterable[Any]) -> dict[str, Any]:
    texts = checked_names([str(name) for name in names])
    return dict(zip(texts, columns, strict=True))


def _dense(X: Any) -> np.ndarray:
    """One of SciPy's sparse matrices as an array."""
    if math.prod(X.shape) > DENSE_LIMIT:
        raise TableError(
            f"{' × '.join(f'{n:,}' for n in X.shape)} values are too many for a table, which is dense. "
            "Estimators such as KernelRidge take the sparse matrix as it is."
        )
    require_sound(X)
    return X.toarray()


def _from_rows(X: Any, names: list[str] | None) -> dict[str, Any]:
    if isinstance(X, list | tuple) and X and all(isinstance(row, list | tuple) for row in X):
        width = len(X[0])
        for i, row in enumerate(X):
            if len(row) != width:
                raise TableError(f"has {len(row)} values, the first row {width}.", row=i + 1)
        columns: list[Any] = [[row[j] for row in X] for j in range(width)]
    else:
        columns = list(_matrix(X).T)
    names = [f"x{j + 1}" for j in range(len(columns))] if names is None else [str(name) for name in names]
    if len(names) != len(columns):
        raise TableError(f"{len(names)} names for {len(columns)} columns.")
    return dict(zip(checked_names(names), columns, strict=True))


def _matrix(X: Any) -> np.ndarray:
    if isinstance(X, str | PathLike):
        raise TableError("a path is no table: mercer.tables.read(path) gives the table of a file.")
    try:
        array = np.asarray(X)
    except ValueError:
        array = np.empty(0)  # rows of different lengths
    if array.ndim != 2 or not array.shape[1]:
        shape = "×".join(map(str, array.shape)) or "one value"
        raise TableError(
            f"a table has rows and columns; this is a {type(X).__name__} of shape {shape}. Give a "
            "two-dimensional array, a data frame, a dict of columns or a list of dicts."
        )
    return array
