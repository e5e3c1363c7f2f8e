"""Strings at the door, and as rows of numbers, one a letter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# pandas and its kin.
_MISSING = ("NAType", "NaTType")
_KINDS = "text (str), bytes, or lists or tuples of tokens"


class Letters:
    """Strings as numbers: those of string i are ``codes[starts[i] : starts[i+1]]``.

    Letters of text are numbered by Unicode, bytes by their value, tokens by a hash of their text: equal
    letters have equal numbers in all strings, whenever they are made. Taken apart like an array of points.
    """

    ndim = 1
    dtype = np.dtype(object)

    def __init__(self, codes: np.ndarray, starts: np.ndarray):
        self.codes, self.starts = codes, starts

    @property
    def shape(self) -> tuple[int]:
        return (len(self.starts) - 1,)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: Any) -> Letters:
        index = np.arange(len(self))[index]
        lengths = np.diff(self.starts)[index]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        where = np.arange(starts[-1]) + np.repeat(self.starts[:-1][index] - starts[:-1], lengths)
        return Letters(self.codes[where], starts)

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)


def as_strings(X: Any, what: str) -> np.ndarray:
    """A set of strings as an array of objects, all of one kind; tokens become tuples.

    A table with one column of words is a list of words.
    """
    if isinstance(X, str | bytes):
        raise ValueError(f"{what} takes a list of strings; for a single one give [{X[:20]!r}]")
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if isinstance(X, np.ndarray):
        X = X[:, 0] if X.ndim == 2 and X.shape[1] == 1 else X
        if X.ndim != 1:
            raise ValueError(f"{what} takes a list of strings, or one column of them; got shape {X.shape}")
        X = X.tolist() if X.dtype.kind in "US" else X
    if not hasattr(X, "__len__") or not hasattr(X, "__iter__") or isinstance(X, dict):
        raise ValueError(f"{what} takes a list of strings; got {type(X).__name__}")
    out = np.empty(len(X), object)
    kinds = set()
    for i, item in enumerate(X):
        if isinstance(item, str | bytes):
            out[i], kind = item, type(item).__name__
        elif isinstance(item, Sequence) and all(isinstance(token, str | bytes | int) for token in item):
            out[i], kind = tuple(item), "tokens"
        else:
            hint = ": fill in or leave out what is missing" if _is_missing(item) else ""
            raise ValueError(f"{what} takes {_KINDS}; item {i} is {item!r} ({type(item).__name__}){hint}")
        kinds.add("bytes" if kind == "bytes" else "str" if kind in ("str", "str_") else "tokens")
    if len(kinds) > 1:
        raise ValueError(f"{what}: strings must be of one kind, got {' and '.join(sorted(kinds))}")
    return out


def _is_missing(item: Any) -> bool:
    """None, NaN, or what a library of tables has for them."""
    return item is None or (isinstance(item, float) and item != item) or type(item).__name__ in _MISSING


def letters(X: Any) -> Letters:
    """Checked strings as numbers."""
    if isinstance(X, Letters):
        return X
    lengths = np.fromiter(map(len, X), np.int64, len(X))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    if not len(X) or isinstance(X[0], str):
        codes = np.frombuffer("".join(X).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    elif isinstance(X[0], bytes):
        codes = np.frombuffer(b"".join(X), np.uint8).astype(np.int64)
    else:
        known: dict[Any, int] = {}
        codes = np.fromiter(
            (known.get(token) or known.setdefault(token, _number(token)) for item in X for token in item),
            np.int64,
            int(starts[-1]),
        )
    return Letters(codes, starts)


def _number(token: str | bytes | int) -> int:
    """A number for a token, the same in every process; never 0. Tokens that are equal have the same."""
    from hashlib import blake2b

    if isinstance(token, bytes):
        text = b"bytes:" + token
    elif isinstance(token, str):
        text = b"str:" + token.encode("utf-8", "surrogatepass")
    else:
        text = b"int:%d" % token
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") >> 1 | 1
