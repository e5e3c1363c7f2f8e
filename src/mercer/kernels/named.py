"""Kernels on some columns of a table with names: text beside numbers."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from mercer.kernels.algebra import Constant, Product, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.composite import _Composite, _CountsOfOne
from mercer.kernels.points import shortened
from mercer.kernels.unary import Exp, Normalized, Power, Scale


def columns(names: Any, kernel: Kernel) -> NamedColumns:
    """The kernel, looking at these columns of a data frame: ``columns("text", Spectrum(3))``.

    Parameters
    ----------
    names : str, or list of str
        One column, whose entries are the points of the kernel; or several, whose rows are vectors of numbers.
    kernel : Kernel

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.kernels import Gaussian, Spectrum
    >>> frame = pd.DataFrame({"name": ["ann", "anna", "bob"], "age": [30, 31, 64], "size": [1.7, 1.7, 1.8]})
    >>> k = columns("name", Spectrum(2)) + columns(["age", "size"], Gaussian(10.0))
    >>> k(frame).round(2)
    array([[3., 3., 0.],
           [3., 4., 0.],
           [0., 0., 3.]])
    """
    return NamedColumns(kernel, names)


def needed(kernel: Kernel, X: Any) -> Any:
    """Checked points, but rows of a table without the columns that no part of the kernel looks at.

    >>> from mercer.kernels import Gaussian
    >>> needed(columns("a", Gaussian(1.0)) + 1, np.array([{"a": 1.0, "b": "secret"}]))
    array([{'a': 1.0}], dtype=object)
    """
    names = _looked_at(kernel)
    if not names:
        return X
    out = np.empty(len(X), object)
    for i, row in enumerate(X):
        out[i] = {name: row[name] for name in row if name in names}
    return out


def _looked_at(kernel: Kernel) -> set[str] | None:
    """Names of the columns the kernel looks at; None if it may look at whole points."""
    if isinstance(kernel, NamedColumns):
        return {kernel.names} if isinstance(kernel.names, str) else set(kernel.names)
    if isinstance(kernel, Constant):
        return set()
    if not isinstance(kernel, Sum | Product | Scale | Power | Exp | Normalized):
        return None
    found: set[str] = set()
    for part in map(_looked_at, kernel.children().values()):
        if part is None:
            return None
        found |= part
    return found


def _own(value: Any) -> Any:
    """What nobody else can change."""
    return value if isinstance(value, str | bytes | int | float) else deepcopy(value)


def _numbers(values: list[Any], name: str) -> np.ndarray:
    """A column of numbers."""
    try:
        return np.array(values, float)
    except (TypeError, ValueError):
        for i, value in enumerate(values):
            if not isinstance(value, int | float | np.number):
                said = f"row {i} of column {name!r} is {shortened(value)} ({type(value).__name__})"
                raise ValueError(f"columns: {said}, and its kernel takes numbers") from None
        raise


class NamedColumns(_CountsOfOne, _Composite):
    """k on some columns of a table, written ``columns(names, k)``.

    Points are rows: those of a data frame (pandas, polars), or dicts.

    Parameters
    ----------
    kernel : Kernel
    names : str, or list of str

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> NamedColumns(Linear(), ["a", "b"])([{"a": 1, "b": 2, "c": "x"}, {"a": 3, "b": 0, "c": "y"}])
    array([[5., 3.],
           [3., 9.]])
    """

    made = "a kernel on some columns"
    by_name = True
    vectors = False
    sparse = False

    def __init__(self, kernel, names):
        self.kernel = kernel
        self.names = names

    def validate(self):
        super().validate()
        listed = isinstance(self.names, list | tuple) and self.names
        if not isinstance(self.names, str) and not (listed and all(isinstance(n, str) for n in self.names)):
            raise ValueError(f"columns: names must be a name or a list of names, got {self.names!r}")
        if not isinstance(self.names, str) and not self.kernel.vectors:
            raise ValueError(f"columns: {self.kernel!r} takes one column; give its name, not a list of names")

    def points(self, X):
        rows = X
        if hasattr(X, "to_dicts"):  # polars
            rows = X.to_dicts()
        elif hasattr(X, "to_dict") and hasattr(X, "columns"):  # pandas
            rows = X.to_dict("records")
        out = np.empty(len(rows), object)
        wanted = [self.names] if isinstance(self.names, str) else self.names
        for i, row in enumerate(rows):
            if not isinstance(row, dict):
                raise ValueError(
                    f"columns: points must be rows of a data frame, or dicts; row {i} is {shortened(row)}"
                )
            if missing := [name for name in wanted if name not in row]:
                there = ", ".join(map(str, list(row)[:8]))
                raise ValueError(f"columns: row {i} has no column {missing[0]!r}; it has {there}")
            out[i] = row | {name: _own(row[name]) for name in wanted}
        try:
            self.child_points(out)  # so that what is wrong is said now
        except ValueError as error:
            if str(error).startswith("columns: "):
                raise
            names = ", ".join(map(repr, wanted))
            raise ValueError(f"columns: in {names}: {error}") from None
        return out

    def child_points(self, X):
        if not self.kernel.vectors:
            return self.kernel.points([row[self.names] for row in X])
        names = [self.names] if isinstance(self.names, str) else self.names
        columns = [_numbers([row[name] for row in X], name) for name in names]
        return self.kernel.points(np.column_stack(columns).reshape(len(X), len(names)))

    def prepared(self, X):
        if not isinstance(X, np.ndarray) or X.dtype != object:
            return X
        return self.kernel.prepared(self.child_points(X))

    def recounted(self, X):
        return self.kernel.counts(self.child_points(X))

    def spelled(self, X):
        return {number: f"{self.names}: {word}" for number, word in super().spelled(X).items()}

    def pairwise(self, X, Z):
        A = self.prepared(X)
        return self.kernel.pairwise(A, A if Z is X else self.prepared(Z))

    def diagonal(self, X):
        return self.kernel.diagonal(self.prepared(X))

    def cosines(self, X, Z, norms_x, norms_z):
        A = self.prepared(X)
        return self.kernel.cosines(A, A if Z is X else self.prepared(Z), norms_x, norms_z)

    def norms(self, X):
        return self.kernel.norms(self.prepared(X))

    def nonzero(self, X):
        return self.kernel.nonzero(self.prepared(X))
