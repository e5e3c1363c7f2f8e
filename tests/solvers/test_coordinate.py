"""Sparse linear models: the lasso and its logistic relative."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Lasso as SklearnLasso
from sklearn.linear_model import LogisticRegression

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge
from mercer.kernels import Linear, Polynomial
from mercer.losses import Hinge, Huber, Logistic, Squared
from mercer.operators import L1, Identity, Matrix
from mercer.representations import Lasso
from mercer.solvers import ConvergenceWarning, Coordinate, IncompatibleError, Problem
from mercer.testing import check_solver
from oracles import LOSSES, lasso_minimum

RNG = np.random.default_rng(0)
N, P = 60, 8
PHI = RNG.standard_normal((N, P))
TRUE = np.array([2.0, -1.0, 0, 0, 0, 0, 0.5, 0])
Y = (PHI @ TRUE + 0.3 * RNG.standard_normal(N) + 1)[:, None]
W = RNG.uniform(0, 2, N)
W *= N / W.sum()


def problem(loss, lam, w=None, offset=False, Phi=PHI):
    y = Y if not loss.classification else np.where(Y > 1, 1.0, -1.0)
    return Problem(Matrix(Phi), L1(P), y, loss, lam, w, offset)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("loss, lam", [(Squared(), 0.3), (Squared(), 0.01), (Logistic(), 0.05)], ids=str)
def test_reaches_the_minimum(loss, lam, w, offset):
    p = problem(loss, lam, w, offset)
    c, b, value = lasso_minimum(LOSSES[type(loss).__name__], PHI, p.y, lam, w, offset)
    s = Coordinate(tol=1e-10).run(p)
    assert s.certificate.objective == pytest.approx(value, rel=1e-7)
    assert np.abs(PHI @ s.coef[:, 0] + s.intercept - PHI @ c - b).max() < 1e-3
    assert s.certificate.relative_gradient < 1e-5
    # Coefficients at 0 are 0, not small.
    assert ((s.coef[:, 0] == 0) == (np.abs(c) < 1e-6)).all()


def test_several_targets():
    y = np.hstack([Y, -2 * Y])
    s = Coordinate().run(Problem(Matrix(PHI), L1(P), y, Squared(), 0.1))
    for j in range(2):
        c, _, _ = lasso_minimum(LOSSES["Squared"], PHI, y[:, j : j + 1], 0.1)
        assert np.abs(s.coef[:, j] - c).max() < 1e-4


def test_sparse_matrices():
    S = np.where(PHI > 0, PHI, 0)
    for loss in (Squared(), Logistic()):
        dense = Coordinate(tol=1e-9).run(problem(loss, 0.05, Phi=S))
        sparse = Coordinate(tol=1e-9).run(problem(loss, 0.05, Phi=csr_array(S)))
        assert np.abs(dense.coef - sparse.coef).max() < 1e-4


@pytest.mark.parametrize("offset", [False, True])
def test_machine_equals_scikit_learns_lasso(offset):
    """(1/n)‖·‖² + λ‖c‖₁ is twice scikit-learn's objective at alpha = λ/2."""
    machine = KernelRidge(Linear(), lam=0.2, representation="lasso", offset=offset).fit(PHI, Y[:, 0])
    peer = SklearnLasso(alpha=0.1, fit_intercept=offset, tol=1e-10).fit(PHI, Y[:, 0])
    assert np.abs(machine.coef_ - peer.coef_).max() < 1e-4
    assert machine.intercept_ == pytest.approx(peer.intercept_, abs=1e-4)
    assert np.abs(machine.predict(PHI) - peer.predict(PHI)).max() < 1e-3
    assert "coordinate descent" in str(machine.plan_)


def test_machine_equals_scikit_learns_sparse_logistic_regression():
    labels = np.where(Y[:, 0] > 1, "yes", "no")
    machine = KernelLogistic(
        Linear(), lam=0.02, representation=Lasso(), solver=Coordinate(tol=1e-9), offset=False
    )
    machine.fit(PHI, labels)
    peer = LogisticRegression(
        l1_ratio=1.0, solver="liblinear", C=1 / (0.02 * N), fit_intercept=False, tol=1e-10, max_iter=10_000
    ).fit(PHI, labels)
    assert np.abs(machine.predict_proba(PHI) - peer.predict_proba(PHI)).max() < 1e-4


def test_more_classes_one_against_the_rest():
    labels = np.digitize(Y[:, 0], [0, 2])
    machine = KernelClassifier(Linear(), loss="logistic", lam=0.02, representation="lasso", offset=False).fit(
        PHI, labels
    )
    assert machine.coef_.shape == (3, P)
    assert machine.score(PHI, labels) > 0.75


def test_sparsity_on_monomials():
    X = RNG.uniform(-1, 1, (100, 2))
    machine = KernelRegressor(Polynomial(3), lam=0.02, representation=Lasso(), offset=True)
    machine.fit(X, 3 * X[:, 0] * X[:, 1])
    assert (machine.coef_ != 0).sum() <= 3


def test_running_out_of_iterations_warns():
    with pytest.warns(
        ConvergenceWarning, match="coordinate stopped at its limit of 1 iteration.*Increase lam or max_iter"
    ):
        s = Coordinate(max_iter=1).run(problem(Logistic(), 0.001))
    assert s.status == "max_iter"


def test_other_losses_are_refused():
    with pytest.raises(IncompatibleError, match=r"needs second derivatives, and Hinge.*solver='interior'"):
        Coordinate().run(problem(Hinge(), 0.1))
    with pytest.raises(IncompatibleError, match="use it with representation=Lasso"):
        Coordinate().run(replace(problem(Huber(), 0.1), B=Identity(P)))


def test_other_solvers_and_penalties_are_refused():
    with pytest.raises(IncompatibleError, match="a Lasso representation needs solver='coordinate'"):
        KernelRidge(Linear(), representation="lasso", solver="cholesky", offset=False).fit(PHI, Y[:, 0])
    with pytest.raises(IncompatibleError, match=r"use it with representation=Lasso\(\)"):
        KernelRidge(Linear(), representation="features", solver="coordinate", offset=False).fit(PHI, Y[:, 0])


def test_laws():
    check_solver(Coordinate(tol=1e-9))
