"""Substrings compared letter by letter, by a matrix that says how alike letters are."""

from __future__ import annotations

from itertools import product

import numpy as np

from mercer._memory import available_memory
from mercer._params import require_count
from mercer.kernels.counting import Counting
from mercer.kernels.counts import Counts, mix
from mercer.kernels.strings.letters import (
    alphabet_of,
    as_strings,
    letter_matrix,
    letters,
    places,
    positions,
    require_alphabet,
    word_of,
)
from mercer.kernels.strings.spectrum import in_words

# Of the largest eigenvalue: what rounding may leave below 0.
_ROUNDING = 1e-9
# Bytes a feature takes: its number and value, and half as much again on the way there.
_BYTES = 24


class Substitution(Counting):
    """k(x,z) = Σ_ij Π_t M(x_{i+t}, z_{j+t}), t = 0…k−1, over all pairs of substrings of length k.

    Parameters
    ----------
    matrix : array
        M, how alike two letters are: symmetric and positive semidefinite, a row and a column for each letter.
    alphabet : text, bytes or tuple of tokens
        The letters, in the order of the matrix. Strings with others are refused.
    length : int
        k, of the substrings.

    Notes
    -----
    With the identity for M this is ``Spectrum(length)``. A table of scores may have negative eigenvalues; it
    is refused then, and adding the size of the lowest to the diagonal mends it.

    M is the square of a symmetric matrix R, and the feature of a word w is Σ_i Π_t R(w_t, x_{i+t}): there are
    as many as words, 400 or 8,000 of two or three letters of proteins, and more than memory has room for are
    refused. Long strings have more substrings: ``.normalize()`` makes up for that.

    Examples
    --------
    Letters a and b are half alike, and c is like no other:

    >>> M = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> Substitution(M, "abc", 2)(["ab", "bb", "cb"]).round(10) + 0.0
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0. ],
           [0. , 0. , 1. ]])
    """

    def __init__(self, matrix, alphabet, length=3):
        self.matrix = matrix
        self.alphabet = alphabet
        self.length = length

    def validate(self):
        require_count(self.length, "Substitution: length")
        size = len(alphabet_of(self.alphabet, "Substitution"))
        self._root(size)

    def _root(self, size: int) -> np.ndarray:
        """R with R² = M."""
        M = letter_matrix(self.matrix, size, "Substitution: matrix")
        if not np.allclose(M, M.T, rtol=0, atol=1e-12 * np.abs(M).max(initial=0)):
            raise ValueError("Substitution: matrix must be symmetric; take (M + M.T) / 2")
        values, vectors = np.linalg.eigh(M)
        if values.min(initial=0) < -_ROUNDING * np.abs(values).max(initial=0):
            raise ValueError(
                f"Substitution: matrix must be positive semidefinite, but has the eigenvalue "
                f"{values.min():.4g}; add {-values.min():.4g} to its diagonal"
            )
        return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T

    def points(self, X):
        X = as_strings(X, "Substitution")
        require_alphabet(X, self.alphabet, "Substitution", "add it there, and to the matrix")
        return X

    def features(self, X):
        strings, alphabet = letters(X), alphabet_of(self.alphabet, "Substitution")
        size, length = len(alphabet), self.length
        if not (strings.lengths >= length).any():
            return Counts.empty(np.zeros(len(strings), np.int64))
        words = size**length
        if _BYTES * words * len(strings) > available_memory():
            raise ValueError(
                f"Substitution: a string has {size}^{length} features, one for each word of {length} of the "
                f"{size} letters, which are too many for {len(strings):,} strings and the memory there is; "
                f"take shorter substrings"
            )
        root, ids = self._root(size), self._numbers(alphabet)
        order = np.argsort(ids)

        def some(rows: slice) -> Counts:
            part = strings[rows]
            starts, first = places(part, length)
            digits, which = positions(part.codes, alphabet), np.repeat(np.arange(len(part)), np.diff(starts))
            for i in range(length):
                which = which * size + digits[first + i]
            table = np.bincount(which, minlength=len(part) * words).astype(np.float64)
            for _ in range(length):  # the first letter's axis goes, its image comes last: all have gone round
                table = np.tensordot(table.reshape(len(part), size, -1), root, axes=(1, 0))
            values = table.reshape(len(part), words)[:, order]
            kept = values != 0
            out = Counts.empty(kept.sum(axis=1))
            out.ids[:], out.values[:] = ids[order][np.nonzero(kept)[1]], values[kept]
            return out

        return Counts.made(some, np.full(len(strings), words))

    def _numbers(self, alphabet: np.ndarray) -> np.ndarray:
        """The number of every word, those of `Spectrum`, in the order of the alphabet."""
        ids = np.full(1, self.length, np.uint64)
        for _ in range(self.length):
            ids = mix(ids[:, None], alphabet[None, :]).ravel()
        return ids

    def spelled(self, X):
        """Words whose features these are; words that are alike share what they stand for."""
        found = set(self.counts(X).vocabulary.tolist())
        ids = self._numbers(alphabet_of(self.alphabet, "Substitution")).tolist()
        words = product(range(len(self.alphabet)), repeat=self.length)
        return {
            n: in_words(word_of(self.alphabet, at)) for n, at in zip(ids, words, strict=True) if n in found
        }

    def rule(self):
        return "a sum of products of positive semidefinite functions of letters"
