"""The random-walk kernel against walks that are listed, and the inverse of the whole product graph."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from graph_examples import around, graphs, label, renumbered, some
from mercer import KernelSVC
from mercer.graphs import Graph
from mercer.kernels import RandomWalk, check
from mercer.kernels.graphs import random_walk
from mercer.testing import check_kernel


def walks(graph, steps):
    """How often each sequence of labels occurs along walks of 0, 1, …, `steps` steps."""
    near = around(graph)
    last = [(v, (label(graph, v),)) for v in range(graph.n_nodes)]
    out = [Counter(word for _, word in last)]
    for _ in range(steps):
        last = [(u, (*word, e, label(graph, u))) for v, word in last for e, u in near[v]]
        out.append(Counter(word for _, word in last))
    return out


def by_product(x, z, decay):
    """1ᵀ(I − decay A)⁻¹1 with the product graph written out."""
    both = [(u, v) for u in range(x.n_nodes) for v in range(z.n_nodes) if label(x, u) == label(z, v)]
    near_x, near_z = around(x), around(z)
    A = np.array(
        [
            [any(e == f and (s, t) == b for e, s in near_x[a[0]] for f, t in near_z[a[1]]) for b in both]
            for a in both
        ],
        float,
    ).reshape(len(both), len(both))
    return np.linalg.solve(np.eye(len(both)) - decay * A, np.ones(len(both))).sum() if both else 0.0


@settings(max_examples=60, deadline=None)
@given(graphs(3), graphs(3))
def test_walks(x, z):
    decay, steps = 1e-3, 6
    listed = zip(walks(x, steps), walks(z, steps), strict=True)
    expected = sum(decay**i * sum(times * b[w] for w, times in a.items()) for i, (a, b) in enumerate(listed))
    np.testing.assert_allclose(RandomWalk(decay)([x], [z])[0, 0], expected, rtol=1e-10)


@settings(max_examples=60, deadline=None)
@given(graphs(5), graphs(5))
def test_product_graph(x, z):
    np.testing.assert_allclose(RandomWalk(0.039)([x], [z])[0, 0], by_product(x, z, 0.039), rtol=1e-10)


@settings(max_examples=30, deadline=None)
@given(graphs(5), st.integers(0, 99))
def test_numbers_of_nodes_do_not_matter(x, seed):
    K = RandomWalk(0.03)([x, renumbered(x, seed)])
    np.testing.assert_allclose(K, np.full((2, 2), K[0, 0]), rtol=1e-10)


def test_sets_in_parts(monkeypatch):
    X = [*some(20), Graph([]), *some(5, seed=1), Graph([])]
    K = RandomWalk(0.01)(X)
    expected = [[by_product(x, z, 0.01) for z in X] for x in X]
    np.testing.assert_allclose(K, expected, rtol=1e-10)
    monkeypatch.setattr(random_walk, "_AT_ONCE", 30)
    np.testing.assert_allclose(RandomWalk(0.01)(X), K, rtol=1e-12)
    assert RandomWalk(0.01)([], X).shape == (0, len(X)) and RandomWalk(0.01)(X, []).shape == (len(X), 0)


def test_laws():
    for kernel in (RandomWalk(0.01), RandomWalk(0.01).normalize()):
        check_kernel(kernel, [x for x in some(30) if x.n_nodes])
    assert check(RandomWalk()).by == "rule"


def test_up_to_the_largest_eigenvalue():
    """A triangle with itself: all 9 pairs of nodes have 4 neighbours, so the sum is 9/(1 − 4 decay)."""
    triangle = Graph([(0, 1), (1, 2), (0, 2)])
    assert RandomWalk(0.2499)([triangle])[0, 0] == pytest.approx(9 / (1 - 4 * 0.2499), rel=1e-9)
    for decay in (0.2501, 0.3, 1.0, 50.0):
        with pytest.raises(ValueError, match="is too large for these graphs.*Any below .* = 0.25 will do"):
            RandomWalk(decay)([triangle])
    # A star of four and an edge: the largest eigenvalue is 2 · 1, and at 1/2 the sum is just infinite.
    star, edge = Graph([(0, i) for i in range(1, 5)]), Graph([(0, 1)])
    assert RandomWalk(0.4999)([star], [edge])[0, 0] == pytest.approx(
        2 * (5 + 8 * 0.4999) / (1 - 4 * 0.4999**2)
    )
    for left, right in ((star, edge), (edge, star)):
        with pytest.raises(ValueError, match="too large"):
            RandomWalk(0.5)([left], [right])
    # Labels leave fewer pairs, and more room for decay.
    apart = Graph(triangle.edges, node_labels=["a", "b", "c"])
    assert RandomWalk(0.45)([apart])[0, 0] == pytest.approx(3 / (1 - 2 * 0.45))
    with pytest.raises(ValueError, match="too large"):
        RandomWalk(0.51)([apart])


def test_too_large():
    with pytest.raises(ValueError, match="9,000,000 of at most.*WeisfeilerLehman"):
        RandomWalk()([Graph([], n_nodes=3000)])


@pytest.mark.parametrize("decay", [0, -0.1, "small", None, np.inf])
def test_parameters(decay):
    with pytest.raises(ValueError, match="RandomWalk: decay must be a positive number"):
        RandomWalk(decay)([Graph([(0, 1)])])


def test_a_machine(tmp_path):
    X = [Graph([(i, (i + 1) % n) for i in range(n)]) for n in range(4, 12)]
    X += [Graph([(0, i) for i in range(1, n)]) for n in range(4, 12)]
    y = np.repeat([0, 1], 8)
    machine = KernelSVC(RandomWalk(0.01).normalize(), lam=1e-6).fit(X, y)
    assert (machine.predict(X) == y).all()
    mercer.save(machine, tmp_path / "machine.mercer")
    again = mercer.load(tmp_path / "machine.mercer")
    np.testing.assert_allclose(again.decision_function(X), machine.decision_function(X))
