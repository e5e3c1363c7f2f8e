"""One question for every pair of classes: codes, votes, and the decision they lead to."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.multiclass import _ovr_decision_function

from mercer.losses import Hinge
from mercer.losses.pairs import PairCoding


def coding(k):
    return PairCoding.learn(Hinge(), np.arange(k))[1]


def random_scores(seed, k, n=30):
    return np.random.default_rng(seed).normal(scale=2, size=(n, k * (k - 1) // 2))


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_codes(k):
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(k), 3))
    targets, found = PairCoding.learn(Hinge(), y)
    pairs = list(combinations(range(k), 2))
    assert found.pairs == pairs and found.n_outputs == len(pairs) and targets.shape == (3 * k, len(pairs))
    for j, (a, b) in enumerate(pairs):
        assert np.array_equal(targets[:, j], np.where(y == a, 1.0, np.where(y == b, -1.0, 0.0)))
    # Every example takes part in k − 1 questions.
    assert (np.abs(targets).sum(axis=1) == k - 1).all()


def test_labels_of_any_kind():
    targets, found = PairCoding.learn(Hinge(), ["owl", "ant", "cat", "ant"])
    assert found.classes.tolist() == ["ant", "cat", "owl"]
    assert np.array_equal(targets, [[0, -1, -1], [1, 1, 0], [-1, 0, 1], [1, 1, 0]])
    assert np.array_equal(found.encode(["cat", "owl"]), [[-1, 0, 1], [0, -1, -1]])
    with pytest.raises(ValueError, match="'bee', not among the known classes"):
        found.encode(["bee"])
    # Right answers to all questions give the labels back.
    assert found.decode(targets).tolist() == ["owl", "ant", "cat", "ant"]


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(3, 7))
def test_votes_are_counted(seed, k):
    s = random_scores(seed, k)
    expected = np.zeros((len(s), k))
    for row, scores in enumerate(s):
        for score, (a, b) in zip(scores, combinations(range(k), 2)):
            expected[row, a if score > 0 else b] += 1
    votes = coding(k).votes(s)
    assert np.array_equal(votes, expected)
    assert (votes.sum(axis=1) == k * (k - 1) // 2).all()


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(3, 7))
def test_the_decision_is_scikit_learns(seed, k):
    """There a positive score is for the second class of a pair."""
    s = random_scores(seed, k)
    expected = _ovr_decision_function((s <= 0).astype(int), -s, k)
    found = coding(k).decision(s)
    assert np.allclose(found, expected)
    assert np.array_equal(coding(k).decode(s), expected.argmax(axis=1))


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(3, 6), size=st.sampled_from([1e-3, 1.0, 1e6]))
def test_confidence_never_outvotes_a_vote(seed, k, size):
    s = size * random_scores(seed, k)
    votes, decision = coding(k).votes(s), coding(k).decision(s)
    assert (np.abs(decision - votes) < 0.5).all()
    assert (votes[np.arange(len(s)), decision.argmax(axis=1)] == votes.max(axis=1)).all()


def test_ties_go_to_the_larger_sum_of_scores():
    """Rock, scissors, paper: one vote each."""
    s = np.array([[1.0, -2.0, 1.0], [1.0, -1.0, 5.0], [3.0, -1.0, 1.0]])
    assert (coding(3).votes(s) == 1).all()
    # Sums: a = s01 + s02, b = −s01 + s12, c = −s02 − s12.
    assert coding(3).decode(s).tolist() == [2, 1, 0]


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(3, 6))
def test_soft_votes(seed, k):
    """Margins, each at most 1 in size; what one class gains the other loses."""
    s = random_scores(seed, k)
    expected = np.zeros((len(s), k))
    for j, (a, b) in enumerate(combinations(range(k), 2)):
        expected[:, a] += np.minimum(np.maximum(s[:, j], -1), 1)
        expected[:, b] -= np.minimum(np.maximum(s[:, j], -1), 1)
    soft = coding(k).votes(s, soft=True)
    assert np.allclose(soft, expected)
    assert np.allclose(soft.sum(axis=1), 0) and (np.abs(soft) <= k - 1 + 1e-12).all()


def test_shapes_and_precision():
    assert coding(3).votes(np.zeros((2, 3), np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match="the array of scores has shape"):
        coding(4).decision(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="one class only"):
        PairCoding.learn(Hinge(), [1, 1])
