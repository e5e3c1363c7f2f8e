"""One λ a target, scales that are found with f, and warm starts."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import HuberRegressor, Ridge

from mercer import (
    FromAlpha,
    FromC,
    KernelClassifier,
    KernelLogistic,
    KernelRegressor,
    KernelRidge,
    KernelSVC,
    KernelSVR,
)
from mercer.kernels import Gaussian, Linear
from mercer.losses import Huber, Quantile, ScaledHuber
from mercer.representations import ElasticNet, Nystrom
from mercer.solvers import Newton
from mercer.testing import check_loss

RNG = np.random.default_rng(0)
N = 80
X = RNG.standard_normal((N, 4)) + 3
Y = X @ np.array([2.0, -1, 0, 0.5]) + RNG.standard_normal(N)
Y[:5] += 30
T = np.column_stack([Y, -3 * Y, X[:, 0]])
G = Gaussian(2.0)


# -- one λ a target -----------------------------------------------------------------------------------


def test_it_is_scikit_learns_ridge_with_several_alphas():
    peer = Ridge(alpha=[0.1, 5.0, 50.0]).fit(X, T)
    machine = KernelRidge(Linear(), lam=FromAlpha([0.1, 5.0, 50.0])).fit(X, T)
    assert np.abs(machine.coef_ - peer.coef_).max() < 1e-9
    assert np.allclose(machine.lam_, np.array([0.1, 5.0, 50.0]) / N)


@pytest.mark.parametrize(
    "machine",
    [
        KernelRidge(G),
        KernelRidge(G, solver="cg"),
        KernelRidge(G, representation=Nystrom(centres=X[:15])),
        KernelRegressor(G, "huber"),
        KernelSVR(G),
        KernelRegressor(Linear(), "absolute", representation=ElasticNet()),
    ],
    ids=lambda m: repr(m)[:60],
)
def test_every_target_has_the_machine_of_its_own_lam(machine):
    lams, w = [0.1, 0.01, 0.1], RNG.integers(0, 3, N)
    together = machine.set_params(lam=lams).fit(X, T, w)
    assert together.solution_.converged and together.lam_.tolist() == lams
    total = 0.0
    for j, lam in enumerate(lams):
        alone = type(machine)(**{**machine.get_params(deep=False), "lam": lam}).fit(X, T[:, j], w)
        assert np.abs(alone.predict(X) - together.predict(X)[:, j]).max() < 2e-2 * np.ptp(T[:, j])
        total += alone.solution_.certificate.objective
    assert together.solution_.certificate.objective == pytest.approx(total, rel=1e-4)


def test_leave_one_out_goes_by_each_lam():
    machine = KernelRidge(G, lam=[0.1, 0.01]).fit(X, T[:, :2])
    alone = KernelRidge(G, lam=0.01).fit(X, T[:, 1])
    assert np.allclose(machine.loo_residuals()[:, 1], alone.loo_residuals())


def test_labels_have_their_own_too():
    labels = np.column_stack([T[:, 2] > 3, X[:, 1] > 3]).astype(int)
    machine = KernelSVC(G, lam=FromC([1.0, 10.0])).fit(X, labels)
    alone = KernelSVC.from_C(10.0, kernel=G).fit(X, labels[:, 1])
    assert np.abs(machine.decision_function(X)[:, 1] - alone.decision_function(X)).max() < 5e-3


def test_what_can_not_be():
    for wrong, words in (
        ([0.1, 0.2], "lam has 2 values, one for each output, and there are 3 outputs"),
        ([0.1, -1.0, 0.2], "positive number"),
        ([0.1, "auto", 0.2], "one positive number for each output"),
        ([], "positive number"),
        (FromAlpha([1.0, 0.0, 1.0]), "alpha must be a positive number"),
        (np.full((3, 1), 0.1), "one positive number for each output"),
    ):
        with pytest.raises(ValueError, match=words):
            KernelRidge(G, lam=wrong).fit(X, T)
    with pytest.raises(ValueError, match="ties outputs together"):
        KernelLogistic(G, lam=[0.1, 0.1, 0.1]).fit(X, np.arange(N) % 3)
    with pytest.raises(ValueError, match="those of one target"):
        KernelRegressor(G, Quantile([0.1, 0.9]), lam=[0.1, 0.1]).fit(X, Y)
    machine = KernelRidge(G, lam=[0.1, 0.1, 0.2]).fit(X, T)
    for ask in (lambda: machine.predict(X, return_std=True), machine.posterior):
        with pytest.raises(ValueError, match="one λ for all outputs"):
            ask()


def test_a_list_that_is_changed_afterwards_is_no_matter():
    lams = [0.1, 0.2, 0.3]
    machine = KernelRidge(G, lam=lams).fit(X, T)
    lams[0] = 9.0
    assert machine.lam_[0] == 0.1


# -- the scale of Huber's loss ------------------------------------------------------------------------


def concomitant(Phi, y, alpha, w, epsilon=1.35):
    """Huber's proposal by a minimiser of SciPy's, over w, b and log σ."""
    p = Phi.shape[1]

    def objective(v):
        sigma = np.exp(v[-1])
        z = np.abs(y - Phi @ v[:p] - v[p]) / sigma
        inside = z <= epsilon
        value = (
            w @ (sigma + sigma * np.where(inside, z**2, 2 * epsilon * z - epsilon**2)) + alpha * v[:p] @ v[:p]
        )
        slope = -np.where(inside, 2 * z, 2 * epsilon) * np.sign(y - Phi @ v[:p] - v[p]) * w
        in_sigma = w @ (1 - np.minimum(z, epsilon) ** 2) * sigma
        return value, np.concatenate([Phi.T @ slope + 2 * alpha * v[:p], [slope.sum(), in_sigma]])

    start = np.zeros(p + 2)
    start[p] = np.median(y)
    options = {"maxiter": 10_000, "ftol": 1e-16, "gtol": 1e-9}
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options)


@pytest.mark.parametrize("alpha", [1e-4, 1.0, 50.0])
@pytest.mark.parametrize("w", [None, RNG.integers(0, 3, N).astype(float)], ids=["plain", "weighted"])
def test_it_is_huber_regressor(alpha, w):
    total = N if w is None else w.sum()
    machine = KernelRegressor(Linear(), ScaledHuber(scale=None), lam=alpha / total).fit(X, Y, w)
    peer = HuberRegressor(alpha=alpha, tol=1e-8, max_iter=10_000).fit(X, Y, w)
    assert machine.loss_.scale == pytest.approx(peer.scale_, rel=1e-3)
    assert np.abs(machine.coef_ - peer.coef_).max() < 1e-3
    best = concomitant(X, Y, alpha, np.ones(N) if w is None else w)
    assert machine.loss_.scale == pytest.approx(np.exp(best.x[-1]), rel=1e-4)
    mine = machine.solution_.certificate.objective + machine.loss_.scale
    assert mine * total <= best.fun * (1 + 1e-10)


def test_the_scale_goes_with_the_units_of_y():
    a = KernelRegressor(G, ScaledHuber(scale=None), lam=1e-2).fit(X, Y)
    b = KernelRegressor(G, ScaledHuber(scale=None), lam=1e-5).fit(X, 1000 * Y)
    assert b.loss_.scale == pytest.approx(1000 * a.loss_.scale, rel=1e-6)
    assert np.allclose(b.predict(X), 1000 * a.predict(X), rtol=1e-5)


def test_several_targets_have_scales_of_their_own():
    machine = KernelRegressor(G, ScaledHuber(scale=None), lam=[0.01, 0.02, 0.01]).fit(X, T)
    alone = KernelRegressor(G, ScaledHuber(scale=None), lam=0.02).fit(X, T[:, 1])
    assert machine.loss_.scale[1] == pytest.approx(alone.loss_.scale, rel=1e-7)
    assert np.abs(machine.predict(X)[:, 1] - alone.predict(X)).max() < 1e-5
    assert machine.coding_.loss is machine.loss_


def test_other_ways_there():
    plain = KernelRegressor(Linear(), ScaledHuber(scale=None), lam=0.01).fit(X, Y)
    for solver, representation in (("dual", "full"), ("interior", ElasticNet(0))):
        lam = 0.02 if solver == "interior" else 0.01
        other = KernelRegressor(
            Linear(), ScaledHuber(scale=None), lam=lam, solver=solver, representation=representation
        )
        assert other.fit(X, Y).loss_.scale == pytest.approx(plain.loss_.scale, rel=1e-3)
    known = KernelRegressor(Linear(), ScaledHuber(scale=plain.loss_.scale), lam=0.01).fit(X, Y)
    assert np.abs(known.coef_ - plain.coef_).max() < 1e-6
    # The same loss in other words: δ = εσ, and λ multiplied by σ.
    sigma = plain.loss_.scale
    words = KernelRegressor(Linear(), Huber(1.35 * sigma), lam=0.01 * sigma).fit(X, Y)
    assert np.abs(words.coef_ - plain.coef_).max() < 1e-6
    assert KernelRegressor(G, ScaledHuber(scale=None)).fit(X, Y).loss_.scale > 0


class Counted(Newton):
    """Newton's method, which counts how often it is asked."""

    runs = 0

    def run(self, problem):
        Counted.runs += 1
        return super().run(problem)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_where_nothing_is_left_the_scale_is_next_to_nothing():
    for y in (np.full(N, 3.0), X @ np.ones(4)):
        machine = KernelRegressor(Linear(), ScaledHuber(scale=None), lam=1e-9).fit(X, y)
        assert machine.loss_.scale < 1e-4
        assert np.abs(machine.predict(X) - y).max() < 1e-3
    # The search goes there at once, and no further than rounding lets it.
    for far in (0.0, 1e6):
        Counted.runs = 0
        machine = KernelRegressor(G, ScaledHuber(scale=None), lam=1e-9, solver=Counted()).fit(X, Y + far)
        assert Counted.runs <= 12 and 1e-14 * far < machine.loss_.scale < 1e-6


def test_the_loss_itself():
    for loss in (ScaledHuber(), ScaledHuber(1.1, 0.3)):
        check_loss(loss)
    for wrong in (
        {"epsilon": 1.0},
        {"epsilon": "x"},
        {"scale": 0.0},
        {"scale": "auto"},
        {"scale": [1.0, -1.0]},
    ):
        with pytest.raises(ValueError, match="ScaledHuber"):
            ScaledHuber(**wrong).validate()
    with pytest.raises(ValueError, match="no scale yet"):
        ScaledHuber(scale=None).value([[1.0]], [[0.0]])
    r = np.linspace(-5, 5, 101)[:, None]
    V = 0.5 * np.where(np.abs(r / 0.5) <= 1.35, (r / 0.5) ** 2, 2 * 1.35 * np.abs(r / 0.5) - 1.35**2)
    assert np.allclose(ScaledHuber(scale=0.5).value(r, 0 * r), V)


# -- warm starts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "machine",
    [
        KernelLogistic(G, lam=1e-3),
        KernelLogistic(Linear(), lam=1e-3),
        KernelLogistic(G, lam=1e-3, representation=Nystrom(centres=X[:15])),
        KernelLogistic(Linear(), lam=1e-3, representation="lasso"),
        KernelClassifier(G, "squared_hinge", lam=1e-3),
        KernelRegressor(G, Huber(0.05), lam=1e-3),
    ],
    ids=lambda m: repr(m)[:60],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_second_fit_begins_where_the_first_ended(machine, classes):
    y = np.digitize(Y, [5.0, 8.0][: classes - 1])
    cold = type(machine)(**machine.get_params(deep=False)).fit(X, y)
    warm = type(machine)(**{**machine.get_params(deep=False), "warm_start": True}).fit(X, y)
    first = warm.solution_.iterations
    assert first == cold.solution_.iterations > 1
    warm.fit(X, y)
    assert warm.solution_.converged and warm.solution_.iterations <= 1
    # Elsewhere it is no harm: another λ, other examples, other classes.
    warm.set_params(lam=3e-3).fit(X, y)
    again = type(machine)(**{**machine.get_params(deep=False), "lam": 3e-3}).fit(X, y)
    assert np.abs(warm.scores(X) - again.scores(X)).max() < 1e-3 * np.abs(again.scores(X)).max()
    assert warm.fit(X[:50], y[:50]).solution_.converged
    assert warm.fit(X, np.arange(N) % 4).solution_.converged


def test_fit_from_another_machine():
    first = KernelLogistic(G, lam=1e-3).fit(X, Y > 5)
    second = KernelLogistic(G, lam=1.1e-3).fit_from(first, X, Y > 5)
    assert second.solution_.iterations < KernelLogistic(G, lam=1.1e-3).fit(X, Y > 5).solution_.iterations
