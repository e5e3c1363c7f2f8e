"""The mismatch kernel: substrings that need not agree in every letter."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._memory import available_memory
from mercer._params import require_count
from mercer.kernels.base import Kernel
from mercer.kernels.counting import Counting
from mercer.kernels.counts import Counts, mix
from mercer.kernels.points import counted
from mercer.kernels.strings.letters import Letters, as_strings, letters
from mercer.kernels.strings.spectrum import in_words, substrings

# Bytes a feature takes: its number and value; and on the way there.
_KEPT, _MADE = 16, 48


class Mismatch(Counting):
    """k(x,z) = Σ_u φ_u(x) φ_u(z), φ_u(x) how many substrings of x differ from u in at most m letters.

    The sum goes over all strings u of k letters of an alphabet, those that occur nowhere included.

    Parameters
    ----------
    length : int
        k, of the substrings.
    mismatches : int
        m ≤ k; with 0 this is ``Spectrum(length)``.
    alphabet : text, bytes or tuple of tokens, optional
        The letters that u is made of. None: those of the training strings, found at fit.
    unknown : "mismatch" or "error"
        What a letter is that the alphabet does not have: one that differs from every letter of u, or
        something to complain about.

    Notes
    -----
    A substring has Σ_{j≤m} C(k,j)(a−1)^j neighbours u for an alphabet of a letters: with k = 6 in DNA 19
    for one mismatch and 154 for two, in proteins (20 letters) 115 and 5,530. More than memory has room for
    are refused. Long strings have more substrings: ``.normalize()`` makes up for that.

    Examples
    --------
    "ab" and "bb" have the neighbours ab, bb, aa and bb, ab, ba:

    >>> Mismatch(2, 1, alphabet="ab")(["ab", "bb", "abb"])
    array([[ 3.,  2.,  5.],
           [ 2.,  3.,  5.],
           [ 5.,  5., 10.]])
    >>> Mismatch(2, 1).resolve(["gatt", "aca"])
    Mismatch(length=2, alphabet='acgt')
    """

    def __init__(self, length=4, mismatches=1, alphabet=None, unknown="mismatch"):
        self.length = length
        self.mismatches = mismatches
        self.alphabet = alphabet
        self.unknown = unknown

    def validate(self):
        length = require_count(self.length, "Mismatch: length")
        if require_count(self.mismatches, "Mismatch: mismatches", 0) > length:
            raise ValueError(f"Mismatch: {self.mismatches} mismatches in substrings of {length} letters")
        if self.unknown not in ("mismatch", "error"):
            raise ValueError(f"Mismatch: unknown must be 'mismatch' or 'error', got {self.unknown!r}")
        if self.alphabet is not None:
            self._letters()

    def _letters(self) -> np.ndarray:
        """The numbers of the alphabet's letters, in their order."""
        if not isinstance(self.alphabet, str | bytes | list | tuple):
            raise ValueError(
                f"Mismatch: alphabet must be text, bytes or a tuple of tokens, got {self.alphabet!r}"
            )
        string = self.alphabet if isinstance(self.alphabet, str | bytes) else tuple(self.alphabet)
        codes = letters(as_strings([string], "Mismatch: alphabet")).codes
        if len(np.unique(codes)) < len(codes):
            raise ValueError(f"Mismatch: alphabet has a letter twice: {self.alphabet!r}")
        return codes

    # -- the alphabet, from the data ------------------------------------------------------------------

    def unresolved(self):
        return ["alphabet"] if self.alphabet is None else []

    def resolve(self, X, weights=None) -> Kernel:
        self.validate()
        if self.alphabet is not None:
            return self
        X, _ = counted(self.points(X), weights)
        found = set().union(*X)
        if not len(X) or isinstance(X[0], str):
            return self.replace(alphabet="".join(sorted(found)))
        if isinstance(X[0], bytes):
            return self.replace(alphabet=bytes(sorted(found)))
        return self.replace(alphabet=tuple(sorted(found, key=lambda token: (type(token).__name__, token))))

    # -- points ---------------------------------------------------------------------------------------

    def points(self, X):
        X = as_strings(X, "Mismatch")
        if self.alphabet is None or not len(X) or not len(self.alphabet):
            return X
        if _kind(X[0]) != _kind(self.alphabet):
            raise ValueError(
                f"Mismatch: the strings are {_kind(X[0])}, and the alphabet is {_kind(self.alphabet)}: "
                f"make them the same"
            )
        if self.unknown == "error":
            known = set(self.alphabet)
            for i, string in enumerate(X):
                for letter in string:
                    if letter not in known:
                        raise ValueError(
                            f"Mismatch: string {i} has the letter {letter!r}, which is not in the alphabet "
                            f"{self.alphabet!r}; add it there, or take unknown='mismatch'"
                        )
        return X

    # -- features -------------------------------------------------------------------------------------

    def _neighbours(self) -> int:
        """How many strings differ from a substring in at most m letters."""
        others = len(self.alphabet) - 1
        return sum(math.comb(self.length, j) * others**j for j in range(self.mismatches + 1))

    def _require_room(self, strings: Letters) -> np.ndarray:
        """How many features are made for each string, before equal ones are added up; or a refusal."""
        many = 1 << 62
        size, most = min(self._neighbours(), many), min(len(self.alphabet) ** self.length, many)
        made = np.maximum(strings.lengths - self.length + 1, 0) * float(size)
        kept = np.minimum(made, most)
        longest = made.max(initial=0)
        if _KEPT * kept.sum() + _MADE * longest > available_memory():
            raise ValueError(
                f"Mismatch: a string of {strings.lengths.max():,} letters would have up to "
                f"{int(kept.max()):,} features, and all {len(strings):,} strings {int(kept.sum()):,}, more "
                f"than there is memory for: with {len(self.alphabet)} letters in the alphabet, {size:,} "
                f"substrings of length {self.length} are within {self.mismatches} mismatches of each; take "
                f"fewer mismatches, shorter substrings, or an alphabet of fewer letters"
            )
        return made

    def features(self, X):
        strings = letters(X)
        alphabet = self._letters()

        def hashed(numbers: np.ndarray, letter: np.ndarray) -> np.ndarray:
            return mix(numbers, alphabet[letter])

        def some(rows: slice) -> Counts:
            starts, which, parts = self._tables(strings[rows], np.uint64(self.length), hashed)
            return _added(starts, which, parts)

        return Counts.made(some, self._require_room(strings))

    def _tables(self, strings: Letters, start: Any, extend: Callable) -> tuple[np.ndarray, np.ndarray, list]:
        """(where strings start, which of the different substrings is where, tables of their neighbours)

        A table holds the neighbours of substrings of which the same letters are unknown, as (these
        substrings, one row of neighbours for each).
        """
        starts, ids = substrings(strings, self.length)
        _, first, which = np.unique(ids, return_index=True, return_inverse=True)
        rows = np.searchsorted(starts, first, "right") - 1
        at = strings.starts[rows] + first - starts[rows]
        words = _positions(strings.codes, self._letters())[at[:, None] + np.arange(self.length)]
        strange = words < 0
        parts = []
        for pattern in np.unique(strange, axis=0):
            if pattern.sum() <= self.mismatches:
                chosen = np.flatnonzero((strange == pattern).all(axis=1))
                parts.append((chosen, self._near(words[chosen], pattern, start, extend)))
        return starts, which, parts

    def _near(self, words: np.ndarray, strange: np.ndarray, start: Any, extend: Callable) -> np.ndarray:
        """A row of neighbours for each word, made letter by letter; exchanged[j] have j mismatches so far."""
        n, size = len(words), len(self.alphabet)
        every = np.arange(size)
        others = np.array([np.delete(every, i) for i in every], np.int64).reshape(size, max(size - 1, 0))
        none = np.empty((n, 0), np.asarray(start).dtype)
        exchanged = [np.full((n, 1), start)] + [none] * self.mismatches
        for i in range(self.length):
            letter = words[:, i]
            new = np.broadcast_to(every, (n, size)) if strange[i] else others[letter]
            same = [none] * len(exchanged) if strange[i] else [extend(h, letter[:, None]) for h in exchanged]
            changed = [extend(h[:, :, None], new[:, None, :]).reshape(n, -1) for h in exchanged[:-1]]
            exchanged = [np.hstack(pair) for pair in zip(same, [none, *changed], strict=True)]
        return np.hstack(exchanged)

    def spelled(self, X):
        size = max(len(self.alphabet), 1)
        # Words as whole numbers of any size, a letter a digit.
        _, _, parts = self._tables(letters(X), np.array(0, object), lambda word, letter: word * size + letter)
        words = sorted({word for _, table in parts for word in table.ravel().tolist()})
        digits = [[word // size**i % size for i in reversed(range(self.length))] for word in words]
        made = as_strings([self._word(digit) for digit in digits], "Mismatch")
        _, ids = substrings(letters(made), self.length)
        return {number: in_words(word) for number, word in zip(ids.tolist(), made, strict=True)}

    def _word(self, digits: list[int]) -> Any:
        """The letters of the alphabet at these places, as a string of its kind."""
        picked = [self.alphabet[i] for i in digits]
        if isinstance(self.alphabet, str):
            return "".join(picked)
        return bytes(picked) if isinstance(self.alphabet, bytes) else tuple(picked)


def _kind(string: Any) -> str:
    return "text" if isinstance(string, str) else "bytes" if isinstance(string, bytes) else "lists of tokens"


def _positions(codes: np.ndarray, alphabet: np.ndarray) -> np.ndarray:
    """Where in the alphabet each letter is; −1 where it is not."""
    if not len(alphabet):
        return np.full(len(codes), -1)
    order = np.argsort(alphabet)
    at = order[np.searchsorted(alphabet, codes, sorter=order).clip(max=len(alphabet) - 1)]
    return np.where(alphabet[at] == codes, at, -1)


def _added(starts: np.ndarray, which: np.ndarray, parts: list[tuple[np.ndarray, np.ndarray]]) -> Counts:
    """The neighbours of all substrings of each string: a product of two sparse matrices."""
    from scipy.sparse import csr_array

    substring = np.concatenate([np.zeros(0, np.int64), *(np.repeat(c, t.shape[1]) for c, t in parts)])
    ids = np.concatenate([np.zeros(0, np.uint64), *(table.ravel() for _, table in parts)])
    vocabulary, column = np.unique(ids, return_inverse=True)
    m = int(which.max(initial=-1)) + 1
    near = csr_array((np.ones(len(ids)), (substring, column)), shape=(m, len(vocabulary)))
    has = csr_array((np.ones(len(which)), which, starts), shape=(len(starts) - 1, m))
    found = has @ near
    found.sort_indices()
    return Counts(found.indptr.astype(np.int64), vocabulary[found.indices], found.data)
