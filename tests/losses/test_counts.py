"""The Poisson loss against independent references."""

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import poisson
from sklearn._loss.loss import HalfPoissonLoss
from sklearn.metrics import mean_poisson_deviance

from mercer.losses import Poisson

RNG = np.random.default_rng(0)
Y, S = RNG.poisson(3.0, size=(200, 1)).astype(float), RNG.normal(size=(200, 1))


def test_is_the_likelihood_up_to_a_term_in_y():
    np.testing.assert_allclose(
        Poisson().value(Y, S) + gammaln(Y + 1), -poisson.logpmf(Y, np.exp(S)), atol=1e-12
    )


def test_agrees_with_scikit_learn():
    value, grad = HalfPoissonLoss().loss_gradient(Y[:, 0].copy(), S[:, 0].copy())
    np.testing.assert_allclose(Poisson().value(Y, S)[:, 0], value, atol=1e-13)
    np.testing.assert_allclose(Poisson().grad(Y, S)[:, 0], grad, atol=1e-13)


def test_is_half_the_deviance_above_the_best():
    y = Y + 1
    best = Poisson().value(y, np.log(y)).mean()
    deviance = mean_poisson_deviance(y, np.exp(S))
    assert 2 * (Poisson().value(y, S).mean() - best) == pytest.approx(deviance)


def test_link_is_the_expected_count():
    np.testing.assert_allclose(Poisson().link(np.log(Y + 1)), Y + 1)


def test_overflows_to_infinity_in_silence():
    with np.errstate(all="raise"):
        assert np.isposinf(Poisson().value([[3.0]], [[1e4]]))
        np.testing.assert_array_equal(Poisson().value([[3.0]], [[-1e4]]), [[3e4]])


def test_domain_of_the_conjugate():
    # The slopes of V are above −y.
    y = np.full(4, 2.0)
    np.testing.assert_allclose(
        Poisson().conjugate(y, [-2.01, -2.0, -1.0, 0.0]), [np.inf, 0.0, -1.0, 2 * np.log(2) - 2], atol=1e-15
    )
