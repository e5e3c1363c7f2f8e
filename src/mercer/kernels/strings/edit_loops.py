"""Tables of Levenshtein's distance, as Python that is also compiled."""

# mypy: ignore-errors
# ruff: noqa: F821, UP037, E741  (annotations are types of the compiled subset)

from __future__ import annotations

import numpy as np

from mercer.kernels.strings.lanes import LANES


def edits_of_rows(
    codes: "i64[:]",
    starts: "i64[:]",
    first: int,
    last: int,
    begin: int,
    end: int,
    b: "i64[:,:]",
    m: int,
    ends: "i64[:]",
    D: "i64[:,:]",
    left: "i64[:]",
    out: "f64[:,:]",
):
    """Edits between some strings and each column of b, which ends after ``ends`` letters.

    Row j of D: edits between what was read of the string and the first j letters of the column. Of strings,
    the letters from ``begin`` to ``end`` are read; D is that of the letters before.
    """
    for k in range(first, last):
        start = starts[k]
        n = min(starts[k + 1] - start, end)
        if begin == 0:
            for j in range(m + 1):
                for l in range(LANES):
                    D[j, l] = j
        for i in range(begin, n):
            letter = codes[start + i]
            for l in range(LANES):
                left[l] = D[0, l]
                D[0, l] = i + 1
            for j in range(m):
                after = j + 1
                for l in range(LANES):
                    other = left[l] + (0 if b[j, l] == letter else 1)
                    left[l] = D[after, l]
                    D[after, l] = min(min(D[after, l], D[j, l]) + 1, other)
        for l in range(LANES):
            out[k, l] = float(D[ends[l], l])


def edits_in_numpy(a, b, ends):
    """The same for one string and any number of columns."""
    D = np.repeat(np.arange(len(b) + 1)[:, None], b.shape[1], axis=1)
    for i, letter in enumerate(a):
        kept = D[:-1] + (b != letter)
        D[0] = i + 1
        D[1:] = np.minimum(D[1:] + 1, kept)
        for j in range(len(b)):
            np.minimum(D[j + 1], D[j] + 1, out=D[j + 1])
    return D[ends, np.arange(b.shape[1])]
