"""The weighted degree kernel: substrings at the same place of aligned strings."""

from __future__ import annotations

import math

import numpy as np

from mercer._memory import available_memory
from mercer._params import require_count
from mercer.kernels.counting import Counting
from mercer.kernels.counts import Counts, mix
from mercer.kernels.strings.letters import Letters, as_strings, letters
from mercer.kernels.strings.spectrum import in_words

# Bytes a feature takes: its number and value.
_BYTES = 16


class WeightedDegree(Counting):
    """k(x,z) = Σ_d β_d Σ_i [x and z have the same d letters from place i on], β_d = 2(D−d+1)/(D(D+1)), d ≤ D.

    Parameters
    ----------
    degree : int
        D, the length of the longest substrings that are compared.
    shifts : int
        S: what is found s ≤ S places further on in one of the strings counts, too, by a weight of
        (S+1−s)/(S+1).

    Notes
    -----
    With shifts, k(x,z) = Σ_d β_d Σ_ij max(0, 1 − |i−j|/(S+1)) [x's d letters from i on are z's from j on]:
    every occurrence at i is spread over the places i…i+S, 1/√(S+1) at each, which is why this is a kernel.

    Strings are aligned at their first letters. They may have different lengths: what one of them does not
    have, agrees with nothing. A stretch of matching letters counts by about the square of its length, and
    ``.normalize()`` makes k(x,x) = 1. A string of n letters has about n·D·(S+1) features.

    Examples
    --------
    >>> WeightedDegree(2)(["GATTACA", "GACTATA"]).round(4)
    array([[6.6667, 4.    ],
           [4.    , 6.6667]])
    >>> WeightedDegree(1, shifts=1)(["AC"], ["CA"])
    array([[1.]])
    """

    def __init__(self, degree=8, shifts=0):
        self.degree = degree
        self.shifts = shifts

    def validate(self):
        require_count(self.degree, "WeightedDegree: degree")
        require_count(self.shifts, "WeightedDegree: shifts", 0)

    def points(self, X):
        return as_strings(X, "WeightedDegree")

    def _placed(self, strings: Letters):
        """For each degree: (its worth, where strings start, numbers of substrings at places, letters)"""
        D, S = self.degree, self.shifts
        inside = np.zeros(len(strings.codes), np.uint64)  # the number of the substring from here on
        place = np.arange(len(strings.codes)) - np.repeat(strings.starts[:-1], strings.lengths)
        left = np.repeat(strings.lengths, strings.lengths) - place
        for d in range(1, D + 1):
            fits = left >= d
            at = np.flatnonzero(fits)
            if not len(at):
                return
            inside[at] = mix(inside[at], strings.codes[at + d - 1])
            starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(fits)])[strings.starts] * (S + 1)
            windows = (place[at][:, None] + np.arange(S + 1)).ravel()
            ids = mix(np.repeat(inside[at], S + 1), windows)
            yield math.sqrt(2 * (D - d + 1) / (D * (D + 1) * (S + 1))), starts, ids, at

    def features(self, X):
        strings = letters(X)
        D, S = min(self.degree, int(strings.lengths.max(initial=0))), self.shifts
        if _BYTES * D * (S + 1) * len(strings.codes) > available_memory():
            raise ValueError(
                f"WeightedDegree: {len(strings.codes):,} letters with degree {D} and {S} shifts have more "
                f"features than there is memory for: take fewer shifts, or a smaller degree"
            )

        def some(rows: slice) -> Counts:
            part = strings[rows]
            found = [(starts, ids, worth) for worth, starts, ids, _ in self._placed(part)]
            return Counts.joined(found) if found else Counts.empty(np.zeros(len(part), np.int64))

        return Counts.made(some, strings.lengths * D * (S + 1))

    def spelled(self, X):
        out: dict[int, str] = {}
        strings, S = letters(X), self.shifts
        for d, (_, _, ids, at) in enumerate(self._placed(strings), 1):
            numbers, first = np.unique(ids, return_index=True)
            here = at[first // (S + 1)]
            rows = np.searchsorted(strings.starts, here, "right") - 1
            place = here - strings.starts[rows]
            window = place + first % (S + 1)
            for number, i, p, w in zip(*(a.tolist() for a in (numbers, rows, place, window)), strict=True):
                where = f"{max(w - S, 0)}–{w}" if S else f"{w}"
                out[number] = f"{in_words(X[i][p : p + d])} at {where}"
        return out
