"""Posteriors with centres and features: against n×n formulas written out, and central differences."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.features import RandomFourierFeatures
from mercer.kernels import Constant, Gaussian, Linear, Matern, Polynomial
from mercer.posterior import IndependentPosterior, ProjectedPosterior
from mercer.representations import Features, Nystrom
from posterior_examples import dense_posterior, differences

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2 + 3]) + 0.1 * RNG.standard_normal((60, 2))
NEW = RNG.standard_normal((9, 2)) * 2
Z = RNG.standard_normal((12, 2))
W = RNG.uniform(0.2, 3.0, 60)
KERNEL, NOISE = Matern(2.5, 1.5), 0.3


def machine(kernel=KERNEL, y=Y, w=None, offset=True, centres=Z):
    how = {"representation": Nystrom(centres=centres), "offset": offset}
    return KernelRidge(kernel, lam=NOISE / len(X), **how).fit(X, y, w)


@pytest.mark.parametrize("method", ["dtc", "fitc"])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("w", [None, W], ids=["", "weights"])
def test_as_written_out(method, offset, w):
    D = np.full(len(X), NOISE) if w is None else NOISE / (w / w.mean())
    B = np.linalg.inv(KERNEL(Z))
    A, new = KERNEL(X, Z), KERNEL(NEW, Z)
    Q = A @ B @ A.T
    D = D + np.diag(KERNEL(X) - Q) if method == "fitc" else D
    prior = KERNEL(NEW)
    mean, C, form, log_det = dense_posterior(Q, D, Y, new @ B @ A.T, prior, offset)
    fitted = machine(w=w, offset=offset)
    posterior, nu = fitted.posterior(method), len(X) - offset
    np.testing.assert_allclose(posterior.scale, form / nu, rtol=1e-9)
    np.testing.assert_allclose(posterior.mean(NEW), mean, rtol=1e-8, atol=1e-9)
    if method == "dtc":
        np.testing.assert_allclose(posterior.mean(NEW), fitted.predict(NEW), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(
        posterior.scaled(1.0).covariance(NEW), np.repeat(C[:, :, None], 2, 2), atol=1e-9
    )
    np.testing.assert_allclose(posterior.scaled(1.0).std(NEW)[:, 0] ** 2, np.diag(C), rtol=1e-7)
    s = form / nu
    value = -0.5 * np.sum(form / s + nu * np.log(2 * np.pi * s) + log_det)
    assert posterior.log_marginal_likelihood() == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("cls", [ProjectedPosterior, IndependentPosterior])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("scale", ["likelihood", 0.5])
def test_gradients_are_central_differences(cls, offset, scale):
    kernel = 0.7 * Gaussian(1.0).scaled([1.0, 2.0]) + Matern(1.5, 2.0) * Constant(0.4) + 0.1 * Linear()
    seen = machine(kernel, w=W, offset=offset).posterior().seen
    theta = seen.theta + 0.05
    _, gradient = cls(seen.at(theta), scale).log_marginal_likelihood(eval_gradient=True)
    expected = differences(lambda at: cls(seen.at(at), scale).log_marginal_likelihood(), theta)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


def test_all_examples_as_centres_are_exact():
    exact = KernelRidge(KERNEL, lam=NOISE / len(X), representation="full").fit(X, Y).posterior()
    for method in ("dtc", "fitc"):
        posterior = machine(centres=X).posterior(method)
        np.testing.assert_allclose(posterior.covariance(NEW), exact.covariance(NEW), atol=1e-7)
        assert posterior.log_marginal_likelihood() == pytest.approx(exact.log_marginal_likelihood(), rel=1e-8)


def test_dependent_centres_change_nothing():
    twice = machine(centres=np.concatenate([Z, Z, Z[:3]]))
    for method in ("dtc", "fitc"):
        a, b = twice.posterior(method), machine().posterior(method)
        np.testing.assert_allclose(a.std(NEW), b.std(NEW), rtol=1e-6)
        np.testing.assert_allclose(
            a.log_marginal_likelihood(eval_gradient=True)[1],
            b.log_marginal_likelihood(eval_gradient=True)[1],
            rtol=1e-5,
        )


def test_variances_are_never_negative():
    x = np.linspace(0, 1, 300)[:, None]
    fitted = KernelRidge(Gaussian(2.0), lam=1e-10, representation=Nystrom(60), random_state=0)
    posterior = fitted.fit(x, np.sin(9 * x[:, 0])).posterior()
    for method in ("dtc", "fitc"):
        std = fitted.posterior(method).std(x)
        assert np.isfinite(std).all() and (std >= 0).all()
    assert posterior.std([[50.0]])[0] > 100 * posterior.std([[0.5]])[0]


@pytest.mark.parametrize("offset", [False, True])
def test_explicit_features_are_exact(offset):
    kernel = Polynomial(2, 0.5)
    how = {"lam": NOISE / len(X), "offset": offset}
    a = KernelRidge(kernel, representation="features", **how).fit(X, Y, W).posterior()
    b = KernelRidge(kernel, representation="full", **how).fit(X, Y, W).posterior()
    assert (a.method, b.method) == ("dtc", "exact")
    np.testing.assert_allclose(a.covariance(NEW), b.covariance(NEW), rtol=1e-6, atol=1e-8)
    assert a.log_marginal_likelihood() == pytest.approx(b.log_marginal_likelihood(), rel=1e-9)
    assert a.parameters == ("noise",)
    slope = a.log_marginal_likelihood(eval_gradient=True)[1][-1]
    assert slope == pytest.approx(b.log_marginal_likelihood(eval_gradient=True)[1][-1], rel=1e-6)


def test_random_features_are_bayesian_linear_regression():
    map = RandomFourierFeatures(Gaussian(1.0), n_features=30, random_state=0)
    fitted = KernelRidge(Gaussian(1.0), lam=NOISE / 60, offset=False, representation=Features(map)).fit(
        X, Y[:, 0]
    )
    Phi, new = (fitted.function_.map.transform(points) for points in (X, NEW))
    expected = NOISE * new @ np.linalg.solve(Phi.T @ Phi + NOISE * np.eye(30), new.T)
    np.testing.assert_allclose(fitted.posterior(scale=1.0).covariance(NEW), expected, atol=1e-10)
    with pytest.raises(ValueError, match="needs centres"):
        fitted.posterior("fitc")
    assert "RandomFourierFeatures" in repr(fitted.posterior())


def test_features_that_are_not_kept_are_made_again(monkeypatch):
    expected = {
        m: machine().posterior(m).log_marginal_likelihood(eval_gradient=True) for m in ("dtc", "fitc")
    }
    monkeypatch.setattr("mercer.posterior.projected.STORED_SHARE", 0.0)
    for method, (value, slopes) in expected.items():
        found = machine().posterior(method).log_marginal_likelihood(eval_gradient=True)
        assert found[0] == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(found[1], slopes, rtol=1e-7)


def test_float32_examples():
    single = KernelRidge(KERNEL, lam=0.005, representation=Nystrom(centres=Z)).fit(X.astype(np.float32), Y)
    double = KernelRidge(KERNEL, lam=0.005, representation=Nystrom(centres=Z)).fit(X, Y)
    np.testing.assert_allclose(single.posterior().std(NEW), double.posterior().std(NEW), rtol=1e-4)


def test_samples_have_their_moments():
    posterior = machine().posterior()
    draws = posterior.sample(NEW[:3], 40_000, random_state=0)
    np.testing.assert_allclose(np.cov(draws[:, 0]), posterior.covariance(NEW[:3])[:, :, 0], atol=0.05)


def test_exact_is_refused():
    with pytest.raises(ValueError, match="needs representation='full'"):
        machine().posterior("exact")
