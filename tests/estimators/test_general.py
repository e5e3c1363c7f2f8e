"""KernelRegressor and KernelClassifier: any smooth loss, one of your own included."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge
from mercer.kernels import Gaussian, Linear
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Loss,
    Poisson,
    Quantile,
    Squared,
    SquaredHinge,
)
from mercer.solvers import IncompatibleError
from oracles import LOSSES, gaussian, huber, minimum, whitening

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 2))
NEW = RNG.standard_normal((20, 2))
S = np.sin(2 * X[:, 0]) + X[:, 1]


def dense(loss, y, lam, w=None, offset=False):
    """Scores at X and NEW of the minimum over all of H_K."""
    T = whitening(gaussian(X, X))
    u, b, _ = minimum(loss, gaussian(X, X) @ T, y, lam, w, offset)
    return gaussian(X, X) @ T @ u + b, gaussian(NEW, X) @ T @ u + b


def test_squared_is_ridge():
    a = KernelRegressor(Gaussian(1.0), lam=1e-2, offset=True).fit(X, S).predict(NEW)
    b = KernelRidge(Gaussian(1.0), lam=1e-2, offset=True).fit(X, S).predict(NEW)
    assert np.array_equal(a, b)


@pytest.mark.parametrize("offset", [False, True])
def test_huber(offset):
    y = S.copy()
    y[::10] += 30
    machine = KernelRegressor(Gaussian(1.0), loss=Huber(0.5), lam=1e-2, offset=offset).fit(X, y)
    expected = dense(huber(0.5), y[:, None], 1e-2, None, offset)
    assert np.abs(machine.predict(NEW) - expected[1][:, 0]).max() < 1e-5


def test_poisson_predicts_counts():
    y = np.round(np.exp(S))
    machine = KernelRegressor(Gaussian(1.0), loss=Poisson(), lam=1e-2, offset=True).fit(X, y)
    _, there = dense(LOSSES["Poisson"], y[:, None], 1e-2, None, True)
    assert np.abs(machine.predict(NEW) - np.exp(there[:, 0])).max() < 1e-4
    assert machine.predict(X).sum() == pytest.approx(y.sum(), rel=1e-6)  # what the offset's equation says
    assert (machine.predict(NEW) > 0).all()


def test_several_targets_are_several_machines():
    Y = np.column_stack([S, 2 * S - 1])
    both = KernelRegressor(Gaussian(1.0), loss="huber", lam=1e-2, offset=False).fit(X, Y).predict(NEW)
    for j in range(2):
        alone = (
            KernelRegressor(Gaussian(1.0), loss="huber", lam=1e-2, offset=False).fit(X, Y[:, j]).predict(NEW)
        )
        assert np.abs(both[:, j] - alone).max() < 1e-6


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("loss", [SquaredHinge(), Exponential(), Squared()], ids=repr)
def test_two_classes(loss, offset):
    y = np.where(S > 0, "b", "a")
    w = np.random.default_rng(1).uniform(0, 2, 50)
    machine = KernelClassifier(Gaussian(1.0), loss=loss, lam=1e-2, offset=offset).fit(X, y, w)
    targets = np.where(y == "b", 1.0, -1.0)[:, None]
    _, there = dense(LOSSES[type(loss).__name__], targets, 1e-2, w, offset)
    assert np.abs(machine.decision_function(NEW) - there[:, 0]).max() < 1e-5
    assert np.array_equal(machine.predict(NEW), np.where(there[:, 0] > 0, "b", "a"))


def test_squared_hinge_on_a_linear_kernel_is_scikit_learns():
    """(1/n)Σ max(0, 1−ys)² + λ‖β‖² is LinearSVC at C = 1/(2λn)."""
    y = np.where(S > 0, 1, -1)
    theirs = LinearSVC(C=1 / (2 * 0.02 * 50), fit_intercept=False, dual=False, tol=1e-10).fit(X, y)
    ours = KernelClassifier(Linear(), loss=SquaredHinge(), lam=0.02, offset=False).fit(X, y)
    assert np.abs(ours.coef_ - theirs.coef_[0]).max() < 1e-5


def test_classes_one_against_the_rest():
    y = np.digitize(S, [-0.5, 0.5])
    machine = KernelClassifier(Gaussian(1.0), loss=SquaredHinge(), lam=1e-2, offset=False).fit(X, y)
    for j in range(3):
        targets = np.where(y == j, 1.0, -1.0)[:, None]
        expected = dense(LOSSES["SquaredHinge"], targets, 1e-2)[1][:, 0]
        assert np.abs(machine.decision_function(NEW)[:, j] - expected).max() < 1e-5
    assert np.array_equal(machine.predict(NEW), machine.decision_function(NEW).argmax(axis=1))


def test_probabilities_where_the_loss_has_them():
    y = S > 0
    machine = KernelClassifier(Gaussian(1.0), loss=Exponential(), lam=1e-2, offset=False).fit(X, y)
    assert np.allclose(
        machine.predict_proba(NEW)[:, 1], 1 / (1 + np.exp(-2 * machine.decision_function(NEW)))
    )
    without = KernelClassifier(Gaussian(1.0), loss=SquaredHinge(), lam=1e-2, offset=False).fit(X, y)
    assert not hasattr(without, "predict_proba") and not hasattr(without, "predict_log_proba")
    with pytest.raises(AttributeError) as caught:
        without.predict_proba(NEW)
    assert "use loss=Logistic() for predict_proba" in str(caught.value.__cause__)


class Smoothed(Loss):
    """√(1 + (y−s)²) − 1, given as V and its first derivative only."""

    def value(self, y, s):
        return np.sqrt(1 + (y - s) ** 2) - 1

    def grad(self, y, s):
        return (s - y) / np.sqrt(1 + (y - s) ** 2)


class SmoothedTwice(Smoothed):
    def hess(self, y, s):
        return (1 + (y - s) ** 2) ** -1.5


def formula(y, s):
    e = 1 + (y - s) ** 2
    return (np.sqrt(e) - 1)[:, 0], (s - y) / np.sqrt(e), (e**-1.5)[:, :, None]


@pytest.mark.parametrize(
    "loss, solver", [(SmoothedTwice(), "auto"), (Smoothed(), "descent")], ids=["newton", "descent"]
)
def test_a_loss_of_ones_own(loss, solver):
    machine = KernelRegressor(Gaussian(1.0), loss=loss, lam=5e-2, solver=solver, offset=False).fit(X, S)
    expected = dense(formula, S[:, None], 5e-2)[1][:, 0]
    assert np.abs(machine.predict(NEW) - expected).max() < 1e-4
    assert machine.solution_.certificate.gap < 1e-8


def test_a_loss_without_second_derivative():
    """Descent is what is left, and chosen; Newton's method is refused before anything is computed."""
    machine = KernelRegressor(Gaussian(1.0), loss=Smoothed(), lam=5e-2, offset=False).fit(X, S)
    assert "has no second derivative: gradient descent" in str(machine.plan_)
    assert np.abs(machine.predict(NEW) - dense(formula, S[:, None], 5e-2)[1][:, 0]).max() < 1e-4
    with pytest.raises(IncompatibleError, match=r"defines no hess; define it, or use solver='descent'"):
        KernelRegressor(loss=Smoothed(), solver="newton", offset=False).plan(X, S)


@pytest.mark.parametrize("loss", [Absolute(), Quantile(0.3), EpsilonInsensitive(0.1)], ids=repr)
@pytest.mark.parametrize("solver", ["newton", "descent"])
def test_losses_with_kinks_are_not_for_every_solver(loss, solver):
    with pytest.raises(IncompatibleError, match=r"needs a differentiable loss, .*use solver='dual'"):
        KernelRegressor(loss=loss, solver=solver, offset=False).fit(X, S)


def test_hinge_finds_its_solver():
    machine = KernelClassifier(loss=Hinge(), offset=False).fit(X, S > 0)
    assert machine.solution_.solver == "dual" and "has kinks: its dual problem" in str(machine.plan_)


def test_losses_for_the_other_kind_of_machine():
    with pytest.raises(ValueError, match="SquaredHinge is a loss for labels, not for numbers"):
        KernelRegressor(loss="squared_hinge", offset=False).fit(X, S)
    with pytest.raises(ValueError, match="Huber is a loss for numbers, not for labels"):
        KernelClassifier(loss="huber", offset=False).fit(X, S > 0)


@pytest.mark.parametrize("name", ["squared", "huber", "poisson"])
def test_names_of_regression_losses(name):
    machine = KernelRegressor(Gaussian(1.0), loss=name, lam=0.1, offset=False).fit(X, np.abs(S))
    assert type(machine.loss_).__name__.lower() == name


@pytest.mark.parametrize("name", ["logistic", "multinomial", "squared_hinge", "exponential", "squared"])
def test_names_of_classification_losses(name):
    machine = KernelClassifier(Gaussian(1.0), loss=name, lam=0.1, offset=False).fit(X, S > 0)
    assert type(machine.loss_).__name__.lower() == name.replace("_", "")
    assert machine.score(X, S > 0) > 0.8


def test_logistic_by_either_door():
    a = (
        KernelClassifier(Gaussian(1.0), loss="logistic", lam=1e-2, offset=False)
        .fit(X, S > 0)
        .predict_proba(NEW)
    )
    b = KernelLogistic(Gaussian(1.0), lam=1e-2, offset=False).fit(X, S > 0).predict_proba(NEW)
    assert np.array_equal(a, b)


@pytest.mark.parametrize(
    "machine",
    [
        KernelRidge(offset=False),
        KernelRegressor(loss="huber", offset=False),
        KernelLogistic(offset=False),
        KernelClassifier(offset=False),
    ],
    ids=repr,
)
def test_optimality_is_shown(machine):
    """Every fitted machine has a certificate, a plan and the function itself."""
    y = S > 0 if hasattr(machine, "predict_proba") else S
    machine.fit(X, y)
    c = machine.solution_.certificate
    assert 0 <= c.relative_gradient < 1e-8 and c.gap < 1e-8 and c.representer_residual < 1e-4
    assert machine.solution_.iterations >= 1 and machine.solution_.solver in str(machine.solution_)
    assert machine.function_.norm() > 0
    assert machine.plan_.reasons
