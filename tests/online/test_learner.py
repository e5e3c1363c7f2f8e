"""What all learners share: numbers drawn for examples, points with more columns, sparse features of terms."""

import pickle

import numpy as np
import pytest

from mercer import OnlineKernelRegressor
from mercer.kernels import Spectrum
from mercer.online.expansion import draws
from mercer.online.learner import Diverged, widened


def test_draws_are_uniform_and_belong_to_examples():
    u = draws(7, 0, 20000)
    assert ((u >= 0) & (u < 1)).all()
    np.testing.assert_array_equal(np.concatenate([draws(7, 0, 13), draws(7, 13, 20)]), u[:33])
    assert u.mean() == pytest.approx(0.5, abs=0.01)
    assert u.var() == pytest.approx(1 / 12, abs=0.005)
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 0.03
    assert abs(np.corrcoef(u, draws(8, 0, 20000))[0, 1]) < 0.03
    assert len(np.unique(u)) == len(u)
    assert len(draws(2**31 - 2, 10**9, 4)) == 4


def test_points_get_more_columns():
    A = np.arange(6.0).reshape(3, 2)
    wide = widened(A.astype(np.float32), 2)
    np.testing.assert_array_equal(wide, np.hstack([A, np.zeros((3, 2))]))
    assert wide.dtype == np.float32


def test_features_of_terms_are_made_once(monkeypatch):
    words, made = ["banana", "bandana", "kernel", "colonel", "nabla"] * 4, []
    kernel = 0.5 * Spectrum(2).normalize() + Spectrum(1).normalize()
    whole = OnlineKernelRegressor(kernel, step=0.1).partial_fit(words, range(20))
    features = Spectrum.features
    monkeypatch.setattr(Spectrum, "features", lambda self, X: made.append(len(X)) or features(self, X))
    one = OnlineKernelRegressor(kernel, step=0.1)
    for y, word in enumerate(words):
        one.learn_one(word, y)
        one.predict_one("ban")
    assert made and max(made) == 1
    with pytest.raises(Diverged):  # what a step that fails has made is not kept
        one.learner_.learn(one.learner_.points[:1], np.array([[1e308]]), np.array([1e10]))
    loaded = pickle.loads(pickle.dumps(one))
    for machine in (one, loaded):
        assert machine.predict(words) == pytest.approx(whole.predict(words), abs=1e-12)
