"""Graphs at the door of kernels, and many graphs as one."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from graph_examples import around, some
from mercer.graphs import Graph
from mercer.kernels import EdgeHistogram, RandomWalk, ShortestPath, VertexHistogram, WeisfeilerLehman
from mercer.kernels.graphs.packed import PackedGraphs, as_graphs

KERNELS = [WeisfeilerLehman(2), ShortestPath(), RandomWalk(0.01), VertexHistogram(), EdgeHistogram()]


def test_neighbours():
    X = some() + [Graph([]), Graph([(0, 0), (0, 1)])]
    graphs = PackedGraphs.of(X)
    ends, heads, _ = graphs.neighbours
    for i, graph in enumerate(X):
        for v, expected in enumerate(around(graph)):
            at = graphs.starts[i] + v
            found = heads[ends[at] : ends[at + 1]] - graphs.starts[i]
            assert found.tolist() == sorted(u for _, u in expected)
    assert PackedGraphs.of(graphs) is graphs


@pytest.mark.parametrize("index", [slice(3, 9), [5, 2, 2], np.arange(24) % 5 == 1, slice(0, 0)], ids=str)
def test_taken_apart(index):
    X = as_graphs(some(), "test")
    found, expected = PackedGraphs.of(X)[index], PackedGraphs.of(X[index])
    assert len(found) == len(X[index]) and found.shape == X[index].shape
    for name in ("starts", "labels", "edge_starts", "edges", "edge_labels"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_numbers_of_labels_do_not_depend_on_the_company():
    alone = PackedGraphs.of([Graph([], node_labels=[1, 2])]).labels
    mixed = PackedGraphs.of([Graph([], node_labels=[1, "a", 2, 1.5, "1"])]).labels
    assert len(set(mixed.tolist())) == 5 and alone.tolist() == mixed[[0, 2]].tolist()
    assert PackedGraphs.of([Graph([], n_nodes=1)]).labels[0] not in mixed


def test_forms_of_a_set():
    edges = [[(0, 1)], [(0, 1), (1, 2), (0, 2)]]
    matrices = [np.array([[0, 1], [1, 0]]), np.ones((3, 3), int) - np.eye(3, dtype=int)]
    column = np.empty((2, 1), object)
    column[:, 0] = [Graph(e) for e in edges]
    expected = as_graphs(edges, "test").tolist()
    for X in (matrices, [csr_array(m) for m in matrices], column, pd.Series(column[:, 0]), tuple(edges)):
        assert as_graphs(X, "test").tolist() == expected
    assert as_graphs(np.ones((2, 4, 4)), "test").tolist() == [Graph.of(np.ones((4, 4)))] * 2
    assert as_graphs([], "test").shape == (0,)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(
    "X, words",
    [
        (Graph([(0, 1)]), "takes a list of graphs"),
        (csr_array(np.eye(3)), "takes a list of graphs"),
        ("CCO", "takes a list of graphs"),
        (None, "takes a list of graphs; got NoneType"),
        (iter([{}]), "takes a list of graphs; got list_iterator"),
        ({0: [(0, 1)]}, "takes a list of graphs; got dict"),
        ([Graph([], n_nodes=10**15)], "1,000,000,000,000,000 nodes.*memory"),
        (np.ones((5, 3)), "takes a list of graphs.*shape .5, 3."),
        ([Graph([(0, 1)]), None], "graph 1: None"),
        ([Graph([(0, 1)]), 3.5], "graph 1: 3.5"),
        (["CC", "CO"], "graph 0: 'CC' .str. is no graph"),
        ([([(0, 2)], ["a", "b"])], "graph 0: edge 0 goes to node 2.*dangling"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_refused(kernel, X, words):
    with pytest.raises(ValueError, match=f"{type(kernel).__name__}.*{words}"):
        kernel(X)
