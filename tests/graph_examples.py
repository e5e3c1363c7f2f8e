"""Small graphs for the tests of kernels on them, and the same graphs with their nodes in another order."""

import numpy as np
from hypothesis import strategies as st

from mercer.graphs import Graph


@st.composite
def graphs(draw, most=5, loops=True):
    """Any graph of up to so many nodes, with labels or without."""
    n = draw(st.integers(0, most))
    possible = [(i, j) for i in range(n) for j in range(i if loops else i + 1, n)]
    edges = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    label = st.sampled_from(["a", "b", 1, (2, "c")])
    nodes = draw(st.none() | st.lists(label, min_size=n, max_size=n))
    links = draw(st.none() | st.lists(st.sampled_from([0, 1]), min_size=len(edges), max_size=len(edges)))
    return Graph(edges, n_nodes=n, node_labels=nodes, edge_labels=links)


def renumbered(graph, seed):
    """The same graph with its nodes and edges in another order."""
    rng = np.random.default_rng(seed)
    new, order = rng.permutation(graph.n_nodes), rng.permutation(len(graph.edges))
    nodes, links = graph.node_labels, graph.edge_labels
    old = np.argsort(new)
    return Graph(
        new[graph.edges[order]] if len(order) else [],
        graph.n_nodes,
        None if nodes is None else [nodes[v] for v in old],
        None if links is None else [links[e] for e in order],
    )


def around(graph):
    """The neighbours of every node, as pairs (label of the edge, neighbour); a loop once."""
    out = [[] for _ in range(graph.n_nodes)]
    for k, (u, v) in enumerate(graph.edges.tolist()):
        passed = _at(graph.edge_labels, k)
        out[u].append((passed, v))
        if u != v:
            out[v].append((passed, u))
    return out


def label(graph, v):
    return _at(graph.node_labels, v)


def _at(labels, i):
    """A label as Python's own number, text or tuple; None if there are none."""
    return None if labels is None else labels.tolist()[i] if isinstance(labels, np.ndarray) else labels[i]


def some(n=24, seed=0, labels=3):
    """Graphs of 1 to 9 nodes, made from a seed."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n):
        size = rng.integers(1, 10)
        i, j = np.triu_indices(size, 1)
        there = rng.random(len(i)) < 0.4
        edges = np.column_stack([i[there], j[there]])
        out.append(Graph(edges, size, rng.integers(labels, size=size), rng.integers(2, size=len(edges))))
    return out
