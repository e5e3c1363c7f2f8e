"""Steps that are no numbers, and threads that share a machine: an error or the right state, never a crash."""

import threading

import numpy as np
import pytest

from mercer import KernelRidge, OnlineKernelClassifier, OnlineKernelRegressor
from mercer.kernels import Gaussian
from mercer.online import AtRandom, Merge, Oldest, Smallest, Step

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 2))
Y = np.sin(X[:, 0])


class Sizes(Step):
    """Whatever a function says."""

    def __init__(self, function=None):
        self.function = function

    def sizes(self, t, lam):
        return self.function(t)


def test_steps_are_one_finite_number_an_example():
    wrong = {
        "must give one number for each": [
            lambda t: np.array([0.1]),
            lambda t: 0.1 * np.ones((len(t), 1)),
            lambda t: np.array(["a"] * len(t)),
            lambda t: np.full(len(t), 0.1 + 0j),
            lambda t: 0.1,
        ],
        r"the step for example \d+ is": [
            lambda t: np.where(t > 60, np.inf, 0.1),
            lambda t: np.where(t > 60, np.nan, 0.1),
            lambda t: np.where(t > 60, -1.0, 0.1),
        ],
    }
    for budget in (AtRandom(20), Oldest(20), Smallest(20), Merge(20)):
        for words, functions in wrong.items():
            for function in functions:
                machine = OnlineKernelRegressor(Gaussian(1.0), step=Sizes(function), budget=budget)
                with pytest.raises(ValueError, match=words):
                    machine.fit(X, Y)
    plain = OnlineKernelRegressor(Gaussian(1.0), step=0.25).fit(X, Y).predict(X)
    ints = OnlineKernelRegressor(Gaussian(1.0), step=Sizes(lambda t: np.full(len(t), 0.25, np.float32))).fit(
        X, Y
    )
    np.testing.assert_array_equal(ints.predict(X), plain)


def at_once(*functions):
    """Run these in threads; the errors they ended with."""
    errors = []

    def guarded(function):
        try:
            function()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(f,)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_threads_take_turns_with_a_machine():
    machine = OnlineKernelRegressor(Gaussian(1.0), lam=0.0, budget=None).partial_fit(X[:10], Y[:10])

    def learn():
        for i in range(10, 400, 10):
            machine.partial_fit(X[i : i + 10], Y[i : i + 10])

    def ask():
        for _ in range(30):
            assert np.isfinite(machine.predict(X[:50])).all()
            assert len(machine.dual_coef_) == len(machine.function_.points) or machine.n_seen_ < 1210

    assert at_once(learn, learn, learn, ask) == []
    assert machine.n_seen_ == 10 + 3 * 390
    # Nothing was lost on the way: λ = 0, so every step is still in f.
    assert len(machine.dual_coef_) == machine.n_updates_


def test_labels_and_scores_are_of_one_moment():
    labels = np.repeat(np.arange(8), 50)
    machine = OnlineKernelClassifier(Gaussian(1.0), budget=30).partial_fit(X[:60], labels[:60])

    def learn():
        for i in range(60, 400):
            machine.partial_fit(X[i : i + 1], labels[i : i + 1])

    def ask():
        for _ in range(60):
            machine.predict(X[:20]), machine.decision_function(X[:20])

    assert at_once(learn, ask, ask) == []
    assert machine.n_seen_ == 400 and len(machine.classes_) == 8


def test_batch_machines_stand_threads():
    machine = KernelRidge(Gaussian(1.0), lam=0.01, offset=False).fit(X, Y)

    def fit():
        for n in (100, 200, 300):
            machine.fit(X[:n], Y[:n])

    def ask():
        for _ in range(30):
            assert machine.predict(X).shape == (400,)

    assert at_once(fit, fit, ask, ask) == []
