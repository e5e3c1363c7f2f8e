"""The spectrum kernel: substrings of one length, or of all lengths up to one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer._params import require_count, require_flag
from mercer.kernels.counting import Counting
from mercer.kernels.counts import Counts, mix
from mercer.kernels.strings.letters import Letters, as_strings, lengths_within, letters, places


def substrings(strings: Letters, length: int) -> tuple[np.ndarray, np.ndarray]:
    """(where those of each string begin, numbers of all substrings of this length)"""
    starts, first = places(strings, length)
    if not len(first):  # however long they should be
        return starts, np.zeros(0, np.uint64)
    ids = np.full(len(first), length, np.uint64)
    for i in range(length):
        ids = mix(ids, strings.codes[first + i])
    return starts, ids


def spelled(X: Any, lengths: Iterable[int], between: str | None = None) -> dict[int, str]:
    """The substrings of these lengths by their numbers; tokens with `between` them, or as tuples."""
    out: dict[int, str] = {}
    strings = letters(X)
    for length in lengths:
        starts, ids = substrings(strings, length)
        numbers, first = np.unique(ids, return_index=True)
        rows = np.searchsorted(starts, first, "right") - 1
        for number, i, at in zip(
            numbers.tolist(), rows.tolist(), (first - starts[rows]).tolist(), strict=True
        ):
            out[number] = in_words(X[i][at : at + length], between)
    return out


def in_words(part: Any, between: str | None = None) -> str:
    """A string of whatever kind, to be read."""
    if isinstance(part, str):
        return part
    return str(part) if between is None or isinstance(part, bytes) else between.join(map(str, part))


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

    def _lengths(self, strings: Letters) -> range:
        return lengths_within(strings, 1 if self.blended else self.length, self.length)

    def features(self, X):
        strings = letters(X)
        lengths = self._lengths(strings)

        def some(rows: slice) -> Counts:
            part = strings[rows]
            return Counts.joined([(*substrings(part, length), 1.0) for length in lengths])

        return Counts.made(some, strings.lengths * len(lengths))

    def spelled(self, X):
        return spelled(X, self._lengths(letters(X)))
