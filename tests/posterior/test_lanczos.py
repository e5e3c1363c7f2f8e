import numpy as np
import pytest

from mercer import KernelRidge
from mercer.kernels import Finite, Gaussian, Laplacian, Matern, Spectrum
from mercer.posterior.exact import ExactPosterior
from mercer.posterior.lanczos import LanczosPosterior
from observed import observed, wavy

Z = 1.5 * np.random.default_rng(5).standard_normal((50, 2))


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(0.8), Matern(1.5, 1.0)], ids=repr)
def test_deviations_are_the_exact_ones(kernel, offset):
    X, y, w = wavy(500)
    seen = observed(kernel, X, y, offset=offset, weights=w)
    solved, exact = LanczosPosterior(seen, random_state=0), ExactPosterior(seen)
    assert np.allclose(solved.std(Z), exact.std(Z), rtol=1e-5)
    assert np.allclose(solved.covariance(Z), exact.covariance(Z), atol=1e-6)
    assert np.allclose(solved.std(Z, noise=True), exact.std(Z, noise=True), rtol=1e-5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_iter", [1, 2, 5, 20])
@pytest.mark.parametrize("offset", [False, True])
def test_bounds_hold_however_early_it_ends(max_iter, offset):
    X, y, w = wavy(400, seed=max_iter)
    seen = observed(Laplacian(1.0), X, y, lam=1e-5, offset=offset, weights=w)
    solved, exact = LanczosPosterior(seen, scale=1.0, max_iter=max_iter), ExactPosterior(seen, 1.0).std(Z)
    low, high = solved.bounds(Z)
    assert (low <= exact * (1 + 1e-9)).all() and (exact <= high * (1 + 1e-9)).all()
    assert (high - low).max() > 1e-3 or max_iter > 2  # bounds of something that is not known yet
    assert np.array_equal(solved.std(Z), high) and np.allclose(solved.std_error(Z), high - low)


def test_several_outputs_and_one_row():
    X, y, _ = wavy(60, t=2)
    seen = observed(Gaussian(1.0), X, y)
    assert np.allclose(LanczosPosterior(seen).std(Z), ExactPosterior(seen).std(Z), rtol=1e-5)
    one = observed(Gaussian(1.0), X[:1], y[:1, 0], lam=0.5, offset=False)
    assert np.allclose(LanczosPosterior(one, 1.0).std(Z), ExactPosterior(one, 1.0).std(Z))


def test_points_that_are_no_vectors():
    words = ["abc", "abd", "xyz", "xyw", "abx", "bcd"]
    machine = KernelRidge(Spectrum(2), lam=0.1, representation="full").fit(words, np.arange(6.0))
    solved, exact = machine.posterior("lanczos"), machine.posterior("exact")
    new = ["ab", "zzz", "xyz"]
    np.testing.assert_allclose(solved.std(new), exact.std(new), rtol=1e-8)
    np.testing.assert_allclose(solved.covariance(new), exact.covariance(new), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(machine.posterior("pathwise").mean(new), machine.predict(new), rtol=1e-8)
    finite = KernelRidge(Finite(np.eye(5)), lam=0.1, representation="full").fit(np.arange(5), np.arange(5.0))
    np.testing.assert_allclose(finite.posterior("lanczos").mean([1]), finite.predict([1]), rtol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_covariances_are_off_by_no_more_than_is_said():
    X, y, _ = wavy(300)
    seen = observed(Laplacian(1.0), X, y, lam=1e-5, offset=False)
    exact = ExactPosterior(seen, 1.0).covariance(Z)
    for max_iter in (1, 3, 10):
        solved = LanczosPosterior(seen, scale=1.0, max_iter=max_iter)
        off = np.abs(solved.covariance(Z) - exact)
        assert (off <= solved.covariance_error(Z) * (1 + 1e-6) + 1e-9).all()


@pytest.mark.filterwarnings("ignore")
def test_a_lower_bound_is_never_above_the_prior():
    X = np.random.default_rng(0).uniform(0, 8, (80, 1))
    seen = observed(Gaussian(1.0), X, np.sin(X[:, 0]), lam=1e-16, offset=False)
    low, high = LanczosPosterior(seen, 1.0).bounds([[4.0], [12.0]])
    assert (low <= 1).all() and (high <= 1).all() and (high >= 0).all()
