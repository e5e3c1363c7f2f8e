"""Counts of messages, against sums by hand."""

import numpy as np
import pytest

from mercer._state import check
from mercer.network import Traffic


def test_counts():
    rows = [(-2, 0, 1, 8), (-1, 1, 2, 8), (0, 0, 1, 100), (0, 1, 0, 100), (2, 2, 1, 50)]
    traffic = Traffic.of(3, rows)
    assert (traffic.messages, traffic.bytes, traffic.n_rounds) == (5, 266, 3)
    assert traffic.preparation == (2, 16)
    assert traffic.by_round.tolist() == [[2, 200], [0, 0], [1, 50]]
    assert traffic.sent.tolist() == [[0, 108, 0], [100, 0, 8], [0, 50, 0]]
    nothing = Traffic.of(1, [])
    assert (nothing.messages, nothing.bytes, nothing.n_rounds, nothing.by_round.shape) == (0, 0, 0, (0, 2))
    assert repr(nothing) == "Traffic(0 messages, 0 bytes)"


def test_messages_of_nodes_that_are_not_there():
    check(Traffic.of(2, [(0, 0, 1, 8)]))
    with pytest.raises(ValueError, match="other nodes"):
        check(Traffic.of(2, [(0, 0, 2, 8)]))
    with pytest.raises(ValueError, match="log of a Traffic"):
        check(Traffic(2, np.zeros((3, 3), np.int64)))
