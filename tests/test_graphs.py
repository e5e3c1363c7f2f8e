"""Graphs as values: what they are made of, what they are equal to, and what is refused."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import mercer
from graph_examples import graphs, renumbered
from mercer.graphs import Graph


class Networkx:
    """As much of a networkx graph as is asked for: names of nodes with attributes, edges with attributes."""

    def __init__(self, nodes, edges, directed=False):
        self._nodes, self._edges, self._directed = nodes, edges, directed

    def is_directed(self):
        return self._directed

    def nodes(self, data):
        assert data is True
        return self._nodes.items()

    def edges(self, data):
        assert data is True
        return self._edges


PATH = Graph([(0, 1), (1, 2)])


def test_edges_are_in_one_order():
    graph = Graph([(2, 1), (1, 0), (1, 2), (0, 1)], edge_labels=["b", "a", "b", "a"])
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_labels == ("a", "b")
    assert graph == Graph([(0, 1), (1, 2)], edge_labels=["a", "b"])
    assert graph != PATH and hash(graph) == hash(Graph([(0, 1), (1, 2)], edge_labels=("a", "b")))
    assert graph != "graph"


@given(graphs(), st.integers(0, 99))
def test_equal_whatever_the_order_of_edges(graph, seed):
    order = np.random.default_rng(seed).permutation(len(graph.edges))
    links = graph.edge_labels
    again = Graph(
        graph.edges[order][:, ::-1],
        graph.n_nodes,
        graph.node_labels,
        None if links is None else [links[i] for i in order],
    )
    assert again == graph and hash(again) == hash(graph)
    assert sorted(renumbered(graph, seed).degrees) == sorted(graph.degrees)
    assert pickle.loads(pickle.dumps(graph)) == graph


def test_sizes():
    assert Graph([]).n_nodes == 0 and Graph([]).edges.shape == (0, 2)
    assert Graph([], n_nodes=4).n_nodes == 4
    assert Graph([(0, 5)]).n_nodes == 6
    assert Graph(np.zeros((0, 2), int), node_labels=["ab"]).n_nodes == 1
    assert Graph(iter([(0, 1)])) == Graph([(0, 1)])


def test_degrees():
    graph = Graph([(0, 1), (1, 1), (1, 2)], n_nodes=4)
    assert graph.degrees.tolist() == [1, 3, 1, 0]
    assert graph.with_degrees().node_labels.tolist() == [1, 3, 1, 0]
    assert graph.with_degrees().edges.tolist() == graph.edges.tolist()


def test_equal_labels_are_one_label():
    kinds = ([1, 2, 1], [1.0, 2.0, True], np.array([1, 2, 1], np.int8), np.array([1.0, 2.0, 1.0]))
    assert len({Graph(PATH.edges, node_labels=labels) for labels in kinds}) == 1
    assert Graph([], node_labels=[np.array([1.0, 0.5])]).node_labels == ((1, 0.5),)
    assert Graph([], node_labels=np.array(["a"])).node_labels == ("a",)
    assert Graph([], node_labels=[1 << 70]).node_labels == (1 << 70,)
    assert Graph([], node_labels=np.array([1 << 63], np.uint64)).node_labels == (1 << 63,)


def test_immutable():
    labels = np.array([1, 2, 3])
    graph = Graph(PATH.edges, node_labels=labels)
    labels[0] = 7
    assert graph.node_labels[0] == 1
    with pytest.raises(AttributeError):
        graph.n_nodes = 5
    for part in (graph.edges, graph.node_labels):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 0


@pytest.mark.parametrize(
    "given, words",
    [
        (dict(edges=[(0, 3)], n_nodes=3), "node 3, but the graph has 3 nodes"),
        (dict(edges=[(0, 1), (0, 3)], node_labels=["a", "b"]), "edge 1 goes to node 3.*dangling"),
        (dict(edges=[(0, -1)]), "edge 0 has the node -1"),
        (dict(edges=[(0, 1, 2)]), "pairs of whole numbers"),
        (dict(edges=[(0, 1), (2,)]), "pairs of whole numbers"),
        (dict(edges=[(0.0, 1.0)]), "number the nodes"),
        (dict(edges=[("a", "b")]), "number the nodes"),
        (dict(edges=7), "pairs of whole numbers"),
        (dict(edges=None), "pairs of whole numbers"),
        (dict(edges=[], n_nodes=-1), "n_nodes must be"),
        (dict(edges=[], n_nodes=2.5), "n_nodes must be"),
        (dict(edges=[], n_nodes=True), "n_nodes must be"),
        (dict(edges=[(0, 1)], n_nodes=2, node_labels=["a"]), "node_labels are 1, but there are 2 nodes"),
        (dict(edges=[(0, 1)], edge_labels=[1, 2]), "edge_labels are 2, but there are 1 edges"),
        (dict(edges=[(0, 1), (1, 0)], edge_labels=[1, 2]), "has two labels, 1 and 2"),
        (dict(edges=[(0, 1)], node_labels="ab"), "list of labels"),
        (dict(edges=[(0, 1)], node_labels={0: "a", 1: "b"}), "list of labels"),
        (dict(edges=[(0, 1)], node_labels=["a", None]), "number 1 is None.*missing"),
        (dict(edges=[(0, 1)], node_labels=[1.5, float("nan")]), "number 1 is nan.*missing"),
        (dict(edges=[(0, 1)], node_labels=["a", b"b"]), "number 1 is b'b' .bytes."),
        (dict(edges=[(0, 1)], node_labels=["a", {1}]), "numbers, text, or tuples"),
        (dict(edges=np.array([[2**63, 1]], np.uint64)), "node 9223372036854775808: nodes are numbered"),
    ],
)
def test_refused(given, words):
    with pytest.raises(ValueError, match=words):
        Graph(**given)


# -- other things that are graphs -----------------------------------------------------------------


A = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize(
    "x",
    [
        PATH,
        [(0, 1), (1, 2)],
        ((0, 1), (1, 2)),
        [[0, 1], [1, 2]],
        np.array([[0, 1], [1, 2], [2, 1]]),
        np.array([[0, 1], [1, 2]]),
        A,
        A.astype(bool),
        A.astype(float),
        A.tolist(),
        sparse.csr_array(A),
        sparse.coo_matrix(A.astype(float)),
        Networkx({"x": {}, "y": {}, "z": {}}, [("x", "y", {"weight": 2}), ("z", "y", {})]),
    ],
    ids=lambda x: type(x).__name__,
)
def test_of(x):
    assert Graph.of(x) == PATH


def test_of_with_labels():
    labels = ["a", "b", "a"]
    expected = Graph(PATH.edges, node_labels=labels)
    assert Graph.of((PATH.edges, labels)) == expected
    assert Graph.of(([(0, 1), (1, 2)], labels)) == expected
    assert Graph.of((((0, 1), (1, 2)), tuple(labels))) == expected
    assert Graph.of((A, labels)) == Graph.of((sparse.csr_array(A), labels)) == expected
    assert Graph.of(([], labels)).n_nodes == 3
    both = Graph.of(([(1, 2), (0, 1)], labels, ["=", "-"]))
    assert both == Graph(PATH.edges, node_labels=labels, edge_labels=["-", "="])
    assert Graph.of(([(0, 1)], None)) == Graph([(0, 1)])
    nodes = {name: {"label": v, "colour": i} for i, (name, v) in enumerate(zip("xyz", labels))}
    theirs = Networkx(nodes, [("x", "y", {"label": "-"}), ("z", "y", {"label": "="})])
    assert Graph.of(theirs) == both
    assert Graph.of(theirs, node_label="colour", edge_label="none").node_labels.tolist() == [0, 1, 2]


def test_entries_of_a_matrix_are_labels():
    W = np.array([[2.0, 0.5], [0.5, 0.0]])
    assert Graph.of(W) == Graph([(0, 0), (0, 1)], edge_labels=[2, 0.5])
    assert Graph.of(np.zeros((2, 2), int)) == Graph.of(np.zeros((2, 2))) == Graph([], n_nodes=2)
    stored = sparse.csr_array((np.array([0.0, 1.0, 1.0]), ([0, 0, 1], [0, 1, 0])), shape=(2, 2))
    assert Graph.of(stored) == Graph([(0, 1)])


@pytest.mark.parametrize(
    "x, words",
    [
        (np.array([[0, 1], [0, 0]]), "not symmetric.*A . A.T"),
        (sparse.csr_array(np.ones((2, 3))), "square"),
        (np.array([[0, np.nan], [np.nan, 0]]), "NaN"),
        (np.array([["a", "b"], ["b", "a"]]), "holds numbers"),
        (np.array([[0, 1, 2]]), "pairs of whole numbers"),
        (None, "None .NoneType. is no graph"),
        (3, "is no graph"),
        ("CCO", "is no graph"),
        (Networkx({0: {}}, [], directed=True), "directed.*to_undirected"),
        (Networkx({0: {"label": 1}, 1: {}}, []), "1 of 2 nodes have the attribute 'label'"),
        ((A, [1, 2, 3], [1, 2]), "as entries of the matrix"),
        ((A, [1, 2]), "node_labels are 2, but there are 3 nodes"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_graph(x, words):
    with pytest.raises(ValueError, match=words):
        Graph.of(x)


def test_files(tmp_path):
    for i, graph in enumerate(
        [PATH, Graph([], node_labels=["é", (1, 0.5), 2]), Graph([(0, 1)], edge_labels=[3])]
    ):
        mercer.save(graph, tmp_path / f"{i}.mercer")
        assert mercer.load(tmp_path / f"{i}.mercer") == graph
