"""The local-alignment kernel, with scores for letters that are given."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np

from mercer._params import require_flag, require_nonnegative
from mercer._threads import cpu_count, parallel_map, stopping_point
from mercer.codegen.subset.compiled import compiled
from mercer.kernels.base import Kernel
from mercer.kernels.strings import alignment_loops
from mercer.kernels.strings.lanes import (
    AFTER_RIGHT,
    LANES,
    MANY_LANES,
    all_pairs,
    is_long,
    pieces,
    side_by_side,
)
from mercer.kernels.strings.letters import (
    Letters,
    alphabet_of,
    as_strings,
    letter_matrix,
    letters,
    positions,
    require_alphabet,
)

# What is added up in logarithms, letter by letter, is far from the range of floats.
_MOST = 1e100
# Logarithms take so many times as long as floats in lanes.
_LOGS = 64


@lru_cache(maxsize=3)
def _code(name: str) -> Any:
    """One of the loops in machine code; None where there is no LLVM."""
    return compiled([getattr(alignment_loops, name)])


class LocalAlignment(Kernel):
    """k(x,z) = 1 + Σ_π e^{β s(π)} over all local alignments π of two strings (Vert, Saigo, Akutsu 2004).

    An alignment puts one or more letters of x beside letters of z, in their order. Its score s(π) is the sum
    of the scores of letters that are side by side, less what gaps between them cost: `opening` for the first
    letter of a gap and `extension` for each further one, on either side.

    Parameters
    ----------
    scores : array of shape (letters, letters)
        Symmetric: what two letters side by side are worth (BLOSUM62, say).
    alphabet : str, bytes or list of tokens
        The letters, in the order of the scores.
    opening, extension : float
        Costs of gaps, at least 0.
    beta : float
        β: how much more good alignments count than others.
    log : bool
        Take log(k)/β, which for large β is the score of the best alignment (Smith and Waterman).

    Notes
    -----
    It is a kernel wherever the matrix of e^{β·score} is positive semidefinite, which `rule` looks at;
    otherwise it need not be one, and with ``log`` it is none in general. Machines then take it with a
    warning. Values grow exponentially with the length of strings: what is too large for a float is an error,
    but not so with ``log``, nor for the normalised kernel.

    Examples
    --------
    "AC" and "AC": A beside A, C beside C, both (e⁴), A beside C and C beside A.

    >>> import numpy as np
    >>> kernel = LocalAlignment([[2.0, -1.0], [-1.0, 2.0]], "AC", opening=3.0, extension=1.0, beta=1.0)
    >>> float(kernel(["AC"])[0, 0]), float(1 + 2 * np.exp(2) + np.exp(4) + 2 * np.exp(-1))
    (71.1120..., 71.1120...)
    >>> kernel.rule() is not None
    True
    """

    vectors = False
    positive = ("beta",)
    indefinite = True  # whoever asks for scores that make no kernel wants it

    def __init__(self, scores, alphabet, opening=11.0, extension=1.0, beta=0.5, log=False):
        self.scores = scores
        self.alphabet = alphabet
        self.opening = opening
        self.extension = extension
        self.beta = beta
        self.log = log

    def validate(self):
        super().validate()
        require_nonnegative(self.opening, "LocalAlignment: opening")
        require_nonnegative(self.extension, "LocalAlignment: extension")
        require_flag(self.log, "LocalAlignment: log")
        size = len(alphabet_of(self.alphabet, "LocalAlignment"))
        if not size:
            raise ValueError("LocalAlignment: alphabet must have letters")
        S = letter_matrix(self.scores, size, "LocalAlignment: scores")
        if not np.array_equal(S, S.T):
            raise ValueError("LocalAlignment: scores must be symmetric; take (S + S.T) / 2")
        worth = float(self.beta) * max(float(np.abs(S).max()), float(self.opening), float(self.extension))
        if not worth < _MOST:
            raise ValueError(
                f"LocalAlignment: beta times scores and costs must be below {_MOST:g}, got {worth:g}"
            )

    def points(self, X):
        X = as_strings(X, "LocalAlignment")
        require_alphabet(X, self.alphabet, "LocalAlignment", "add it there, and to the scores")
        return X

    def prepared(self, X):
        return letters(X)

    def rule(self):
        with np.errstate(over="ignore"):
            odds = np.exp(float(self.beta) * np.asarray(self.scores, float))
        if self.log or not np.isfinite(odds).all():
            return None
        values = np.linalg.eigvalsh(odds)
        if values[0] < -1e-12 * values[-1]:
            return None
        return "sums of products of kernels on letters, whose matrix is positive semidefinite, and on gaps"

    # -- values ------------------------------------------------------------------------------------------

    def _numbered(self, X: Any) -> Letters:
        """Letters by their place in the alphabet."""
        strings = letters(X)
        return Letters(positions(strings.codes, alphabet_of(self.alphabet, "LocalAlignment")), strings.starts)

    def _settings(self) -> tuple[np.ndarray, float, float]:
        beta = float(self.beta)
        scores = beta * np.asarray(self.scores, float)
        return np.ascontiguousarray(scores), -beta * float(self.opening), -beta * float(self.extension)

    def _logs(self, X: Any, Z: Any) -> np.ndarray:
        """log k of all pairs."""
        left = self._numbered(X)
        right = left if Z is X else self._numbered(Z)
        run = _code("alignments_of_rows")
        if run is None:
            return all_pairs(left, right, partial(_by_numpy, self._settings()), MANY_LANES)
        return all_pairs(left, right, partial(_by_loops, run, self._settings()), LANES, 8)

    def _own_logs(self, X: Any) -> np.ndarray:
        strings, run, out = self._numbered(X), _code("alignments_of_rows"), np.empty((X.shape[0], 1))

        def own(i: int) -> None:
            stopping_point()
            right = side_by_side(strings, np.array([i]), 1, AFTER_RIGHT)
            if run is None:
                _by_numpy(self._settings(), strings, i, i + 1, right, out)
            else:
                _by_loops(run, self._settings(), strings, i, i + 1, right, out)

        parallel_map(own, range(len(strings)), cpu_count(), blas=False)
        return out[:, 0]

    def _values(self, logs: np.ndarray) -> np.ndarray:
        if self.log:
            return logs / float(self.beta)
        with np.errstate(over="ignore"):
            K = np.exp(logs)
        if not np.isfinite(K).all():
            raise ValueError(
                "LocalAlignment has values too large for a float on these strings: use kernel.normalize(), "
                "or log=True"
            )
        return K

    def pairwise(self, X, Z):
        return self._values(self._logs(X, Z))

    def diagonal(self, X):
        return self._values(self._own_logs(X))

    def norms(self, X):
        """log √k(x,x), where k is not itself a logarithm."""
        return super().norms(X) if self.log else self._own_logs(X) / 2

    def cosines(self, X, Z, norms_x, norms_z):
        if self.log:
            return super().cosines(X, Z, norms_x, norms_z)
        return np.exp(self._logs(X, Z) - norms_x[:, None] - norms_z[None, :])

    def nonzero(self, X):
        return super().nonzero(X) if self.log else np.ones(X.shape[0])


def _by_loops(
    run: Any, settings: Any, left: Letters, low: int, high: int, right: np.ndarray, out: np.ndarray
) -> None:
    scores, begin, extend = settings
    ends = (right != AFTER_RIGHT).sum(axis=0)
    with np.errstate(over="ignore"):
        odds = np.exp(scores)
    S = np.empty((3, len(right) + 1))
    if high == low + 1 and is_long(left, low, _LOGS * right.size):
        rows = left.codes, int(left.starts[low]), int(left.lengths[low])
        for lane, end in enumerate(ends):
            out[low, lane] = _in_pieces(rows, (right, lane, end), scores, odds, (begin, extend), S)
        return
    run(left.codes, left.starts, low, high, right, ends, len(ends), scores, odds, begin, extend, S, out)


def _in_pieces(
    left: Any, right: Any, scores: np.ndarray, odds: np.ndarray, gaps: Any, S: np.ndarray
) -> float:
    """log(1 + ΣM) of one long pair."""
    (codes, start, n), cells, total = left, _LOGS * int(right[2]), 1.0
    for first, last in pieces(n, cells):
        total = _code("alignments")(codes, start, first, last, *right, odds, *np.exp(gaps), S, total)
    if total < alignment_loops.LARGEST:
        return math.log(total)
    total = 0.0
    for first, last in pieces(n, cells):
        total = _code("log_alignments")(codes, start, first, last, *right, scores, *gaps, S, total)
    return total


def _by_numpy(settings: Any, left: Letters, low: int, high: int, right: np.ndarray, out: np.ndarray) -> None:
    for k in range(low, high):
        stopping_point()
        a = left.codes[left.starts[k] : left.starts[k + 1]]
        out[k] = alignment_loops.alignments_in_numpy(a, right, *settings)
