"""Every supervised batch machine has an offset, unless it is asked to have none."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import mercer
from mercer import theory
from mercer.kernels import Gaussian, Linear
from mercer.losses import Huber
from mercer.representations import Features, Nystrom

RNG = np.random.default_rng(3)
X = RNG.standard_normal((60, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(60) + 7
FAR = np.full((1, 2), 1e3)
REGRESSORS = [mercer.KernelRidge, mercer.KernelRegressor, mercer.KernelSVR]
CLASSIFIERS = [mercer.KernelClassifier, mercer.KernelLogistic, mercer.KernelSVC]


@pytest.mark.parametrize("cls", REGRESSORS + CLASSIFIERS)
def test_it_is_the_default(cls):
    y = Y if cls in REGRESSORS else Y > 7
    assert cls().offset is True
    assert cls().fit(X, y).intercept_ != 0 and cls(offset=False).fit(X, y).intercept_ == 0


@pytest.mark.parametrize("cls", REGRESSORS)
def test_a_constant_stays_constant(cls):
    machine = cls(Gaussian(1.0)).fit(X, np.full(60, 7.0))
    tube = machine.epsilon if cls is mercer.KernelSVR else 0.0
    np.testing.assert_allclose(machine.predict(np.vstack([X, FAR])), 7.0, atol=tube + 1e-6)
    assert cls(Gaussian(1.0), offset=False).fit(X, np.full(60, 7.0)).predict(FAR) == pytest.approx(0)


@pytest.mark.parametrize("representation", ["full", Nystrom(20), Features(n_features=40)], ids=str)
def test_leaving_one_out(representation):
    """The closed form against 60 fits; centres and features are the same in each."""
    machine = mercer.KernelRidge(Gaussian(1.0), lam=1e-2, representation=representation, random_state=0)
    left_out = machine.fit(X, Y).loo_residuals()
    f = machine.function_
    if representation != "full":
        phi = f.map.transform if hasattr(f, "map") else None
        if phi is None:  # centres: coordinates in which their norm is the plain one
            root = np.linalg.cholesky(Gaussian(1.0)(f.points) + 1e-12 * np.eye(len(f.points)))

            def phi(Z):
                return np.linalg.solve(root, Gaussian(1.0)(f.points, Z)).T

    for i in range(0, 60, 7):
        others = np.delete(np.arange(60), i)
        # The penalty stays λ for the sum over the other 59 examples.
        if representation == "full":
            again = mercer.KernelRidge(Gaussian(1.0), lam=1e-2).fit(X[others], Y[others])
            said = again.predict(X[i : i + 1])[0]
        else:
            said = Ridge(alpha=1e-2 * 59).fit(phi(X[others]), Y[others]).predict(phi(X[i : i + 1]))[0]
        assert left_out[i] == pytest.approx(Y[i] - said, abs=1e-5)


@pytest.mark.parametrize("loss", ["squared", Huber(0.1)], ids=str)
def test_a_lam_that_is_chosen_does_not_see_where_zero_is(loss):
    near = mercer.KernelRegressor(Gaussian(1.0), loss=loss).fit(X, Y - 7)
    far = mercer.KernelRegressor(Gaussian(1.0), loss=loss).fit(X, Y + 100)
    assert near.lam_ == pytest.approx(far.lam_, rel=1e-6)
    np.testing.assert_allclose(near.predict(X) + 107, far.predict(X), atol=1e-4)


def test_the_certificate_counts_it():
    """The minimum over f and b of a linear machine, by scikit-learn's ridge regression."""
    machine = mercer.KernelRidge(Linear(), lam=0.3).fit(X, Y)
    theirs = Ridge(alpha=0.3 * 60).fit(X, Y)
    least = np.mean((theirs.predict(X) - Y) ** 2) + 0.3 * theirs.coef_ @ theirs.coef_
    said = machine.solution_.certificate
    assert said.objective == pytest.approx(least, rel=1e-10) and 0 <= said.gap < 1e-8


def test_bounds_know_it():
    """Norms are those in the space of k + 1; what an offset without a penalty spoils is not claimed."""
    y = np.where(Y > 7, "up", "down")
    found = theory.certificate(mercer.KernelLogistic(Gaussian(1.0), lam=1e-2).fit(X, y), X, y)
    assert "with an offset" in str(found)
    assert "Stability bound: does not apply: the offset has no penalty" in str(found)
    without = mercer.KernelLogistic(Gaussian(1.0), lam=1e-2, offset=False).fit(X, y)
    assert "Stability bound: does not apply" not in str(theory.certificate(without, X, y))
