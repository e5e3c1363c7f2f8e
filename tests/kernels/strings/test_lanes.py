"""Strings side by side: every pair once, and an interruption heard between rows."""

import numpy as np
import pytest

from mercer.kernels import EditDistance, LocalAlignment, Subsequence
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


def test_a_string_in_pieces(monkeypatch):
    monkeypatch.setattr(lanes, "_CELLS", 100)
    assert list(lanes.pieces(7, 30)) == [(0, 3), (3, 6), (6, 7)]
    assert list(lanes.pieces(2, 1000)) == [(0, 1), (1, 2)]
    assert list(lanes.pieces(0, 30)) == [(0, 0)]
    assert list(lanes.pieces(7, 30, 4)) == [(0, 4), (4, 7)]
    assert [lanes.is_long(letters(["abcd", "abc"]), i, 30) for i in (0, 1)] == [True, False]


SCORES = [[2.0, -1.0, -1.0], [-1.0, 2.0, -1.0], [-1.0, -1.0, 2.0]]


@pytest.mark.parametrize(
    "kernel",
    [
        Subsequence(3),
        Subsequence(3, blended=True),
        Subsequence(60, 1.0).normalize(),  # in numbers of any size
        EditDistance(50.0),
        LocalAlignment(SCORES, "abc", 3.0, 1.0, 0.1, log=True),
        LocalAlignment(SCORES, "abc", 3.0, 1.0, 9.0, log=True),  # in logarithms
    ],
    ids=str,
)
def test_pieces_of_a_long_pair_make_no_difference(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("abc"), n)) for n in (0, 1, 30, 301, 200, 5)]
    whole, own = kernel(X), kernel.diag(X)
    looks = []
    monkeypatch.setattr(lanes, "_CELLS", 1 << 12)
    monkeypatch.setattr(lanes, "stopping_point", lambda: looks.append(0))
    np.testing.assert_allclose(kernel(X), whole, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), own, rtol=1e-12)
    # One for each string, and one for each piece; those of edits have 62 letters at least.
    assert len(looks) > (18 if isinstance(kernel, EditDistance) else 50)
    # The user may interrupt at any of them.
    monkeypatch.setattr(lanes, "stopping_point", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        kernel(X[3:4], X[4:5])
