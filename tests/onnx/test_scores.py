"""Functions of kernels and feature maps as graphs, against themselves."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import PolynomialFeatures

from mercer.codegen.symbols import NotTraceable
from mercer.features import ExplicitFeatures, NystromFeatures, RandomFourierFeatures
from mercer.functions import FeatureFunction, KernelFunction, zero
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial
from mercer.onnx.scores import scores, votes
from mercer.solvers.perceptron import vote

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 3))
Z = RNG.standard_normal((9, 3))


def feature_function(map, t=2):
    map = map.fit(X)
    return FeatureFunction(map, RNG.standard_normal((map.transform(X).shape[1], t)))


FUNCTIONS = [
    KernelFunction(Gaussian(1.0), Z, RNG.standard_normal(9)),
    KernelFunction(Gaussian(1.0) * Linear(), Z, RNG.standard_normal((9, 4))),
    KernelFunction(Laplacian(1.0), Z.astype(np.float32), RNG.standard_normal(9).astype(np.float32)),
    KernelFunction(Linear(), sp.csr_array(Z * (Z > 0)), RNG.standard_normal(9)),
    KernelFunction(Gaussian(1.0), Z, RNG.standard_normal((9, 2))).in_groups(np.arange(9) % 3),
    zero(Gaussian(1.0), 3),
    feature_function(ExplicitFeatures(Polynomial(3, 0.7))),
    feature_function(ExplicitFeatures(Linear() ** 2)),
    feature_function(ExplicitFeatures(Linear())),
    feature_function(ExplicitFeatures((Linear() * Polynomial(2)).on([2, 0]))),
    feature_function(RandomFourierFeatures(2 * Gaussian(0.7), n_features=21, random_state=0)),
    feature_function(NystromFeatures(Laplacian(1.0), n_centres=6, random_state=0)),
]


@pytest.mark.parametrize("f", FUNCTIONS, ids=repr)
def test_functions(f, at):
    expected = f(X)
    np.testing.assert_allclose(
        at(lambda p: scores(p, f), X),
        expected.reshape(len(X), -1),
        rtol=1e-6 if f.coef.itemsize == 4 else 1e-10,
    )


def test_votes(at):
    f = KernelFunction(Gaussian(1.0), Z, np.zeros(9))
    where, survival = RNG.integers(9, size=25), RNG.integers(1, 9, size=25)
    two = RNG.choice([-1, 1], (25, 1)).astype(np.int8)
    three = np.array([[1, -1, 0], [0, 1, -1], [-1, 0, 1]], np.int8)[RNG.integers(3, size=25)]
    for changes in (two, three):
        expected = vote(f.facing(X), where, changes, survival)
        np.testing.assert_allclose(
            at(lambda p, c=changes: votes(p, f, where, c, survival), X), expected, atol=1e-14
        )


def test_other_feature_maps_are_refused(at):
    with pytest.raises(NotTraceable, match=r"PolynomialFeatures\(\) has no ONNX version; NystromFeatures,"):
        at(lambda p: scores(p, feature_function(PolynomialFeatures())), X)
