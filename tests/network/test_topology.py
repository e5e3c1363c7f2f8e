"""Graphs of networks, against what can be counted by hand."""

import numpy as np
import pytest

from mercer.graphs import Graph
from mercer.network import complete, geometric, grid, nearest, ring, small_world
from mercer.network.topology import (
    components,
    diameter,
    laplacian_range,
    names_of,
    neighbours,
    require_connected,
    spanning_tree,
)


@pytest.mark.parametrize(
    ("graph", "nodes", "edges", "wide"),
    [
        (ring(7), 7, 7, 3),
        (grid(3, 4), 12, 17, 5),
        (complete(5), 5, 10, 1),
        (ring(1), 1, 0, 0),
        (ring(2), 2, 1, 1),
    ],
)
def test_sizes(graph, nodes, edges, wide):
    assert (graph.n_nodes, len(graph.edges), diameter(graph)) == (nodes, edges, wide)
    require_connected(graph)


def test_a_small_world_is_connected_and_has_shortcuts():
    plain, short = small_world(40, 2, 0.0), small_world(40, 2, 0.5, random_state=1)
    assert len(plain.edges) == len(short.edges) == 80
    require_connected(short)
    assert diameter(short) < diameter(plain) == 10
    assert small_world(40, 2, 0.5, random_state=1) == short


def test_geometric_and_nearest_graphs():
    places = np.random.default_rng(0).uniform(0, 1, (20, 2))
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    graph = geometric(places)
    require_connected(graph)
    radius = max(apart[i, j] for i, j in graph.edges)
    assert len(graph.edges) == (np.triu(apart, 1) <= radius).sum() - (20 * 21) // 2
    assert len(components(geometric(places, radius * 0.999))) > 1  # no smaller one would do
    near = nearest(places, 2)
    require_connected(near)
    for i, some in enumerate(neighbours(near)):
        assert set(np.argsort(apart[i])[1:3].tolist()) <= set(some)
    assert nearest(np.zeros((3, 1))).n_nodes == 3 and len(components(nearest(np.zeros((5, 2))))) == 1
    with pytest.raises(ValueError, match="one row a node"):
        geometric([1.0, 2.0])


def test_a_graph_that_falls_apart_is_refused():
    with pytest.raises(ValueError, match="falls into 2 parts.*node 0 knows ever reaches node 3"):
        require_connected(Graph([[0, 1], [1, 2], [3, 4]]))
    with pytest.raises(ValueError, match="no nodes"):
        require_connected(Graph([], n_nodes=0))
    assert [part.tolist() for part in components(ring(6), np.array([1, 1, 1, 0, 1, 0], bool))] == [
        [0, 1, 2],
        [4],
    ]


def test_spectra_of_the_laplacian():
    low, high = laplacian_range(ring(12))
    assert low == pytest.approx(2 - 2 * np.cos(2 * np.pi / 12)) and high == pytest.approx(4)
    assert laplacian_range(ring(1)) == (1.0, 1.0)


@pytest.mark.parametrize("graph", [ring(9), grid(4, 4), complete(6), ring(1), small_world(15)])
def test_a_spanning_tree_keeps_ways_short(graph):
    tree, parents = spanning_tree(graph)
    assert len(tree.edges) == graph.n_nodes - 1 and parents.count(None) == 1
    require_connected(tree)
    assert set(map(tuple, tree.edges.tolist())) <= set(map(tuple, graph.edges.tolist()))
    depth = [0 if p is None else 1 for p in parents]
    for _ in parents:
        depth = [0 if p is None else depth[p] + 1 for p in parents]
    assert max(depth) <= diameter(graph)


def test_names_are_those_of_a_networkx_graph():
    class Like:
        def __init__(self, nodes):
            self.nodes = nodes

        def is_directed(self):
            return False

    assert names_of(Like(["a", "b"])) == ["a", "b"] and names_of(Like([7, 3])) == [7, 3]
    assert names_of(ring(3)) is None and names_of(Like([(0, 0), (0, 1)])) is None
    assert neighbours(Graph([[0, 0], [0, 1]])) == [[1], [0]]  # a loop is no neighbour
