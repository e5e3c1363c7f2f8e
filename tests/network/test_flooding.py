"""Flooding, counted by hand on small graphs."""

import numpy as np
from scipy.sparse.csgraph import shortest_path

from mercer.graphs import Graph
from mercer.network import Faults, grid, ring
from mercer.network.flooding import NEVER, flood


def test_three_nodes_in_a_row():
    said = flood(Graph([[0, 1], [1, 2]]), np.array([10, 20, 30]), Faults(), 10)
    # Round 0: everybody to its neighbours. Round 1: the middle passes on what the other side does not have.
    assert said.messages == [
        (0, 0, 1, 10),
        (0, 1, 0, 20),
        (0, 1, 2, 20),
        (0, 2, 1, 30),
        (1, 1, 0, 30),
        (1, 1, 2, 10),
    ]
    assert said.rounds == 2 and said.arrived.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


def test_news_takes_the_shortest_way():
    graph = grid(3, 4)
    said = flood(graph, np.ones(12), Faults(), 100)
    A = np.zeros((12, 12))
    A[tuple(graph.edges.T)] = 1
    assert np.array_equal(said.arrived, shortest_path(A, directed=False, unweighted=True))
    # Nobody is told anything twice over the same edge in the same direction.
    assert sum(row[3] for row in said.messages) <= 12 * 2 * len(graph.edges)


def test_with_losses_and_delays_everything_arrives():
    said = flood(ring(8), np.ones(8), Faults(loss=0.3, delay=2), 200)
    assert (said.arrived != NEVER).all() and said.rounds > 4
    plain = flood(ring(8), np.ones(8), Faults(), 200)
    assert len(said.messages) > len(plain.messages) and (said.arrived >= plain.arrived).all()


def test_who_is_silent_for_ever_is_heard_of_no_more():
    row = Graph([[0, 1], [1, 2], [2, 3]])
    said = flood(row, np.ones(4), Faults(down={1: (1, None)}), 50)
    # Node 1 was heard once, and passes nothing on.
    assert said.arrived[0].tolist() == [0, 1, NEVER, NEVER]
    assert said.arrived[3].tolist() == [NEVER, 2, 1, 0]
    back = flood(row, np.ones(4), Faults(down={1: (1, 6)}), 50)
    # In round 7 node 2 tells node 1 of 3, which tells node 0 in round 8.
    assert (back.arrived != NEVER).all() and back.arrived[0, 3] == 9
