"""Similarity by edits: popular, and no kernel in general."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np

from mercer._threads import stopping_point
from mercer.codegen.subset.compiled import compiled
from mercer.kernels.base import Kernel
from mercer.kernels.strings import edit_loops
from mercer.kernels.strings.lanes import AFTER_RIGHT, LANES, MANY_LANES, all_pairs, pieces
from mercer.kernels.strings.letters import Letters, as_strings, letters

# Letters of text and bytes are numbered below this, as they come.
_UNICODE = 0x110000
# The work of one letter and one word, in cells of a table.
_WORD_IN_CELLS = 8


@lru_cache(maxsize=1)
def _code() -> Any:
    """The loop in machine code; None where there is no LLVM."""
    return compiled([edit_loops.edits_of_rows])


class EditDistance(Kernel):
    """exp(−d(x,z)/width), d the edits from x to z: **not** positive semidefinite in general.

    An edit inserts a letter, drops one or replaces one by another (Levenshtein's distance). Machines take the
    function with a warning where it is no kernel on their points, and claim nothing that a kernel's theory
    says. `Subsequence` and `Mismatch` are kernels that forgive edits, too.

    Parameters
    ----------
    width : float
        Edits that multiply the similarity by 1/e. With a small one the matrix is nearly the identity, which
        is positive definite; with a large one it need not be.

    Examples
    --------
    >>> import numpy as np
    >>> -np.log(EditDistance(1.0)(["kitten"], ["sitting", "mitten", ""])).round(12)
    array([[3., 1., 6.]])

    `check` shows that it is no kernel:

    >>> from mercer.kernels import check
    >>> print(check(EditDistance(8.0), ["a", "ab", "ba", "aba", "bab"]).reason)
    not positive semidefinite
    """

    vectors = False
    positive = ("width",)
    indefinite = True  # whoever asks for it by name wants it

    def __init__(self, width=1.0):
        self.width = width

    def points(self, X):
        return as_strings(X, "EditDistance")

    def prepared(self, X):
        return letters(X)

    def edits(self, X: Any, Z: Any) -> np.ndarray:
        """d(x,z) of all pairs of checked points."""
        left = letters(X)
        right = left if Z is X else letters(Z)
        run = _code()
        if run is None:
            return all_pairs(left, right, _by_numpy, MANY_LANES)
        left, right, size = _numbered(left, right)
        return all_pairs(left, right, partial(_by_loops, run, size), LANES)

    def pairwise(self, X, Z):
        return np.exp(-self.edits(X, Z) / float(self.width))

    def diagonal(self, X):
        return np.ones(X.shape[0])


def _ends(right: np.ndarray) -> np.ndarray:
    return (right != AFTER_RIGHT).sum(axis=0)


def _numbered(left: Letters, right: Letters) -> tuple[Letters, Letters, int]:
    """Both with letters numbered from 0 to below what comes third, few enough that each can have a place."""
    size = 1 + max(int(left.codes.max(initial=-1)), int(right.codes.max(initial=-1)))
    if size <= _UNICODE:
        return left, right, size
    known, codes = np.unique(np.concatenate([left.codes, right.codes]), return_inverse=True)
    one = Letters(codes[: len(left.codes)], left.starts)
    other = one if right is left else Letters(codes[len(left.codes) :], right.starts)
    return one, other, len(known)


def _by_loops(
    run: Any, size: int, left: Letters, low: int, high: int, right: np.ndarray, out: np.ndarray
) -> None:
    m, alone = len(right), high == low + 1
    words = edit_loops.column_words(size, int(left.starts[high] - left.starts[low]), m)
    ends, longest = _ends(right), int(left.lengths[low:high].max(initial=0))
    # Several strings come together only where they are short, and are one piece. To note the letters of a
    # word takes as long as to compare it with some WORD letters.
    cells = words.rises.size * _WORD_IN_CELLS if alone else 0
    for begin, end in pieces(longest, cells, edit_loops.WORD):
        run(left.codes, left.starts, low, high, begin, end, right, m, ends, words, out)


def _by_numpy(left: Letters, low: int, high: int, right: np.ndarray, out: np.ndarray) -> None:
    ends = _ends(right)
    for k in range(low, high):
        stopping_point()
        out[k] = edit_loops.edits_in_numpy(left.codes[left.starts[k] : left.starts[k + 1]], right, ends)
