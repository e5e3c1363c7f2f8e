"""Nodes: one round by hand, what they agree on, and what silence does."""

import numpy as np
import pytest

from mercer.graphs import Graph
from mercer.network import Faults, complete, grid, ring
from mercer.network.node import Message, NetworkNode, NetworkRules, TreeNode
from mercer.network.terms import CoefficientsTerm, LocalTerm, StatisticsTerm
from mercer.network.topology import laplacian_range, neighbours

PAIR = ring(2)  # whose Laplacian has the eigenvalues 0 and 2: ρ = 1.3/2


def rules_of(graph, exchange="statistics", tol=1e-12):
    return NetworkRules(graph, exchange, 8.0, patience=2, delay=0, tol=tol)


rng = np.random.default_rng(0)


def term_of(rows=8, outputs=2, lam=0.1, seed=0):
    own = np.random.default_rng(seed)
    psi, y = (
        np.column_stack([own.standard_normal((rows, 3)), np.ones(rows)]),
        own.standard_normal((rows, outputs)),
    )
    sums = psi.T @ psi, psi.T @ y, np.square(y).sum(axis=0), float(rows)
    return LocalTerm(*sums, np.array([1.0, 2.0, 1.0, 0.0]), lam), psi, y


def test_local_solutions_are_ridge_regressions():
    local, psi, y = term_of()
    wanted = np.linalg.solve(psi.T @ psi + 0.1 * 8 * np.diag(local.penalty), psi.T @ y)
    assert np.allclose(local.solved()[0], wanted)
    for term in (StatisticsTerm(local), CoefficientsTerm(local)):
        theta, lam = term.solution(term.start, 1)
        assert np.allclose(theta, wanted) and lam == 0.1


@pytest.mark.parametrize("made", [StatisticsTerm, CoefficientsTerm])
def test_minimisers_have_no_gradient(made):
    term = made(term_of()[0])
    pull = rng.standard_normal(term.start.shape)
    x = term.minimiser(pull, 0.7)
    if made is StatisticsTerm:
        gradient = (x - term.start) - pull + 0.7 * x
    else:
        local = term.local
        A = local.gram + 0.1 * local.count * np.diag(local.penalty)
        gradient = A @ x - local.moments - pull + 0.7 * x
    assert np.abs(gradient).max() < 1e-10


def test_a_node_without_rows():
    nothing = LocalTerm(np.zeros((2, 2)), np.zeros((2, 1)), np.zeros(1), 0.0, np.array([1.0, 0.0]), 0.1)
    assert not nothing.solved()[0].any()
    for made in (StatisticsTerm, CoefficientsTerm):
        term = made(nothing)
        assert np.isfinite(term.minimiser(np.ones_like(term.start), 0.5)).all()
        assert np.array_equal(term.minimiser(np.zeros_like(term.start), 0.0), term.start)


def test_a_round_by_hand():
    a, b = (StatisticsTerm(term_of(seed=seed)[0]) for seed in (1, 2))
    one, two = NetworkNode(a, 0, [1], rules_of(PAIR)), NetworkNode(b, 1, [0], rules_of(PAIR))
    assert np.allclose(one.x, a.start)  # before it has heard anything, it knows its own sums
    said, answered = one.speak(0)[1], two.speak(0)[0]
    assert np.allclose(said.values, a.start)  # 2x − z, with z = x to begin with
    assert said.nbytes == 8 * len(a.start) + 4 + 24  # two bytes for the age of each node
    one.hear(0, [(1, answered)])
    z = 0.1 * a.start + 0.9 * b.start
    assert np.allclose(one.z[1], z) and np.allclose(one.x, (a.start + 0.65 * z) / 1.65)


def around(nodes, near, faults, rounds):
    """Rounds written out once more: messages that are not late, by the schedule of silences."""
    before = np.ones(len(nodes), bool)
    for r in range(rounds):
        up = faults.up(len(nodes), r)
        for i in np.flatnonzero(up & ~before):
            nodes[i].wake(r)
        before = up
        said = [nodes[i].speak(r) if up[i] else {} for i in range(len(nodes))]
        quiet = [
            nodes[i].hear(r, [(j, said[j][i]) for j in near[i] if i in said[j]]) for i in np.flatnonzero(up)
        ]
    return quiet


@pytest.mark.parametrize("made", [StatisticsTerm, CoefficientsTerm])
@pytest.mark.parametrize("graph", [ring(4), complete(4), grid(2, 2)], ids=repr)
def test_all_agree_on_the_minimum_of_the_sum(made, graph):
    terms = [term_of(rows=5 + seed, seed=seed)[0] for seed in range(4)]
    near = neighbours(graph)
    rules = rules_of(graph, "statistics" if made is StatisticsTerm else "coefficients")
    nodes = [NetworkNode(made(t), i, near[i], rules) for i, t in enumerate(terms)]
    quiet = around(nodes, near, Faults(), 150 if made is StatisticsTerm else 700)
    A = sum(t.gram + 0.1 * t.count * np.diag(t.penalty) for t in terms)
    wanted = np.linalg.solve(A, sum(t.moments for t in terms))
    assert max(np.abs(node.solution()[0] - wanted).max() for node in nodes) < 1e-8
    assert min(quiet) > 2


@pytest.mark.parametrize("last", [None, 100])
def test_those_who_are_left_agree_without_the_others_and_later_with_them(last):
    terms = [term_of(rows=5 + seed, seed=seed)[0] for seed in range(5)]
    near = neighbours(complete(5))
    nodes = [NetworkNode(StatisticsTerm(t), i, near[i], rules_of(complete(5))) for i, t in enumerate(terms)]
    around(nodes, near, Faults(down={1: (10, last), 3: (10, last)}), 200)
    left = range(5) if last else (0, 2, 4)
    A = sum(terms[i].gram + 0.1 * terms[i].count * np.diag(terms[i].penalty) for i in left)
    wanted = np.linalg.solve(A, sum(terms[i].moments for i in left))
    assert max(np.abs(nodes[i].solution()[0] - wanted).max() for i in left) < 1e-9
    assert sorted(nodes[0].z) == [i for i in left if i != 0]


def test_news_of_a_silence_reach_those_far_away():
    # A ring of ten, of which 5 goes: in the end everybody is tuned to a row of nine.
    graph, term = ring(10), StatisticsTerm(term_of()[0])
    near = neighbours(graph)

    def made():
        return [NetworkNode(term, i, near[i], rules_of(graph)) for i in range(10)]

    nodes = made()
    around(nodes, near, Faults(down={5: (4, None)}), 40)
    low, high = laplacian_range(Graph([(i, i + 1) for i in range(8)]))
    for node in nodes[:5] + nodes[6:]:
        assert node.group.tolist() == [0, 1, 2, 3, 4, 6, 7, 8, 9]
        assert node.rho == pytest.approx(1.3 / np.sqrt(low * high)) and node.rho != nodes[5].rho
    back, fresh = made(), nodes[5].rho
    around(back, near, Faults(down={5: (4, 40)}), 60)
    assert {node.rho for node in back} == {fresh} and all(len(node.group) == 10 for node in back)


def test_a_message_that_was_overtaken_counts_for_nothing():
    node, ages = NetworkNode(StatisticsTerm(term_of()[0]), 0, [1], rules_of(PAIR)), np.zeros(2, np.uint16)
    new, old = (
        Message(5, 0, np.zeros_like(node.x), 0.65, ages),
        Message(4, 0, np.ones_like(node.x), 0.65, ages),
    )
    node.hear(6, [(1, new)])
    held = node.z[1].copy()
    node.hear(7, [(1, old)])
    assert np.array_equal(node.z[1], held) and node.heard[1] == 7


def test_sums_on_a_tree_are_sent_twice_along_each_edge():
    #     0 is the root; 1 and 2 are its children, 3 is a child of 1
    parents, near = [None, 0, 0, 1], [[1, 2], [0, 3], [0], [1]]
    terms = [StatisticsTerm(term_of(seed=seed)[0]) for seed in range(4)]
    nodes = [TreeNode(t, some, parent) for t, some, parent in zip(terms, near, parents)]
    sent = []
    for r in range(5):
        said = [node.speak(r) for node in nodes]
        sent += [(r, i, j) for i in range(4) for j in said[i]]
        done = [nodes[i].hear(r, [(j, said[j][i]) for j in near[i] if i in said[j]]) > 0 for i in range(4)]
    assert sent == [(0, 2, 0), (0, 3, 1), (1, 1, 0), (2, 0, 1), (2, 0, 2), (3, 1, 3)] and all(done)
    assert all(np.allclose(node.sum, sum(t.start for t in terms)) for node in nodes)


def test_news_are_measured_part_by_part():
    term = StatisticsTerm(term_of()[0])
    step = np.zeros_like(term.start)
    sizes = term.sizes(term.start)
    assert term.news(step, sizes) == 0
    step[-1] = 0.08  # of 8 rows
    assert term.news(step, sizes) == pytest.approx(0.01)
    assert term.news(step, [0.0] * 4) == np.inf


def test_sums_of_no_rows_are_not_believed():
    term = StatisticsTerm(term_of()[0])
    own = term.local.solved()[0]
    for part, factor in ((-1, -1.0), (slice(-3, -1), -1.0), (slice(10, 18), 50.0)):  # n, Σy², Σψy
        x = term.start.copy()
        x[part] *= factor
        assert np.array_equal(term.solution(x, 1)[0], own)
    x = term.start.copy()
    x[:10] *= 2  # twice the features' squares is possible
    assert not np.allclose(term.solution(x, 1)[0], own)
