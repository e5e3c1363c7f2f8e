"""LIBSVM (svmlight) files: a target and index:value pairs on every line; what is not named is 0."""

from __future__ import annotations

import io
import re
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mercer.tables.reading.budget import ask
from mercer.tables.reading.cells import is_number
from mercer.tables.reading.errors import TableError, shown
from mercer.tables.reading.objects import as_kind
from mercer.tables.reading.of import DENSE_LIMIT
from mercer.tables.reading.table import Table
from mercer.tables.reading.text import all_bytes, as_utf8, head_lines

if TYPE_CHECKING:
    from scipy import sparse

MOST_COLUMNS = 1_000_000
_LINE = re.compile(
    r"[-+]?[0-9.]+(e[-+]?[0-9]+)?(\s+qid:[0-9]+)?(\s+[0-9]+:[-+.0-9einfa]+)+\s*(#.*)?", re.IGNORECASE
)


def looks_so(head: str) -> bool:
    """Whether text looks like a LIBSVM file: its first line with anything on it does."""
    lines = [line.strip() for line in head.splitlines()[:50]]
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return bool(_LINE.fullmatch(first))


def read_libsvm(path: Path, kinds: dict[str, str], limit: int | None = None) -> Table:
    """A table: "target", and "x1", "x2", … by the indices of the file ("x0" if it counts from 0)."""
    data, remarks = as_utf8(all_bytes(path, 4.0) if limit is None else head_lines(path, limit), path)
    parsed = _fast(data)
    target, X, low = _exact(data, path) if parsed is None else parsed
    if not len(target):
        raise TableError("there are no rows in the file.", path=path)
    n, d = X.shape
    if n * d > DENSE_LIMIT or d > MOST_COLUMNS:
        raise TableError(
            f"{n:,} rows × {d:,} columns are too many for a table, which is dense: up to {DENSE_LIMIT:,} "
            f"values and {MOST_COLUMNS:,} columns. Read fewer rows with limit= (--limit). In Python, "
            "estimators such as KernelRidge learn from the matrix of sklearn.datasets.load_svmlight_file.",
            path=path,
        )
    ask(path, 16 * n * d + 1000 * d)
    dense = np.asfortranarray(X.toarray())
    columns = {"target": target} | {f"x{j + low}": dense[:, j] for j in range(d)}
    return Table(
        {name: as_kind(column, kinds.get(name)) for name, column in columns.items()}, remarks=remarks
    )


def _fast(data: bytes) -> tuple[np.ndarray, sparse.csr_matrix, int] | None:
    """scikit-learn's parser; None if it refuses, which it does without saying where."""
    from sklearn.datasets import load_svmlight_file

    # Python's numbers may have "_", the format's may not; a lone "\r" ends a line here, and is a blank there.
    if b"_" in data or data.count(b"\r") != data.count(b"\r\n"):
        return None
    try:
        X, target = load_svmlight_file(io.BytesIO(data), zero_based=True)
    except (ValueError, OverflowError, IndexError, TypeError, MemoryError):
        return None
    if not (np.isfinite(target).all() and not np.isinf(X.data).any()):
        return None
    return _from_first(target, X)


def _from_first(target: np.ndarray, X: sparse.csr_matrix) -> tuple[np.ndarray, sparse.csr_matrix, int]:
    """Without column 0, if the file counts from 1."""
    low = 0 if X.nnz and int(X.indices.min()) == 0 else 1
    return target, X[:, 1:] if low and X.shape[1] else X, low


def _exact(data: bytes, path: Path) -> tuple[np.ndarray, sparse.csr_matrix, int]:
    """Line by line, for the number of the one that is wrong."""
    from scipy import sparse

    target, indices, values, starts = array("d"), array("q"), array("d"), array("q", [0])
    for number, raw in enumerate(data.splitlines(), 1):
        parts = [part.decode() for part in raw.partition(b"#")[0].split()]
        if not parts:
            continue

        def wrong(what: str, line: int = number) -> TableError:
            return TableError(f"{what} A line is: target index:value index:value …", path=path, line=line)

        if not is_number(parts[0]) or not np.isfinite(float(parts[0])):
            raise wrong(f"the target {shown(parts[0])} is not a finite number.")
        target.append(float(parts[0]))
        previous = -1
        for part in parts[2 if len(parts) > 1 and parts[1].startswith("qid:") else 1 :]:
            index, colon, value = part.partition(":")
            if not colon or not re.fullmatch("[0-9]{1,18}", index):
                raise wrong(f"{shown(part)} is no pair of a whole number and a value.")
            if not is_number(value) and value.lower() != "nan":
                raise wrong(f"{shown(value)} (for index {index}) is not a number.")
            if np.isinf(float(value)):
                raise wrong(f"{shown(value)} (for index {index}) is not a finite number.")
            if int(index) <= previous:
                raise wrong(f"index {int(index)} comes after {previous}; indices must rise along a line.")
            previous = int(index)
            indices.append(previous)
            values.append(float(value))
        starts.append(len(indices))
    width = max(indices, default=-1) + 1
    X = sparse.csr_matrix(
        (np.array(values), np.array(indices), np.array(starts)), shape=(len(target), width), dtype=np.float64
    )
    return _from_first(np.array(target), X)
