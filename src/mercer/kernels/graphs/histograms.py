"""Labels of nodes, or of edges, counted: what more refined kernels on graphs must beat."""

from __future__ import annotations

import numpy as np

from mercer.kernels.counting import Counting
from mercer.kernels.counts import Counts, mix
from mercer.kernels.graphs.packed import PackedGraphs, as_graphs
from mercer.kernels.graphs.words import label_words


class VertexHistogram(Counting):
    """k(x,z) = Σ_a |x|_a |z|_a over labels a of nodes, |x|_a how many nodes of x have it.

    Nodes without labels have all the same one.

    Examples
    --------
    >>> VertexHistogram()([([(0, 1), (0, 2)], ["O", "H", "H"]), ([(0, 1)], ["O", "O"])])
    array([[5., 2.],
           [2., 4.]])
    """

    def points(self, X):
        return as_graphs(X, "VertexHistogram")

    def features(self, X):
        graphs = PackedGraphs.of(X)
        return Counts.of(graphs.starts, graphs.labels)

    def spelled(self, X):
        graphs = PackedGraphs.of(X)
        words = label_words([g.node_labels for g in X], graphs.sizes, "·")
        return dict(zip(graphs.labels.tolist(), words, strict=True))


class EdgeHistogram(Counting):
    """k(x,z) = Σ |x|_{a,b,c} |z|_{a,b,c}, |x|_{a,b,c} how many edges with label b of x join labels a and c.

    Without labels all nodes, or edges, have the same one. A graph without edges has no features.

    Examples
    --------
    >>> EdgeHistogram()([([(0, 1), (0, 2)], ["O", "H", "H"]), ([(0, 1), (1, 2)], ["O", "O", "H"])])
    array([[4., 2.],
           [2., 2.]])
    """

    def points(self, X):
        return as_graphs(X, "EdgeHistogram")

    def features(self, X):
        graphs = PackedGraphs.of(X)
        return Counts.of(graphs.edge_starts, _joined(graphs))

    def spelled(self, X):
        graphs = PackedGraphs.of(X)
        nodes = label_words([g.node_labels for g in X], graphs.sizes, "·")
        links = label_words([g.edge_labels for g in X], np.diff(graphs.edge_starts), "")
        ends = (sorted((nodes[u], nodes[v])) for u, v in graphs.edges)
        words = (f"{a} –{b}– {c}" if b else f"{a} – {c}" for (a, c), b in zip(ends, links, strict=True))
        return dict(zip(_joined(graphs).tolist(), words, strict=True))


def _joined(graphs: PackedGraphs) -> np.ndarray:
    """A number for every edge, made of its label and those of its ends."""
    ends = np.sort(graphs.labels[graphs.edges], axis=1)
    return mix(mix(graphs.edge_labels, ends[:, 0]), ends[:, 1])
