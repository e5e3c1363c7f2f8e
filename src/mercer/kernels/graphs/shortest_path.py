"""The shortest-path kernel: which labels are how far apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer._threads import cpu_count, parallel_map, stopping_point
from mercer.kernels.counting import Counting
from mercer.kernels.counts import Counts, mix
from mercer.kernels.graphs.packed import PackedGraphs, as_graphs
from mercer.kernels.graphs.words import label_words

# Distances that are looked at together, and graphs that a thread takes at a time.
_DISTANCES, _GRAPHS = 1 << 20, 64


class ShortestPath(Counting):
    """k(x,z) = Σ |x|_{a,b,d} |z|_{a,b,d}, |x|_{a,b,d} how many pairs of nodes with labels a, b are d apart.

    Notes
    -----
    Graphs are what `mercer.graphs.Graph.of` takes. The distance of two nodes is the least number of edges on
    a way from one to the other, whatever the labels of the edges; pairs without a way are left out, and a
    node with itself is no pair. Nodes without labels have all the same one. Large graphs have more pairs:
    ``ShortestPath().normalize()`` makes up for that.

    All pairs of nodes are looked at: n² log n steps or so for n nodes.

    References
    ----------
    Borgwardt and Kriegel, Shortest-path kernels on graphs, ICDM (2005).

    Examples
    --------
    A way of three nodes has two pairs at distance 1 and one at distance 2, a triangle three at distance 1.

    >>> ShortestPath()([[(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 2)]])
    array([[5., 6.],
           [6., 9.]])
    """

    def points(self, X):
        return as_graphs(X, "ShortestPath")

    def features(self, X):
        graphs = PackedGraphs.of(X)

        def some(first: int) -> list[tuple[np.ndarray, np.ndarray]]:
            return [_counted(graphs[i : i + 1]) for i in range(first, min(first + _GRAPHS, len(graphs)))]

        parts = parallel_map(some, range(0, len(graphs), _GRAPHS), cpu_count(), blas=False)
        found = [counted for part in parts for counted in part]
        ids = np.concatenate([np.zeros(0, np.uint64), *(ids for ids, _ in found)])
        times = np.concatenate([np.zeros(0), *(times for _, times in found)])
        return Counts(np.cumsum([0, *(len(ids) for ids, _ in found)]), ids, times)

    def spelled(self, X):
        graphs = PackedGraphs.of(X)
        words = label_words([g.node_labels for g in X], graphs.sizes, "·")
        word = dict(zip(graphs.labels.tolist(), words, strict=True))
        out: dict[int, str] = {}
        for i in range(len(graphs)):
            for ids, ends, distances in _pairs(graphs[i : i + 1]):
                for number, k in zip(*np.unique(ids, return_index=True), strict=True):
                    a, b = sorted(word[int(label)] for label in ends[k])
                    out[int(number)] = f"{a} … {b}, {distances[k]} apart"
        return out


def _counted(graph: PackedGraphs) -> tuple[np.ndarray, np.ndarray]:
    """(features of one graph, in order; how often each occurs)"""
    parts = [np.unique(ids, return_counts=True) for ids, *_ in _pairs(graph)]
    if len(parts) == 1:
        return parts[0][0], parts[0][1].astype(float)
    ids, where = np.unique(
        np.concatenate([np.zeros(0, np.uint64), *(ids for ids, _ in parts)]), return_inverse=True
    )
    times = np.concatenate([np.zeros(0, np.int64), *(times for _, times in parts)])
    return ids, np.bincount(where.ravel(), times, len(ids))


def _pairs(graph: PackedGraphs) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(features, labels of both ends, distances) of the pairs of nodes of one graph, in parts."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    n, (ends, heads, _) = len(graph.labels), graph.neighbours
    A = csr_array((np.ones(len(heads)), heads, ends), shape=(n, n))
    height = max(_DISTANCES // max(n, 1), 1)
    for first in range(0, n, height):
        stopping_point()
        rows = np.arange(first, min(first + height, n))
        D = dijkstra(A, directed=True, indices=rows, unweighted=True)
        i, j = np.nonzero(np.isfinite(D) & (rows[:, None] < np.arange(n)))
        labels = np.sort(graph.labels[np.column_stack([rows[i], j])], axis=1)
        distances = D[i, j].astype(np.int64)
        yield mix(mix(labels[:, 0], labels[:, 1]), distances), labels, distances
