"""Graphs that networkx made, as points: read right, and kernels compared with what networkx itself finds."""

from collections import Counter

import numpy as np
import pytest

import mercer
from mercer import KernelSVC, OnlineKernelClassifier
from mercer.graphs import Graph
from mercer.kernels import EdgeHistogram, RandomWalk, ShortestPath, VertexHistogram, WeisfeilerLehman

nx = pytest.importorskip("networkx")


def labelled(n, m, seed):
    graph = nx.gnm_random_graph(n, m, seed=seed)
    nx.set_node_attributes(graph, {v: "ab"[v % 2] for v in graph}, "label")
    return graph


GRAPHS = [labelled(n, n + 3, n) for n in range(5, 13)] + [labelled(6, 1, 0), labelled(1, 0, 0), nx.Graph()]


def inner(counts):
    return np.array([[sum(a[u] * b[u] for u in a) for b in counts] for a in counts], float)


def test_names_loops_and_lonely_nodes():
    graph = nx.Graph([("one", (2, "two")), ((2, "two"), "three"), ("three", "three")])
    graph.add_node(frozenset({4}))
    ours = Graph.of(graph)
    assert ours == Graph([(0, 1), (1, 2), (2, 2)], n_nodes=4)
    assert Graph.of(nx.freeze(graph)) == ours
    assert Graph.of(graph.subgraph(["one", (2, "two")])).edges.tolist() == [[0, 1]]
    assert Graph.of(nx.to_scipy_sparse_array(graph)) == Graph.of(nx.to_numpy_array(graph)) == ours
    assert Graph.of(nx.Graph()) == Graph([])
    assert Graph.of(nx.grid_2d_graph(3, 2)).degrees.tolist() == [2, 2, 3, 3, 2, 2]


def test_attributes():
    graph = nx.Graph([("x", "y", {"label": 1.0, "bond": "-"}), ("z", "y", {"label": 2, "bond": "="})])
    nx.set_node_attributes(graph, dict(zip("xyz", ["O", "H", "H"])), "atom")
    nx.set_node_attributes(graph, {v: np.array([1.0, 0.5]) for v in graph}, "label")
    assert Graph.of(graph).edge_labels.tolist() == [1, 2]
    assert Graph.of(graph).node_labels == ((1, 0.5),) * 3
    water = Graph.of(graph, "atom", "bond")
    assert water == Graph([(0, 1), (1, 2)], node_labels=["O", "H", "H"], edge_labels=["-", "="])
    assert Graph.of(nx.Graph([(0, 1, {"weight": 2.5})])) == Graph([(0, 1)])


def test_parallel_edges_are_one():
    assert Graph.of(nx.MultiGraph([(0, 1), (1, 0), (1, 1), (1, 1)])) == Graph([(0, 1), (1, 1)])
    same = nx.MultiGraph([("a", "b", {"label": "x"}), ("b", "a", {"label": "x"}), ("b", "b", {"label": "y"})])
    assert Graph.of(same) == Graph([(0, 1), (1, 1)], edge_labels=["x", "y"])
    same.add_edge("a", "b", label="z")
    with pytest.raises(ValueError, match="between 'a' and 'b' has two labels, x and z: give it one"):
        Graph.of(same)


@pytest.mark.parametrize(
    "directed", [nx.DiGraph([(0, 1)]), nx.MultiDiGraph([(0, 1)])], ids=["simple", "multiple"]
)
def test_directed(directed):
    with pytest.raises(ValueError, match="graph 1: the graph is directed.*to_undirected"):
        WeisfeilerLehman()([nx.path_graph(2), directed])
    assert (
        Graph.of(directed.to_undirected())
        == Graph.of(directed.to_undirected(as_view=True))
        == Graph([(0, 1)])
    )


def test_refusals():
    with pytest.raises(ValueError, match="1 of 2 edges have the attribute 'label'"):
        Graph.of(nx.Graph([(0, 1, {"label": 1}), (1, 2)]))
    with pytest.raises(ValueError, match="number 0 is None"):
        Graph.of(nx.Graph([(0, 1, {"label": None})]))
    with pytest.raises(ValueError, match="for a single one give .graph."):
        ShortestPath()(nx.path_graph(3))
    with pytest.raises(ValueError, match="list of graphs.*got generator"):
        ShortestPath()(graph for graph in GRAPHS)


def test_shortest_paths_are_theirs():
    def counted(graph):
        found = Counter()
        for u, lengths in nx.all_pairs_shortest_path_length(graph):
            ends = (
                (tuple(sorted((graph.nodes[u]["label"], graph.nodes[v]["label"]))), d)
                for v, d in lengths.items()
            )
            found.update(end for end in ends if end[1])
        return Counter({key: times // 2 for key, times in found.items()})  # from either end

    assert np.array_equal(ShortestPath()(GRAPHS), inner([counted(graph) for graph in GRAPHS]))


@pytest.mark.parametrize("iterations", [1, 3])
def test_weisfeiler_lehman_counts_their_hashes(iterations):
    def counted(graph):
        hashes = nx.weisfeiler_lehman_subgraph_hashes(
            graph, node_attr="label", iterations=iterations, include_initial_labels=True
        )
        return Counter(pair for found in hashes.values() for pair in enumerate(found))

    counts = [counted(graph) for graph in GRAPHS]
    assert np.array_equal(WeisfeilerLehman(iterations)(GRAPHS), inner(counts))
    least = np.array([[(a & b).total() for b in counts] for a in counts], float)
    assert np.array_equal(WeisfeilerLehman(iterations, assignment=True)(GRAPHS), least)


@pytest.mark.parametrize("kernel", [VertexHistogram(), EdgeHistogram(), RandomWalk(0.01)], ids=repr)
def test_the_same_as_ours(kernel):
    graphs = GRAPHS[:5]
    assert np.array_equal(kernel(graphs), kernel([Graph.of(graph) for graph in graphs]))


def test_machines(tmp_path):
    graphs = [nx.cycle_graph(n) for n in range(4, 10)] + [nx.path_graph(n) for n in range(4, 10)]
    y, kernel = ["ring"] * 6 + ["chain"] * 6, WeisfeilerLehman(2).normalize()
    machine = KernelSVC(kernel, lam=1e-3).fit(graphs, y)
    new = [nx.cycle_graph(20), nx.path_graph(13)]
    assert machine.predict(new).tolist() == ["ring", "chain"]
    mercer.save(machine, tmp_path / "machine.mercer")
    again = mercer.load(tmp_path / "machine.mercer")
    assert np.array_equal(again.decision_function(new), machine.decision_function(new))
    online = OnlineKernelClassifier(kernel)
    for graph, label in zip(graphs, y):
        online.learn_one(graph, label)
    assert online.predict_one(graphs[0]) in y
