"""Points at the door: tables of numbers, or sequences of any objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._xp import as_csr, issparse

# What can be done about points that are no numbers.
FOR_OBJECTS = (
    "encode them as numbers, or give a kernel on them: Spectrum(3).normalize() for strings, "
    "BagOfWords().normalize() for texts, WeisfeilerLehman(3).normalize() for graphs, columns(name, kernel) "
    "for a column of a data frame"
)


def as_vectors(X: Any, *, sparse: bool = False, what: str = "this kernel") -> Any:
    """Points as a 2-D float array (float32 and float64 stay what they are), or CSR where allowed."""
    if issparse(X):
        if not sparse:
            raise TypeError(
                f"{what} does not take sparse input; use X.toarray(), or a kernel of x·z or ‖x−z‖ "
                f"(Linear, Polynomial, Gaussian, …)"
            )
        X = as_csr(X)
        values = X.data
    else:
        X = np.asarray(X)
        if X.dtype.kind in "OUS":
            try:
                X = X.astype(np.float64)
            except (TypeError, ValueError):
                raise ValueError(
                    f"{what} works on numbers, but the points hold "
                    f"{type(X.flat[0]).__name__ if X.size else X.dtype}; "
                    f"{FOR_OBJECTS}"
                ) from None
        if X.ndim != 2:
            hint = "X.reshape(-1, 1) for n points in one dimension, X.reshape(1, -1) for one point"
            raise ValueError(f"points must be rows of a 2-D array, got {X.ndim}-D; {hint}")
        values = X
    if X.dtype not in (np.float32, np.float64):
        if X.dtype.kind == "c":
            raise ValueError("Complex data not supported: kernels here are real")
        X = X.astype(np.float64)
        values = X.data if issparse(X) else X
    # A sum is finite if every entry is (overflow aside): one cheap pass in the usual case.
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    if not np.isfinite(total) and not np.isfinite(values).all():
        raise ValueError("points contain NaN or infinity; fill or drop those rows first")
    return X


def double(X: Any) -> Any:
    """float32 coordinates as float64, everything else as it is."""
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X


def counted(X: Any, weights: np.ndarray | None) -> tuple[Any, np.ndarray | None]:
    """The points of positive weight, and their weights."""
    if weights is None or np.all(weights > 0):
        return X, weights
    seen = np.flatnonzero(weights)
    return X[seen], weights[seen]


def inverse_root_of(diagonal: Any) -> Any:
    """1/√k, 0 where k is 0."""
    return np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1)), 0)


def as_objects(X: Any) -> Any:
    """Any sequence of points as an array that can be indexed by arrays; tables stay tables."""
    if issparse(X):
        return as_csr(X)
    if isinstance(X, np.ndarray):
        return X
    if hasattr(X, "to_numpy"):
        return X.to_numpy()
    items = list(X)
    if items and all(isinstance(v, (list, tuple, np.ndarray)) for v in items):
        try:
            table = np.array(items)
            if table.ndim == 2 and table.dtype.kind in "fiub":
                return table
        except ValueError:  # rows of different lengths: objects
            pass
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


def shortened(item: Any) -> str:
    """Something in words, for messages."""
    text = repr(item)
    return text if len(text) <= 40 else text[:37] + "…"


def kind_of(string: Any) -> str:
    """What a string is made of; "" if it is none."""
    if isinstance(string, str):
        return "text"
    if isinstance(string, bytes):
        return "bytes"
    return "lists of tokens" if isinstance(string, list | tuple) else ""


def require_one_kind(X: Any, Z: Any) -> None:
    """Raise ValueError where strings on two sides are of different kinds, which have no letter in common."""
    both = [A for A in (X, Z) if isinstance(A, np.ndarray) and A.dtype == object and A.ndim == 1 and len(A)]
    kinds = [kind_of(A[0]) for A in both]
    if len(kinds) == 2 and all(kinds) and kinds[0] != kinds[1]:
        raise ValueError(
            f"strings are {kinds[0]} on one side and {kinds[1]} on the other: make them the same"
        )
