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
from mercer.kernels.strings.letters import (
    Letters,
    alphabet_of,
    as_strings,
    letters,
    places,
    positions,
    require_alphabet,
    word_of,
)
from mercer.kernels.strings.spectrum import in_words, substrings

# Bytes a feature takes: its number and value; and on the way there.
_KEPT, _MADE = 16, 48
# So many neighbours are listed for all words there could be: some 200 MB on the way.
_LISTED = 1 << 22


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
            alphabet_of(self.alphabet, "Mismatch")

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
        if self.alphabet is not None:
            require_alphabet(
                X,
                self.alphabet,
                "Mismatch",
                "add it there, or take unknown='mismatch'",
                self.unknown == "error",
            )
        return X

    # -- features -------------------------------------------------------------------------------------

    def _neighbours(self) -> int:
        """How many strings differ from a substring in at most m letters."""
        others = len(self.alphabet) - 1
        return sum(math.comb(self.length, j) * others**j for j in range(self.mismatches + 1))

    def _require_room(self, strings: Letters) -> tuple[np.ndarray, np.ndarray]:
        """How many features strings have before equal ones are added up, and at most after; or a refusal."""
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
        return made, kept

    def features(self, X):
        strings, size = letters(X), len(self.alphabet) + 1
        if not (strings.lengths >= self.length).any():
            return Counts.empty(np.zeros(len(strings), np.int64))
        made, kept = self._require_room(strings)
        # Where few words are possible, the neighbours of all are listed once; otherwise of those there are.
        few = size**self.length * self._neighbours() <= int(min(_LISTED, made.sum()))
        powers = size ** np.arange(self.length) if few else np.zeros(0, np.int64)
        listed = (
            self._neighbourhood(np.arange(size**self.length)[:, None] // powers % size - 1) if few else None
        )

        def some(rows: slice) -> Counts:
            part = strings[rows]
            starts, at = places(part, self.length)
            digits = positions(part.codes, alphabet_of(self.alphabet, "Mismatch"))
            if listed is not None:
                which = sum((digits[at + i] + 1) * power for i, power in enumerate(powers))
                return listed.added(starts, which)
            _, first, which = np.unique(
                substrings(part, self.length)[1], return_index=True, return_inverse=True
            )
            words = digits[at[first][:, None] + np.arange(self.length)]
            return self._neighbourhood(words).added(starts, which)

        return Counts.made(some, made if listed is None else np.maximum(kept, strings.lengths))

    def _neighbourhood(self, words: np.ndarray) -> _Neighbourhood:
        alphabet = alphabet_of(self.alphabet, "Mismatch")

        def hashed(numbers: np.ndarray, letter: np.ndarray) -> np.ndarray:
            return mix(numbers, alphabet[letter])

        return _Neighbourhood(len(words), self._tables(words, np.uint64(self.length), hashed))

    def _tables(self, words: np.ndarray, start: Any, extend: Callable) -> list[tuple[np.ndarray, np.ndarray]]:
        """Neighbours of words, which are rows of places in the alphabet, −1 for a letter that is not there.

        For each set of places where letters are unknown: (the words with such letters there, a row of
        neighbours for each of these).
        """
        strange, parts = words < 0, []
        for pattern in np.unique(strange, axis=0):
            if pattern.sum() <= self.mismatches:
                chosen = np.flatnonzero((strange == pattern).all(axis=1))
                parts.append((chosen, self._near(words[chosen], pattern, start, extend)))
        return parts

    def _near(self, words: np.ndarray, strange: np.ndarray, start: Any, extend: Callable) -> np.ndarray:
        """A row of neighbours for each word, made letter by letter; exchanged[j] have j mismatches so far."""
        n, size = len(words), len(self.alphabet)
        every, others = np.arange(size), np.arange(size - 1)
        none = np.empty((n, 0), np.asarray(start).dtype)
        exchanged = [np.full((n, 1), start)] + [none] * self.mismatches
        for i in range(self.length):
            letter = words[:, i]
            # All letters, or all but the one that is there.
            new = np.broadcast_to(every, (n, size)) if strange[i] else others + (others >= letter[:, None])
            same = [none] * len(exchanged) if strange[i] else [extend(h, letter[:, None]) for h in exchanged]
            changed = [extend(h[:, :, None], new[:, None, :]).reshape(n, -1) for h in exchanged[:-1]]
            exchanged = [np.hstack(pair) for pair in zip(same, [none, *changed], strict=True)]
        return np.hstack(exchanged)

    def spelled(self, X):
        size = max(len(self.alphabet), 1)
        # Words as whole numbers of any size, a letter a digit.
        strings = letters(X)
        _, at = places(strings, self.length)
        found = positions(strings.codes, alphabet_of(self.alphabet, "Mismatch"))[
            at[:, None] + np.arange(self.length)
        ]
        parts = self._tables(
            np.unique(found, axis=0), np.array(0, object), lambda word, letter: word * size + letter
        )
        words = sorted({word for _, table in parts for word in table.ravel().tolist()})
        digits = [[word // size**i % size for i in reversed(range(self.length))] for word in words]
        made = as_strings([word_of(self.alphabet, word) for word in digits], "Mismatch")
        _, ids = substrings(letters(made), self.length)
        return {number: in_words(word) for number, word in zip(ids.tolist(), made, strict=True)}


class _Neighbourhood:
    """Some words, and which features each of them counts for."""

    def __init__(self, words: int, parts: list[tuple[np.ndarray, np.ndarray]]):
        from scipy.sparse import csr_array

        word = np.concatenate([np.zeros(0, np.int64), *(np.repeat(c, t.shape[1]) for c, t in parts)])
        ids = np.concatenate([np.zeros(0, np.uint64), *(table.ravel() for _, table in parts)])
        self.vocabulary, column = np.unique(ids, return_inverse=True)
        self.table = csr_array((np.ones(len(ids)), (word, column)), shape=(words, len(self.vocabulary)))

    def added(self, starts: np.ndarray, which: np.ndarray) -> Counts:
        """The features of strings that have these words: a product of two sparse matrices."""
        from scipy.sparse import csr_array

        has = csr_array((np.ones(len(which)), which, starts), shape=(len(starts) - 1, self.table.shape[0]))
        # There and back again is the fastest way to have features in order.
        found = (has @ self.table).tocsc().tocsr()
        return Counts(found.indptr.astype(np.int64), self.vocabulary[found.indices], found.data)
