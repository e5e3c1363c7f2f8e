"""Exact posteriors: against scikit-learn's Gaussian processes and formulas written out."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import mercer
from mercer import KernelRegressor, KernelRidge, KernelSVR
from mercer.kernels import Constant, Finite, Gaussian, Matern, Polynomial, Precomputed, Sigmoid, Spectrum
from mercer.posterior import ExactPosterior, Prior
from mercer.representations import Lasso, Nystrom
from posterior_examples import DATA, KERNELS, dense_posterior, differences, pair, peer

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2 + 3]) + 0.1 * RNG.standard_normal((40, 2))
NEW = RNG.standard_normal((7, 2)) * 2


def machine(kernel, noise, X, y, **how):
    how = {"offset": False, "representation": "full", **how}
    return KernelRidge(kernel, lam=noise / len(X), **how).fit(X, y)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("data", DATA)
def test_as_scikit_learn(data, kernel):
    noise, (X, y) = 0.1, DATA[data]
    X, ours, theirs, names = pair(kernel, X)
    new = np.concatenate([X[:10], 1.5 * X[-10:]])
    other, fitted = peer(theirs, noise, X, y), machine(ours, noise, X, y)
    close = {"rtol": 1e-8, "atol": 1e-8}
    mean, std = fitted.predict(new, return_std=True, scale=1.0)
    expected, deviation = other.predict(new, return_std=True)
    np.testing.assert_allclose(mean, expected, **close)
    # A root doubles the digits that a small difference of variances has lost.
    np.testing.assert_allclose(std**2, deviation**2, **close)
    _, covariance = fitted.predict(new, return_cov=True, scale=1.0)
    np.testing.assert_allclose(covariance, other.predict(new, return_cov=True)[1], **close)
    value, gradient = fitted.log_marginal_likelihood(eval_gradient=True, scale=1.0)
    theta = other.kernel_.theta
    there, slopes = other.log_marginal_likelihood(theta, eval_gradient=True)
    assert value == pytest.approx(there, rel=1e-8)
    parameters = fitted.posterior().parameters
    if names is None:  # σ₀² of the linear kernel is our constant
        slopes, names = slopes / 2, ["right__value"]
    found = [gradient[parameters.index(name)] for name in names]
    np.testing.assert_allclose(found, slopes, rtol=1e-7, atol=1e-8 * np.abs(slopes).max())


def test_the_slope_in_the_noise_is_scikit_learns():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    other = GaussianProcessRegressor(RBF(1.3) + WhiteKernel(0.2), alpha=0.0, optimizer=None).fit(X, Y)
    fitted = machine(Gaussian(1.3), 0.2, X, Y)
    expected = other.log_marginal_likelihood(other.kernel_.theta, eval_gradient=True)
    value, gradient = fitted.log_marginal_likelihood(eval_gradient=True, scale=1.0)
    assert value == pytest.approx(expected[0], rel=1e-10)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-8)
    assert fitted.posterior().parameters == ("sigma", "noise")


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("t", [None, 2])
def test_as_written_out(offset, weighted, t):
    y = Y[:, 1] if t is None else Y
    w = RNG.uniform(0.2, 3.0, len(X)) if weighted else None
    kernel, noise = Matern(2.5, 1.5), 0.3
    fitted = KernelRidge(kernel, lam=noise / len(X), offset=offset, representation="full").fit(X, y, w)
    D = np.full(len(X), noise) if w is None else noise / (w / w.mean())
    columns = y.reshape(len(X), -1)
    mean, C, form, log_det = dense_posterior(kernel(X), D, columns, kernel(NEW, X), kernel(NEW), offset)
    nu = len(X) - offset
    posterior, s = fitted.posterior(), form / nu
    np.testing.assert_allclose(posterior.scale, s, rtol=1e-10)
    np.testing.assert_allclose(posterior.noise, s * noise, rtol=1e-10)
    np.testing.assert_allclose(posterior.mean(NEW).reshape(mean.shape), mean, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(posterior.mean(NEW), fitted.predict(NEW), rtol=1e-8, atol=1e-8)
    expected = C[:, :, None] * s
    np.testing.assert_allclose(posterior.covariance(NEW).reshape(expected.shape), expected, atol=1e-10)
    std = np.sqrt(np.diag(C)[:, None] * s)
    np.testing.assert_allclose(posterior.std(NEW).reshape(std.shape), std, rtol=1e-8)
    np.testing.assert_allclose(fitted.predict(NEW, return_std=True)[1].reshape(std.shape), std, rtol=1e-8)
    with_noise = np.sqrt(std**2 + s * noise)
    np.testing.assert_allclose(posterior.std(NEW, noise=True).reshape(std.shape), with_noise, rtol=1e-8)
    value = -0.5 * np.sum(form / s + nu * np.log(2 * np.pi * s) + log_det)
    assert fitted.log_marginal_likelihood() == pytest.approx(value, rel=1e-10)
    truth = mean + 0.1
    density = -0.5 * (np.log(2 * np.pi * with_noise**2) + 0.01 / with_noise**2)
    found = posterior.log_density(NEW, truth[:, 0] if t is None else truth)
    np.testing.assert_allclose(found.reshape(density.shape), density, rtol=1e-7)
    lower, upper = posterior.interval(NEW, 0.95)
    np.testing.assert_allclose(
        (upper - lower).reshape(std.shape), 2 * 1.959963984540054 * with_noise, rtol=1e-8
    )


@pytest.mark.parametrize("scale", ["likelihood", 1.0, 0.3])
@pytest.mark.parametrize("offset", [False, True])
def test_gradients_are_central_differences(scale, offset):
    kernel = 0.7 * Gaussian(1.0).scaled([1.0, 2.0]) + Matern(1.5, 2.0) * Constant(0.4)
    w = RNG.uniform(0.2, 3.0, len(X))
    fitted = KernelRidge(kernel, lam=0.01, offset=offset, representation="full").fit(X, Y, w)
    theta = fitted.posterior().theta + 0.1
    _, gradient = fitted.log_marginal_likelihood(theta, True, scale)
    expected = differences(lambda at: fitted.log_marginal_likelihood(at, scale=scale), theta)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


def test_theta_are_the_parameters_of_another_machine():
    first, second = (machine(Gaussian(s), noise, X, Y) for s, noise in ((1.0, 0.1), (2.0, 0.5)))
    theta = second.posterior().theta
    np.testing.assert_allclose(theta, np.log([2.0, 0.5]))
    assert first.log_marginal_likelihood(theta) == pytest.approx(second.log_marginal_likelihood())
    with pytest.raises(ValueError, match="needs the 2 logarithms of sigma, noise"):
        first.log_marginal_likelihood([1.0])


def test_an_offset_is_a_large_constant_in_the_kernel():
    c = 1e7
    flat = machine(Gaussian(1.0), 0.2, X, Y, offset=True).posterior(scale=1.0)
    large = machine(Gaussian(1.0) + Constant(c), 0.2, X, Y).posterior(scale=1.0)
    np.testing.assert_allclose(flat.std(NEW), large.std(NEW), rtol=1e-4)
    # The flat prior has density 1, that of N(0, c) at 0 is 1/√(2πc); two outputs.
    there = large.log_marginal_likelihood() + np.log(2 * np.pi * c)
    assert flat.log_marginal_likelihood() == pytest.approx(there, rel=1e-5)


def test_restricted_likelihood_is_that_of_contrasts():
    fitted = machine(Gaussian(1.0), 0.2, X, Y[:, 0], offset=True)
    n = len(X)
    A = np.linalg.qr(np.column_stack([np.ones(n), RNG.standard_normal((n, n - 1))]))[0][:, 1:]
    G, z = A.T @ (Gaussian(1.0)(X) + 0.2 * np.eye(n)) @ A, A.T @ Y[:, 0]
    value = -0.5 * (z @ np.linalg.solve(G, z) + np.linalg.slogdet(G)[1] + (n - 1) * np.log(2 * np.pi))
    assert fitted.log_marginal_likelihood(scale=1.0) == pytest.approx(value - 0.5 * np.log(n))


@pytest.mark.parametrize("offset", [False, True])
def test_weights_are_repeated_rows(offset):
    w = RNG.integers(0, 4, len(X))
    again = np.repeat(np.arange(len(X)), w)
    how = {"lam": 0.01, "offset": offset, "representation": "full"}
    weighted = KernelRidge(Gaussian(1.0), **how).fit(X, Y, w).posterior(scale=1.0)
    repeated = KernelRidge(Gaussian(1.0), **how).fit(X[again], Y[again]).posterior(scale=1.0)
    np.testing.assert_allclose(weighted.mean(NEW), repeated.mean(NEW), atol=1e-8)
    np.testing.assert_allclose(weighted.covariance(NEW), repeated.covariance(NEW), atol=1e-8)


def test_weight_zero_is_absence():
    w = np.ones(len(X))
    w[::4] = 0
    kept = w > 0
    lam = 0.01
    fitted = KernelRidge(Gaussian(1.0), lam=lam).fit(X, Y[:, 0], w)
    other = KernelRidge(Gaussian(1.0), lam=lam).fit(X[kept], Y[kept, 0])
    a, b = fitted.posterior(), other.posterior()
    np.testing.assert_allclose(a.std(NEW), b.std(NEW), rtol=1e-8)
    np.testing.assert_allclose(a.noise, b.noise)
    np.testing.assert_allclose(a.std(NEW, noise=True), b.std(NEW, noise=True), rtol=1e-8)
    np.testing.assert_allclose(a.log_marginal_likelihood(), b.log_marginal_likelihood())


def test_samples_have_their_moments():
    fitted = machine(Gaussian(1.0), 0.2, X, Y, offset=True)
    posterior = fitted.posterior()
    draws = posterior.sample(NEW[:3], 40_000, random_state=1)
    assert draws.shape == (3, 2, 40_000)
    np.testing.assert_allclose(draws.mean(axis=2), posterior.mean(NEW[:3]), atol=0.03)
    for j in range(2):
        np.testing.assert_allclose(np.cov(draws[:, j]), posterior.covariance(NEW[:3])[:, :, j], atol=0.03)
    assert abs(np.corrcoef(draws[0, 0], draws[0, 1])[0, 1]) < 0.02  # outputs are independent
    np.testing.assert_array_equal(fitted.sample_y(NEW, 2), fitted.sample_y(NEW, 2))
    assert fitted.sample_y(NEW).shape == (7, 2, 1)
    assert machine(Gaussian(1.0), 0.2, X, Y[:, 0]).sample_y(NEW, 5).shape == (7, 5)
    with pytest.raises(ValueError, match="n_samples must be"):
        fitted.sample_y(NEW, 0)


def test_prior_samples_have_their_moments():
    prior = Prior(Gaussian(1.0), scale=2.0)
    draws = prior.sample(NEW[:3], 40_000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=1), prior.mean(NEW[:3]), atol=0.05)
    np.testing.assert_allclose(np.cov(draws), 2 * Gaussian(1.0)(NEW[:3]), atol=0.06)
    assert repr(prior) == "Prior(Gaussian(sigma=1.0), scale=2)"
    with pytest.raises(ValueError, match="leaves sigma to the data"):
        Prior(Gaussian())
    with pytest.raises(ValueError, match="scale must be"):
        Prior(Gaussian(1.0), scale=0)
    with pytest.raises(TypeError, match="kernel must be"):
        Prior("gaussian")


def test_repeated_rows_without_noise_to_speak_of():
    twice = np.concatenate([X, X])
    fitted = machine(Gaussian(3.0), 1e-6, twice, np.concatenate([Y[:, 0], Y[:, 0]]))
    std, noise = fitted.predict(twice, return_std=True)[1], fitted.posterior().noise[0]
    assert (std > 0).all() and (std**2 < noise / 2).all()  # every point was seen twice
    assert np.linalg.eigvalsh(fitted.posterior().covariance(NEW)).min() > -1e-6


def test_one_example():
    fitted = machine(Gaussian(1.0), 0.5, X[:1], Y[:1, 0])
    _, std = fitted.predict(X[:1], return_std=True, scale=1.0)
    np.testing.assert_allclose(std**2, 1 - 1 / 1.5)
    with_offset = machine(Gaussian(1.0), 0.5, X[:1], Y[:1, 0], offset=True)
    _, std = with_offset.predict(np.concatenate([X[:1], X[:1] + 99]), return_std=True, scale=1.0)
    np.testing.assert_allclose(std**2, [0.5, 2.5])  # y − ε where it was seen, f − f' + ε far away
    with pytest.raises(ValueError, match="say nothing about the scale"):
        with_offset.predict(X, return_std=True)


def test_constant_targets():
    fitted = KernelRidge(Gaussian(1.0), lam=0.1).fit(X, np.full(len(X), 7.0))
    with pytest.warns(UserWarning, match="constant, so their most likely scale is 0"):
        mean, std = fitted.predict(NEW, return_std=True)
    np.testing.assert_allclose(mean, 7.0)
    assert (fitted.predict(NEW, return_std=True, scale=2.0)[1] > 0).all()
    np.testing.assert_allclose(std, 0.0, atol=1e-12)
    with pytest.raises(ValueError, match="constant"):
        fitted.posterior().log_density(NEW, np.zeros(7))


def test_jitter_is_spoken_of():
    """Rounding in a cubic of numbers near 10,000 is larger than the noise."""
    far = np.linspace(1e4, 1e4 + 1, 40)[:, None]
    with pytest.warns(ConvergenceWarning, match="with a jitter of"):
        fitted = KernelRidge(Polynomial(3), lam=1e-6, representation="full").fit(far, far[:, 0])
    with pytest.warns(ConvergenceWarning, match="was added to its diagonal"):
        fitted.posterior().std(far)


def test_copies_keep_the_examples():
    fitted = machine(Gaussian(1.0), 0.1, X, Y[:, 0])
    _, expected = fitted.predict(NEW, return_std=True)
    for made in (copy.copy(fitted), copy.deepcopy(fitted)):
        np.testing.assert_allclose(made.predict(NEW, return_std=True)[1], expected, rtol=1e-12)
    made.fit(X[:20], Y[:20, 0])
    np.testing.assert_array_equal(fitted.predict(NEW, return_std=True)[1], expected)


def test_bad_scales_and_targets():
    posterior = machine(Gaussian(1.0), 0.1, X, Y[:, 0]).posterior()
    for scale in (True, -1.0, 0.0, np.nan, "much", [1.0, 2.0]):
        with pytest.raises(ValueError, match="scale must be"):
            posterior.scaled(scale)
    with pytest.raises(ValueError, match="y has shape"):
        posterior.log_density(NEW[:1], 1.0)
    with pytest.raises(ValueError, match="finite logarithms"):
        posterior.seen.at([-np.inf, 0.0])
    with pytest.raises(MemoryError, match="functions at 7 points take about"):
        posterior.sample(NEW, 10**13)


def test_float32_is_computed_in_float64():
    X32, new = X.astype(np.float32), NEW.astype(np.float32)
    mean, std = machine(Gaussian(1.0), 0.1, X32, Y[:, 0]).predict(new, return_std=True)
    assert mean.dtype == std.dtype == np.float32
    _, expected = machine(Gaussian(1.0), 0.1, X32.astype(float), Y[:, 0]).predict(
        new.astype(float), return_std=True
    )
    np.testing.assert_allclose(std, expected, rtol=1e-6)


def test_tensors_come_back_as_tensors():
    torch = pytest.importorskip("torch", reason="needs torch")
    fitted = machine(Gaussian(1.0), 0.1, X, Y[:, 0])
    mean, std = fitted.predict(torch.as_tensor(NEW), return_std=True)
    assert isinstance(mean, torch.Tensor) and isinstance(std, torch.Tensor)
    np.testing.assert_allclose(std.numpy(), fitted.predict(NEW, return_std=True)[1])


def test_blocks_of_points_are_the_same(monkeypatch):
    fitted = machine(Gaussian(1.0), 0.1, X, Y)
    expected = fitted.predict(NEW, return_std=True)[1]
    monkeypatch.setattr("mercer.posterior.base._AT_ONCE", 3 * len(X))
    np.testing.assert_allclose(fitted.predict(NEW, return_std=True)[1], expected, rtol=1e-10)


# -- not only vectors -----------------------------------------------------------------------------------


def test_strings_and_finite_domains():
    words = ["abab", "abba", "bbbb", "aaaa", "abaa", "bbab"]
    y = np.array([0.0, 1.0, 3.0, -2.0, -1.0, 2.0])
    kernel = Spectrum(2)
    K = np.asarray(kernel(words), float)
    fitted = KernelRidge(kernel, lam=0.1, offset=False, representation="full").fit(words[:5], y[:5])
    G = K[:5, :5] + 0.5 * np.eye(5)
    expected = K[5, 5] - K[5, :5] @ np.linalg.solve(G, K[5, :5])
    np.testing.assert_allclose(fitted.predict(words[5:], return_std=True, scale=1.0)[1] ** 2, expected)
    value, gradient = fitted.log_marginal_likelihood(eval_gradient=True)
    assert gradient.shape == (1,)  # the noise
    finite = KernelRidge(Finite(K), lam=0.1, offset=False).fit(np.arange(5), y[:5])
    np.testing.assert_allclose(finite.predict([5], return_std=True, scale=1.0)[1] ** 2, expected)
    assert finite.log_marginal_likelihood() == pytest.approx(value)


def test_a_row_of_kernel_values_has_no_variance():
    K = Gaussian(1.0)(X)
    fitted = KernelRidge(Precomputed(), lam=0.1).fit(K, Y[:, 0])
    assert np.isfinite(fitted.log_marginal_likelihood())
    with pytest.raises(ValueError, match="outside the domain is unknown.*Finite"):
        fitted.predict(K[:2], return_std=True)


# -- refusals -------------------------------------------------------------------------------------------


def test_other_losses_are_refused_with_a_way():
    fitted = KernelRegressor(Gaussian(1.0), loss="huber", lam=0.1).fit(X, Y[:, 0])
    for ask in (lambda: fitted.predict(X, return_std=True), fitted.posterior, lambda: fitted.sample_y(X)):
        with pytest.raises(ValueError, match="squared loss.*Quantile"):
            ask()
    assert not hasattr(KernelSVR(), "posterior")
    lasso = KernelRegressor("linear", lam=0.1, representation=Lasso()).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="no Gaussian prior"):
        lasso.predict(X, return_std=True)


def test_kernel_regressor_is_a_process_for_the_squared_loss():
    ridge = KernelRidge(Gaussian(1.0), lam=0.01).fit(X, Y[:, 0])
    other = KernelRegressor(Gaussian(1.0), lam=0.01).fit(X, Y[:, 0])
    np.testing.assert_allclose(ridge.predict(NEW, return_std=True)[1], other.predict(NEW, return_std=True)[1])


def test_a_saved_machine_has_no_posterior(tmp_path):
    fitted = machine(Gaussian(1.0), 0.1, X, Y)
    fitted.predict(NEW, return_std=True)
    mercer.save(fitted, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(loaded.predict(NEW), fitted.predict(NEW))
    for ask in (
        lambda: loaded.predict(NEW, return_std=True),
        loaded.posterior,
        loaded.log_marginal_likelihood,
    ):
        with pytest.raises(
            NotFittedError, match="needs the training data.*posterior.. can be pickled.*Fit it to arrays"
        ):
            ask()
    with pytest.raises(NotFittedError):
        KernelRidge().posterior()


def test_bad_questions():
    fitted = machine(Gaussian(1.0), 0.1, X, Y)
    with pytest.raises(ValueError, match="at most one"):
        fitted.predict(NEW, return_std=True, return_cov=True)
    for scale in ("best", 0.0, -1, [1.0, 2.0, 3.0], np.nan, None):
        with pytest.raises(ValueError, match="scale must be"):
            fitted.predict(NEW, return_std=True, scale=scale)
    with pytest.raises(ValueError, match="method must be one of 'auto', 'exact'"):
        fitted.posterior("best")
    with pytest.raises(ValueError, match="is for machines with centres"):
        fitted.posterior("fitc")
    with pytest.raises(ValueError, match="level must be"):
        fitted.posterior().interval(NEW, 90)
    with pytest.raises(ValueError, match="y has shape"):
        fitted.posterior().log_density(NEW, np.zeros(3))


def test_memory_is_asked_first(monkeypatch):
    fitted = machine(Gaussian(1.0), 0.1, X, Y)
    monkeypatch.setattr("mercer.posterior.base.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="pathwise.*nystrom"):
        fitted.posterior("exact").std(NEW)


def test_the_factor_is_made_once_and_forgotten_with_the_fit(monkeypatch):
    made = []
    solve = ExactPosterior._solve
    monkeypatch.setattr(ExactPosterior, "_solve", lambda self: made.append(1) or solve(self))
    fitted = machine(Gaussian(1.0), 0.1, X, Y)
    first = fitted.predict(NEW, return_std=True)[1]
    fitted.predict(NEW, return_cov=True, scale=1.0)
    fitted.sample_y(NEW)
    assert len(made) == 1
    fitted.fit(X[:20], Y[:20])
    assert (fitted.predict(NEW, return_std=True)[1] != first).all() and len(made) == 2
    assert not hasattr(clone(fitted), "_view")


def test_a_posterior_says_what_it_is():
    posterior = machine(Gaussian(1.0), 0.1, X, Y, offset=True).posterior(scale=2.0)
    assert repr(posterior) == (
        "<exact posterior of 40 examples, 2 outputs: Gaussian(sigma=1.0), noise 0.1 times the scale, "
        "which is given (2, 2)>"
    )
    assert "at its most likely>" in repr(posterior.scaled("likelihood"))


def _long_double_variances(k, X, new, noise):
    """k(x,x) − kᵀ(K + μI)⁻¹k by Cholesky in long double."""
    both = np.concatenate([X, new]).astype(np.longdouble)
    K = np.exp(-((both[:, None] - both[None]) ** 2).sum(-1) / (2 * np.longdouble(k.sigma) ** 2))
    n = len(X)
    A, B = K[:n, :n] + np.longdouble(noise) * np.eye(n), K[:n, n:].copy()
    L = np.zeros_like(A)
    for j in range(n):
        L[j, j] = np.sqrt(A[j, j] - L[j, :j] @ L[j, :j])
        L[j + 1 :, j] = (A[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    for j in range(n):
        B[j] = (B[j] - L[j, :j] @ B[:j]) / L[j, j]
    return K.diagonal()[n:] - (B * B).sum(axis=0)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="long double is no longer here")
@pytest.mark.parametrize("noise", [1e-8, 1e-10, 1e-11])
def test_small_noise_leaves_small_deviations(noise):
    """Multiplying by inverses of blocks made them 0 where substitution does not."""
    rng = np.random.default_rng(0)
    X, new, k = rng.uniform(0, 8, (80, 1)), np.linspace(0.1, 7.9, 40)[:, None], Gaussian(2.0)
    fitted = KernelRidge(k, lam=noise / 80, offset=False).fit(X, np.sin(X[:, 0]))
    std = fitted.predict(new, return_std=True, scale=1.0)[1]
    exact = np.sqrt(_long_double_variances(k, X, new, noise).astype(float))
    np.testing.assert_allclose(std, exact, rtol=3e-16 / noise * 50)


@pytest.mark.parametrize("copied", [lambda p: pickle.loads(pickle.dumps(p)), copy.deepcopy])
@pytest.mark.parametrize("method", ["exact", "pathwise", "lanczos", "dtc"])
def test_a_posterior_goes_elsewhere_with_its_examples(method, copied):
    representation = Nystrom(15) if method == "dtc" else "full"
    fitted = KernelRidge(Gaussian(1.0), lam=0.01, representation=representation, random_state=0).fit(X, Y)
    options = {"n_samples": 16} if method in ("pathwise", "lanczos") else {}
    posterior = fitted.posterior(method, random_state=1, **options)
    expected, value = posterior.std(NEW), posterior.log_marginal_likelihood()
    other = copied(posterior)
    np.testing.assert_allclose(other.std(NEW), expected, rtol=1e-10)
    assert np.isclose(other.log_marginal_likelihood(), value, rtol=1e-12)
    with pytest.raises(ValueError, match="features"):
        other.std(NEW[:, :1])


def test_no_process_without_a_kernel():
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        fitted = KernelRidge(Sigmoid(2.0, -3.0), lam=0.1).fit(X, Y)
    for ask in (lambda: fitted.predict(NEW, return_std=True), fitted.posterior, lambda: fitted.sample_y(NEW)):
        with pytest.raises(ValueError, match="is no kernel on these points"):
            ask()
    with pytest.raises(ValueError, match="is no kernel.*no Gaussian process"):
        Prior(Sigmoid(2.0, -3.0)).sample(X)


def test_new_y_have_the_noise():
    fitted = KernelRidge(Gaussian(1.0), lam=0.01).fit(X, Y)
    posterior = fitted.posterior()
    drawn = posterior.sample(NEW, 4000, random_state=0, noise=True)
    assert drawn.shape == (*posterior.mean(NEW).shape, 4000)
    np.testing.assert_allclose(drawn.std(axis=-1), posterior.std(NEW, noise=True), rtol=0.06)
    np.testing.assert_array_equal(fitted.sample_y(NEW, 2, noise=True).shape, (*posterior.mean(NEW).shape, 2))


def test_what_a_gradient_is_asked_for_has_a_name():
    posterior = KernelRidge(Gaussian(1.0), lam=0.01).fit(X, Y).posterior()
    with pytest.raises(TypeError, match="positional"):
        posterior.log_marginal_likelihood(posterior.theta)
    with pytest.raises(TypeError, match="takes no n_samples"):
        KernelRidge(Gaussian(1.0), lam=0.01).fit(X, Y).posterior("exact", n_samples=3)


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_gradients_without_a_second_matrix_are_the_same(offset, weighted, monkeypatch):
    w = np.random.default_rng(0).uniform(0.5, 2, len(X)) if weighted else None
    kernel = 2.0 * Matern(1.5, 1.0).scaled(np.linspace(1, 2, X.shape[1])) + Gaussian(3.0)
    fitted = KernelRidge(kernel, lam=0.01, offset=offset).fit(X, Y, sample_weight=w)
    value, gradient = fitted.log_marginal_likelihood(eval_gradient=True)
    monkeypatch.setattr("mercer.posterior.exact.INVERTED_TO", 0)
    monkeypatch.setattr("mercer.posterior.exact._PANEL", 7)
    again, by_panels = fitted.fit(X, Y, sample_weight=w).log_marginal_likelihood(eval_gradient=True)
    assert np.isclose(value, again, rtol=1e-12)
    np.testing.assert_allclose(by_panels, gradient, rtol=1e-8, atol=1e-9)
