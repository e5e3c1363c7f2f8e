"""Random Fourier features: unbiased, of the variance theory gives, for every kernel with a spectrum."""

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import gamma, kv
from sklearn.kernel_approximation import RBFSampler

from mercer.features import RandomFourierFeatures
from mercer.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
)

rng = np.random.default_rng(0)
M = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.4], [0.0, -0.4, 0.5]])


def r(D):
    return np.linalg.norm(D, axis=-1)


def gauss(D, s=1.0):
    return np.exp(-(r(D) ** 2) / (2 * s * s))


# Each kernel with its closed form as a function of differences D = x − z, shape (…, 3).
STATIONARY = {
    "gaussian": (Gaussian(1.3), lambda D: gauss(D, 1.3)),
    "laplacian": (Laplacian(2.0), lambda D: np.exp(-r(D) / 2)),
    "laplacian l1": (Laplacian(2.0, norm="l1"), lambda D: np.exp(-np.abs(D).sum(axis=-1) / 2)),
    "matern 1/2": (Matern(0.5, sigma=1.5), lambda D: np.exp(-r(D) / 1.5)),
    "matern 3/2": (
        Matern(1.5, sigma=0.8),
        lambda D: (1 + 3**0.5 * r(D) / 0.8) * np.exp(-(3**0.5) * r(D) / 0.8),
    ),
    "matern 5/2": (
        Matern(2.5, sigma=1.0),
        lambda D: (1 + 5**0.5 * r(D) + 5 * r(D) ** 2 / 3) * np.exp(-(5**0.5) * r(D)),
    ),
    "rational quadratic": (
        RationalQuadratic(0.7, sigma=1.2),
        lambda D: (1 + r(D) ** 2 / (1.4 * 1.44)) ** -0.7,
    ),
    "periodic": (
        Periodic(period=2.5, sigma=0.9),
        lambda D: np.exp(-2 * np.sum(np.sin(np.pi * D / 2.5) ** 2, axis=-1) / 0.81),
    ),
    "sum": (0.5 * Gaussian(1.0) + Laplacian(1.0), lambda D: 0.5 * gauss(D) + np.exp(-r(D))),
    "sum with a constant": (Gaussian(1.0) + 2.0, lambda D: gauss(D) + 2.0),
    "product": (Gaussian(2.0) * Matern(0.5, sigma=1.0), lambda D: gauss(D, 2.0) * np.exp(-r(D))),
    "multiple": (3 * Gaussian(1.0), lambda D: 3 * gauss(D)),
    "power": (Laplacian(2.0) ** 3, lambda D: np.exp(-1.5 * r(D))),
    "fractional power": (Laplacian(2.0) ** 0.5, lambda D: np.exp(-r(D) / 4)),
    "power of a product": (
        (2 * (RationalQuadratic(0.7, sigma=1.2) * Gaussian(1.0)).scaled([0.5, 1.0, 3.0])) ** 1.5,
        lambda D: (
            2**1.5
            * (1 + r(D / [0.5, 1.0, 3.0]) ** 2 / (1.4 * 1.44)) ** -1.05
            * gauss(D / [0.5, 1.0, 3.0]) ** 1.5
        ),
    ),
    "matern 1.2": (
        Matern(1.2, sigma=0.8),
        lambda D: (
            2**-0.2
            / gamma(1.2)
            * (2.4**0.5 * r(D) / 0.8 + 1e-12) ** 1.2
            * kv(1.2, 2.4**0.5 * r(D) / 0.8 + 1e-12)
        ),
    ),
    "exponential": (Gaussian(1.0).exp(), lambda D: np.exp(gauss(D))),
    "normalised": ((4 * Gaussian(1.0)).normalize(), gauss),
    "columns": (Gaussian(1.0).on([0, 2]), lambda D: gauss(D[..., [0, 2]])),
    "one column each": (
        Gaussian(1.0).on(0) * Laplacian(1.0).on(1),
        lambda D: gauss(D[..., :1]) * np.exp(-np.abs(D[..., 1])),
    ),
    "lengths": (Gaussian(1.0).scaled([0.5, 1.0, 3.0]), lambda D: gauss(D / [0.5, 1.0, 3.0])),
    "metric": (Gaussian(1.0).metric(M), lambda D: np.exp(-0.5 * np.einsum("...i,ij,...j", D, M, D))),
}


@pytest.mark.parametrize("name", STATIONARY)
def test_approximates_the_closed_form(name):
    kernel, closed = STATIONARY[name]
    X = 0.8 * np.random.default_rng(3).standard_normal((12, 3))
    exact = closed(X[:, None] - X[None])
    p = 60_000
    Phi = RandomFourierFeatures(kernel, n_features=p, random_state=1).fit_transform(X)
    # A cosine has variance at most 1, so the mean of p/2 of them a standard error of √(2/p).
    np.testing.assert_allclose(Phi @ Phi.T, exact, atol=5 * exact[0, 0] * np.sqrt(2 / p))
    # On the diagonal cos² + sin² = 1 leaves no error at all.
    np.testing.assert_allclose(np.sum(Phi**2, axis=1), np.diag(exact), rtol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "laplacian", "matern 3/2", "sum", "exponential"])
def test_unbiased_with_error_falling_as_one_over_root_p(name):
    kernel, closed = STATIONARY[name]
    X = np.array([[0.0, 0.0, 0.0], [0.5, -0.3, 0.8]])
    exact = closed(X[1] - X[0])
    # Var cos ω·δ = (1 + E cos 2ω·δ)/2 − (E cos ω·δ)², each expectation a value of the kernel.
    top = closed(0 * X[0])
    variance = top**2 * ((1 + closed(2 * (X[1] - X[0])) / top) / 2 - (exact / top) ** 2)
    for p in (20, 500):
        errors = []
        for seed in range(300):
            Phi = RandomFourierFeatures(kernel, n_features=p, random_state=seed).fit_transform(X)
            errors.append(Phi[0] @ Phi[1] - exact)
        expected = np.sqrt(variance / (p / 2))
        assert abs(np.mean(errors)) < 4 * expected / np.sqrt(300)
        assert np.std(errors) == pytest.approx(expected, rel=0.2)


def test_gaussian_frequencies_are_distributed_like_rbf_sampler_weights():
    X = np.zeros((1, 2))
    ours = RandomFourierFeatures(Gaussian(0.7), n_features=8000, random_state=0).fit(X).frequencies_
    theirs = RBFSampler(gamma=1 / (2 * 0.7**2), n_components=4000, random_state=1).fit(X).random_weights_
    assert ours.shape == theirs.T.shape
    assert stats.ks_2samp(ours.ravel(), theirs.ravel()).pvalue > 0.01


@pytest.mark.parametrize(("asked", "given"), [(1, 2), (6, 6), (7, 8)])
def test_number_of_features_is_rounded_up_to_even(asked, given):
    phi = RandomFourierFeatures(Gaussian(1.0), n_features=asked, random_state=0).fit(np.zeros((2, 3)))
    assert phi.transform(np.zeros((2, 3))).shape == (2, given)
    assert phi.frequencies_.shape == (given // 2, 3)
    assert len(phi.get_feature_names_out()) == given


def test_names():
    phi = RandomFourierFeatures(Gaussian(1.0), n_features=4, random_state=0).fit(np.zeros((2, 1)))
    assert phi.get_feature_names_out().tolist() == ["cos(ω0·x)", "cos(ω1·x)", "sin(ω0·x)", "sin(ω1·x)"]


@pytest.mark.parametrize("random_state", [5, np.random.SeedSequence(5)])
def test_a_seed_fixes_the_features(random_state):
    X = rng.standard_normal((4, 2))
    phi = RandomFourierFeatures(Gaussian(1.0), n_features=10, random_state=random_state)
    np.testing.assert_array_equal(phi.fit_transform(X), phi.fit_transform(X))
    np.testing.assert_array_equal(phi.fit(X).transform(X[::-1])[::-1], phi.transform(X))


def test_random_states_advance():
    X = rng.standard_normal((4, 2))
    for state in (np.random.RandomState(0), np.random.default_rng(0)):
        phi = RandomFourierFeatures(Gaussian(1.0), n_features=10, random_state=state)
        assert not np.array_equal(phi.fit_transform(X), phi.fit_transform(X))


def test_width_is_found_from_the_data():
    X = np.array([[0.0], [1.0], [3.0]])
    phi = RandomFourierFeatures(random_state=0).fit(X)
    assert phi.kernel_ == Gaussian(2.0)  # the median of the distances 1, 2, 3
    assert phi.kernel == Gaussian()
    assert phi.transform(X).shape == (3, 500)


def test_float32_stays():
    X = rng.standard_normal((50, 3))
    phi = RandomFourierFeatures(Gaussian(1.0), n_features=100, random_state=0).fit(X)
    Phi = phi.transform(X.astype(np.float32))
    assert Phi.dtype == np.float32
    np.testing.assert_allclose(Phi, phi.transform(X), atol=2e-6)


def test_sparse_input():
    S = sparse.random_array((30, 20), density=0.2, format="csr", rng=2)
    phi = RandomFourierFeatures(Gaussian(1.0), n_features=50, random_state=0)
    np.testing.assert_allclose(phi.fit_transform(S), phi.fit_transform(S.toarray()), atol=1e-12)


def test_many_rows_in_blocks():
    X = rng.standard_normal((9000, 2))
    phi = RandomFourierFeatures(Gaussian(1.0), n_features=64, random_state=0).fit(X)
    angles = X @ phi.frequencies_.T
    expected = np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(32)
    np.testing.assert_allclose(phi.transform(X), expected, atol=1e-13)


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(2), Gaussian(1.0) + Linear(), Gaussian(1.0) * Linear(), Matern(1.5, 1.0) ** 0.5],
)
def test_kernels_without_a_spectrum_are_refused(kernel):
    with pytest.raises(ValueError, match=r"no random Fourier features for .*NystromFeatures"):
        RandomFourierFeatures(kernel).fit(np.ones((2, 2)))


@pytest.mark.parametrize("n_features", [0, -2, 2.5, None])
def test_n_features_is_checked(n_features):
    with pytest.raises(ValueError, match="n_features must be a positive integer"):
        RandomFourierFeatures(Gaussian(1.0), n_features=n_features).fit(np.ones((2, 2)))
