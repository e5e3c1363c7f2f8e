"""The geometric random-walk kernel: walks that two graphs have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._params import require_positive
from mercer._threads import cpu_count, parallel_map, stopping_point
from mercer.kernels.base import Kernel
from mercer.kernels.graphs.packed import PackedGraphs, as_graphs

# Pairs of nodes that two graphs may have, and that are solved for together.
_MOST_PAIRS, _AT_ONCE = 1 << 22, 1 << 18
# Relative residual at which a solution is taken, and steps of conjugate gradients before that is given up.
_RESIDUAL, _STEPS = 1e-13, 2000
# Of the length of a step, squared: what rounding leaves of a curve that is 0, where the sum is just infinite.
_FLAT = 1e-14


class RandomWalk(Kernel):
    """k(x,z) = Σ_i decay^i w_i, w_i how many pairs of walks of i steps, one in x and one in z, are alike.

    Walks are alike if they meet the same labels of nodes and edges in the same order. Such a pair is one walk
    in the product graph, whose nodes are pairs of nodes with the same label: with its adjacency matrix A the
    sum is 1ᵀ(I − decay A)⁻¹1, and a system of linear equations is solved for every pair of graphs.

    Parameters
    ----------
    decay : float
        The weight of a step. The sum is finite if decay is below 1 over the largest eigenvalue of the product
        graph, for which 1/(Δ(x) Δ(z)) is enough, Δ the largest degree of a graph.

    Notes
    -----
    Graphs are what `mercer.graphs.Graph.of` takes, and should be small: a pair of graphs takes as many
    numbers as there are pairs of nodes, of which there may be four million. Nodes, or edges, without labels
    have all the same one. Walks without a step count, too: for each pair of nodes with the same label 1.

    References
    ----------
    Gärtner, Flach and Wrobel, On graph kernels: hardness results and efficient alternatives, COLT (2003).
    Vishwanathan et al., Graph kernels, JMLR 11 (2010).

    Examples
    --------
    An edge has 2 walks of every length, so it has 4 pairs of these with itself: 4/(1 − decay).

    >>> RandomWalk(0.2)([[(0, 1)]])
    array([[5.]])
    """

    vectors = False
    positive = ("decay",)

    def __init__(self, decay=0.01):
        self.decay = decay

    def validate(self):
        require_positive(self.decay, "RandomWalk: decay")

    def points(self, X):
        return as_graphs(X, "RandomWalk")

    def prepared(self, X):
        return PackedGraphs.of(X)

    def pairwise(self, X, Z):
        rows = PackedGraphs.of(X)
        columns = rows if Z is X else PackedGraphs.of(Z)
        most = int(rows.sizes.max(initial=0)) * int(columns.sizes.max(initial=0))
        if most > _MOST_PAIRS:
            raise ValueError(
                f"RandomWalk solves for all pairs of nodes of two graphs, here {most:,} of at most "
                f"{_MOST_PAIRS:,}: take WeisfeilerLehman or ShortestPath for graphs of this size"
            )
        out = np.empty((len(rows), len(columns)))
        parts = [
            (part, _Factor(columns[part])) for part in _parts(columns.sizes, int(rows.sizes.max(initial=1)))
        ]

        def some(i: int) -> None:
            one = _Factor(rows[i : i + 1])
            for part, others in parts:
                stopping_point()
                out[i, part] = self._row(one, others)

        parallel_map(some, range(len(rows)), cpu_count(), blas=False)
        return out

    def _row(self, one: _Factor, others: _Factor) -> np.ndarray:
        """k(one, z) for all others: conjugate gradients for all of them at the same time."""
        product = _Product(one, others)
        R = product.alike.astype(float)  # (I − decay A) S = 1, from S = 0
        S, P = np.zeros_like(R), R.copy()
        size = product.sums(R * R)
        enough, tried = size * _RESIDUAL**2, 0
        while (size > enough).any():
            Q = P - self.decay * product.walked(P)
            curve = product.sums(P * Q)
            going = size > enough
            flat = curve <= _FLAT * product.sums(P * P)
            if flat[going].any() or tried == _STEPS:
                raise ValueError(self._diverges(one, others))
            step = np.divide(size, curve, out=np.zeros_like(size), where=going)
            S += product.spread(step) * P
            R -= product.spread(step) * Q
            new = product.sums(R * R)
            P = R + product.spread(np.divide(new, size, out=np.zeros_like(size), where=going)) * P
            size, tried = np.where(going, new, size), tried + 1
        return product.sums(S)

    def _diverges(self, one: _Factor, others: _Factor) -> str:
        bound = 1 / (one.largest_degree * others.largest_degree)
        return (
            f"RandomWalk: decay={self.decay!r} is too large for these graphs: the sum over walks is "
            f"infinite. Any below 1/(Δ(x) Δ(z)) = {bound:.3g} will do, Δ the largest degree of a graph"
        )

    def rule(self):
        return "walks counted, with positive weights: an inner product of feature vectors"


class _Factor:
    """Graphs, and the adjacency matrix of the edges of each label."""

    def __init__(self, graphs: PackedGraphs):
        from scipy.sparse import csr_array

        self.labels, self.starts, self.sizes = graphs.labels, graphs.starts[:-1], graphs.sizes
        n, (ends, heads, links) = len(graphs.labels), graphs.neighbours
        tails = np.repeat(np.arange(n), np.diff(ends))
        self.largest_degree = int(np.diff(ends).max(initial=1))
        self.adjacency: dict[int, Any] = {}
        for label in np.unique(links):
            here = links == label
            pairs = (tails[here], heads[here])
            self.adjacency[int(label)] = csr_array((np.ones(len(pairs[0])), pairs), shape=(n, n))


class _Product:
    """The product of one graph with several others: rows are nodes of the one, columns of the others."""

    def __init__(self, one: _Factor, others: _Factor):
        self.alike = one.labels[:, None] == others.labels
        self.filled, self.sizes = np.flatnonzero(others.sizes), others.sizes
        self.starts = others.starts[self.filled]
        both = one.adjacency.keys() & others.adjacency.keys()
        self.steps = [(one.adjacency[label], others.adjacency[label]) for label in sorted(both)]

    def walked(self, V: np.ndarray) -> np.ndarray:
        """A V: one step in both graphs, along edges with the same label."""
        out = np.zeros_like(V)
        for left, right in self.steps:
            out += left @ (right @ V.T).T
        out[~self.alike] = 0
        return out

    def sums(self, V: np.ndarray) -> np.ndarray:
        """Over the pairs of nodes, for each of the others."""
        out = np.zeros(len(self.sizes))
        if len(self.filled):
            out[self.filled] = np.add.reduceat(V.sum(axis=0), self.starts)
        return out

    def spread(self, factors: np.ndarray) -> np.ndarray:
        """A number for each of the others, at all of its nodes."""
        return np.repeat(factors, self.sizes)


def _parts(sizes: np.ndarray, height: int) -> list[slice]:
    """Graphs one after another, cut up so that no part has too many pairs of nodes, but at least a graph."""
    parts, first, total = [], 0, 0
    for i, size in enumerate(sizes.tolist()):
        if i > first and (total + size) * height > _AT_ONCE:
            parts.append(slice(first, i))
            first, total = i, 0
        total += size
    return [*parts, slice(first, len(sizes))] if len(sizes) else []
