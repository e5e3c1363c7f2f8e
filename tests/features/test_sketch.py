"""TensorSketch, against scikit-learn's with the same draws, and against the kernel on average."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_approximation import PolynomialCountSketch

import mercer
from mercer import KernelRidge
from mercer.features import PolynomialSketch
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.representations import Features

RNG = np.random.default_rng(0)
X = RNG.standard_normal((15, 8)) / np.sqrt(8)


@pytest.mark.parametrize("degree", [1, 2, 5])
@pytest.mark.parametrize("m", [1, 2, 16, 33])
def test_scikit_learn_makes_the_same_of_the_same_draws(degree, m):
    ours = PolynomialSketch(Polynomial(degree, c=1.5), n_features=m, random_state=0).fit(X)
    theirs = PolynomialCountSketch(degree=degree, coef0=1.5, n_components=m, random_state=0).fit(X)
    theirs.indexHash_, theirs.bitHash_ = ours.places_, ours.signs_
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-12)
    S = sp.csr_array(np.where(X > 0, X, 0))
    np.testing.assert_allclose(ours.transform(S), theirs.transform(sp.csr_matrix(S)), atol=1e-12)
    np.testing.assert_allclose(ours.transform(X.astype(np.float32)), ours.transform(X), atol=2e-5)
    assert ours.transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    "kernel",
    [Polynomial(2, c=1.0), Polynomial(3, c=0.0), Polynomial(4, c=0.5), Linear(), 0.3 * (2 * Polynomial(2))],
)
def test_unbiased(kernel):
    products = []
    for seed in range(400):
        Phi = PolynomialSketch(kernel, n_features=16, random_state=seed).fit_transform(X[:5])
        products.append(Phi @ Phi.T)
    products = np.array(products)
    error = products.std(axis=0) / np.sqrt(400)
    assert (np.abs(products.mean(axis=0) - kernel(X[:5])) < 4.5 * error).all()
    assert error.min() > 0


def test_the_error_falls_as_one_over_root_m():
    k = Polynomial(4, c=1.0)

    def error(m):
        off = [PolynomialSketch(k, m, seed).fit_transform(X) for seed in range(30)]
        return np.sqrt(np.mean([(Phi @ Phi.T - k(X)) ** 2 for Phi in off]))

    assert 1.6 < error(64) / error(256) < 2.5


def test_a_machine_takes_it_where_monomials_are_too_many(tmp_path):
    wide = RNG.standard_normal((60, 60)) / np.sqrt(60)
    y = (wide[:, 0] * wide[:, 1]) * 30 + wide[:, 2]
    kernel = Polynomial(4, c=1.0)
    machine = KernelRidge(kernel, representation=Features(n_features=3000), lam=1e-2, random_state=0).fit(
        wide, y
    )
    assert isinstance(machine.function_.map, PolynomialSketch) and machine.coef_.shape == (3000,)
    exact = KernelRidge(kernel, representation="full", lam=1e-2).fit(wide, y)
    assert np.corrcoef(machine.predict(wide), exact.predict(wide))[0, 1] > 0.98
    file = tmp_path / "machine.mercer"
    mercer.save(machine, file)
    np.testing.assert_array_equal(mercer.load(file).predict(wide), machine.predict(wide))


def test_many_rows_in_blocks():
    many = RNG.standard_normal((9000, 3))
    phi = PolynomialSketch(Polynomial(2), n_features=40, random_state=0).fit(many)
    np.testing.assert_allclose(
        phi.transform(many)[[0, 4000, 8999]], phi.transform(many[[0, 4000, 8999]]), atol=1e-12
    )


def test_a_file_made_by_hand_is_refused():
    phi = PolynomialSketch(Polynomial(2), n_features=4, random_state=0).fit(X)
    for name, value in (
        ("places_", phi.places_ + 4),
        ("places_", phi.places_[:, 1:]),
        ("signs_", 2 * phi.signs_),
        ("signs_", phi.signs_[:1]),
    ):
        kept, bad = getattr(phi, name), PolynomialSketch(Polynomial(2), n_features=4, random_state=0).fit(X)
        setattr(bad, name, value)
        with pytest.raises(ValueError):
            bad.check_state()
        assert kept is getattr(phi, name)
    phi.check_state()


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Polynomial(2) + Linear(), Polynomial(2).normalize()])
def test_other_kernels_are_refused(kernel):
    with pytest.raises(ValueError, match="a sketch is of a polynomial kernel"):
        PolynomialSketch(kernel).fit(X)


@pytest.mark.parametrize("m", [0, -2, 2.5, None, True])
def test_n_features_is_checked(m):
    with pytest.raises(ValueError, match="n_features must be a whole number of at least 1"):
        PolynomialSketch(Polynomial(), n_features=m).fit(X)
