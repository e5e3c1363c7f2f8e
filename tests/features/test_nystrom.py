"""Nyström features: inner products are the Nyström approximation of the kernel."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.features import NystromFeatures
from mercer.features.centres import KMeansPlusPlus
from mercer.kernels import FunctionKernel, Gaussian, Linear, Polynomial

X = np.random.default_rng(0).standard_normal((60, 3))


def gaussian(X, Z, sigma=1.5):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2) / (2 * sigma**2))


@parametrize_with_checks(
    [NystromFeatures(n_centres=5), NystromFeatures(Linear(), centres="pivoted_cholesky")]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("how", ["uniform", "k-means++", "leverage", "pivoted_cholesky", KMeansPlusPlus(3)])
def test_the_nystrom_approximation(how):
    phi = NystromFeatures(Gaussian(1.5), n_centres=12, centres=how, random_state=0).fit(X)
    new = np.random.default_rng(1).standard_normal((20, 3))
    Z = phi.centres_
    C, D = gaussian(X, Z), gaussian(new, Z)
    expected = C @ np.linalg.inv(gaussian(Z, Z)) @ D.T
    assert np.allclose(phi.transform(X) @ phi.transform(new).T, expected, atol=1e-9)
    assert np.abs(phi.transform(Z) @ phi.transform(Z).T - gaussian(Z, Z)).max() < 1e-9


def test_all_points_give_the_kernel():
    phi = NystromFeatures(Gaussian(1.5), n_centres=1000).fit(X)
    assert phi.transform(X).shape == (60, 60)
    assert np.abs(phi.transform(X) @ phi.transform(X).T - gaussian(X, X)).max() < 1e-9


def test_no_more_features_than_rank():
    phi = NystromFeatures(Linear(), n_centres=20, random_state=0).fit(X)
    assert phi.transform(X).shape == (60, 3)
    assert np.allclose(phi.transform(X) @ phi.transform(X).T, X @ X.T)


def test_kernel_is_resolved_and_the_given_one_left_alone():
    given = Gaussian()
    phi = NystromFeatures(given, n_centres=5).fit(X)
    assert given.sigma is None
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))[np.triu_indices(60, 1)]
    assert phi.kernel_.sigma == pytest.approx(np.median(distances))


def test_single_precision():
    phi = NystromFeatures(Gaussian(1.5), n_centres=12, random_state=0)
    double = phi.fit(X).transform(X)
    single = clone(phi).fit(X.astype(np.float32)).transform(X.astype(np.float32))
    assert single.dtype == np.float32
    assert np.abs(single @ single.T - double @ double.T).max() < 1e-4


def test_sparse_equals_dense():
    S = np.where(X > 0, X, 0)
    for kernel in (Gaussian(1.5), Polynomial(2), Linear()):
        phi = NystromFeatures(kernel, n_centres=10, random_state=0)
        dense, sparse = phi.fit(S).transform(S), clone(phi).fit(csr_array(S)).transform(csr_array(S))
        assert np.abs(dense @ dense.T - sparse @ sparse.T).max() < 1e-8


def test_strings():
    words = ["ab", "abc", "x", "xy", "ca", "bb"]
    k = FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    phi = NystromFeatures(k, n_centres=6).fit(words)
    K = np.array([[len(set(a) & set(b)) for b in words] for a in words], float)
    assert np.allclose(phi.transform(words) @ phi.transform(words).T, K)


def test_names_and_set_output():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    phi = NystromFeatures(Gaussian(1.5), n_centres=4, random_state=0).set_output(transform="pandas")
    out = phi.fit_transform(frame)
    assert list(out.columns) == [f"nystromfeatures{i}" for i in range(4)]
    assert list(phi.feature_names_in_) == ["a", "b", "c"]
    assert phi.get_feature_names_out().tolist() == list(out.columns)


@pytest.mark.parametrize("n_centres", [0, -1, 2.5, "ten"])
def test_n_centres_is_a_count(n_centres):
    with pytest.raises(ValueError, match="n_centres must be a positive integer"):
        NystromFeatures(n_centres=n_centres).fit(X)


def test_errors():
    with pytest.raises(TypeError, match=r"kernel must be a mercer\.kernels\.Kernel"):
        NystromFeatures("gaussian").fit(X)
    with pytest.raises(ValueError, match="centres must be a Centres object"):
        NystromFeatures(centres="somehow").fit(X)
    with pytest.raises(ValueError, match="X has 2 features, but NystromFeatures is expecting 3"):
        NystromFeatures(n_centres=3).fit(X).transform(X[:, :2])
