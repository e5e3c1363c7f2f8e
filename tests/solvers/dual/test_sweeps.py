"""The dual problem in sparse features, against LIBSVM and against the solver with kernel values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, SVR, OneClassSVM

from mercer import KernelClassifier, KernelOneClass, KernelRegressor, KernelSVC
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Quantile,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from mercer.operators import Identity, Matrix
from mercer.solvers import Dual, Problem
from mercer.solvers.dual import sweeps as module
from mercer.solvers.dual.sweep_loop import Sparse, add_up, inner, sweep

N, WIDTH = 1200, 300


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    X = sparse.random_array((N, WIDTH), density=0.05, rng=rng, format="csr")
    X = X[:, :].tolil()
    X[7] = 0  # an example without any feature
    X[11], X[12] = X[10], X[10]  # repeated ones
    X = X.tocsr()
    return X, X @ rng.standard_normal(WIDTH) + 0.5 + 0.3 * rng.standard_normal(N)


def problem(points, loss, lam, offset=True, **others):
    X, f = points
    y = np.sign(f) if loss.classification else f
    return Problem(Matrix(X), Identity(WIDTH), y[:, None], loss, lam, offset=offset, **others)


@pytest.mark.parametrize("C", [0.1, 100.0])
def test_hinge_is_libsvms(points, C):
    X, f = points
    weights = np.where(np.arange(N) % 3, 1.0, 2.0)
    weights *= N / weights.sum()
    found = Dual(tol=1e-6).run(problem(points, Hinge(), 1 / (2 * C * N), weights=weights))
    libsvm = SVC(C=C, kernel="linear", tol=1e-6).fit(X, np.sign(f), sample_weight=weights)
    np.testing.assert_allclose(X @ found.coef[:, 0] + found.intercept, libsvm.decision_function(X), atol=1e-4)
    assert found.status == "converged" and found.certificate.violation <= 1e-6
    assert 0 <= found.certificate.gap < 1e-5
    assert sum(found.support.free) + sum(found.support.bounded) == pytest.approx(len(libsvm.support_), abs=3)
    np.testing.assert_allclose(found.dual_coef.sum(), 0, atol=1e-9 * C)


@pytest.mark.parametrize(
    "loss",
    [
        *(EpsilonInsensitive(0.2), SquaredEpsilonInsensitive(0.2), Absolute()),
        *(Quantile(0.8), Huber(0.3), SquaredHinge()),
    ],
)
@pytest.mark.parametrize("offset", [True, False])
def test_every_loss_as_with_kernel_values(points, loss, offset):
    """The solver with K is another algorithm, and tested against others by itself."""
    found = Dual(tol=1e-5).run(problem(points, loss, 1e-3, offset))
    K = Matrix((points[0] @ points[0].T).toarray())
    full = Dual(tol=1e-6).run(Problem(K, K, problem(points, loss, 1e-3).y, loss, 1e-3, offset=offset))
    scores = points[0] @ found.coef + found.intercept
    np.testing.assert_allclose(scores, K @ full.coef + full.intercept, atol=1e-3)
    assert found.certificate.objective == pytest.approx(full.certificate.objective, rel=1e-6)
    assert found.status == "converged"


def test_svr_is_libsvms(points):
    X, f = points
    found = KernelRegressor("linear", loss=EpsilonInsensitive(0.2), lam=1e-3, solver=Dual(tol=1e-6)).fit(X, f)
    libsvm = SVR(C=1 / (2e-3 * N), epsilon=0.2, kernel="linear", tol=1e-6).fit(X, f)
    np.testing.assert_allclose(found.predict(X), libsvm.predict(X), atol=1e-4)


def test_an_offset_that_has_a_price_is_libsvms(points):
    X = points[0]
    one = KernelOneClass("linear", nu=0.3, representation="features", solver=Dual(tol=1e-8)).fit(X)
    libsvm = OneClassSVM(nu=0.3, kernel="linear", tol=1e-8).fit(X)
    ours, theirs = one.decision_function(X), libsvm.decision_function(X)
    scale = (ours @ theirs) / (theirs @ theirs)  # LIBSVM's are multiplied by νn
    np.testing.assert_allclose(ours, scale * theirs, atol=1e-4 * np.abs(ours).max())


def test_compiled_loops_are_the_python_they_are_written_in(points):
    X = points[0][:60].astype(np.float32)
    rows = Sparse(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    which, c = np.arange(60)[::-1].copy(), np.linspace(-1, 1, 60)
    for function in (sweep, add_up, inner):
        results = []
        for run in (function, module._compiled(function, "float32")):
            w, out, moved = np.linspace(0, 1, WIDTH), np.zeros(60), c.copy()
            awake, now = np.zeros(60, np.int64), np.array([0.1, 0.2, -1e300, 1e300, 0.05, -0.05, 0.3])
            if function is sweep:
                box = (np.ones(60), np.full(60, -1.0), np.full(60, 1.0), np.zeros(60), np.full(60, 3.0))
                at = module.SweptAt(which, moved, *box, np.linspace(0, 1, 60), w, 0.1, 0.5, 0.2)
                run(rows, at, which, awake, now, 0, 60)
            elif function is add_up:
                run(rows, which, c, w, 0, 60)
            else:
                run(rows, which, w, out, 0, 60)
            results.append(np.concatenate([w, out, moved, awake, now]))
        np.testing.assert_allclose(results[0], results[1], rtol=1e-12)
        assert np.ptp(results[0]) > 0


def test_loops_stay_inside(points):
    X = points[0][:5]
    wrong = X.indices.astype(np.int32)
    wrong[3] = WIDTH
    rows = Sparse(X.indptr.astype(np.int64), wrong, X.data)
    with pytest.raises(IndexError):
        module._compiled(inner, "float64")(rows, np.arange(5), np.zeros(WIDTH), np.zeros(5), 0, 5)


def test_entries_that_are_there_twice_are_added_up(points):
    X, f = points
    twice = sparse.csr_array((np.repeat(X.data, 2) / 2, np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)
    one, two = (Dual().run(problem((A, f), Hinge(), 1e-3)) for A in (X, twice))
    np.testing.assert_allclose(one.coef, two.coef, atol=1e-12)


def test_plan_and_outputs():
    """Many classes are one problem each; plans take sparse features where they are the shorter way."""
    rng = np.random.default_rng(1)
    X = sparse.random_array((1500, 4000), density=0.005, rng=rng, format="csr")
    f = X @ rng.standard_normal(4000)
    y = np.digitize(f, [-1, 0, 1])
    machine = KernelClassifier("linear", loss=SquaredHinge(), lam=1e-3).fit(X, y)
    assert "an example at a time" in str(machine.plan_)
    for k in range(4):
        one = KernelClassifier("linear", loss=SquaredHinge(), lam=1e-3).fit(X, y == k)
        np.testing.assert_allclose(machine.decision_function(X)[:, k], one.decision_function(X), atol=1e-2)
    machine = KernelSVC("linear", lam=1e-3)
    assert "an example at a time" in str(machine.plan(X, y))
    assert machine.plan(X[:500], y[:500]).representation.name == "full"
    assert machine.plan(X[:, :300], y).solver.name == "smoothing"
    assert machine.plan(X[:, :300].toarray(), y).solver.name == "smoothing"


def test_a_limit_is_kept_and_said(points):
    with pytest.warns(UserWarning, match="limit of 3 iterations"):
        found = Dual(tol=1e-9, max_iter=3).run(problem(points, Hinge(), 1e-6))
    assert found.status == "max_iter" and found.certificate.gap > 0


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.2), Quantile(0.9), Huber(0.3)])
def test_few_sweeps_for_large_lam_and_targets_far_from_0(points, loss):
    """The offset moves by at most mean(‖φ‖²)/(2λ) a sweep: it has to start near its place."""
    X, f = points
    far = f if loss.classification else f + 1e4
    found = Dual().run(problem((X, far), loss, 10.0))
    assert found.status == "converged" and found.iterations < 20
    y = problem((X, far), loss, 1.0).y
    constant = min(loss.value(y, np.full_like(y, b)).mean() for b in np.linspace(y.min(), y.max(), 2000))
    assert found.certificate.objective == pytest.approx(constant, rel=1e-2)


def test_what_all_examples_have_in_common_costs_no_sweeps(points):
    """A column of 30s beside others of size 1: with an offset it says nothing."""
    X = points[0]
    with_column = sparse.hstack([X, np.full((N, 1), 30.0)], format="csr")
    plain = Dual(tol=1e-5).run(problem(points, Hinge(), 1e-3))
    wide = replace(problem(points, Hinge(), 1e-3), A=Matrix(with_column), B=Identity(WIDTH + 1))
    found = Dual(tol=1e-5).run(wide)
    scores = with_column @ found.coef + found.intercept
    np.testing.assert_allclose(scores, X @ plain.coef + plain.intercept, atol=1e-3)
    assert found.iterations < 2 * plain.iterations + 20
