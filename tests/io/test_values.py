"""Values (kernels, losses, solvers, …) and feature maps, saved and loaded: every one that is exported."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import mercer
from mercer import engines, features, kernels, losses, representations, solvers
from mercer._params import Params
from mercer.kernels import Finite, Gaussian, Linear, Polynomial
from mercer.losses import Quantile
from mercer.representations import Features, Nystrom

X = np.random.default_rng(0).standard_normal((40, 3))


# Of kernels, losses, … whose constructors need something.
NEEDY = {
    kernels.OnColumns: [Linear().on([0, 2]), Linear().on(slice(1, None)), Gaussian(1.0).on(np.array([0]))],
    kernels.Exp: [Linear().exp()],
    kernels.Finite: [Finite(np.eye(3)), Finite([[2, 1], [1, 2]]), Finite(sp.csr_array(np.eye(3)))],
    kernels.Forest: [kernels.Forest.grow(X, X[:, 0], trees=3)],
    kernels.LengthScales: [Gaussian(1.0).scaled([1.0, 2.0]), Gaussian().scaled()],
    kernels.Mahalanobis: [Linear().metric([[2.0, 0.0], [0.0, 1.0]])],
    kernels.Normalized: [Polynomial(2).normalize()],
    kernels.Power: [Gaussian(1.0) ** 0.5, Linear() ** 3],
    kernels.Product: [Gaussian(1.0) * Linear()],
    kernels.Scale: [2 * Linear(), np.float32(0.5) * Gaussian(1.0)],
    kernels.Sum: [Gaussian(1.0) + Linear() + 1],
    kernels.LocalAlignment: [kernels.LocalAlignment(np.eye(2), "ab")],
    kernels.MeanEmbedding: [kernels.MeanEmbedding(Gaussian(1.0))],
    kernels.NamedColumns: [kernels.columns("text", kernels.Spectrum(2)), kernels.columns(["a"], Linear())],
    kernels.Substitution: [kernels.Substitution(np.eye(2), "ab", 2)],
    kernels.FunctionKernel: [],
    kernels.PullBack: [],
    losses.FunctionLoss: [],
    solvers.Checkpoint: [solvers.Checkpoint("a.checkpoint", passes=3, minutes=2)],
    losses.Quantile: [Quantile([0.1, 0.9]), Quantile((0.2, 0.3)), Quantile(np.array([0.5, 0.6]))],
    representations.Features: [Features(features.RandomFourierFeatures(n_features=10))],
    representations.Nystrom: [Nystrom(5, representations.Leverage()), Nystrom(centres=[[1.0], [2.0]])],
}


def values():
    for room in (kernels, losses, representations, solvers, engines, mercer.estimators):
        for name in room.__all__:
            cls = getattr(room, name)
            if not inspect.isclass(cls) or not issubclass(cls, Params) or inspect.isabstract(cls):
                continue
            for value in NEEDY.get(cls, [cls] if cls not in NEEDY else []):
                yield pytest.param(value, id=f"{name}-{value!r}"[:60])


@pytest.mark.parametrize("value", list(values()))
def test_values(value, again):
    value = value() if inspect.isclass(value) else value
    other = again(value)
    assert repr(other) == repr(value)
    if not isinstance(value, Features) and not sp.issparse(getattr(value, "matrix", None)):
        assert other == value


@pytest.mark.parametrize("name", features.__all__)
def test_feature_maps(name, again):
    cls = getattr(features, name)
    if not (inspect.isclass(cls) and issubclass(cls, BaseEstimator)):
        return
    if name == "CountedFeatures":  # of strings: see features/test_counted.py
        return
    P = np.abs(X) if "ChiSquared" in name else X
    map = cls().fit(P)
    assert np.array_equal(again(map).transform(P), map.transform(P))
    assert again(map).get_feature_names_out().tolist() == map.get_feature_names_out().tolist()
