"""scikit-learn's own checks of transformers; as they are by default, tests/test_common.py has them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.features import (
    AdditiveChiSquaredFeatures,
    ExplicitFeatures,
    PolynomialSketch,
    RandomFourierFeatures,
    SkewedChiSquaredFeatures,
)
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial


@parametrize_with_checks(
    [
        ExplicitFeatures(Linear() + Polynomial(3, c=0.0)),
        RandomFourierFeatures(n_features=10),
        RandomFourierFeatures(0.5 * Gaussian() + Laplacian(2.0), n_features=7),
        PolynomialSketch(n_features=6),
        PolynomialSketch(0.5 * Polynomial(3, c=0.0), n_features=7),
        PolynomialSketch(Linear(), n_features=3),
        SkewedChiSquaredFeatures(n_features=10),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "cls",
    [
        AdditiveChiSquaredFeatures,
        ExplicitFeatures,
        PolynomialSketch,
        RandomFourierFeatures,
        SkewedChiSquaredFeatures,
    ],
)
@pytest.mark.parametrize("kernel", ["rbf", None, lambda x, z: 1.0, Gaussian])
def test_only_kernels_are_kernels(cls, kernel):
    with pytest.raises(TypeError, match="kernel must be a mercer.kernels.Kernel"):
        cls(kernel).fit([[0.0], [1.0]])
