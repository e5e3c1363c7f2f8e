"""Weisfeiler–Lehman against trees unfolded node by node, assignments, and the worked example of JMLR 12."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.model_selection import GridSearchCV

import mercer
from graph_examples import around, graphs, label, renumbered, some
from mercer import FromC, KernelRidge, KernelSVC
from mercer.engines import Tiled
from mercer.graphs import Graph
from mercer.kernels import VertexHistogram, WeisfeilerLehman, check
from mercer.kernels.graphs import weisfeiler_lehman
from mercer.operators import counted
from mercer.testing import check_kernel

BOTH = pytest.mark.parametrize("assignment", [False, True])
# Figure 2 of Shervashidze et al.: two graphs with labels 1 to 5, and k = 11 after one refinement.
FIRST = Graph([(2, 0), (2, 1), (2, 3), (2, 4), (4, 5), (4, 3), (3, 5)], node_labels=[1, 1, 4, 3, 5, 2])
SECOND = Graph([(0, 4), (1, 3), (2, 4), (2, 5), (3, 4), (3, 5), (4, 5)], node_labels=[1, 2, 2, 3, 4, 5])


def trees(graph, depth):
    """What is seen from every node within so many steps, as nested text."""
    if depth == 0:
        return [repr(label(graph, v)) for v in range(graph.n_nodes)]
    below, near = trees(graph, depth - 1), around(graph)
    return [
        repr((label(graph, v), sorted((repr(e), below[u]) for e, u in near[v]))) for v in range(graph.n_nodes)
    ]


def by_trees(x, z, iterations):
    seen = [Counter((i, t) for i in range(iterations + 1) for t in trees(g, i)) for g in (x, z)]
    return sum(times * seen[1][t] for t, times in seen[0].items())


def by_assignment(x, z, iterations):
    worth = np.zeros((x.n_nodes, z.n_nodes))
    for i in range(iterations + 1):
        a, b = trees(x, i), trees(z, i)
        worth += [[s == t for t in b] for s in a] if a and b else 0
    return worth[linear_sum_assignment(worth, maximize=True)].sum()


@settings(max_examples=150, deadline=None)
@given(graphs(), graphs(), st.integers(0, 3))
def test_subtree_patterns(x, z, iterations):
    assert WeisfeilerLehman(iterations)([x], [z])[0, 0] == by_trees(x, z, iterations)


@settings(max_examples=150, deadline=None)
@given(graphs(), graphs(), st.integers(0, 3))
def test_the_best_assignment(x, z, iterations):
    assert WeisfeilerLehman(iterations, assignment=True)([x], [z])[0, 0] == by_assignment(x, z, iterations)


@settings(max_examples=50, deadline=None)
@given(graphs(), st.integers(0, 99), st.booleans())
def test_numbers_of_nodes_do_not_matter(x, seed, assignment):
    kernel = WeisfeilerLehman(3, assignment)
    assert kernel.squared_distance([x], [renumbered(x, seed)])[0, 0] == 0


def test_the_worked_example():
    np.testing.assert_array_equal(WeisfeilerLehman(1)([FIRST, SECOND]), [[8 + 8, 11], [11, 8 + 6]])
    words = WeisfeilerLehman(1).spelled([FIRST, SECOND])
    assert set(words.values()) == {
        *"12345", "1(4)", "2(3)", "2(3, 5)", "2(4, 5)", "3(2, 4, 5)",
        "4(1, 1, 3, 5)", "4(1, 2, 3, 5)", "5(2, 3, 4)",
    }  # fmt: skip


def test_labels_only():
    X = some()
    np.testing.assert_array_equal(WeisfeilerLehman(0)(X), VertexHistogram()(X))


def test_what_it_can_not_tell_apart():
    """A ring of six and two rings of three: all nodes look alike."""
    ring, rings = [(i, (i + 1) % 6) for i in range(6)], [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]
    assert WeisfeilerLehman(6).distance([ring], [rings])[0, 0] == 0
    assert WeisfeilerLehman(1).distance([ring], [ring[:-1]])[0, 0] > 0


@BOTH
def test_many_graphs_at_once_as_one_by_one(assignment, monkeypatch):
    X, kernel = some(40), WeisfeilerLehman(3, assignment)
    K = kernel(X)
    one_by_one = [[kernel([x], [z])[0, 0] for z in X[:10]] for x in X[:10]]
    np.testing.assert_array_equal(K[:10, :10], one_by_one)
    # Where numbers of nodes and labels don't fit into one, they are sorted as pairs.
    slow = lambda numbers, tails: numbers[np.lexsort((numbers, tails))]  # noqa: E731
    monkeypatch.setattr(weisfeiler_lehman, "_sorted_by_node", slow)
    np.testing.assert_array_equal(kernel(X), K)


@BOTH
def test_matrices_of_operators(assignment, monkeypatch):
    """Features that many graphs have and those that few have are multiplied in different ways, to one sum."""
    kernel = (WeisfeilerLehman(3, assignment) + WeisfeilerLehman(1) + WeisfeilerLehman(1)).normalize()
    X, Z = kernel.points(some(60)), kernel.points([*some(30, seed=1), Graph([])])
    K, v = kernel(X, Z), np.random.default_rng(0).standard_normal(31)
    for share, most in ((0.08, 2048), (0.5, 3), (0.0, 2048), (2.0, 2048)):
        monkeypatch.setattr(counted, "_SHARE", share)
        monkeypatch.setattr(counted, "_MOST", most)
        operator = Tiled().operator(kernel, X, Z)
        np.testing.assert_allclose(operator.dense(), K, atol=1e-14)
        np.testing.assert_allclose(operator @ v, K @ v, atol=1e-13)


@BOTH
def test_laws(assignment):
    kernel = WeisfeilerLehman(2, assignment)
    for k in (kernel, kernel.normalize(), 2 * kernel + WeisfeilerLehman(0)):
        check_kernel(k, some() + [Graph([(0, 0)]), Graph([(0, 1)]), Graph([], node_labels=["a"])])
    assert check(kernel).by == "rule"


@BOTH
def test_empty_graphs_have_no_features(assignment):
    kernel = WeisfeilerLehman(2, assignment)
    assert kernel([Graph([]), FIRST])[0].tolist() == [0, 0]
    assert kernel([]).shape == (0, 0)
    assert kernel([Graph([], n_nodes=3)])[0, 0] == (9 if assignment else 27)


@BOTH
def test_every_feature_is_spelled(assignment):
    kernel, X = WeisfeilerLehman(2, assignment), some(10)
    words = kernel.spelled(kernel.points(X))
    assert set(words) == set(kernel.counts(kernel.points(X)).ids.tolist())
    if assignment:
        assert (
            "H(O), no. 2"
            in WeisfeilerLehman(1, True).spelled([Graph([(0, 1), (0, 2)], None, ["O", "H", "H"])]).values()
        )


def test_words():
    ether = Graph([(0, 1), (1, 2)], node_labels=["C", "O", "C"], edge_labels=["-", "="])
    words = set(WeisfeilerLehman(2).spelled([ether]).values())
    assert words == {
        "C", "O", "C(-: O)", "C(=: O)", "O(-: C, =: C)",
        "C(-: O(-: C, =: C))", "C(=: O(-: C, =: C))", "O(-: C(-: O), =: C(=: O))",
    }  # fmt: skip
    assert set(WeisfeilerLehman(1).spelled([Graph([(0, 1)])]).values()) == {"·", "·(·)"}
    star = Graph([(0, i) for i in range(1, 200)], node_labels=["a label"] * 200)
    assert max(map(len, WeisfeilerLehman(2).spelled([star]).values())) == 300


@pytest.mark.parametrize(
    "parameters", [dict(iterations=-1), dict(iterations=1.5), dict(iterations=None), dict(assignment="yes")]
)
def test_parameters(parameters):
    with pytest.raises(ValueError, match=f"WeisfeilerLehman: {next(iter(parameters))} must be"):
        WeisfeilerLehman(**parameters)([FIRST])


# -- machines ---------------------------------------------------------------------------------------


def rings_and_paths():
    X = [Graph([(i, (i + 1) % n) for i in range(n)]) for n in range(3, 15)]
    X += [Graph([(i, i + 1) for i in range(n - 1)]) for n in range(3, 15)]
    return X, np.repeat(["ring", "path"], 12)


@BOTH
def test_a_machine(assignment, tmp_path):
    X, y = rings_and_paths()
    machine = KernelSVC(WeisfeilerLehman(2, assignment).normalize(), lam=1e-5).fit(X[::2], y[::2])
    assert (machine.predict(X[1::2]) == y[1::2]).all()
    mercer.save(machine, tmp_path / "machine.mercer")
    again = mercer.load(tmp_path / "machine.mercer")
    np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))


def test_centres():
    X, y = rings_and_paths()
    machine = KernelRidge(
        WeisfeilerLehman(2).normalize(), lam=1e-3, representation="nystrom", random_state=0
    ).fit(X, y == "ring")
    assert ((machine.predict(X) > 0.5) == (y == "ring")).all()


def test_search():
    X, y = rings_and_paths()
    search = GridSearchCV(
        KernelSVC(WeisfeilerLehman().normalize(), lam=0.01), {"kernel__kernel__iterations": [0, 2]}, cv=3
    ).fit(X, y)
    assert search.best_params_ == {"kernel__kernel__iterations": 2}
    with pytest.raises(ValueError, match="graph 0: 'ring'"):
        search.predict(["ring"])


MUTAG = Path(__file__).resolve().parents[4] / "shared" / "data" / "graphs" / "MUTAG.npz"


@pytest.mark.data
@pytest.mark.skipif(not MUTAG.exists(), reason="the data sets are not beside this checkout")
def test_molecules():
    with np.load(MUTAG, allow_pickle=False) as file:
        nodes, ends, labels, edges = (file[k] for k in ("node_off", "edge_off", "node_label", "edges"))
        y, fold = file["y"], file["fold"]
    X = [
        Graph(edges[ends[i] : ends[i + 1]], node_labels=labels[nodes[i] : nodes[i + 1]])
        for i in range(len(y))
    ]
    X = np.array([*X, None], object)[:-1]
    right = 0
    for test in (fold == i for i in range(10)):
        machine = KernelSVC(WeisfeilerLehman(1).normalize(), lam=FromC(100.0)).fit(X[~test], y[~test])
        right += np.sum(machine.predict(X[test]) == y[test])
    assert right > 0.8 * np.sum(fold >= 0)  # two thirds are of one class
    words = WeisfeilerLehman(1).spelled(X)
    assert set(words) == set(WeisfeilerLehman(1).counts(X).ids.tolist())
