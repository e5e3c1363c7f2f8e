"""Functions of a feature map, f = ⟨c, φ(·)⟩, against maps worked out by hand."""

import numpy as np
import pytest
from scipy import sparse

from mercer.features import ExplicitFeatures, RandomFourierFeatures
from mercer.functions import FeatureFunction
from mercer.kernels import Gaussian, Polynomial

rng = np.random.default_rng(0)


class Squares:
    """A feature map (1, x²) that records how much it was asked for at once."""

    largest = 0

    def transform(self, X):
        X = np.asarray(X)
        self.largest = max(self.largest, len(X))
        return np.column_stack([np.ones(len(X)), X[:, 0] ** 2])


def test_feature_functions():
    phi = Squares()
    f, g = FeatureFunction(phi, [1.0, 2.0]), FeatureFunction(phi, [0, 3])
    X = np.arange(5.0)[:, None]
    np.testing.assert_array_equal(f(X), 1 + 2 * X[:, 0] ** 2)
    np.testing.assert_array_equal((2 * f - g / 3)(X), 2 + 3 * X[:, 0] ** 2)
    assert f @ g == 6 and f.squared_norm() == 5 and f.distance(g) == pytest.approx(np.sqrt(2))
    assert f.at([2.0]) == 9 and f.at(2.0) == 9 and f.zero().norm() == 0
    assert f.combination([[1.0], [2.0]], np.array([1.0, 10.0])).coef.tolist() == [11.0, 41.0]
    several = FeatureFunction(phi, [[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(several(X), np.column_stack([np.ones(5), X[:, 0] ** 2]))
    np.testing.assert_array_equal(several @ f, [1.0, 2.0])
    np.testing.assert_array_equal(f @ several, [1.0, 2.0])
    assert several.norm() == pytest.approx(np.sqrt(2)) and several.output(0).coef.tolist() == [1.0, 0.0]
    assert f(np.empty((0, 1))).shape == (0,)
    with pytest.raises(ValueError, match="different feature maps"):
        f + FeatureFunction(Squares(), [1.0, 2.0])
    with pytest.raises(ValueError, match="gives 2 features, but coef has 3 rows"):
        FeatureFunction(phi, [1.0, 2.0, 3.0])(X)
    with pytest.raises(TypeError, match="transform"):
        FeatureFunction(np.square, [1.0])
    with pytest.raises(ValueError, match="number of outputs"):
        several @ FeatureFunction(phi, np.ones((2, 3)))


def test_feature_functions_map_a_block_at_a_time(monkeypatch):
    monkeypatch.setattr("mercer.functions.feature._ENTRIES", 200)
    phi = Squares()
    X = rng.standard_normal((1050, 1))
    np.testing.assert_allclose(FeatureFunction(phi, [1.0, 1.0])(X), 1 + X[:, 0] ** 2)
    assert phi.largest == 100


def test_feature_function_of_an_explicit_map_is_the_kernel_function():
    X, Z = rng.standard_normal((6, 2)), rng.standard_normal((4, 2))
    a = rng.standard_normal(6)
    phi = ExplicitFeatures(Polynomial(2)).fit(X)
    f = FeatureFunction(phi, np.zeros(6)).combination(X, a)
    K = (X @ X.T + 1) ** 2
    assert f.squared_norm() == pytest.approx(a @ K @ a, rel=1e-12)
    np.testing.assert_allclose(f(Z), (Z @ X.T + 1) ** 2 @ a, rtol=1e-11)
    assert f.at(Z[0]) == pytest.approx(f(Z)[0], rel=1e-12)


def test_feature_function_of_random_features_takes_sparse_points():
    S = sparse.random_array((9, 30), density=0.2, format="csr", rng=1)
    phi = RandomFourierFeatures(Gaussian(1.0), n_features=10, random_state=0).fit(S)
    c = rng.standard_normal(10)
    angles = S.toarray() @ phi.frequencies_.T
    expected = np.hstack([np.cos(angles), np.sin(angles)]) @ c / np.sqrt(5)
    np.testing.assert_allclose(FeatureFunction(phi, c)(S), expected, rtol=1e-11)
