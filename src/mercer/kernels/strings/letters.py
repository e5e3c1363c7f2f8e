"""Strings at the door, and as rows of numbers, one a letter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.kernels.counts import spread
from mercer.kernels.points import kind_of, shortened

# pandas and its kin.
_MISSING = ("NAType", "NaTType")
_KINDS = "text (str), bytes, or lists or tuples of tokens"
_TOKENS = (str, bytes, int)


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
        return Letters(self.codes[spread(self.starts[:-1][index], lengths)], starts)

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
    listed = hasattr(X, "__len__") and hasattr(X, "__iter__")
    if not listed or isinstance(X, dict | set | frozenset):  # these have no order
        raise ValueError(f"{what} takes a list of strings; got {type(X).__name__}")
    out = np.empty(len(X), object)
    for i, item in enumerate(X):
        out[i] = _string(item, i, what)
    kinds = list(map(kind_of, out))
    if len(set(kinds)) > 1:
        other = next(i for i, kind in enumerate(kinds) if kind != kinds[0])
        raise ValueError(
            f"{what}: strings must be of one kind, but item 0 is {kinds[0]} and item {other} {kinds[other]}"
        )
    return out


def _string(item: Any, i: int, what: str) -> str | bytes | tuple[Any, ...]:
    """Text, bytes or a tuple of tokens, whatever library they come from."""
    if isinstance(item, str):
        return item if type(item) is str else str.__str__(item)
    if isinstance(item, bytes | bytearray):
        return bytes(item)
    if isinstance(item, np.ndarray) and item.ndim == 1:
        item = item.tolist()
    if not isinstance(item, Sequence):
        raise ValueError(
            f"{what} takes {_KINDS}; item {i} is {shortened(item)} ({type(item).__name__}){_hint(item)}"
        )
    if all(type(token) in _TOKENS for token in item):
        return tuple(item)
    return tuple(_token(token, i, what) for token in item)


def _token(token: Any, i: int, what: str) -> str | bytes | int:
    """A token in one spelling, so that equal ones look equal."""
    if isinstance(token, str):
        return str.__str__(token)
    if isinstance(token, bytes):
        return bytes(token)
    if isinstance(token, int | np.integer):
        return int(token)
    raise ValueError(
        f"{what}: tokens are text, bytes or whole numbers; item {i} has {shortened(token)} "
        f"({type(token).__name__}){_hint(token)}"
    )


def _hint(item: Any) -> str:
    return ": fill in or leave out what is missing" if _is_missing(item) else ""


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
        text = b"int:%x" % token  # of any length, which decimals are not
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") >> 1 | 1


def places(strings: Letters, length: int) -> tuple[np.ndarray, np.ndarray]:
    """(where those of each string begin, the first letters of all substrings of this length)"""
    length = min(length, int(strings.lengths.max(initial=0)) + 1)  # there are none of more, nor of that
    counts = np.maximum(strings.lengths - length + 1, 0)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]), spread(strings.starts[:-1], counts)


def lengths_within(strings: Letters, shortest: int, longest: int) -> range:
    """The lengths from one to the other that substrings can have; the shortest at least."""
    return range(shortest, max(min(longest, int(strings.lengths.max(initial=0))), shortest) + 1)


# -- alphabets ------------------------------------------------------------------------------------


def alphabet_of(alphabet: Any, what: str) -> np.ndarray:
    """The numbers of an alphabet's letters, in their order."""
    if not isinstance(alphabet, str | bytes | list | tuple):
        raise ValueError(f"{what}: alphabet must be text, bytes or a tuple of tokens, got {alphabet!r}")
    string = alphabet if isinstance(alphabet, str | bytes) else tuple(alphabet)
    codes = letters(as_strings([string], f"{what}: alphabet")).codes
    if len(np.unique(codes)) < len(codes):
        raise ValueError(f"{what}: alphabet has a letter twice: {alphabet!r}")
    return codes


def letter_matrix(values: Any, size: int, what: str) -> np.ndarray:
    """A finite number for each two of so many letters."""
    try:
        M = np.asarray(values)
    except ValueError:  # rows of different lengths
        M = np.zeros(0)
    if M.dtype.kind not in "fiu" or M.shape != (size, size) or not np.isfinite(M).all():
        raise ValueError(
            f"{what} must hold finite numbers, {size}×{size} for the {size} letters of the alphabet; got "
            f"shape {M.shape} of {M.dtype}"
        )
    return M.astype(np.float64)


def require_alphabet(X: np.ndarray, alphabet: Any, what: str, way: str, known: bool = True) -> None:
    """Raise ValueError unless strings are of the alphabet's kind and, if `known`, have no other letters."""
    if not len(X) or not len(alphabet):
        return
    if kind_of(X[0]) != kind_of(alphabet):
        raise ValueError(
            f"{what}: the strings are {kind_of(X[0])}, and the alphabet is {kind_of(alphabet)}: make them "
            f"the same"
        )
    there = set(alphabet)
    for i, string in enumerate(X if known else ()):
        if not there.issuperset(string):
            strange = next(letter for letter in string if letter not in there)
            raise ValueError(
                f"{what}: string {i} has the letter {strange!r}, which is not in the alphabet "
                f"{alphabet!r}; {way}"
            )


def positions(codes: np.ndarray, alphabet: np.ndarray) -> np.ndarray:
    """Where in the alphabet each letter is; −1 where it is not."""
    if not len(alphabet):
        return np.full(len(codes), -1)
    order = np.argsort(alphabet)
    at = order[np.searchsorted(alphabet, codes, sorter=order).clip(max=len(alphabet) - 1)]
    return np.where(alphabet[at] == codes, at, -1)


def word_of(alphabet: Any, at: Sequence[int]) -> Any:
    """The letters at these places of the alphabet, as a string of its kind."""
    picked = [alphabet[i] for i in at]
    if isinstance(alphabet, str):
        return "".join(picked)
    return bytes(picked) if isinstance(alphabet, bytes) else tuple(picked)
