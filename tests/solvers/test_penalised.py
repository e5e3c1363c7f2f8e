"""ℓ1, elastic nets and c ≥ 0 for any loss, beside scikit-learn; hostile data; what is refused."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import sklearn.linear_model as peers
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC
from mercer.kernels import Linear
from mercer.losses import Hinge, Logistic, Quantile, Squared
from mercer.operators import L1, Identity, Matrix
from mercer.representations import ElasticNet, Lasso
from mercer.solvers import Coordinate, IncompatibleError, Interior, Problem
from mercer.testing import check_solver

RNG = np.random.default_rng(0)
N, P = 80, 8
X = RNG.standard_normal((N, P)) + 3
Y = X @ np.array([2.0, -1, 0, 0, 0, 0, 0.5, 0]) + RNG.standard_normal(N)
LABELS = np.median(Y) < Y
W = RNG.integers(0, 3, N).astype(float)


def same(machine, peer, tol):
    assert machine.solution_.converged
    assert np.abs(machine.coef_ - np.reshape(peer.coef_, machine.coef_.shape)).max() < tol
    assert np.abs(machine.intercept_ - peer.intercept_).max() < 10 * tol


# -- beside scikit-learn ------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
def test_quantiles_are_those_of_quantile_regressor(level, w):
    machine = KernelRegressor(Linear(), Quantile(level), lam=0.05, representation=Lasso()).fit(X, Y, w)
    # Theirs doesn't divide by the weights' mean.
    alpha = 0.05 if w is None else 0.05 * w.mean()
    same(machine, peers.QuantileRegressor(quantile=level, alpha=alpha).fit(X, Y, w), 1e-9)
    assert machine.solution_.solver == "interior" and machine.solution_.certificate.gap < 1e-10


@pytest.mark.parametrize("ratio", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
def test_elastic_nets_of_the_logistic_loss(ratio, w):
    total = N if w is None else w.sum()
    net = ElasticNet(ratio)
    machine = KernelLogistic(Linear(), lam=1 / (0.5 * total), representation=net, solver=Coordinate(tol=1e-9))
    machine.fit(X, LABELS, w)
    peer = peers.LogisticRegression(solver="saga", C=0.5, l1_ratio=ratio, tol=1e-9, max_iter=100_000)
    same(machine, peer.fit(X, LABELS, w), 1e-4)


def test_elastic_net_of_several_classes_at_once():
    labels = np.digitize(Y, [2, 6])
    machine = KernelLogistic(Linear(), lam=1 / (0.5 * N), representation=ElasticNet(0.7)).fit(X, labels)
    peer = peers.LogisticRegression(solver="saga", C=0.5, l1_ratio=0.7, tol=1e-9, max_iter=100_000)
    peer.fit(X, labels)
    assert machine.solution_.converged
    assert np.abs(machine.coef_ - peer.coef_).max() < 1e-4
    assert np.abs(machine.predict_proba(X) - peer.predict_proba(X)).max() < 1e-5


@pytest.mark.parametrize("solver", ["coordinate", "interior"])
def test_squared_hinge_is_that_of_linear_svc(solver):
    Z = X - 3
    machine = KernelClassifier(
        Linear(), "squared_hinge", lam=1 / (0.5 * N), representation="lasso", solver=solver, offset=False
    )
    peer = LinearSVC(penalty="l1", dual=False, C=0.5, tol=1e-8, max_iter=100_000, fit_intercept=False)
    same(machine.fit(Z, LABELS), peer.fit(Z, LABELS), 1e-5)


@pytest.mark.parametrize("ratio", [1.0, 0.3])
def test_positive_coefficients_are_those_of_scikit_learn(ratio):
    machine = KernelRidge(Linear(), lam=0.2, representation=ElasticNet(ratio, positive=True)).fit(X, Y)
    peer = peers.ElasticNet(alpha=0.1, l1_ratio=ratio, positive=True, tol=1e-12).fit(X, Y)
    same(machine, peer, 1e-8)
    assert machine.coef_.min() == 0 and (machine.coef_ > 0).any()


def test_ridge_with_positive_coefficients():
    machine = KernelRidge(Linear(), lam=2 * 0.1 / N, representation=ElasticNet(0, positive=True)).fit(X, Y)
    same(machine, peers.Ridge(alpha=0.1, positive=True, tol=1e-12).fit(X, Y), 1e-6)


def test_without_l1_it_is_features_with_half_the_lam():
    for loss, solver in (("absolute", "interior"), ("logistic", "coordinate")):
        kind, y = (KernelClassifier, LABELS) if loss == "logistic" else (KernelRegressor, Y)
        net = kind(Linear(), loss, lam=0.2, representation=ElasticNet(0), solver=solver).fit(X, y)
        ridge = kind(Linear(), loss, lam=0.1, representation="features").fit(X, y)
        assert net.solution_.certificate.objective == pytest.approx(
            ridge.solution_.certificate.objective, rel=2e-4
        )


# -- hostile data -------------------------------------------------------------------------------------


def random_problem(rng):
    n, p = 60, int(rng.integers(1, 90))
    A = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-2, 2, p) + rng.choice([0, 1, 100])
    if rng.random() < 0.3:
        A[:, 0] = 1.0
    if rng.random() < 0.3:
        A = A[rng.integers(0, 15, n)]
    y = 3 * A @ rng.standard_normal(p) / np.abs(A).max() + rng.standard_t(2, n)
    y = np.round(y) if rng.random() < 0.2 else y
    w = rng.integers(0, 3, n).astype(float) if rng.random() < 0.4 else None
    net = ElasticNet(float(rng.choice([0, 0.3, 1])), positive=bool(rng.random() < 0.5))
    dtype = rng.choice([np.float64, np.float32])
    return A.astype(dtype), y, w, 10 ** rng.uniform(-4, 0.5), bool(rng.random() < 0.6), net


@pytest.mark.parametrize("solver", ["interior", "coordinate"])
def test_columns_of_any_size_repeated_rows_weights_of_0_and_single_precision(solver):
    rng = np.random.default_rng(5)
    both = ["huber", "squared_hinge", "squared_epsilon_insensitive"]
    own = (
        ["absolute", "quantile", "hinge"] if solver == "interior" else ["logistic", "squared", "exponential"]
    )
    for _ in range(25):
        A, y, w, lam, offset, net = random_problem(rng)
        loss = str(rng.choice(both + own))
        label = loss in ("hinge", "squared_hinge", "logistic", "exponential")
        kind, y = (KernelClassifier, y > np.median(y)) if label else (KernelRegressor, y)
        machine = kind(Linear(), loss, lam=lam, representation=net, solver=solver, offset=offset)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solution = machine.fit(A, y, w).solution_
        assert solution.converged, (loss, machine, solution)
        assert net.positive is False or machine.coef_.min() >= 0


@pytest.mark.parametrize("loss", ["absolute", "hinge", "logistic", "squared"])
def test_sparse_features_are_the_same_features(loss):
    A = np.where(X > 3.5, X, 0)
    kind, y = (KernelClassifier, LABELS) if loss in ("hinge", "logistic") else (KernelRegressor, Y)
    machines = [kind(Linear(), loss, lam=0.05, representation="lasso").fit(B, y) for B in (A, csr_array(A))]
    assert np.abs(machines[0].coef_ - machines[1].coef_).max() < 1e-5


def test_more_features_than_examples():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((40, 300))
    y = A[:, 0] - 2 * A[:, 1]
    machine = KernelRidge(Linear(), lam=0.1, representation=Lasso()).fit(A, y)
    same(machine, peers.Lasso(alpha=0.05, tol=1e-12, max_iter=100_000).fit(A, y), 1e-7)
    robust = KernelRegressor(Linear(), "absolute", lam=0.1, representation=Lasso()).fit(A, y)
    same(robust, peers.QuantileRegressor(alpha=0.05).fit(A, y), 1e-6)


def test_a_lam_that_leaves_nothing():
    for loss in ("absolute", "squared"):
        machine = KernelRegressor(Linear(), loss, lam=1e4, representation="lasso").fit(X, Y)
        assert not machine.coef_.any() and machine.solution_.converged
        middle = np.median(Y) if loss == "absolute" else Y.mean()
        assert np.abs(np.abs(Y - machine.intercept_).mean() - np.abs(Y - middle).mean()) < 1e-8


def test_auto_chooses_a_lam():
    machine = KernelRegressor(Linear(), "absolute", representation=ElasticNet(0.5)).fit(X, Y)
    assert 0 < machine.lam_ < 10 and machine.score(X, Y) > 0.5
    assert "interior-point" in str(machine.plan_)


# -- what is refused ----------------------------------------------------------------------------------


def test_refusals():
    for wrong in (-0.1, 1.5, "half", True, None):
        with pytest.raises(ValueError, match="l1_ratio must be a number between 0"):
            KernelRidge(Linear(), lam=0.1, representation=ElasticNet(wrong)).fit(X, Y)
    with pytest.raises(ValueError, match="positive must be True or False"):
        KernelRidge(Linear(), lam=0.1, representation=Lasso(positive=1.5)).fit(X, Y)
    with pytest.raises(IncompatibleError, match="solver='interior', which takes losses with kinks"):
        KernelSVC(Linear(), lam=0.1, representation="lasso", solver="coordinate").fit(X, LABELS)
    with pytest.raises(IncompatibleError, match="use solver='coordinate'"):
        KernelLogistic(Linear(), lam=0.1, representation="lasso", solver="interior").fit(X, LABELS)
    plain, priced = (
        Problem(Matrix(X), B, np.where(LABELS, 1.0, -1.0)[:, None], Hinge(), 0.1, None, True, price)
        for B, price in ((Identity(P), 0.0), (L1(P), 0.5))
    )
    with pytest.raises(IncompatibleError, match="representation=Lasso"):
        Interior().run(plain)
    with pytest.raises(IncompatibleError, match="knows no price of the offset"):
        Interior().run(priced)


def test_laws():
    check_solver(Interior(tol=1e-10))


def test_what_penalties_say_of_slopes():
    """Against the definition: Ω*(v) = max over c of −⟨G, c⟩ − λΩ(c), on a grid."""
    grid = np.linspace(-40, 40, 160_001)
    for ratio in (0.0, 0.4, 1.0):
        for positive in (False, True):
            B = L1(1, ratio, positive)
            c = grid[grid >= 0] if positive else grid
            for slope in (-0.9, -0.1, 0.1, 0.7):
                values = -slope * c - 0.5 * (ratio * np.abs(c) + 0.5 * (1 - ratio) * c**2)
                known = B.conjugate(np.array([[slope]]), 0.5)
                if np.isfinite(known):
                    assert known == pytest.approx(values.max(), abs=1e-6)
                else:
                    assert values.argmax() in (0, len(c) - 1)


def test_warm_starts_arrive_at_once():
    for loss in (Squared(), Logistic()):
        y = Y[:, None] if isinstance(loss, Squared) else np.where(LABELS, 1.0, -1.0)[:, None]
        problem = Problem(Matrix(X), L1(P, 0.5), y, loss, 0.02, None, True)
        first = Coordinate(tol=1e-9).run(problem)
        again = Coordinate(tol=1e-9).run(replace(problem, begin=(first.coef, first.intercept)))
        assert again.iterations <= 1 < first.iterations + 1
        assert np.abs(again.coef - first.coef).max() < 1e-6
