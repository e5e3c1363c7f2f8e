"""The spectrum kernel: substrings of one length, or of all lengths up to one."""

from __future__ import annotations

import numpy as np

from mercer._params import require_count, require_flag
from mercer.kernels.counting import Counting
from mercer.kernels.counts import Counts, mix
from mercer.kernels.strings.letters import Letters, as_strings, letters


def substrings(strings: Letters, length: int) -> tuple[np.ndarray, np.ndarray]:
    """(numbers of all substrings of this length, where those of each string begin)"""
    counts = np.maximum(strings.lengths - length + 1, 0)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    first = np.arange(starts[-1]) + np.repeat(strings.starts[:-1] - starts[:-1], counts)
    ids = np.full(len(first), length, np.uint64)
    for i in range(length):
        ids = mix(ids, strings.codes[first + i])
    return ids, starts


class Spectrum(Counting):
    """k(x,z) = Σ_u |x|_u |z|_u over all strings u of length `length`, |x|_u how often u occurs in x.

    Parameters
    ----------
    length : int
        Of the substrings that are compared.
    blended : bool
        Count the substrings of all lengths from 1 to `length`.

    Notes
    -----
    Strings may be text, bytes or lists of tokens, of any alphabet; one that is shorter than `length` has no
    features, and k(x,x) = 0. Long strings have more substrings: ``Spectrum(3).normalize()`` makes up for
    that.

    Examples
    --------
    >>> Spectrum(2)(["statistics", "computation"])
    array([[13.,  4.],
           [ 4., 10.]])
    """

    def __init__(self, length=3, blended=False):
        self.length = length
        self.blended = blended

    def validate(self):
        require_count(self.length, "Spectrum: length")
        require_flag(self.blended, "Spectrum: blended")

    def points(self, X):
        return as_strings(X, "Spectrum")

    def _lengths(self):
        return range(1, self.length + 1) if self.blended else (self.length,)

    def features(self, X):
        strings = letters(X)
        parts = [substrings(strings, length) for length in self._lengths()]
        rows = np.concatenate([np.repeat(np.arange(len(strings)), np.diff(starts)) for _, starts in parts])
        order = np.argsort(rows, kind="stable")
        ids = np.concatenate([found for found, _ in parts])[order]
        return Counts.of(np.sum([starts for _, starts in parts], axis=0), ids)

    def spelled(self, X):
        out: dict[int, str] = {}
        strings = letters(X)
        for length in self._lengths():
            ids, starts = substrings(strings, length)
            row = np.repeat(np.arange(len(strings)), np.diff(starts))
            for number, first in zip(*np.unique(ids, return_index=True), strict=True):
                i = row[first]
                at = first - starts[i]
                part = X[i][at : at + length]
                out[int(number)] = part if isinstance(part, str) else str(part)
        return out
