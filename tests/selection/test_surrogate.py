"""The model of the objective, against a Gaussian process written out in dense NumPy."""

import numpy as np
import pytest
from scipy import stats

from mercer.selection.proposals import Surrogate

RNG = np.random.default_rng(0)
F = RNG.random((25, 2))
Z = np.sin(3 * F[:, 0]) + 0.1 * F[:, 1]
G = RNG.random((10, 2))


def matern(A, B, lengths):
    r = np.sqrt(5) * np.linalg.norm((A / lengths)[:, None] - (B / lengths)[None], axis=2)
    return (1 + r + r * r / 3) * np.exp(-r)


def test_mean_and_spread_are_those_of_a_gaussian_process():
    model = Surrogate(F, np.array([0, 1]), Z)
    K = matern(F, F, model.lengths) + model.noise * np.eye(25)
    k = matern(G, F, model.lengths)
    centred = Z - Z.mean()
    amplitude = centred @ np.linalg.solve(K, centred) / 25
    mean, spread = model.predict(G)
    assert np.allclose(mean, Z.mean() + k @ np.linalg.solve(K, centred), atol=1e-6)
    variance = amplitude * (1 - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T)))
    assert np.allclose(spread**2, variance, rtol=1e-3, atol=1e-8 * amplitude)


def test_axes_that_do_not_matter_get_long_lengths():
    model = Surrogate(F, np.array([0, 1]), np.sin(5 * F[:, 0]))
    assert model.lengths[1] > 2 * model.lengths[0]


def test_improvement_is_its_expectation():
    model = Surrogate(F, np.array([0, 1]), Z + 0.05 * RNG.standard_normal(25))
    everywhere = np.ones(25, dtype=bool)
    mean, spread = model.predict(G)
    best = model.predict(F)[0].min()
    draws = stats.norm(mean, spread).ppf((np.arange(20_000)[:, None] + 0.5) / 20_000)
    expected = np.maximum(best - draws, 0).mean(axis=0)
    assert model.improvement(G, everywhere) == pytest.approx(expected, rel=1e-2, abs=1e-6)


def test_constant_values_are_no_trouble():
    mean, spread = Surrogate(F, np.array([0, 1]), np.ones(25)).predict(G)
    assert np.allclose(mean, 1) and np.isfinite(spread).all()
