"""Kernel PCA: against scikit-learn, against the definition, in every representation."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn import decomposition
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import KernelPCA
from mercer.engines.tiled import TiledOperator
from mercer.estimators import centred as module
from mercer.features import RandomFourierFeatures
from mercer.kernels import (
    Cosine,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
)
from mercer.representations import Features, Lasso, Nystrom
from mercer.solvers.eigen import largest_eigenpairs


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.standard_normal((120, 4)) @ np.diag([2.0, 1.5, 1.0, 0.5]), rng.standard_normal((15, 4))


def same(A, B, tol=1e-6):
    """Equal up to the sign of columns."""
    signs = np.sign(np.sum(A * B, axis=0))
    np.testing.assert_allclose(A * signs, B, atol=tol * np.abs(B).max())


def by_function(kernel):
    return lambda a, b: float(kernel([a], [b])[0, 0])


KERNELS = [
    (Gaussian(1.5), {"kernel": "rbf", "gamma": 1 / (2 * 1.5**2)}),
    (Polynomial(3), {"kernel": "poly", "degree": 3, "gamma": 1, "coef0": 1}),
    (Linear(), {"kernel": "linear"}),
    (Cosine(), {"kernel": "cosine"}),
    (Laplacian(2.0, norm="l1"), {"kernel": by_function(Laplacian(2.0, norm="l1"))}),
    (Matern(1.5, 2.0), {"kernel": by_function(Matern(1.5, 2.0))}),
]


@pytest.mark.parametrize("representation", ["auto", "full"])
@pytest.mark.parametrize("kernel, theirs", KERNELS, ids=lambda p: repr(p) if not isinstance(p, dict) else "")
def test_equals_scikit_learn(kernel, theirs, representation, points):
    X, Y = points
    ours = KernelPCA(kernel, 4, representation).fit(X)
    peer = decomposition.KernelPCA(4, eigen_solver="dense", **theirs).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, peer.eigenvalues_, rtol=1e-9)
    same(ours.transform(Y), peer.transform(Y))
    same(ours.fit_transform(X), peer.fit_transform(X))


@pytest.mark.parametrize("n, shift", [(120, 0.0), (120, 1e6), (3, 0.0)])
def test_linear_kernel_is_pca(points, n, shift):
    """In the primal for many rows, by the kernel matrix for few; a far mean costs no digits."""
    X, Y = points
    X = X[:n]
    k = min(3, n - 1)
    ours, peer = KernelPCA(Linear(), k).fit(X + shift), decomposition.PCA(k, svd_solver="full").fit(X)
    np.testing.assert_allclose(ours.explained_variance_, peer.explained_variance_, rtol=1e-7)
    np.testing.assert_allclose(ours.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-7)
    same(ours.transform(Y + shift), peer.transform(Y), 1e-7)
    if n == 120:
        same(ours.components_.T, peer.components_.T)
        np.testing.assert_allclose(ours.mean_, peer.mean_ + shift)
        np.testing.assert_allclose(
            ours.inverse_transform(ours.transform(Y + shift)) - shift,
            peer.inverse_transform(peer.transform(Y)),
            atol=1e-8,
        )


def test_definition(points):
    """Components have norm 1, are orthogonal, and vary by their eigenvalues over n."""
    X, _ = points
    machine = KernelPCA(Gaussian(2.0), 5).fit(X)
    C, K = machine.function_.coef, Gaussian(2.0)(X)
    np.testing.assert_allclose(C.T @ K @ C, np.eye(5), atol=1e-10)
    T = machine.transform(X)
    np.testing.assert_allclose(T.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(T.T @ T, np.diag(machine.eigenvalues_), atol=1e-9)


def test_nothing_varies_more(points):
    """Against random functions of norm 1 in the span of the examples."""
    X, _ = points
    machine = KernelPCA(Gaussian(2.0), 1).fit(X)
    K = Gaussian(2.0)(X)
    C = np.random.default_rng(0).standard_normal((120, 500))
    C /= np.sqrt(np.einsum("it,ij,jt->t", C, K, C))
    assert ((K @ C).var(axis=0) * 120).max() <= machine.eigenvalues_[0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_iteration_equals_decomposition(dtype):
    X = np.random.default_rng(1).standard_normal((1500, 5)).astype(dtype)
    machine = KernelPCA(Gaussian(2.0), 6, random_state=0).fit(X)
    assert machine.decomposition_.status == "converged" and "passes" in str(machine.decomposition_)
    K = Gaussian(2.0)(X.astype(np.float64))
    H = np.eye(1500) - 1 / 1500
    values, vectors = np.linalg.eigh(H @ K @ H)
    tol = 1e-10 if dtype is np.float64 else 1e-5
    np.testing.assert_allclose(machine.eigenvalues_, values[::-1][:6], rtol=tol)
    T = machine.transform(X)
    assert T.dtype == dtype
    same(T, vectors[:, ::-1][:, :6] * np.sqrt(values[::-1][:6]), 1e-4)


def test_nothing_of_the_size_of_the_matrix(monkeypatch):
    """Products only: K is never formed."""
    monkeypatch.setattr(TiledOperator, "fill", lambda self, out: pytest.fail("K was formed"))
    KernelPCA(Gaussian(1.0), 2, random_state=0).fit(np.random.default_rng(0).standard_normal((1200, 2)))


@pytest.mark.parametrize("representation", [Nystrom(120), Nystrom(n_centres=120, centres="pivoted_cholesky")])
def test_all_points_as_centres(points, representation):
    X, Y = points
    exact = KernelPCA(Gaussian(1.0), 4).fit(X)
    centres = KernelPCA(Gaussian(1.0), 4, representation, random_state=0).fit(X)
    same(centres.transform(Y), exact.transform(Y))
    np.testing.assert_allclose(centres.explained_variance_ratio_, exact.explained_variance_ratio_, rtol=1e-8)


def test_few_centres_explain_less(points):
    X, _ = points
    exact = KernelPCA(Gaussian(1.0), 4).fit(X)
    few = KernelPCA(Gaussian(1.0), 4, Nystrom(12), random_state=0).fit(X)
    assert (few.eigenvalues_ <= exact.eigenvalues_ * (1 + 1e-12)).all()
    assert few.explained_variance_ratio_.sum() < exact.explained_variance_ratio_.sum()


def test_random_features(points):
    X, _ = points
    map = RandomFourierFeatures(n_features=1500, random_state=0)
    machine = KernelPCA(Gaussian(2.0), 3, Features(map)).fit(X)
    exact = KernelPCA(Gaussian(2.0), 3).fit(X)
    np.testing.assert_allclose(machine.eigenvalues_, exact.eigenvalues_, rtol=0.1)


# -- batches -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel, representation", [(Linear(), "auto"), (Polynomial(2), "auto"), (Polynomial(2), "features")]
)
def test_batches_equal_all_at_once(points, kernel, representation):
    X, Y = points
    once = KernelPCA(kernel, 3, representation).fit(X)
    batches = KernelPCA(kernel, 3, representation)
    # The first batch has fewer rows than the kernels have coordinates.
    for part in np.array_split(X, [2, 50, 51]):
        batches.partial_fit(part)
    np.testing.assert_allclose(batches.transform(Y), once.transform(Y), atol=1e-10)
    np.testing.assert_allclose(batches.explained_variance_ratio_, once.explained_variance_ratio_)
    assert batches.n_samples_seen_ == 120


def test_batches_with_given_centres(points):
    X, Y = points
    representation = Nystrom(centres=X[:30])
    once = KernelPCA(Gaussian(1.0), 3, representation).fit(X)
    batches = KernelPCA(Gaussian(1.0), 3, representation)
    for part in np.array_split(X, 4):
        batches.partial_fit(part)
    same(batches.transform(Y), once.transform(Y), 1e-9)


def test_batches_of_any_kernel(points):
    """Centres come from the first batch; fit starts afresh."""
    X, Y = points
    machine = KernelPCA(Gaussian(1.0), 2, random_state=0)
    machine.partial_fit(X[:60]).partial_fit(X[60:])
    assert machine.n_samples_seen_ == 120 and machine.transform(Y).shape == (15, 2)
    assert machine.fit(X[:30]).n_samples_seen_ == 30


@pytest.mark.parametrize("kernel, representation", [(Gaussian(1.0), "full"), (Precomputed(), "auto")])
def test_no_batches_without_coordinates(kernel, representation, points):
    X = np.eye(5) if isinstance(kernel, Precomputed) else points[0]
    with pytest.raises(ValueError, match="fixed number of coordinates"):
        KernelPCA(kernel, 2, representation).partial_fit(X)


def test_batches_that_can_not_be_taken_in(points):
    X, _ = points
    with pytest.raises(ValueError, match="first batch has 3 rows, too few .* begin with a larger one"):
        KernelPCA(Gaussian(1.0), 4).partial_fit(X[:3])


@pytest.mark.parametrize("representation", ["auto", Nystrom(60)], ids=repr)
def test_batches_after_a_fit(points, representation):
    """What was fitted to is the first batch."""
    X, Y = points
    machine = KernelPCA(Gaussian(1.0), 3, representation, random_state=0)
    machine.fit(X[:60]).partial_fit(X[60:])
    batches = KernelPCA(Gaussian(1.0), 3, Nystrom(centres=X[:60])).partial_fit(X[:60]).partial_fit(X[60:])
    assert machine.n_samples_seen_ == 120
    np.testing.assert_allclose(machine.eigenvalues_, batches.eigenvalues_, rtol=1e-9)
    same(machine.transform(Y), batches.transform(Y))


# -- errors of reconstruction, and the way back ------------------------------------------------------


@pytest.mark.parametrize("representation", ["full", Nystrom(120)])
def test_what_is_left_out(points, representation):
    """Over the examples: the eigenvalues that were not taken. Elsewhere: from the Gram matrix by hand."""
    X, Y = points
    machine = KernelPCA(Gaussian(1.5), 3, representation, random_state=0).fit(X)
    K = Gaussian(1.5)(X)
    H = np.eye(120) - 1 / 120
    rest = np.linalg.eigvalsh(H @ K @ H)[:-3]
    assert machine.reconstruction_error(X).sum() == pytest.approx(rest.sum(), rel=1e-8)
    C, mean = machine.function_.coef, np.full(120, 1 / 120)
    if representation == "full":
        t = machine.transform(Y)
        a = mean[:, None] + C @ t.T  # coefficients of the projections
        cross = Gaussian(1.5)(Y, X)
        by_hand = 1 - 2 * np.einsum("ij,ji->i", cross, a) + np.einsum("it,ij,jt->t", a, K, a)
        np.testing.assert_allclose(machine.reconstruction_error(Y), by_hand, atol=1e-10)


def test_learned_preimages_of_digits():
    X = load_digits().data[:400] / 16
    machine = KernelPCA(Gaussian(2.0), 60).fit(X[:300])
    back = machine.inverse_transform(machine.transform(X[300:]))
    mean = X[:300].mean(axis=0)
    assert np.mean((back - X[300:]) ** 2) < 0.2 * np.mean((mean - X[300:]) ** 2)


def test_fixed_point_takes_noise_away():
    """A noisy circle: projected to few components and back, points lie nearer to it."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 300)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    X = circle + 0.15 * rng.standard_normal((300, 2))
    machine = KernelPCA(Gaussian(0.7), 4, preimage="fixed_point").fit(X)
    back = machine.inverse_transform(machine.transform(X))

    def off(Z):
        return np.mean((np.hypot(*Z.T) - 1) ** 2)

    assert off(back) < 0.75 * off(X)


@pytest.mark.parametrize("kernel", [Gaussian(0.8), 2.0 * Gaussian(0.8), Matern(2.5, 1.0)], ids=repr)
def test_fixed_point_is_stationary(kernel):
    """No step in any direction comes nearer to the projection in feature space."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 2))
    machine = KernelPCA(kernel, 6, preimage="fixed_point").fit(X)
    T = machine.transform(rng.standard_normal((5, 2)))
    gamma = machine.mean_function_.coef[:, None] + machine.function_.coef @ T.T

    def far(Z):
        return np.array([kernel.diag(z[None])[0] - 2 * kernel(z[None], X)[0] @ g for z, g in zip(Z, gamma.T)])

    Z = machine.inverse_transform(T)
    for step in 1e-3 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]):
        assert (far(Z + step) > far(Z) - 1e-9).all()


@pytest.mark.parametrize("preimage", ["learned", "fixed_point"])
def test_preimages_of_other_arrays(preimage, points):
    """Sparse points come back dense, and float32 embeddings as float32 points: the same ones."""
    X, _ = points
    expected = KernelPCA(Gaussian(1.5), 3, preimage=preimage).fit(X)
    T = expected.transform(X[:5])
    Z = expected.inverse_transform(T)
    machine = KernelPCA(Gaussian(1.5), 3, preimage=preimage).fit(csr_matrix(X))
    np.testing.assert_allclose(machine.inverse_transform(T), Z, atol=1e-8)
    single = expected.inverse_transform(T.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, Z, atol=1e-4)


def test_no_way_back(points):
    X, _ = points
    with pytest.raises(ValueError, match="needs points to come back to"):
        KernelPCA(Precomputed(), 2).fit(Gaussian(1.0)(X)).inverse_transform(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="use preimage='learned'"):
        KernelPCA(Polynomial(2), 2, "full", preimage="fixed_point").fit(X).inverse_transform(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="3 columns, but there are 2 components"):
        KernelPCA(Gaussian(1.0), 2).fit(X).inverse_transform(np.zeros((1, 3)))


# -- other points, and errors ------------------------------------------------------------------------


def test_all_components(points):
    X, _ = points
    machine = KernelPCA(Linear(), representation="full").fit(X)
    assert machine.n_components_ == 4  # the others are 0
    assert machine.explained_variance_ratio_.sum() == pytest.approx(1)
    assert KernelPCA(Gaussian(1.0)).fit(X).n_components_ == 119


def test_more_components_than_there_are(points):
    X, Y = points
    machine = KernelPCA(Linear(), 7, "full").fit(X)
    assert machine.transform(Y).shape == (15, 7) and np.isfinite(machine.transform(Y)).all()
    np.testing.assert_allclose(machine.eigenvalues_[4:], 0, atol=1e-9)
    np.testing.assert_array_equal(machine.transform(Y)[:, 4:], 0)


def test_all_points_alike():
    machine = KernelPCA(Gaussian(1.0), 2).fit(np.ones((5, 2)))
    np.testing.assert_array_equal(machine.transform([[1.0, 1.0], [2.0, 0.0]]), 0)
    np.testing.assert_array_equal(machine.explained_variance_ratio_, 0)


def test_a_matrix_for_a_kernel(points):
    X, Y = points
    k = Gaussian(1.0)
    given = KernelPCA(Precomputed(), 3).fit(k(X))
    same(given.transform(k(Y, X)), KernelPCA(k, 3).fit(X).transform(Y))
    with pytest.raises(ValueError, match="isn't known from a matrix"):
        given.reconstruction_error(k(Y, X))


def test_points_of_any_kind():
    words = ["abab", "abba", "baba", "cdcd", "dcdc", "cddc"]
    machine = KernelPCA(FunctionKernel(lambda a, b: float(len(set(a) & set(b)))), 1)
    T = machine.fit_transform(words)[:, 0]
    assert (T[:3] > 0).all() != (T[3:] > 0).all()
    assert np.sign(machine.transform(["ab"])[0, 0]) == np.sign(T[0])


def test_sparse_points(points):
    X = np.where(np.abs(points[0]) > 1, points[0], 0)
    dense, sparse = (KernelPCA(Linear(), 2).fit(A) for A in (X, csr_matrix(X)))
    same(sparse.transform(csr_matrix(X)), dense.transform(X))


def test_an_unfinished_search_is_said(monkeypatch):
    monkeypatch.setattr(module, "largest_eigenpairs", partial(largest_eigenpairs, max_passes=1))
    X = np.random.default_rng(0).standard_normal((1100, 10))
    with pytest.warns(ConvergenceWarning, match="ask for fewer"):
        machine = KernelPCA(Gaussian(1.0), 2, random_state=0).fit(X)
    assert machine.decomposition_.status == "max_iter"


@pytest.mark.parametrize(
    "options, message",
    [
        ({"n_components": 0}, "whole number of at least 1"),
        ({"n_components": 2.5}, "whole number of at least 1"),
        ({"n_components": True}, "whole number of at least 1"),
        ({"preimage": "no"}, "'learned' or 'fixed_point'"),
        ({"tol": 0}, "tol must be a positive number"),
        ({"representation": Lasso()}, "representation='features'"),
        ({"kernel": "gausian"}, "did you mean 'gaussian'"),
    ],
)
def test_wrong_parameters(options, message, points):
    with pytest.raises(ValueError, match=message):
        KernelPCA(**{"kernel": Gaussian(1.0), **options}).fit(points[0])


@pytest.mark.parametrize("representation", ["full", Nystrom(20), "features"])
def test_saved_and_loaded(points, representation, tmp_path):
    X, Y = points
    kernel = Polynomial(2) if representation == "features" else Gaussian(1.0)
    machine = KernelPCA(kernel, 3, representation, random_state=0).fit(X)
    mercer.save(machine, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(loaded.transform(Y), machine.transform(Y))
    np.testing.assert_array_equal(loaded.reconstruction_error(Y), machine.reconstruction_error(Y))
    if representation != "full":
        loaded.partial_fit(Y)
        assert loaded.n_samples_seen_ == 135
