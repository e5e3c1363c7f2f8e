"""Explicit feature maps against closed forms, tensor powers and scikit-learn's monomials."""

from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures

from mercer.features import ExplicitFeatures
from mercer.kernels import Gaussian, Linear, Polynomial

rng = np.random.default_rng(0)
X3, Z3 = rng.standard_normal((7, 3)), rng.standard_normal((5, 3))
dot = X3 @ Z3.T

EXPRESSIONS = {
    "linear": (Linear(), dot),
    "polynomial": (Polynomial(3, c=0.7), (dot + 0.7) ** 3),
    "homogeneous": (Polynomial(4, c=0.0), dot**4),
    "sum": (Linear() + 2 * Polynomial(2, c=3.0), dot + 2 * (dot + 3.0) ** 2),
    "product": (Linear() * Polynomial(2), dot * (dot + 1) ** 2),
    "power": ((Linear() + 0.5) ** 3, (dot + 0.5) ** 3),
    "columns": (Polynomial(2).on([2, 0]), (X3[:, [2, 0]] @ Z3[:, [2, 0]].T + 1) ** 2),
    "columns apart": (Linear().on(0) * Linear().on(2), np.outer(X3[:, 0] * X3[:, 2], Z3[:, 0] * Z3[:, 2])),
    "lengths": (
        Polynomial(3, c=2.0).scaled([1.0, 0.5, 4.0]),
        ((X3 / [1.0, 0.5, 4.0]) @ (Z3 / [1.0, 0.5, 4.0]).T + 2.0) ** 3,
    ),
    "nested": (
        3 * (Linear().on([0, 1]) + Polynomial(2).scaled([1.0, 2.0, 3.0])) + 0.25,
        3 * (X3[:, :2] @ Z3[:, :2].T + (X3 / [1.0, 4.0, 9.0] @ Z3.T + 1) ** 2) + 0.25,
    ),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_inner_products_are_the_kernel(name):
    kernel, K = EXPRESSIONS[name]
    phi = ExplicitFeatures(kernel).fit(X3)
    np.testing.assert_allclose(phi.transform(X3) @ phi.transform(Z3).T, K, rtol=1e-12, atol=1e-12)


def test_the_lift_of_the_text_with_its_missing_root():
    # (1 + x·z)² in two variables: the text's last coordinate x₁x₂ needs √2.
    x = np.array([[1.3, -0.4]])
    a, b = x[0]
    phi = ExplicitFeatures(Polynomial(2, c=1.0)).fit(x)
    r = np.sqrt(2)
    expected = [1, r * a, r * b, a * a, r * a * b, b * b]
    np.testing.assert_allclose(phi.transform(x)[0], expected, rtol=1e-15)
    assert phi.get_feature_names_out().tolist() == ["1", "√2·x0", "√2·x1", "x0²", "√2·x0·x1", "x1²"]


def test_the_linear_coordinates_carry_root_2c():
    x = np.array([[3.0, 5.0]])
    Phi = ExplicitFeatures(Polynomial(2, c=4.0)).fit_transform(x)
    np.testing.assert_allclose(Phi[0, :3], [4.0, np.sqrt(8) * 3, np.sqrt(8) * 5], rtol=1e-15)


@pytest.mark.parametrize("degree", [2, 3])
def test_homogeneous_features_are_the_tensor_power_with_equal_entries_put_together(degree):
    x = X3[0]
    power = x
    for _ in range(degree - 1):
        power = np.kron(power, x)
    places = [tuple(sorted(i)) for i in np.ndindex(*(3,) * degree)]
    phi = ExplicitFeatures(Polynomial(degree, c=0.0)).fit(X3)
    values = phi.transform(X3[:1])[0]
    for monomial, value in zip(phi.monomials_, values, strict=True):
        entries = power[[p == monomial for p in places]]
        assert abs(value) == pytest.approx(np.linalg.norm(entries), rel=1e-12)
        assert np.sign(value) == np.sign(entries[0])


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_monomials_are_those_of_scikit_learn(degree):
    theirs = PolynomialFeatures(degree).fit(X3)
    columns = {tuple(np.repeat(np.arange(3), p).tolist()): j for j, p in enumerate(theirs.powers_)}
    phi = ExplicitFeatures(Polynomial(degree)).fit(X3)
    order = [columns[a] for a in phi.monomials_]
    assert sorted(order) == list(range(theirs.n_output_features_))
    ours = phi.transform(X3) / np.sqrt(phi.weights_)
    np.testing.assert_allclose(ours, theirs.transform(X3)[:, order], rtol=1e-13)


@pytest.mark.parametrize(("degree", "d"), [(1, 1), (2, 10), (5, 4), (9, 1)])
def test_number_of_features(degree, d):
    assert ExplicitFeatures(Polynomial(degree)).fit_transform(np.ones((2, d))).shape == (
        2,
        comb(d + degree, d),
    )
    homogeneous = ExplicitFeatures(Polynomial(degree, c=0.0)).fit_transform(np.ones((2, d)))
    assert homogeneous.shape == (2, comb(d + degree - 1, degree))


def test_many_rows_in_blocks():
    X = rng.standard_normal((5000, 6))
    Phi = ExplicitFeatures(Polynomial(3)).fit_transform(X)
    np.testing.assert_allclose(np.sum(Phi**2, axis=1), (np.sum(X**2, axis=1) + 1) ** 3, rtol=1e-12)


def test_names():
    def names(kernel, d=1, **given):
        return ExplicitFeatures(kernel).fit(np.ones((1, d))).get_feature_names_out(**given).tolist()

    assert names(Polynomial(2, c=0.0)) == ["x0²"]
    assert names(4 * Linear()) == ["2·x0"]
    assert names(0.25 * Linear() + 3.0) == ["√3", "0.5·x0"]
    assert names(Linear() + 1.0, d=2, input_features=["age", "dose"]) == ["1", "age", "dose"]
    assert names(Linear() ** 12) == ["x0¹²"]
    table = pd.DataFrame({"age": [1.0], "dose": [2.0]})
    phi = ExplicitFeatures(Polynomial(2, c=0.0)).set_output(transform="pandas")
    assert phi.fit_transform(table).columns.tolist() == ["age²", "√2·age·dose", "dose²"]


def test_float32_stays():
    Phi = ExplicitFeatures(Polynomial(3, c=0.3)).fit_transform(X3.astype(np.float32))
    assert Phi.dtype == np.float32
    np.testing.assert_allclose(Phi @ Phi.T, (X3 @ X3.T + 0.3) ** 3, rtol=1e-4, atol=1e-4)


def test_sparse_linear_is_returned_as_it_is():
    S = sparse.random_array((20, 50), density=0.1, format="csr", rng=1)
    assert ExplicitFeatures(Linear()).fit_transform(S) is S


def test_sparse_of_degree_one_stays_sparse():
    S = sparse.random_array((20, 50), density=0.1, format="csr", rng=1)
    Phi = ExplicitFeatures(9 * Linear().on([4, 2])).fit_transform(S)
    assert sparse.issparse(Phi) and Phi.format == "csr"
    np.testing.assert_allclose(Phi.toarray(), 3 * S.toarray()[:, [2, 4]])


def test_sparse_of_higher_degree():
    S = sparse.random_array((20, 5), density=0.4, format="csr", rng=1)
    D = S.toarray()
    Phi = ExplicitFeatures(Polynomial(2)).fit_transform(S)
    np.testing.assert_allclose(Phi @ Phi.T, (D @ D.T + 1) ** 2, rtol=1e-12)


def test_length_scales_are_found_at_fit():
    phi = ExplicitFeatures(Linear().scaled()).fit(X3)
    np.testing.assert_allclose(phi.transform(Z3), Z3 / X3.std(axis=0), rtol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear() + Gaussian(1.0), Linear().normalize()])
def test_other_kernels_are_sent_elsewhere(kernel):
    with pytest.raises(ValueError, match=r"RandomFourierFeatures.*NystromFeatures"):
        ExplicitFeatures(kernel).fit(X3)


def test_too_many_features_are_refused_before_listing_them():
    with pytest.raises(ValueError, match="monomials in 1000 variables"):
        ExplicitFeatures(Polynomial(10)).fit(np.ones((1, 1000)))


def test_clone_and_grid_parameters():
    phi = clone(ExplicitFeatures(Polynomial(2))).set_params(kernel__degree=3)
    assert phi.fit(X3).transform(X3).shape[1] == comb(6, 3)
    # The default kernel is a value shared by all instances: setting a parameter must not reach it.
    assert ExplicitFeatures().kernel == Polynomial(2)
