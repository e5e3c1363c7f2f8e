"""The gap-weighted subsequence kernel."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np

from mercer._params import is_number, require_count, require_flag
from mercer._threads import cpu_count, parallel_map, stopping_point
from mercer.codegen.subset.compiled import compiled
from mercer.kernels.base import Kernel
from mercer.kernels.strings import gap_loops
from mercer.kernels.strings.lanes import (
    LANES,
    MANY_LANES,
    all_pairs,
    each_with_itself,
    is_long,
    pieces,
)
from mercer.kernels.strings.letters import Letters, as_strings, letters

# Below this power of two a factor that all values share may take them out of the range of floats.
_SMALL = -900
_BITS = 512
# Powers of two from here on are nothing, whatever they are multiplied by.
_SMALLEST = -(1 << 40)
# Numbers of any size take so many times as long as floats in lanes.
_WIDE = 32


@lru_cache(maxsize=4)
def _code(name: str) -> Any:
    """One of the loops in machine code; None where there is no LLVM."""
    return compiled([getattr(gap_loops, name)])


class Subsequence(Kernel):
    """k(x,z) = Σ_u Σ_{i: u=x[i]} Σ_{j: u=z[j]} λ^{l(i)+l(j)}: subsequences that two strings share.

    A subsequence u of x is any choice of letters in their order, ``i`` where they are, and l(i) the length of
    the stretch from the first to the last of them: one with gaps counts, but the less the wider it is spread.

    Parameters
    ----------
    length : int
        Of the subsequences that are compared.
    decay : float
        λ, above 0 and at most 1: what one more letter in the stretch multiplies by. With 1 gaps cost nothing;
        near 0 only subsequences without gaps matter.
    blended : bool
        Add up the kernels of all lengths from 1 to `length`.

    Notes
    -----
    A value takes `length`·|x|·|z| steps (Lodhi et al. 2002), compiled, on all cores. Strings may be text,
    bytes or lists of tokens; one shorter than `length` has no subsequences, and k(x,x) = 0.

    Values differ by many orders of magnitude with the lengths of strings: ``Subsequence(4).normalize()``
    makes up for that. The normalised kernel is right even where values are too large or too small for a
    float; without it, that is an error.

    Examples
    --------
    In "cat" and "car" only c·a is shared, twice with two letters: λ⁴. "cat" has ca, at and c–t: 2λ⁴ + λ⁶.

    >>> Subsequence(2, decay=0.5)(["cat", "car"])
    array([[0.140625, 0.0625  ],
           [0.0625  , 0.140625]])
    >>> Subsequence(2, decay=0.5).normalize()(["cat"], ["car"]).round(4)  # 1 / (2 + λ²)
    array([[0.4444]])
    """

    vectors = False

    def __init__(self, length=3, decay=0.5, blended=False):
        self.length = length
        self.decay = decay
        self.blended = blended

    def validate(self):
        require_count(self.length, "Subsequence: length")
        if not is_number(self.decay) or not 0 < self.decay <= 1:
            raise ValueError(f"Subsequence: decay must be above 0 and at most 1, got {self.decay!r}")
        require_flag(self.blended, "Subsequence: blended")

    def points(self, X):
        return as_strings(X, "Subsequence")

    def prepared(self, X):
        return letters(X)

    def rule(self):
        return "an inner product of feature vectors, one feature for each subsequence"

    # -- values: everything is found over a factor that all of them share -------------------------------

    def _factor(self) -> tuple[float, int]:
        """What was taken out of all values, λ^{2·length} (blended: λ²), as t·2^u."""
        square, v = math.frexp(float(self.decay))
        times, t, u = 2 if self.blended else 2 * int(self.length), 1.0, 0
        while times:  # by squaring
            if times % 2:
                t, more = math.frexp(t * square)
                u += v + more
            square, more = math.frexp(square * square)
            v, times = 2 * v + more, times // 2
        return t, max(u, _SMALLEST)

    def _settings(self, X: Letters, Z: Letters) -> tuple[int, float, float, int]:
        longest = min(int(X.lengths.max(initial=0)), int(Z.lengths.max(initial=0)))
        length, decay = min(int(self.length), longest + 1), float(self.decay)  # no pair shares more letters
        return length, decay, decay * decay if self.blended else 1.0, int(self.blended)

    def pairwise(self, X, Z):
        return self._in_floats(*self._over_factor(X, Z))

    def diagonal(self, X):
        return self._in_floats(*self._own_over_factor(X))

    def _in_floats(self, values: np.ndarray, sizes: Any) -> np.ndarray:
        t, u = self._factor()
        with np.errstate(over="ignore", under="ignore"):
            K = np.ldexp(values * t, _BITS * sizes + u)
        # Beside values that are not small, what underflows is rounding.
        lost = u < _SMALL and bool(np.any((values > 0) & (np.abs(K) < np.finfo(float).tiny)))
        if lost or not np.isfinite(K).all():
            what = "small" if lost else "large"
            raise ValueError(
                f"{self!r} has values too {what} for a float on these strings; its normalised kernel has "
                f"none: use kernel.normalize()"
            )
        return K

    def norms(self, X):
        """√k(x,x) (1 where that is 0) as a·2^(256 p), in two columns: a and p."""
        values, sizes = self._own_over_factor(X)
        return np.column_stack([np.sqrt(np.where(values > 0, values, 1)), sizes])

    def cosines(self, X, Z, norms_x, norms_z):
        values, sizes = self._over_factor(X, Z)
        (a, b), (p, q) = ([norms[:, i] for norms in (norms_x, norms_z)] for i in (0, 1))
        p, q = p.astype(np.int64), q.astype(np.int64)
        # Powers of two last, and roots one by one: each is a float whatever the values are.
        half = _BITS // 2
        shift = 2 * half * sizes - half * p[:, None] - half * q[None, :]
        with np.errstate(under="ignore"):
            return np.ldexp(values / a[:, None] / b[None, :], shift)

    def nonzero(self, X):
        return (letters(X).lengths >= (1 if self.blended else self.length)).astype(float)

    def _over_factor(self, X: Any, Z: Any) -> tuple[np.ndarray, np.ndarray]:
        """(t, u) for all pairs: k(x,z) is t·2^(512 u) times the factor they share."""
        left = letters(X)
        right = left if Z is X else letters(Z)
        settings, run = self._settings(left, right), _code("gaps_of_rows")
        if run is None:
            values = all_pairs(left, right, partial(_by_numpy, settings), MANY_LANES, settings[0])
        else:
            values = all_pairs(left, right, partial(_by_loops, run, settings), LANES, settings[0])
        sizes = np.zeros(values.shape, np.int64)
        i, j = np.nonzero(~np.isfinite(values))
        if right is left:
            i, j = i[i <= j], j[i <= j]
        t, u = self._of_any_size(left, right, i, j)
        values[i, j], sizes[i, j] = t, u
        if right is left:
            values[j, i], sizes[j, i] = t, u
        return values, sizes

    def _own_over_factor(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        strings, run = letters(X), _code("gaps")
        settings = self._settings(strings, strings)
        if run is None:
            own = partial(_own_by_numpy, settings)
            values = each_with_itself(strings, own, MANY_LANES)
        else:
            values = each_with_itself(strings, partial(_own_by_loops, run, settings), LANES)
        sizes = np.zeros(len(strings), np.int64)
        i = np.flatnonzero(~np.isfinite(values))
        values[i], sizes[i] = self._of_any_size(strings, strings, i, i)
        return values, sizes

    def _of_any_size(self, X: Letters, Z: Letters, rows: Any, columns: Any) -> tuple[np.ndarray, np.ndarray]:
        """The same for single pairs whose values, or numbers on the way to them, are too large for floats."""
        if not len(rows):  # as nearly always: then nothing is compiled
            return np.zeros(0), np.zeros(0, np.int64)
        run = _code("wide_gaps") or gap_loops.wide_gaps
        root, size = math.frexp(float(self.decay))
        size, low = divmod(size, _BITS)  # λ = root·2^low·2^(512 size)
        decay = math.ldexp(root, low) if low < _BITS // 2 else math.ldexp(root, low - _BITS)
        size += low >= _BITS // 2
        one = (decay, 1.0), (size, 0)
        factors, sizes = ((decay, decay * decay), (size, 2 * size)) if self.blended else one

        def single(pair: tuple[int, int]) -> tuple[float, int]:
            a, b = (S.codes[S.starts[k] : S.starts[k + 1]] for S, k in zip((X, Z), pair, strict=True))
            length = self._settings(X, Z)[0]
            D, E = np.zeros((length, len(b) + 1)), np.zeros((length, len(b) + 1), np.int64)
            t, u = np.zeros(3), np.zeros(3, np.int64)
            settings = length, np.array(factors), np.array(sizes, np.int64), int(self.blended)
            for first, last in pieces(len(a), _WIDE * D.size):
                run(a, b, len(a), len(b), first, last, *settings, D, E, t, u)
            return t[0], u[0]

        found = parallel_map(single, list(zip(rows, columns, strict=True)), cpu_count(), blas=False)
        return np.array([t for t, _ in found]), np.array([u for _, u in found], np.int64)


def _by_loops(run: Any, settings: Any, left: Letters, low: int, high: int, right: Any, out: Any) -> None:
    m, longest = len(right), int(left.lengths[low:high].max(initial=0))
    a, D = np.empty((max(longest, 1), LANES), np.int64), np.empty((settings[0] * (m + 1), LANES))
    if high == low + 1 and is_long(left, low, D.size):
        a[:] = left.codes[left.starts[low] : left.starts[high], None]
        _in_pieces(_code("gaps"), settings, a, right, D, out[low])
        return
    run(left.codes, left.starts, low, high, right, m, *settings, a, D, np.empty(LANES), out)


def _by_numpy(settings: Any, left: Letters, low: int, high: int, right: Any, out: Any) -> None:
    for k in range(low, high):
        stopping_point()
        a = left.codes[left.starts[k] : left.starts[k + 1]]
        out[k] = gap_loops.gaps_in_numpy(a, right, *settings)


def _own_by_loops(run: Any, settings: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    total, D = np.empty(LANES), np.empty((settings[0] * (len(right) + 1), LANES))
    _in_pieces(run, settings, left, right, D, total)
    return total


def _in_pieces(run: Any, settings: Any, left: Any, right: Any, D: np.ndarray, total: np.ndarray) -> None:
    """A column of letters with one on the right, for each lane."""
    n, m = len(left), len(right)
    for first, last in pieces(n, D.size):
        run(left, right, n, first, last, *settings, D, np.empty(LANES), m, total)


def _own_by_numpy(settings: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return gap_loops.gaps_in_numpy(left, right, *settings)
