"""Labels counted by Python's Counter."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_examples import graphs, label, renumbered, some
from mercer.graphs import Graph
from mercer.kernels import EdgeHistogram, VertexHistogram, check
from mercer.testing import check_kernel

KERNELS = pytest.mark.parametrize("kernel", [VertexHistogram(), EdgeHistogram()], ids=repr)


def nodes(graph):
    return Counter(label(graph, v) for v in range(graph.n_nodes))


def edges(graph):
    links = graph.edge_labels
    return Counter(
        (None if links is None else int(links[k]), *sorted((repr(label(graph, u)), repr(label(graph, v)))))
        for k, (u, v) in enumerate(graph.edges.tolist())
    )


@settings(max_examples=100, deadline=None)
@given(graphs(6), graphs(6))
def test_values(x, z):
    for kernel, counted in ((VertexHistogram(), nodes), (EdgeHistogram(), edges)):
        a, b = counted(x), counted(z)
        assert kernel([x], [z])[0, 0] == sum(times * b[key] for key, times in a.items())


@settings(max_examples=30, deadline=None)
@given(graphs(6), st.integers(0, 99))
def test_numbers_of_nodes_do_not_matter(x, seed):
    for kernel in (VertexHistogram(), EdgeHistogram()):
        assert kernel.squared_distance([x], [renumbered(x, seed)])[0, 0] == 0


@KERNELS
def test_laws(kernel):
    check_kernel(kernel, [*some(), Graph([]), Graph([(0, 0)])])
    assert check(kernel).by == "rule"


@KERNELS
def test_every_feature_is_spelled(kernel):
    X = kernel.points(some(10))
    assert set(kernel.spelled(X)) == set(kernel.counts(X).ids.tolist())


def test_words():
    x = Graph([(0, 1), (1, 2)], node_labels=["C", "O", "C"], edge_labels=[1, 2])
    assert sorted(VertexHistogram().spelled([x]).values()) == ["C", "O"]
    assert sorted(EdgeHistogram().spelled([x]).values()) == ["C –1– O", "C –2– O"]
    assert list(EdgeHistogram().spelled([Graph([(0, 1)])]).values()) == ["· – ·"]
