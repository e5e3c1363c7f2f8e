"""LIBSVM (svmlight) files: a target and index:value pairs on every line; what is not named is 0."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np

from mercer.tables.reading.budget import ask
from mercer.tables.reading.cells import Understood, is_number
from mercer.tables.reading.errors import TableError, shown
from mercer.tables.reading.format import Format, Wanted, assembled
from mercer.tables.reading.objects import as_kind, kind_of
from mercer.tables.reading.table import DENSE_LIMIT, Table

MOST_COLUMNS = 1_000_000
_LINE = re.compile(
    r"[-+]?[0-9.]+(e[-+]?[0-9]+)?(\s+qid:[0-9]+)?(\s+[0-9]+:[-+.0-9einfa]+)+\s*(#.*)?", re.IGNORECASE
)


class Libsvm(Format):
    """A table: "target", and "x1", "x2", … by the indices of the file ("x0" if it counts from 0)."""

    name = "LIBSVM"
    suffixes = (".svm", ".libsvm", ".svmlight")
    is_sparse = True

    def looks_so(self, head: str) -> bool:
        """The first line with anything on it does."""
        lines = [line.strip() for line in head.splitlines()[:50]]
        first = next((line for line in lines if line and not line.startswith("#")), "")
        return bool(_LINE.fullmatch(first))

    def read(self, wanted: Wanted) -> Table:
        data, remarks = wanted.load(4.0)
        X, target = _parsed(data)
        if not len(target):
            raise TableError("there are no rows in the file.")
        low = 0 if X.nnz and int(X.indices.min()) == 0 else 1
        n, d = len(target), max(X.shape[1] - low, 0)
        _require_narrow(n, d)
        ask(16 * n * d + 1000 * d)
        dense = np.asfortranarray(X[:, low:].toarray())
        names = ["target", *(f"x{j + low}" for j in range(d))]

        def column(j: int) -> Understood:
            values = as_kind(dense[:, j - 1] if j else target, wanted.kinds.get(names[j]))
            return Understood(values, kind_of(values))

        return assembled(names, column, remarks=remarks)


def _parsed(data: bytes) -> tuple[Any, np.ndarray]:
    """(matrix, targets) by scikit-learn's parser, which refuses without saying where: that is found here."""
    from sklearn.datasets import load_svmlight_file

    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")  # "\r" alone is a blank to the parser
    if b"_" in data:  # which Python's numbers may have, and those of the format not
        _require_sound(data)
    try:
        X, target = load_svmlight_file(io.BytesIO(data), zero_based=True)
        if np.isfinite(target).all() and not np.isinf(X.data).any():
            return X, target
        said = "there is a number that is not finite"
    except (ValueError, OverflowError, IndexError, TypeError, MemoryError) as error:
        said = str(error) or type(error).__name__
    _require_narrow(1, _require_sound(data))
    raise TableError(f"scikit-learn says: {said}.")


def _require_narrow(n: int, d: int) -> None:
    if n * d > DENSE_LIMIT or d > MOST_COLUMNS:
        raise TableError(
            f"{n:,} rows × {d:,} columns are too many for a table, which is dense: up to {DENSE_LIMIT:,} "
            f"values and {MOST_COLUMNS:,} columns. Read fewer rows with limit= (--limit). In Python, "
            "estimators such as KernelRidge learn from the matrix of sklearn.datasets.load_svmlight_file."
        )


def _require_sound(data: bytes) -> int:
    """Refuse the first line that is wrong, by its number; the largest index, if there is none."""
    largest = 0
    for number, raw in enumerate(data.splitlines(), 1):
        try:
            # Cut as bytes: other blanks than those of ASCII are part of a word.
            parts = [part.decode() for part in raw.partition(b"#")[0].split()]
            largest = max(largest, _last_index(parts))
        except ValueError as error:
            problem = f"{error} A line is: target index:value index:value …"
            raise TableError(problem, line=number) from None
    return largest


def _last_index(parts: list[str]) -> int:
    """The last index of a line that is cut into its parts; a ValueError says what is wrong with them."""
    if not parts:
        return 0
    if not is_number(parts[0]) or not np.isfinite(float(parts[0])):
        raise ValueError(f"the target {shown(parts[0])} is not a finite number.")
    previous = -1
    for part in parts[2 if len(parts) > 1 and parts[1].startswith("qid:") else 1 :]:
        index, colon, value = part.partition(":")
        if not colon or not re.fullmatch("[0-9]{1,18}", index):
            raise ValueError(f"{shown(part)} is no pair of a whole number and a value.")
        if not is_number(value) and value.lower() != "nan":
            raise ValueError(f"{shown(value)} (for index {index}) is not a number.")
        if np.isinf(float(value)):
            raise ValueError(f"{shown(value)} (for index {index}) is not a finite number.")
        if int(index) <= previous:
            raise ValueError(f"index {int(index)} comes after {previous}; indices must rise along a line.")
        previous = int(index)
    return previous
