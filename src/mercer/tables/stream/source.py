"""What a stream may be, as batches of (points or a table, y)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from mercer.tables.reading import Table, batches


@dataclass
class StreamBatch:
    """Some examples of a stream."""

    X: Any  # a Table, or a list of objects
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def first(self, n: int) -> StreamBatch:
        """The first n of them."""
        return StreamBatch(self.X.take(slice(n)) if isinstance(self.X, Table) else self.X[:n], self.y[:n])


def rows_of(
    source: Any,
    *,
    target: str,
    size: int,
    start: int,
    kinds: Mapping[str, str] | None,
    form: str | None,
    vectors: bool,
    ignore: Iterable[str] = (),
) -> Iterator[StreamBatch]:
    """Batches of a stream; `vectors` says that points are columns of numbers, not objects of a kernel."""
    if isinstance(source, tuple) and len(source) == 2:
        source = _together(*source, target, vectors)  # (X, y), as fit takes them
    elif _is_stream(source):
        source = iter(source)
    is_file = isinstance(source, (str, os.PathLike)) or hasattr(source, "readline")
    if not is_file and isinstance(source, Iterator):
        first = next(source, None)
        if first is None:
            return
        source = chain([first], source)
        if isinstance(first, Table):  # in batches already
            yield from (StreamBatch(table.drop(target, *ignore), table[target]) for table in source)
            return
        if not isinstance(first, Mapping):
            _require_pair(first)
            if not vectors:
                yield from _objects(source, size, start)
                return
            source = (_named(pair, target) for pair in source)
    for table in batches(source, size, start=start, kinds=kinds, form=form):
        yield StreamBatch(table.drop(target, *ignore), table[target])


def as_rows(table: Table) -> list[dict[str, Any]]:
    """The rows of a table as kernels on named columns take them; a missing text is empty.

    >>> as_rows(Table.of({"age": [31.0, 5.0], "name": ["Ann", None]}))
    [{'age': 31.0, 'name': 'Ann'}, {'age': 5.0, 'name': ''}]
    """
    columns = {
        name: ["" if v is None else v for v in values.tolist()]
        if values.dtype.kind == "O"
        else values.tolist()
        for name, values in table.columns.items()
    }
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def _is_stream(source: Any) -> bool:
    """Something to iterate over that is no table, such as river's data sets."""
    known = ("__len__", "readline", "shape", "columns", "__dataframe__", "__arrow_c_stream__", "__fspath__")
    return hasattr(source, "__iter__") and not any(hasattr(source, name) for name in known)


def _together(X: Any, y: Any, target: str, vectors: bool) -> Any:
    """(X, y) as one table, or as pairs of an object and its y."""
    if not (hasattr(X, "__len__") or hasattr(X, "shape")) or not hasattr(y, "__len__"):
        return zip(X, y)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if not isinstance(X, Mapping) and n != len(y):
        raise ValueError(f"X has {n:,} rows, and y has {len(y):,}")
    if not vectors:
        return zip(X, y)
    table, column = Table.of(X), Table.of({target: y})[target]
    if target in table:
        raise ValueError(f"X has a column {target!r}, which is the name of y: give another one as target")
    return Table({**table.columns, target: column}, len(table))


def _require_pair(pair: Any) -> None:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ValueError(
            f"a stream is made of pairs (x, y), or of dicts with y under the target's name; got {pair!r}"
        )


def _named(pair: Any, target: str) -> dict[str, Any]:
    """A row of a table from (x, y): x is a dict, or a vector whose entries are called x1, x2, …"""
    _require_pair(pair)
    x, y = pair
    row = dict(x) if isinstance(x, Mapping) else {f"x{j}": v for j, v in enumerate(np.asarray(x).tolist(), 1)}
    if target in row:
        raise ValueError(f"x has an entry {target!r}, which is the name of y: give another one as target")
    return row | {target: y.item() if isinstance(y, np.generic) else y}


def _objects(pairs: Iterator[Any], size: int, start: int) -> Iterator[StreamBatch]:
    for _ in islice(pairs, start):
        pass
    wanted = size - start % size
    while part := list(islice(pairs, wanted)):
        for pair in part:
            _require_pair(pair)
        column = Table.of({"y": [y.item() if isinstance(y, np.generic) else y for _, y in part]})["y"]
        yield StreamBatch([x for x, _ in part], column)
        wanted = size


def labels_of(y: np.ndarray, name: str) -> np.ndarray:
    """A column as labels: words, or whole numbers."""
    if y.dtype.kind == "O":
        return y.astype(str)
    if y.dtype.kind == "M":
        raise ValueError(f"the target {name!r} holds dates, which are no labels")
    whole = y.astype(np.int64)
    if not (whole == y).all():
        odd = float(y[whole != y][0])
        raise ValueError(f"the target {name!r} holds {odd:g}: is it a number to predict, for a regressor?")
    return whole


def numbers_of(y: np.ndarray, name: str) -> np.ndarray:
    """A column as numbers."""
    if y.dtype.kind != "f":
        what = "words" if y.dtype.kind == "O" else "dates"
        raise ValueError(f"the target {name!r} holds {what}, and a regressor predicts numbers")
    return y
