"""Kernels on sets: what a set is, seen through a kernel on its elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from mercer._threads import cpu_count, parallel_map
from mercer._xp import issparse
from mercer.kernels.base import Kernel
from mercer.kernels.composite import _Composite, _CountsOfOne, prefixed
from mercer.kernels.counts import Counts
from mercer.kernels.points import counted, shortened

# Values of the inner kernel that are held at once by a thread, 8 MB of doubles, and rows of such a block.
_ENTRIES, _ROWS = 1 << 20, 1 << 10
# From so many columns on NumPy adds up rows faster one set at a time.
_WIDE = 512
# Small sets are compared with themselves in groups of so many elements.
_GROUP = 64

# For elements on both sides: matrices by name.
Values = Callable[[Any, Any], dict[str, np.ndarray]]


class Sets:
    """Sets with all their elements in one row: those of set i are ``elements[starts[i] : starts[i+1]]``.

    Taken apart like an array of points. Without any elements `elements` is None.
    """

    ndim = 1
    dtype = np.dtype(object)

    def __init__(self, elements: Any, starts: np.ndarray):
        self.elements, self.starts = elements, starts

    @property
    def shape(self) -> tuple[int]:
        return (len(self.starts) - 1,)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: Any) -> Sets:
        index = np.arange(len(self))[index]
        if len(index) == len(self) and (index == np.arange(len(self))).all():
            return self
        lengths = self.lengths[index]
        starts = starts_of(lengths)
        if self.elements is None or not starts[-1]:
            return Sets(None, starts)
        if (np.diff(index) == 1).all():
            return Sets(self.elements[self.starts[index[0]] : self.starts[index[-1] + 1]], starts)
        where = np.arange(starts[-1]) + np.repeat(self.starts[:-1][index] - starts[:-1], lengths)
        return Sets(self.elements[where], starts)

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    @property
    def filled(self) -> np.ndarray:
        """Which sets have elements."""
        return np.flatnonzero(self.lengths)


def starts_of(lengths: Any) -> np.ndarray:
    """Where sets of these lengths begin, one after another, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


class MeanEmbedding(_CountsOfOne, _Composite):
    """k(S,T) = (1/|S||T|) Σ_{s∈S} Σ_{t∈T} κ(s,t): sets by the means of their elements' feature vectors.

    Parameters
    ----------
    kernel : Kernel
        κ, on the elements. What it leaves to the data is found from the elements of all sets.

    Notes
    -----
    A set is a 2-D array with a row for each element, a list of vectors or, for a kernel on other things, a
    list of those: strings, graphs, even sets. Elements that occur twice count twice, and their order is
    nothing. An empty set has the mean 0, and k = 0 with every other.

    ``k.distance([S], [T])`` is the maximum mean discrepancy of both (biased; see `mercer.theory.mmd_test`),
    and ``(k / s**2).exp().normalize()`` is exp(−MMD²/2s²), a Gaussian kernel on distributions.

    If κ has sparse features k has them, too, their means; otherwise k of two sets takes |S||T| values of κ,
    which are computed in blocks.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear, Spectrum
    >>> MeanEmbedding(Linear())([[[1.0], [3.0]], [[5.0]]])          # of the means 2 and 5
    array([[ 4., 10.],
           [10., 25.]])
    >>> MeanEmbedding(Spectrum(2))([["ab", "abab"], ["ba"]])        # ab: (1 + 2)/2, ba: (0 + 1)/2
    array([[2.5, 0.5],
           [0.5, 1. ]])
    >>> MeanEmbedding(Gaussian()).resolve([[[0.0], [1.0]], [[3.0]]])
    MeanEmbedding(kernel=Gaussian(sigma=2.0))
    """

    made = "an inner product of means of feature vectors"
    kernel: Kernel
    vectors = False
    sparse = False
    infinitely_divisible = False

    def __init__(self, kernel):
        self.kernel = kernel

    # -- points -----------------------------------------------------------------------------------

    def points(self, X):
        sets = [self._listed(item, i) for i, item in enumerate(_items(X))]
        lengths = [item.shape[0] if issparse(item) else len(item) for item in sets]
        starts, some = starts_of(lengths), [item for item, n in zip(sets, lengths, strict=True) if n]
        if some:
            try:
                elements = self.kernel.points(self._together(some))
            except (TypeError, ValueError) as error:
                self._blame(sets, lengths)
                raise ValueError(f"MeanEmbedding: elements of the sets do not go together: {error}") from None
            if isinstance(elements, np.ndarray):
                elements.flags.writeable = False
        out = np.empty(len(sets), object)
        for i in range(len(sets)):
            out[i] = elements[starts[i] : starts[i + 1]] if some else np.empty((0, 0))
        return out

    def _listed(self, item: Any, i: int) -> Any:
        """A set as an array or, of elements that are no vectors, a list."""
        if isinstance(item, set | frozenset):
            item = sorted(item, key=repr)  # the order of a Python set changes from run to run
        if hasattr(item, "to_numpy"):
            item = item.to_numpy()
        if issparse(item):
            return item
        none = not hasattr(item, "__len__") or getattr(item, "ndim", 1) == 0
        if none or isinstance(item, str | bytes | dict):
            raise ValueError(
                f"MeanEmbedding takes sets, each an array of vectors or a list; set {i} is "
                f"{shortened(item)} ({type(item).__name__}); for one set of elements give [elements]"
            )
        if not self.kernel.vectors:
            return list(item)
        try:
            return np.asarray(item)
        except ValueError:
            raise ValueError(
                f"MeanEmbedding: the vectors of set {i} differ in their numbers of coordinates"
            ) from None

    def _together(self, sets: list[Any]) -> Any:
        if not self.kernel.vectors:
            return list(chain.from_iterable(sets))
        return _stacked(sets)

    def _blame(self, sets: list[Any], lengths: list[int]) -> None:
        """An error that says which set is to blame, if one is by itself."""
        for i, item in enumerate(sets):
            if lengths[i]:
                try:
                    self.kernel.points(item)
                except (TypeError, ValueError) as error:
                    raise ValueError(f"MeanEmbedding, set {i}: {error}") from None

    def prepared(self, X):
        return self.counts(X) if self.has_counts else self._packed(X)

    def _packed(self, X: Any) -> Sets:
        if isinstance(X, Sets):
            return X
        sets = _in_one(X)
        return Sets(None if sets.elements is None else self.kernel.prepared(sets.elements), sets.starts)

    def child_points(self, X):
        sets = X if isinstance(X, Sets) else _in_one(X)
        return np.empty((0, 0)) if sets.elements is None else sets.elements

    def resolve(self, X, weights=None):
        self.validate()
        if not self.unresolved():
            return self
        X, weights = counted(self.points(X), weights)
        sets = _in_one(X)
        if sets.elements is None:
            missing = ", ".join(self.unresolved())
            raise ValueError(f"{self!r} leaves {missing} to the data, but all sets are empty: give a value")
        inside = None if weights is None else np.repeat(weights, sets.lengths)
        return self.replace(kernel=self.kernel.resolve(sets.elements, inside))

    # -- sparse features --------------------------------------------------------------------------

    def recounted(self, X):
        sets = _in_one(X)
        if sets.elements is None:
            return Counts.of(np.zeros(len(sets) + 1, np.int64), np.zeros(0, np.uint64))
        inner = self.kernel.counts(sets.elements)
        shares = 1 / np.repeat(sets.lengths, sets.lengths)
        return Counts.of(inner.starts[sets.starts], inner.ids, inner.times(shares).values)

    # -- values -----------------------------------------------------------------------------------

    def pairwise(self, X, Z):
        if self.has_counts:
            A = self.counts(X)
            return A.inner(A if Z is X else self.counts(Z))
        A = self._packed(X)
        B = A if Z is X else self._packed(Z)
        found = self._means(A, B, lambda E, F: {"": self.kernel.pairwise(E, F)})
        return found[""] if found else np.zeros((len(A), len(B)))

    def diagonal(self, X):
        if self.has_counts:
            return self.counts(X).squares()
        sets, out = self._packed(X), np.zeros(X.shape[0])
        for some in _groups(sets):
            part = sets[some]
            K = _sums(part, part, lambda E, F: {"": self.kernel.pairwise(E, F)}, 1)[""]
            out[some] = np.diagonal(K) / part.lengths.astype(float) ** 2
        return out

    def gradient_log_params(self, X, Z):
        A = _in_one(X)
        slopes = self._means(A, A if Z is X else _in_one(Z), self.kernel.gradient_log_params)
        return prefixed("kernel", slopes or self._no_slopes(X, Z))

    def _no_slopes(self, X: Any, Z: Any) -> dict[str, np.ndarray]:
        """Slopes between empty sets are 0; in name and form they are those between any vectors."""
        vector = np.zeros((1, max((S.shape[1] for S in (*X, *Z) if S.ndim == 2), default=0)))
        slopes = self.kernel.gradient_log_params(vector, vector)
        return {name: np.zeros((len(X), len(Z), *slope.shape[2:])) for name, slope in slopes.items()}

    def _means(self, A: Sets, B: Sets, values: Values) -> dict[str, np.ndarray]:
        """Means of the values between the elements of each two sets; empty if there is no such pair."""
        rows, columns = A.filled, B.filled
        if not len(rows) or not len(columns):
            return {}
        self.kernel.require_same_width(A.elements, B.elements)
        sums = _sums(A[rows], A[rows] if B is A else B[columns], values, self._threads(A, B), B is A)
        pairs = A.lengths[rows].astype(float)[:, None] * B.lengths[columns]
        out = {}
        for name, sum_ in sums.items():
            whole = np.zeros((len(A), len(B), *sum_.shape[2:]))
            whole[np.ix_(rows, columns)] = sum_ / pairs.reshape(*pairs.shape, *(1,) * (sum_.ndim - 2))
            out[name] = whole
        return out

    def _threads(self, A: Sets, B: Sets) -> int:
        # Functions of the user's own need not be made for several threads at a time.
        large = A.starts[-1] * B.starts[-1] > _ENTRIES
        return cpu_count() if large and self.kernel.vectors and not self.kernel.maps_points else 1


def _sums(A: Sets, B: Sets, values: Values, threads: int, same: bool = False) -> dict[str, np.ndarray]:
    """Sums of the values between the elements of each two sets, none of them empty."""
    n, m = int(A.starts[-1]), int(B.starts[-1])
    height = min(n, _ROWS)
    width = height if same else min(m, _ENTRIES // height)

    def band(a: int) -> tuple[slice, dict[str, np.ndarray]]:
        b = min(a + height, n)
        rows, cuts = segments(A.starts, a, b)
        E, total = A.elements[a:b], {}
        for c in range(a if same else 0, m, width):
            d = min(c + width, m)
            columns, across = segments(B.starts, c, d)
            for name, V in values(E, E if same and c == a else B.elements[c:d]).items():
                S = summed(V, cuts, across)
                if name not in total:
                    total[name] = np.zeros((len(cuts), len(B), *V.shape[2:]))
                # Of a symmetric matrix one half is computed: blocks on the diagonal count half, twice.
                total[name][:, columns] += 0.5 * S if same and c == a else S
        return rows, total

    out: dict[str, np.ndarray] = {}
    for rows, total in parallel_map(band, range(0, n, height), threads):
        for name, S in total.items():
            if name not in out:
                out[name] = np.zeros((len(A), *S.shape[1:]))
            out[name][rows] += S
    return {name: S + np.swapaxes(S, 0, 1) for name, S in out.items()} if same else out


def segments(starts: np.ndarray, a: int, b: int) -> tuple[slice, np.ndarray]:
    """The sets that have elements from a to b, and where they begin there."""
    first = int(np.searchsorted(starts, a, side="right")) - 1
    last = int(np.searchsorted(starts, b, side="left"))
    return slice(first, last), np.maximum(starts[first:last], a) - a


def summed(V: np.ndarray, cuts: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Sums over the parts of a matrix that begin at these rows and columns; in float64.

    >>> summed(np.ones((3, 4)), np.array([0, 1]), np.array([0, 3]))
    array([[3., 1.],
           [6., 2.]])
    """
    if V.shape[1] < _WIDE:
        rows = np.add.reduceat(V, cuts, axis=0, dtype=np.float64)
    else:
        ends = [*cuts[1:], len(V)]
        rows = np.stack([V[a:b].sum(axis=0, dtype=np.float64) for a, b in zip(cuts, ends, strict=True)])
    return np.add.reduceat(rows, across, axis=1)


def _groups(sets: Sets) -> Iterator[np.ndarray]:
    """The sets that have elements, as many at a time as have few together."""
    filled, sizes = sets.filled, sets.lengths
    first = 0
    while first < len(filled):
        many = int(np.searchsorted(np.cumsum(sizes[filled[first : first + _GROUP]]), _GROUP, side="right"))
        yield filled[first : first + max(many, 1)]
        first += max(many, 1)


def _in_one(X: np.ndarray) -> Sets:
    """Checked sets, one after another."""
    lengths = [item.shape[0] for item in X]
    some = [item for item, n in zip(X, lengths, strict=True) if n]
    return Sets(_stacked(some) if some else None, starts_of(lengths))


def _stacked(sets: list[Any]) -> Any:
    if any(map(issparse, sets)):
        from scipy.sparse import csr_array, vstack

        return vstack([csr_array(item) for item in sets], format="csr")
    return np.concatenate(sets)


def _items(X: Any) -> Any:
    """The sets of a list, a Series, or a table with one column of them."""
    if isinstance(X, str | bytes | dict) or not hasattr(X, "__len__") or issparse(X):
        raise ValueError(f"MeanEmbedding takes a list of sets, got {shortened(X)} ({type(X).__name__})")
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1 and X.dtype == object:
        return X[:, 0]
    return X
