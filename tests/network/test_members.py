"""Whose rows are whose: labels, graphs in every form, and neither."""

import numpy as np
import pytest

from mercer.graphs import Graph
from mercer.kernels import Gaussian
from mercer.network import ring
from mercer.network.members import cells, members_of

rng = np.random.default_rng(0)
X = rng.uniform(0, 1, (30, 2))
LABELS = np.arange(30) % 3


def of(graph=None, nodes=None, n_nodes=None, X=X):
    return members_of(graph, nodes, n_nodes, X, Gaussian(0.5), np.random.default_rng(0))


class Named:
    """As much of a networkx graph as is asked for."""

    nodes = property(lambda self: _Nodes())

    def is_directed(self):
        return False

    def edges(self, data=False):
        return [("x", "y", {}), ("y", "z", {})]


class _Nodes:
    def __call__(self, data=False):
        return [(name, {}) for name in "xyz"]

    def __iter__(self):
        return iter("xyz")


@pytest.mark.parametrize(
    "graph", [[(0, 1), (1, 2)], np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), Graph([[0, 1], [1, 2]])], ids=str
)
def test_graphs_in_every_form(graph):
    found = of(graph, LABELS)
    assert found.graph == Graph([[0, 1], [1, 2]]) and found.names == [0, 1, 2]
    assert [rows.tolist() for rows in found.rows] == [list(range(i, 30, 3)) for i in range(3)]
    assert of(graph, LABELS.astype(float)).counts.tolist() == [10, 10, 10]


def test_nodes_of_a_networkx_graph_have_names():
    found = of(Named(), np.array(list("zyx" * 10)))
    assert found.names == ["x", "y", "z"] and found.rows[0].tolist() == list(range(2, 30, 3))
    assert found.number == {"x": 0, "y": 1, "z": 2}


def test_labels_without_a_graph_may_be_anything():
    found = of(None, np.array(["north", "south", "west"])[LABELS])
    assert found.names == ["north", "south", "west"] and len(found.graph.edges) >= 2


def test_without_labels_nodes_have_cells():
    found = of()
    assert len(found.names) == 3 and found.counts.sum() == 30 and found.counts.min() > 0
    assert len(of(n_nodes=5).names) == 5 and of(ring(4)).graph.n_nodes == 4
    labels = cells(X, 4, Gaussian(0.5), np.random.default_rng(0))
    # Every row is nearest to the one of the four that is in its own cell, so cells hold a point each.
    assert set(labels.tolist()) == {0, 1, 2, 3}
    same = of(n_nodes=4, X=np.zeros((6, 2)))
    assert same.counts.sum() == 6 and same.counts.min() > 0


@pytest.mark.parametrize(
    ("graph", "nodes", "words"),
    [
        (ring(2), LABELS, "row 2 belongs to node 2, but the graph has the 2 nodes 0 to 1"),
        ([(0, 1), (2, 3)], LABELS, "not connected"),
        (None, LABELS + 0.5, "whole numbers or names"),
        (None, LABELS[:4], "inconsistent numbers of samples"),
        ("ring", LABELS, "is no graph"),
    ],
)
def test_what_does_not_fit_is_refused(graph, nodes, words):
    with pytest.raises(ValueError, match=words):
        of(graph, nodes)
