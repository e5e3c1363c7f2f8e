"""The nearest examples in the distance a kernel induces: exactly, and without a matrix of distances.

Whoever minimises d² = k(x,x) + k(z,z) − 2k(x,z) minimises the gap g = ½k(z,z) − k(x,z). An engine computes
gaps in blocks of rows, in the precision of the points, and of each row a few more candidates are kept than
were asked for. Some of their gaps are computed again in float64, pair by pair: that tells how far off the
others may be, which of them are too close to be told apart and have to be computed again, too, and whether
anyone who was left out could belong. Gaps that differ by no more than rounding count as equal, and of equals
the first example is the nearer one.

Where the induced distance only grows with a plain one (`mercer.kernels.order`), gaps are that distance.
Kernels that have fallen to 0 in floating point still tell who is nearer then, and a tree can find candidates.
A `Distance`, which stands where a kernel does and is none, is its own gap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._threads import cpu_count, interruptible, parallel_map
from mercer._xp import issparse, shaped_like
from mercer.engines import Engine
from mercer.estimators.distances import Distance, NamedDistance, Nearness
from mercer.kernels.base import Kernel
from mercer.kernels.finite import Finite
from mercer.kernels.order import order_of
from mercer.kernels.separation import InOrder, paired, separation
from mercer.kernels.statistics import squares_fit

WAYS = ("auto", "blocks", "tree")
# Candidates beyond those asked for, and gaps of each row that are computed twice to see how exact they are.
_SPARE = _PROBES = 8
# Rounding of a gap in units of its terms' last digit: what sums over coordinates and profiles make of it.
_DIGITS = 64
# Up to so many coordinates a tree is the quicker way; and up to more of them, if the points lie near a
# surface of few dimensions: at most this share of log₂ n. Beyond, it has to enter almost every branch.
_TREE_WIDTH, _TREE_WIDTH_AT_MOST, _TREE_SHARE = 8, 15, 0.5
_NUMBERS_AT_ONCE = 1 << 20
# So few points are looked up in a tree without threads.
_FEW = 256
_EPS = float(np.finfo(np.float64).eps)
# K(X, X) of points that are no vectors is stored up to this size: half the calls of a Python function.
_STORED_BYTES = 256 << 20

Found = tuple[np.ndarray, np.ndarray]


class NeighbourSearch:
    """Among points, the nearest ones by a resolved kernel; `way` is "auto", "blocks" or "tree".

    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Gaussian
    >>> search = NeighbourSearch(Gaussian(1.0), np.array([[0.0], [1.0], [3.0]]), "blocks")
    >>> search.nearest(np.array([[0.9]]), 2, Tiled())[0]
    array([[1, 0]])
    >>> search.nearest(None, 1, Tiled())[0].T  # each one's nearest other
    array([[1, 0, 1]])
    """

    def __init__(self, kernel: Kernel, points: Any, way: str):
        # A tree is asked for where there are few coordinates: zeros among them need no saving.
        points = points.toarray() if way == "tree" and issparse(points) else points
        self.kernel, self.points = kernel, _own(kernel, points)
        self.order = order_of(kernel)
        if self.order is None:
            self.gaps = NeighbourGaps(kernel, self.points)
        else:
            coordinates = self.coordinates(self.points)
            if self.order.norm == "l2":
                squares_fit(_double(coordinates))  # or all points would be one
            self.gaps = NeighbourGaps(Nearness(self.order.norm), coordinates)
        self.why = "asked for"
        self.way = self._chosen(way)
        if self.way == "tree":
            from scipy.spatial import cKDTree

            self.tree = cKDTree(_double(self.gaps.points))

    def _chosen(self, way: str) -> str:
        possible = self.order is not None and not issparse(self.gaps.points)
        if way == "tree" and not possible:
            raise ValueError(
                "search='tree' is for vectors and kernels that fall as ‖x−z‖ grows, such as Gaussian or "
                f"Matern, and not for {self.kernel!r}; search='blocks' finds the neighbours for every kernel"
            )
        if way != "auto":
            return way
        if not possible:
            self.why = "who is nearer does not follow a plain distance of dense vectors"
            return "blocks"
        n, d = self.gaps.points.shape
        self.why = f"points of {d:,} coordinates"
        few = d <= _TREE_WIDTH or (
            d <= _TREE_WIDTH_AT_MOST and dimension(self.gaps.points) <= _TREE_SHARE * np.log2(n)
        )
        return "tree" if few else "blocks"

    def asked(self, X: Any) -> Any:
        """Points whose neighbours are asked for, in the form the examples have: arrays, or sparse."""
        return _own(self.kernel, shaped_like(X, self.points) if self.kernel.vectors else X)

    def coordinates(self, X: Any) -> Any:
        """The points in whose plain distance the order is that of the kernel."""
        assert self.order is not None
        # Transformations round: in float64, so that it is the points as given that are compared.
        return self.order.view.points(_double(X)) if self.order.view.chain else X

    # -- neighbours -------------------------------------------------------------------------------

    def nearest(self, X: Any, count: int, engine: Engine) -> tuple[np.ndarray, Any]:
        """Indices of the nearest points, the nearest first; X None: of each point, others.

        With them come their gaps, where `distances` can't compute them again: of points that are no vectors.
        """
        same = X is None
        if same:
            X = self.gaps.points
        else:
            X = self.asked(X)
            X = X if self.order is None else self.coordinates(X)
        return (
            self._by_tree(X, count, same) if self.way == "tree" else self._by_blocks(X, count, same, engine)
        )

    def _by_blocks(self, X: Any, count: int, same: bool, engine: Engine) -> tuple[np.ndarray, Any]:
        kernel, Z = self.gaps.kernel, self.gaps.points
        n, m = X.shape[0], Z.shape[0]
        index = np.empty((n, count), np.intp)
        gaps = None if self.gaps.refined else np.empty((n, count))

        def step(rows: slice, K: np.ndarray) -> None:
            # In place: the block is this step's to use up.
            G = np.subtract(self.gaps.half.astype(K.dtype), K, out=K)
            here = np.arange(rows.start, rows.stop)
            if same:
                G[here - rows.start, here] = np.inf
            index[rows], found = self.gaps.settle(X, here, G, count, m - same)
            if gaps is not None:
                gaps[rows] = found

        if same and gaps is not None and 8 * n * n <= _STORED_BYTES:
            K = engine.operator(kernel, Z).dense()
            for a in range(0, n, 256):
                step(slice(a, min(a + 256, n)), K[a : a + 256])
        else:
            engine.operator(kernel, X, Z).reduce(step)
        return index, gaps

    def _by_tree(self, X: np.ndarray, count: int, same: bool) -> tuple[np.ndarray, None]:
        assert self.order is not None
        power = 1 if self.order.norm == "l1" else 2
        n, most = X.shape[0], self.gaps.points.shape[0] - same
        index = np.empty((n, count), np.intp)
        rows, width = np.arange(n), min(count + 1, most)
        while len(rows):
            # As a list, because one neighbour asked for by number comes without an axis.
            ask = np.arange(1, width + same + 1)
            g, near = self._asked_of_tree(_double(X[rows]), ask, power)
            if near.max() == self.gaps.points.shape[0]:  # what a tree says of infinite distances
                raise self.gaps.failure()
            if same:
                near, g = _without(rows, near, g)
            near, g = self.gaps.sorted(near, g**power)
            done = g[:, -1] > g[:, count - 1] + self.gaps.rounding(near, g)[:, -1]
            done |= width == most
            index[rows[done]] = near[done, :count]
            # Those left have more equals at the edge than candidates.
            rows, width = rows[~done], min(2 * width, most)
        return index, None

    def _asked_of_tree(self, X: np.ndarray, ask: np.ndarray, power: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and neighbours, by SciPy's threads where there are many points.

        Its threads write to arrays that an exception in their midst, such as Ctrl-C, would take from under
        them: the main thread, which hears it, is elsewhere meanwhile.
        """
        if len(X) <= _FEW:
            return self.tree.query(X, ask, p=power)
        return interruptible(lambda: self.tree.query(X, ask, p=power, workers=cpu_count()))

    # -- distances --------------------------------------------------------------------------------

    def distances(
        self, X: Any, index: np.ndarray, gaps: np.ndarray | None, rows: np.ndarray | None = None
    ) -> np.ndarray:
        """√(k(x,x) + k(z,z) − 2k(x,z)) of the neighbours found; 0 where rounding can't tell it from 0.

        Row i of `index` has the neighbours of point i; with `rows`, index[j] is one of point rows[j].
        """
        kernel = self.kernel
        X = self.points if X is None else self.asked(X)
        flat = rows is not None
        rows = rows if rows is not None else np.arange(len(index))
        if isinstance(kernel, Distance) and gaps is not None:
            return gaps
        if isinstance(kernel, NamedDistance) and self.order is not None:
            paired_norm = Nearness(self.order.norm).statistic.paired
            return kernel.of_norm(_of_pairs(paired_norm, X, rows, self.points, index, cpu_count()))
        self.require_lengths(X)
        if gaps is not None:
            own = diagonal(kernel, X)[rows]
            own = own if flat else own[:, None]
            squared = own + 2 * gaps
            squared[squared <= 2 * self.gaps.rounding(index, gaps) + _DIGITS * _EPS * np.abs(own)] = 0
            return np.sqrt(np.maximum(squared, 0))
        exact = self.order is not None

        def squared_distance(left: Any, right: Any) -> np.ndarray:
            s = separation(kernel, left, right, InOrder())
            if exact:  # computed from differences of the points
                return s
            return np.where(
                s <= _DIGITS * _EPS * (np.abs(kernel.diagonal(left)) + np.abs(kernel.diagonal(right))), 0, s
            )

        squared = _of_pairs(squared_distance, X, rows, self.points, index, cpu_count())
        return np.sqrt(np.maximum(squared, 0))

    def require_lengths(self, X: Any) -> None:
        """Refuse new points of which only k(x,z) are known, where k(x,x) is needed."""
        if isinstance(self.kernel, Finite) and not isinstance(self.kernel, Distance) and X.ndim == 2:
            raise ValueError(
                "k(x,x) of new points is not in the rows of a precomputed matrix, so their distances are "
                "unknown: use weights='uniform' and return_distance=False, which do without, or give "
                "distances: metric='precomputed'"
            )


class NeighbourGaps:
    """NeighbourGaps of a kernel: what blocks find, made exact and put in order.

    On vectors, blocks have errors even in float64: those of ‖x−z‖² from norms and inner products. What a
    Python function or a matrix says is taken as it is.
    """

    def __init__(self, kernel: Kernel, points: Any):
        self.kernel, self.points = kernel, points
        self.half = diagonal(kernel, points) / 2
        # Are blocks only a first look, whose gaps are computed again?
        self.refined = kernel.vectors and not isinstance(kernel, Distance)

    def failure(self) -> ValueError:
        """What to raise where no one is nearest."""
        what = "‖x−z‖" if isinstance(self.kernel, Nearness) else repr(self.kernel)
        return ValueError(f"{what} gives NaN or infinity on these points; are they too large?")

    def exact(self, X: Any, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """NeighbourGaps of X[rows] with points[index], (rows, c), or (rows,) pair by pair, in float64."""
        k = _of_pairs(lambda left, right: paired(self.kernel, left, right), X, rows, self.points, index)
        return self.half[index] - k

    def rounding(self, index: np.ndarray, gaps: np.ndarray, eps: float = _EPS) -> np.ndarray:
        """What rounding may do to gaps: they are differences of ½k(z,z) and k(x,z)."""
        half = self.half[index]
        return _DIGITS * eps * (np.abs(half) + np.abs(gaps - half))

    def sorted(self, index: np.ndarray, gaps: np.ndarray) -> Found:
        """Candidates of each row by gap, equal ones by index."""
        by = np.argsort(gaps, axis=1)
        index, gaps = _along(index, by), _along(gaps, by)
        apart = np.diff(gaps, axis=1) > self.rounding(index, gaps)[:, 1:]
        tied = np.flatnonzero(~apart.all(axis=1))
        if len(tied):
            group = np.zeros((len(tied), index.shape[1]), np.intp)
            np.cumsum(apart[tied], axis=1, out=group[:, 1:])
            by = np.lexsort((index[tied], group), axis=1)
            index[tied], gaps[tied] = _along(index[tied], by), _along(gaps[tied], by)
        return index, gaps

    def settle(self, X: Any, rows: np.ndarray, G: np.ndarray, count: int, most: int) -> Found:
        """The nearest of each of these rows of X, given all their gaps as a block has them."""
        width = min(count + _SPARE, most)
        index = smallest(G, width)
        gaps = _along(G, index).astype(np.float64)
        if not np.isfinite(gaps).all():
            raise self.failure()
        error = self.rounding(index, gaps, float(np.finfo(G.dtype).eps)).max(axis=1)
        farthest = gaps.max(axis=1)
        if self.refined:
            index, gaps, error = self._corrected(X, rows, index, gaps, error)
        index, gaps = self.sorted(index, gaps)
        index, gaps = index[:, :count], gaps[:, :count]
        if width < most:
            edge = gaps[:, -1] + 2 * error
            for i in np.flatnonzero(farthest <= edge):
                near = np.flatnonzero(G[i] <= edge[i])[None, :]
                g = self.exact(X, rows[i : i + 1], near) if self.refined else G[i, near]
                near, g = self.sorted(near, g)
                index[i], gaps[i] = near[0, :count], g[0, :count]
        return index, gaps

    def _corrected(self, X: Any, rows: np.ndarray, index: np.ndarray, gaps: np.ndarray, error: np.ndarray):
        """Candidates, those gaps exact that can't be told apart as they are; and the error of the others."""
        by = np.argsort(gaps, axis=1)
        index, gaps = _along(index, by), _along(gaps, by)
        probes = np.unique(np.linspace(0, index.shape[1] - 1, _PROBES).astype(int))
        seen = np.abs(self.exact(X, rows, index[:, probes]) - gaps[:, probes])
        # Eight times the largest error of the few is taken for that of all: an estimate, with room.
        error = error + 8 * seen.max(axis=1)
        close = np.diff(gaps, axis=1) <= 2 * error[:, None]
        unsure = np.zeros(gaps.shape, bool)
        unsure[:, 1:] |= close
        unsure[:, :-1] |= close
        i, j = np.nonzero(unsure)
        gaps[i, j] = self.exact(X, rows[i], index[i, j])
        return index, gaps, error


def dimension(X: np.ndarray) -> float:
    """Of what dimension points look from nearby, by the maximum likelihood estimate of Levina and Bickel.

    In d dimensions log(r_k/r_j) of the distances of the k-th and the j-th neighbour has mean 1/d.

    >>> line = np.random.default_rng(0).random((500, 1)) * np.ones(9)
    >>> 0.9 < dimension(line) < 1.1
    True
    """
    from scipy.spatial import cKDTree

    some = _double(X[np.random.default_rng(0).permutation(len(X))[:2000]])
    if len(some) < 3:
        return 0.0
    r, _ = cKDTree(some).query(some[:200], np.arange(2, min(12, len(some)) + 1))
    r = r[(r[:, 0] > 0) & (r[:, -1] < np.inf)]  # copies say nothing
    logs = np.log(r[:, -1:] / r[:, :-1])
    return 1 / float(logs.mean()) if logs.any() else 0.0


# -- arrays ---------------------------------------------------------------------------------------


def smallest(G: np.ndarray, count: int) -> np.ndarray:
    """Positions of the `count` smallest numbers of each row, in no order; NaN comes first, to be seen.

    Columns are dealt out to `width` classes. Only the `count` classes with the smallest minima can hold the
    smallest numbers, so one pass over a long row leaves few of them to be sorted out.

    >>> G = np.array([[5.0, 1.0, 4.0, 2.0, 3.0]])
    >>> sorted(smallest(G, 2)[0].tolist())
    [1, 3]
    """
    m = G.shape[1]
    deals = int((m / count) ** 0.5)
    if deals < 4:
        return _first(G, count)
    width = m // deals
    minima = G[:, : deals * width].reshape(len(G), deals, width).min(axis=1)
    classes = _first(minima, count)
    inside = (classes[:, None, :] + width * np.arange(deals)[:, None]).reshape(len(G), -1)
    rest = np.broadcast_to(np.arange(deals * width, m), (len(G), m - deals * width))
    columns = np.concatenate([inside, rest], axis=1)
    return _along(columns, _first(_along(G, columns), count))


def _first(G: np.ndarray, count: int) -> np.ndarray:
    if count >= G.shape[1]:
        return np.tile(np.arange(G.shape[1]), (len(G), 1))
    G = np.where(np.isnan(G), -np.inf, G)
    return np.argpartition(G, count - 1, axis=1)[:, :count]


def _along(A: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.take_along_axis(A, index, axis=1)


def _without(rows: np.ndarray, index: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """Arrays without the entries where index is its own row; without the last, where it is not among them."""
    own = index == rows[:, None]
    own[~own.any(axis=1), -1] = True
    return [a[~own].reshape(len(a), -1) for a in (index, *others)]


def _double(X: Any) -> Any:
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X


def _own(kernel: Kernel, X: Any) -> Any:
    """Points for a kernel: in float64 for functions and distances, whose values are taken as they are."""
    return X if kernel.vectors and (not isinstance(kernel, Distance) or kernel.power) else _double(X)


def diagonal(kernel: Kernel, X: Any) -> np.ndarray:
    """k(x,x) in float64, of points in whatever precision."""
    if getattr(X, "dtype", None) != np.float32:
        return np.asarray(kernel.diagonal(X), np.float64)
    step = max(1, _NUMBERS_AT_ONCE // max(X.shape[1], 1))
    parts = [kernel.diagonal(_double(X[a : a + step])) for a in range(0, X.shape[0], step)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _of_pairs(
    function: Callable[[Any, Any], np.ndarray],
    X: Any,
    rows: np.ndarray,
    Z: Any,
    index: np.ndarray,
    threads: int = 1,
) -> np.ndarray:
    """function(x_i, z_i) in float64 for X[rows] with Z[index], shaped as index, a few at a time."""
    x, z = np.broadcast_to(rows[:, None] if index.ndim == 2 else rows, index.shape).ravel(), index.ravel()
    out = np.empty(len(z))
    step = max(1, _NUMBERS_AT_ONCE // (X.shape[1] if X.ndim == 2 else 1))

    def fill(a: int) -> None:
        part = slice(a, a + step)
        out[part] = function(_double(X[x[part]]), _double(Z[z[part]]))

    parallel_map(fill, range(0, len(z), step), threads)
    return out.reshape(index.shape)
