"""Schedules of what goes wrong: the same for the same seed, and as often as they say."""

import numpy as np
import pytest

from mercer.network import Faults, complete, ring
from mercer.network.topology import components


def test_silences():
    faults = Faults(down={0: (2, 3), 1: [(0, 0), (5, None)]})
    faults.validate()
    silent = [[node for node in range(3) if faults.is_down(node, r)] for r in range(7)]
    assert silent == [[1], [], [0], [0], [], [1], [1]]
    assert [(~faults.up(3, r)).nonzero()[0].tolist() for r in range(7)] == silent
    assert faults.last_change == 5 and Faults().last_change == 0
    named = Faults(down={"b": (1, None)}).with_numbers({"a": 0, "b": 1})
    assert named.down == {1: (1, None)}


def test_messages_are_lost_and_late_as_often_as_said():
    faults = Faults(loss=0.25, delay=3, random_state=7)
    fates = np.concatenate([faults.fates(500, r) for r in range(40)])
    assert abs((fates == -1).mean() - 0.25) < 0.02
    late = fates[fates >= 0]
    assert set(late.tolist()) == {0, 1, 2, 3} and abs((late == 2).mean() - 0.25) < 0.02
    assert np.array_equal(faults.fates(500, 3), Faults(loss=0.25, delay=3, random_state=7).fates(500, 3))
    assert not np.array_equal(faults.fates(500, 3), faults.fates(500, 4))
    assert not Faults().fates(10, 0).any()
    assert Faults(random_state=3).harmless and not faults.harmless
    assert 0.25 ** (faults.patience - 6) <= 1e-6 and Faults().patience == 3


def test_half_of_the_nodes_may_fail_without_cutting_off_others():
    graph = ring(10)
    faults = Faults.failing(graph, 0.5, first=4, last=9, random_state=3, loss=0.1)
    assert len(faults.down) == 5 and set(faults.down.values()) == {(4, 9)} and faults.loss == 0.1
    assert len(components(graph, faults.up(10, 4))) == 1
    assert Faults.failing(graph, 0.5, random_state=3).down.keys() == faults.down.keys()
    assert len(Faults.failing(complete(8), 0.25, connected=False).down) == 2
    with pytest.raises(ValueError, match="at least one"):
        Faults.failing(graph, 1.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"down": [3]}, "must be a dict"),
        ({"down": {3: 5}}, "a pair; got 5"),
        ({"down": {3: (5, 2)}}, "ends before it begins"),
        ({"down": {3: (-1, 2)}}, "at least 0"),
        ({"loss": 1.0}, "there is no network"),
        ({"loss": -0.1}, "at least 0"),
        ({"delay": 1.5}, "whole number"),
        ({"random_state": None}, "whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        Faults(**given).validate()


def test_a_node_that_is_not_there():
    with pytest.raises(ValueError, match="names the node 9"):
        Faults(down={9: (0, 1)}).with_numbers({0: 0})
