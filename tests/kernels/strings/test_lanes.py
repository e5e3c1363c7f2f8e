"""Strings side by side: every pair once, and an interruption heard between rows."""

import numpy as np
import pytest

from mercer.kernels.strings import lanes
from mercer.kernels.strings.letters import letters

WORDS = ["abc", "", "a", "abcdef", "xy", "abcd", "b"]


def lengths_added(left, low, high, right, out):
    """A stand-in for a table: |x| + |z|."""
    ends = (right != lanes.AFTER_RIGHT).sum(axis=0)
    out[low:high] = left.lengths[low:high, None] + ends[None, :]


@pytest.mark.parametrize("width", [1, 2, 3, 16])
def test_every_pair(width, monkeypatch):
    monkeypatch.setattr(lanes, "_CELLS", 8)
    X = letters(WORDS)
    expected = np.add.outer(X.lengths, X.lengths)
    assert np.array_equal(lanes.all_pairs(X, X, lengths_added, width), expected)
    assert np.array_equal(lanes.all_pairs(X, X[:2], lengths_added, width), expected[:, :2])
    assert np.array_equal(lanes.all_pairs(X[:2], X, lengths_added, width), expected[:2])


def test_half_of_the_pairs_where_both_sides_are_the_same():
    X, seen = letters(WORDS * 10), []

    def run(left, low, high, right, out):
        seen.append((high - low) * right.shape[1])
        out[low:high] = 0

    lanes.all_pairs(X, X, run, 4)
    assert sum(seen) <= len(X) * (len(X) + 4) / 2 + 4 * 4


def test_padding_is_no_letter():
    X = letters(WORDS)
    left = lanes.side_by_side(X, np.arange(7), 8, lanes.AFTER_LEFT)
    right = lanes.side_by_side(X, np.arange(7), 8, lanes.AFTER_RIGHT)
    assert np.array_equal((left == right).sum(axis=0), [*X.lengths, 0])
    own = lanes.each_with_itself(X, lambda a, b: (a == b).sum(axis=0), 3)
    assert np.array_equal(own, X.lengths)


def test_an_error_ends_the_work():
    X, calls = letters(WORDS * 200), []

    def run(left, low, high, right, out):
        calls.append(low)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lanes.all_pairs(X, X, run, 1)
    assert len(calls) < 20
