"""Maximum likelihood: against scikit-learn's optimum, priors, bounds, what is fixed, restarts."""

import math

import numpy as np
import pytest
from scipy.stats import gamma, lognorm
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.representations import Nystrom
from mercer.selection import Gamma, LogNormal, maximum_likelihood

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * X[:, 1] + 0.2 * RNG.standard_normal(80)
START = KernelRidge(Gaussian(1.0).scaled([1.0, 1.0]), lam=1e-3, offset=False)


def test_it_is_scikit_learns_optimum():
    theirs = ConstantKernel(1.0, (1e-4, 1e4)) * RBF([1.0, 1.0], (1e-3, 1e4)) + WhiteKernel(0.1, (1e-6, 10))
    other = GaussianProcessRegressor(theirs, alpha=0.0).fit(X, Y)
    found = maximum_likelihood(START, X, Y)
    assert found.status == "converged" and "log likelihood" in repr(found)
    assert found.log_likelihood == pytest.approx(other.log_marginal_likelihood_value_, rel=1e-5)
    product, white = other.kernel_.k1, other.kernel_.k2
    np.testing.assert_allclose(found.machine.kernel.lengths, product.k2.length_scale, rtol=0.02)
    np.testing.assert_allclose(found.scale, product.k1.constant_value, rtol=0.05)
    np.testing.assert_allclose(found.parameters["noise"] * found.scale, white.noise_level, rtol=0.01)
    # The machine that comes back has that likelihood, and scikit-learn's predictions.
    fitted = found.machine.fit(X, Y)
    assert fitted.log_marginal_likelihood() == pytest.approx(found.log_likelihood, rel=1e-9)
    mean, std = fitted.predict(X[:9] + 0.3, return_std=True)
    there = other.predict(X[:9] + 0.3, return_std=True)
    np.testing.assert_allclose(mean, there[0], atol=0.01)
    latent = np.sqrt(there[1] ** 2 - white.noise_level)  # WhiteKernel's noise is in its deviations
    np.testing.assert_allclose(std, latent, rtol=0.05)


@pytest.mark.parametrize("offset", [False, True])
def test_nothing_near_is_more_likely(offset):
    machine = KernelRidge(Gaussian(1.0), lam=1e-2, offset=offset)
    w = RNG.uniform(0.5, 2.0, len(X))
    found = maximum_likelihood(machine, X, Y + 5 * offset, sample_weight=w)
    fitted = found.machine.set_params(representation="full").fit(X, Y + 5 * offset, w)
    theta, best = fitted.posterior().theta, fitted.log_marginal_likelihood()
    assert best == pytest.approx(found.log_likelihood, rel=1e-9)
    for step in 0.05 * np.concatenate([np.eye(2), -np.eye(2)]):
        assert fitted.log_marginal_likelihood(theta + step) < best


def test_what_is_fixed_stays_and_bounds_hold():
    found = maximum_likelihood(START, X, Y, fixed=["lengths[1]", "noise"], bounds={"lengths": (0.9, 1.1)})
    assert found.parameters["lengths[1]"] == 1.0
    assert found.parameters["noise"] == pytest.approx(0.08)
    assert 0.9 - 1e-12 < found.parameters["lengths[0]"] < 1.1 + 1e-12
    assert found.machine.lam == pytest.approx(1e-3)


def test_priors_pull():
    free = maximum_likelihood(START, X, Y)
    tight = maximum_likelihood(
        START, X, Y, priors={"lengths": LogNormal(3.0, 0.01), "noise": LogNormal(0.5, 0.01)}
    )
    np.testing.assert_allclose(tight.machine.kernel.lengths, 3.0, rtol=0.05)
    assert tight.log_likelihood < free.log_likelihood
    assert tight.parameters["noise"] == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize(
    "prior, density",
    [
        (LogNormal(2.0, 0.7), lognorm(0.7, scale=2.0)),
        (Gamma(3.0, 2.0), gamma(3.0, scale=0.5)),
    ],
)
def test_densities_are_scipys(prior, density):
    for value in (0.3, 1.0, 4.0):
        at = math.log(value)
        found, slope = prior.log_density(at)
        assert found == pytest.approx(density.logpdf(value) + at)  # of log θ: times θ
        h = 1e-6
        differences = (prior.log_density(at + h)[0] - prior.log_density(at - h)[0]) / (2 * h)
        assert slope == pytest.approx(differences, abs=1e-7)
    draws = np.exp([prior.draw(np.random.default_rng(i)) for i in range(2000)])
    assert np.median(draws) == pytest.approx(density.median(), rel=0.1)


def test_restarts_find_what_the_first_start_misses():
    x = np.linspace(0, 10, 60)[:, None]
    y = np.sin(6 * x[:, 0]) + 0.05 * RNG.standard_normal(60)
    poor = KernelRidge(Gaussian(30.0), lam=1.0)
    alone = maximum_likelihood(poor, x, y)
    several = maximum_likelihood(
        poor, x, y, restarts=4, priors={"sigma": LogNormal(0.5, 1.0)}, random_state=0
    )
    assert len(several.starts) == 5 and several.log_likelihood > alone.log_likelihood + 10
    again = maximum_likelihood(poor, x, y, restarts=4, priors={"sigma": LogNormal(0.5, 1.0)}, random_state=0)
    assert again.log_likelihood == several.log_likelihood


def test_time_and_iterations_are_limited():
    assert maximum_likelihood(START, X, Y, max_iter=1).status == "max_iter"
    found = maximum_likelihood(START, X, Y, minutes=0.0, restarts=3)
    assert found.status == "out of time" and len(found.starts) == 1


def test_a_start_without_noise_is_lifted():
    """λ = 0 as far as rounding goes, and equal rows, so that K is singular."""
    twice = np.repeat(X[:40], 2, axis=0)
    y = np.sin(2 * twice[:, 0]) + 0.2 * np.random.default_rng(1).standard_normal(80)
    found = maximum_likelihood(KernelRidge(Gaussian(1.0), lam=1e-18, offset=False), twice, y)
    assert found.status == "converged" and found.log_likelihood_before == -np.inf
    assert found.parameters["noise"] > 1e-6 and found.at_bounds == ()


def test_bounds_that_hold_are_named():
    found = maximum_likelihood(KernelRidge(Gaussian(1.0), lam=1e-3), X, Y, bounds={"sigma": (0.1, 0.2)})
    assert found.at_bounds == ("sigma",) and "at a bound: sigma" in repr(found)


def test_what_was_before_is_the_machine_as_given():
    start = KernelRidge(Gaussian(1.0), lam=1e-3)
    found = maximum_likelihood(start, X, Y, bounds={"sigma": (0.1, 0.2)})
    before = clone(start).fit(X, Y).log_marginal_likelihood()
    assert found.log_likelihood_before == pytest.approx(before, rel=1e-10)


def test_rows_of_weight_zero_do_not_move_the_noise():
    w = np.ones(len(X))
    w[::3] = 0
    a = maximum_likelihood(START, X, Y, sample_weight=w)
    b = maximum_likelihood(START, X[w > 0], Y[w > 0])
    assert a.parameters["noise"] == pytest.approx(b.parameters["noise"], rel=1e-3)
    assert a.machine.lam == pytest.approx(b.machine.lam, rel=1e-3)


def test_machines_with_centres_keep_them():
    found = maximum_likelihood(START.set_params(representation="full"), X, Y, max_iter=2)
    few = KernelRidge(Gaussian(1.0), lam=1e-3, representation=Nystrom(10))
    assert maximum_likelihood(few, X, Y).machine.representation == Nystrom(10)
    assert found.machine.representation == "full"


def test_bad_questions():
    for how, words in (
        ({"fixed": ["sigma"]}, "fixed: there is no parameter 'sigma', only lengths"),
        ({"priors": {"x": Gamma(1.0, 1.0)}}, "priors: there is no parameter"),
        ({"priors": {"noise": 3.0}}, "must be LogNormal"),
        ({"bounds": {"noise": (1.0, 0.1)}}, "the smaller first"),
        ({"restarts": -1}, "restarts must be"),
        ({"fixed": ["lengths", "noise"]}, "nothing to move"),
        ({"fixed": (name for name in ("lengths", "noise"))}, "nothing to move"),
        ({"fixed": "sigma"}, "fixed: there is no parameter 'sigma', only lengths"),
        ({"priors": {"noise": Gamma}}, "must be LogNormal"),
        ({"bounds": {"noise": 3.0}}, "must be two positive numbers"),
        ({"bounds": {"noise": ("a", "b")}}, "must be two positive numbers"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"max_iter": 2.5}, "max_iter must be"),
        ({"minutes": -1.0}, "minutes must be"),
        ({"minutes": np.nan}, "minutes must be"),
        ({"minutes": "1"}, "minutes must be"),
    ):
        with pytest.raises(ValueError, match=words):
            maximum_likelihood(START, X, Y, **how)
    with pytest.raises(ValueError, match="constant"):
        maximum_likelihood(START.set_params(offset=True), X, np.ones(80))
    for prior, words in ((lambda: LogNormal(0.0), "median"), (lambda: Gamma(1.0, -1.0), "rate")):
        with pytest.raises(ValueError, match=words):
            prior()
