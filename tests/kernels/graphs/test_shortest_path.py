"""The shortest-path kernel against distances by Floyd and Warshall's algorithm in plain Python."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_examples import graphs, label, renumbered, some
from mercer import KernelSVC
from mercer.graphs import Graph
from mercer.kernels import ShortestPath, check
from mercer.kernels.graphs import shortest_path
from mercer.testing import check_kernel


def pairs(graph):
    n = graph.n_nodes
    D = {(u, v): 0 if u == v else math.inf for u in range(n) for v in range(n)}
    for u, v in graph.edges.tolist():
        D[u, v] = D[v, u] = min(D[u, v], 1)
    for w in range(n):
        for u in range(n):
            for v in range(n):
                D[u, v] = min(D[u, v], D[u, w] + D[w, v])
    return Counter(
        (*sorted((repr(label(graph, u)), repr(label(graph, v)))), D[u, v])
        for u in range(n)
        for v in range(u)
        if D[u, v] < math.inf
    )


@settings(max_examples=100, deadline=None)
@given(graphs(6), graphs(6))
def test_values(x, z):
    a, b = pairs(x), pairs(z)
    assert ShortestPath()([x], [z])[0, 0] == sum(times * b[key] for key, times in a.items())
    assert ShortestPath()([x])[0, 0] == sum(times**2 for times in a.values())


@settings(max_examples=30, deadline=None)
@given(graphs(6), st.integers(0, 99))
def test_numbers_of_nodes_do_not_matter(x, seed):
    assert ShortestPath().squared_distance([x], [renumbered(x, seed)])[0, 0] == 0


def test_large_graphs_in_parts(monkeypatch):
    X = some(30)
    K = ShortestPath()(X)
    monkeypatch.setattr(shortest_path, "_DISTANCES", 4)
    monkeypatch.setattr(shortest_path, "_GRAPHS", 7)
    np.testing.assert_array_equal(ShortestPath()(X), K)
    counts = ShortestPath().counts(ShortestPath().points(X))
    for i in range(len(X)):
        assert (np.diff(counts[i : i + 1].ids.astype(object)) > 0).all()


def test_laws():
    check_kernel(ShortestPath(), [*some(), Graph([]), Graph([(0, 0)])])
    assert check(ShortestPath()).by == "rule"
    assert ShortestPath()([Graph([]), Graph([], n_nodes=3)]).tolist() == [[0, 0], [0, 0]]


def test_words():
    x = Graph([(0, 1), (1, 2)], node_labels=["C", "O", "C"])
    assert sorted(ShortestPath().spelled([x]).values()) == ["C … C, 2 apart", "C … O, 1 apart"]
    X = ShortestPath().points(some(10))
    assert set(ShortestPath().spelled(X)) == set(ShortestPath().counts(X).ids.tolist())


def test_a_machine():
    rings = [Graph([(i, (i + 1) % n) for i in range(n)]) for n in range(6, 14)]
    stars = [Graph([(0, i) for i in range(1, n)]) for n in range(6, 14)]
    y = np.repeat([0, 1], 8)
    machine = KernelSVC(ShortestPath().normalize(), lam=1e-5).fit(rings + stars, y)
    assert (machine.predict(rings + stars) == y).all()
    with pytest.raises(ValueError, match="ShortestPath: graph 0: None"):
        machine.predict([None])
