"""The estimator: what was learned, in scikit-learn's manner."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from mercer.kernels import Gaussian
from mercer.theory.learnability import (
    Box,
    Conjunctions,
    ConsistentLearner,
    HalfSpaces,
    Inconsistent,
    Intervals,
    KernelHalfSpaces,
    Rectangles,
)


@pytest.fixture
def square():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    return X, Box((0.2, 0.2), (0.8, 0.8))(X)


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), ("in", "out"), (3.0, 7.0)])
def test_labels_of_all_kinds(square, labels):
    X, inside = square
    y = np.where(inside, labels[1], labels[0])
    machine = ConsistentLearner().fit(X, y)
    assert (machine.predict(X) == y).all() and machine.classes_.tolist() == sorted(labels)
    assert machine.score(X, y) == 1 and machine.n_features_in_ == 2


def test_with_the_tools_of_scikit_learn(square):
    X, y = square
    assert cross_val_score(ConsistentLearner(Rectangles(2)), X, y, cv=5).mean() > 0.9
    copy = clone(ConsistentLearner(HalfSpaces(2))).set_params(H__d=3)
    assert HalfSpaces(3) == copy.H and "HalfSpaces(d=3)" in repr(copy)


@pytest.mark.parametrize("y, value", [([1, 1], 1), ([0, 0], 0), ([-1, -1], -1), ([True, True], True)])
def test_one_label(y, value):
    machine = ConsistentLearner(Conjunctions()).fit([[1, 0], [1, 1]], y)
    assert machine.predict([[1, 0]]).tolist() == [value]
    assert len(machine.classes_) == 2


def test_noise_is_refused(square):
    X, y = square
    y = y.copy()
    wrong = int(np.argmin(np.abs(X - 0.5).sum(axis=1)))
    y[wrong] = False
    with pytest.raises(Inconsistent) as e:
        ConsistentLearner().fit(X, y)
    assert e.value.example == wrong


def test_other_classes_of_hypotheses():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    assert ConsistentLearner(KernelHalfSpaces(Gaussian(1.0))).fit(X, y).score(X, y) == 1
    with pytest.raises(Inconsistent):
        ConsistentLearner(HalfSpaces()).fit(X, y)
    assert ConsistentLearner(Intervals()).fit([1, 2, 3], [0, 1, 1]).predict([2.5]).tolist() == [1]


def test_what_is_refused():
    with pytest.raises(NotFittedError):
        ConsistentLearner().predict([[1]])
    with pytest.raises(TypeError, match="class of hypotheses"):
        ConsistentLearner("rectangles").fit([[1]], [1])
    with pytest.raises(ValueError, match="two classes apart, got 3"):
        ConsistentLearner().fit([[1], [2], [3]], [0, 1, 2])
    with pytest.raises(ValueError, match="labels must be"):
        ConsistentLearner().fit([[1], [2]], ["a", "a"])
