"""Features and Lasso: explicit coordinates, from the kernel or from the user."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn import config_context
from sklearn.preprocessing import PolynomialFeatures

from mercer import KernelKMeans, KernelPCA, KernelRidge, OnlineKernelRegressor
from mercer.engines import Tiled
from mercer.features import ExplicitFeatures, NystromFeatures, PolynomialSketch, RandomFourierFeatures
from mercer.kernels import ChiSquared, FunctionKernel, Gaussian, Linear, Polynomial, Spectrum
from mercer.operators import L1, FeatureOperator, Identity, Matrix
from mercer.representations import Features, Lasso, features

X = np.random.default_rng(0).standard_normal((30, 2))


def build(representation, kernel, X=X, seed=0):
    return representation.build(kernel, X, np.random.default_rng(seed), Tiled())


def test_polynomials_have_their_own_coordinates():
    built = build(Features(), Polynomial(2, c=1.0))
    Phi = built.A.dense()
    assert Phi.shape == (30, 6)
    assert np.allclose(Phi @ Phi.T, (X @ X.T + 1) ** 2)
    assert type(built.B) is Identity


def test_linear_keeps_the_data():
    assert np.array_equal(build(Features(), Linear()).A.dense(), X)
    S = csr_array(np.where(X > 0, X, 0))
    A = build(Features(), Linear(), S).A
    assert issparse(A.values)
    assert np.array_equal(A.dense(), S.toarray())


def test_others_get_random_fourier_features():
    built = build(Features(n_features=4000), Gaussian(1.0))
    Phi = built.A.dense()
    assert Phi.shape == (30, 4000)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 2)
    assert np.abs(Phi @ Phi.T - K).max() < 5 / np.sqrt(2000)
    again = build(Features(n_features=4000), Gaussian(1.0)).A.dense()
    other = build(Features(n_features=4000), Gaussian(1.0), seed=1).A.dense()
    assert np.array_equal(Phi, again) and not np.allclose(Phi, other)


def test_lift():
    built = build(Features(), Polynomial(2, c=1.0))
    c = np.arange(6.0)
    f = built.lift(c)
    assert np.allclose(f(X), built.A.dense() @ c)
    assert f.squared_norm() == pytest.approx(c @ c)


def test_a_given_map_takes_the_kernel_of_the_machine():
    given = RandomFourierFeatures(Gaussian(123.0), n_features=20, random_state=0)
    built = build(Features(given), Gaussian(1.0))
    expected = RandomFourierFeatures(Gaussian(1.0), n_features=20, random_state=0).fit(X).transform(X)
    assert np.array_equal(built.A.dense(), expected)
    assert given.kernel == Gaussian(123.0) and not hasattr(given, "kernel_")  # the given one is left alone


def test_a_map_without_a_kernel():
    built = build(Features(PolynomialFeatures(3)), Gaussian(1.0))
    assert np.allclose(built.A.dense(), PolynomialFeatures(3).fit_transform(X))
    # Ten monomials of two variables up to degree 3.
    assert Features(PolynomialFeatures(3), n_features=77).size(Gaussian(1.0), 30, 2) == 10


def test_large_maps_are_computed_block_by_block(monkeypatch):
    monkeypatch.setattr(features, "available_memory", lambda: 1000)
    A = build(Features(n_features=100), Gaussian(1.0)).A
    assert isinstance(A, FeatureOperator)
    monkeypatch.undo()
    stored = build(Features(n_features=100), Gaussian(1.0)).A
    assert isinstance(stored, Matrix)
    assert np.allclose(A.dense(), stored.dense())


@pytest.mark.parametrize(
    "representation, kernel, size",
    [
        (Features(), Linear(), 4),
        (Features(), Polynomial(2), 15),
        (Features(), Gaussian(1.0), 1000),
        (Features(n_features=50), Gaussian(1.0), 50),
        (Features(RandomFourierFeatures(n_features=70)), Gaussian(1.0), 70),
        (Features(NystromFeatures(n_centres=9)), Gaussian(1.0), 9),
        (Features(ExplicitFeatures()), Polynomial(2), 15),
        (Lasso(), Linear(), 4),
    ],
    ids=repr,
)
def test_size(representation, kernel, size):
    assert representation.size(kernel, 1000, 4) == size


def test_too_large_an_expansion_is_not_chosen():
    chosen = Features().chosen(Polynomial(10), 50)
    assert isinstance(chosen, PolynomialSketch) and chosen.n_features == Features().n_features
    many = Features().chosen(Polynomial(10) + Gaussian(1.0), 50)
    assert isinstance(many, RandomFourierFeatures)


def test_lasso_has_the_other_penalty():
    built = build(Lasso(), Linear())
    assert isinstance(built.B, L1)
    assert Lasso().penalty == "lasso" and Features().penalty == "ridge"


def test_kernels_without_features_say_so():
    with pytest.raises(ValueError, match="no random Fourier features for ChiSquared"):
        KernelRidge(ChiSquared(), representation="features", offset=False).fit(np.abs(X), X[:, 0])
    words = FunctionKernel(lambda a, b: float(a == b))
    with pytest.raises(ValueError, match="not a kernel on vectors.*representation='nystrom'"):
        KernelRidge(words, representation="features", offset=False).fit(["a", "b"], [0.0, 1.0])
    with pytest.raises(ValueError, match="not a kernel on vectors"):
        KernelRidge("precomputed", representation="features", offset=False).fit(X @ X.T, X[:, 0])


def test_a_name_is_no_map():
    with pytest.raises(ValueError, match="map must be a feature map such as RandomFourierFeatures"):
        KernelRidge(representation=Features("fourier"), offset=False).fit(X, X[:, 0])


def test_values():
    assert repr(Features()) == "Features()" and repr(Lasso(n_features=5)) == "Lasso(n_features=5)"
    assert Features() != Lasso()
    assert Features(n_features=5) == Features(n_features=5)


def test_data_frames_are_what_people_see_and_not_what_is_computed_with():
    pytest.importorskip("pandas")
    asked = PolynomialFeatures(2).set_output(transform="pandas")  # by its own wish, whatever is set for all
    words = ["tree", "street", "moon", "noon", "mono"]
    machines = [
        KernelRidge(Linear(), lam=0.1),
        KernelRidge(Gaussian(1.0), lam=0.1, representation="features", random_state=0),
        KernelRidge(lam=0.1, representation=Features(asked)),
        OnlineKernelRegressor(Gaussian(1.0), representation="features", random_state=0),
        KernelKMeans(Linear(), n_clusters=2, random_state=0),
    ]
    plain = [machine.fit(X, X[:, 0]).predict(X) for machine in machines]
    counted = KernelRidge(Spectrum(2), lam=0.1).fit(words, np.arange(5.0)).predict(words)
    components = KernelPCA(Linear(), n_components=2).fit_transform(X)
    with config_context(transform_output="pandas"):
        for machine, expected in zip(machines, plain, strict=True):
            np.testing.assert_array_equal(machine.fit(X, X[:, 0]).predict(X), expected)
        machine.partial_fit(X)
        again = KernelRidge(Spectrum(2), lam=0.1).fit(words, np.arange(5.0)).predict(words)
        np.testing.assert_array_equal(again, counted)
        frame = KernelPCA(Linear(), n_components=2).fit_transform(X)
    assert frame.columns.tolist() == ["kernelpca0", "kernelpca1"]
    np.testing.assert_array_equal(frame.to_numpy(), components)
