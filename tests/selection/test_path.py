"""Paths over λ: what as many separate fits would give."""

import importlib

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import RidgeCV

from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.representations import Features, Lasso, Nystrom
from mercer.rows import progress
from mercer.selection import Path, loo, path
from oracles import gaussian

RNG = np.random.default_rng(0)
N = 40
X = RNG.standard_normal((N, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1]]) + 0.1 * RNG.standard_normal((N, 2)) + 2
W = RNG.uniform(0, 2, N)
W[3] = 0
LAMS = np.logspace(-5, 0, 6)
MACHINES = {
    "full": KernelRidge(Gaussian(1.0), offset=False),
    "full, median": KernelRidge(offset=False),
    "centres": KernelRidge(Gaussian(1.0), representation=Nystrom(centres=X[:9]), offset=False),
    "features": KernelRidge(Polynomial(2), representation=Features(), offset=False),
    "linear": KernelRidge(Linear(), offset=False),
}


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", MACHINES)
def test_equals_separate_fits(name, w, offset):
    machine = clone(MACHINES[name]).set_params(offset=offset, solver="cholesky")
    found = path(machine, X, Y, LAMS, sample_weight=w)
    weights = np.ones(N) if w is None else w
    for a, lam in enumerate(LAMS):
        alone = clone(machine).set_params(lam=lam).fit(X, Y, w)
        coef = alone.solution_.coef
        assert np.abs(found.coefs[a] - coef).max() < 1e-8 * max(np.abs(coef).max(), 1)
        assert np.abs(found.intercepts[a] - alone.intercept_).max() < 1e-8
        assert np.abs(found.loo_residuals[a] - alone.loo_residuals()).max() < 1e-8
        mse = np.average((alone.loo_residuals() ** 2).mean(axis=1), weights=weights)
        assert found.loo_mse[a] == pytest.approx(mse, rel=1e-8)
    assert found.best == np.argmin(found.loo_mse) and found.best_lam == LAMS[found.best]


def test_equals_leaving_each_out():
    """The errors themselves, from plain linear algebra."""
    K = gaussian(X, X)
    found = path(KernelRidge(Gaussian(1.0), offset=False), X, Y[:, 0], LAMS)
    for lam, residuals in zip(LAMS, found.loo_residuals, strict=True):
        for i in range(0, N, 9):
            kept = np.arange(N) != i
            c = np.linalg.solve(K[np.ix_(kept, kept)] + lam * (N - 1) * np.eye(N - 1), Y[kept, 0])
            assert residuals[i] == pytest.approx(Y[i, 0] - K[i, kept] @ c, abs=1e-8)


def test_linear_path_chooses_as_scikit_learn_does():
    """RidgeCV leaves one out at a fixed alpha = λ(n−1), as here."""
    Z = RNG.standard_normal((60, 8))
    y = Z[:, 0] + RNG.standard_normal(60)
    lams = np.logspace(-4, 2, 20)
    peer = RidgeCV(alphas=lams * 59, fit_intercept=False, store_cv_results=True).fit(Z, y)
    found = path(KernelRidge(Linear(), offset=False), Z, y, lams)
    assert np.allclose(found.loo_mse, peer.cv_results_.mean(axis=0), rtol=1e-8)
    assert found.best_lam == pytest.approx(peer.alpha_ / 59)


def test_shapes():
    one, two = path(KernelRidge(offset=False), X, Y[:, 0], LAMS), path(KernelRidge(offset=False), X, Y, LAMS)
    assert isinstance(one, Path)
    assert one.coefs.shape == (6, N) and two.coefs.shape == (6, N, 2)
    assert one.intercepts.shape == (6,) and two.intercepts.shape == (6, 2)
    assert one.loo_residuals.shape == (6, N) and two.loo_residuals.shape == (6, N, 2)
    assert one.loo_mse.shape == two.loo_mse.shape == (6,)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", ["full", "centres", "linear", "features"])
def test_default_values_go_with_the_scale_of_the_kernel(name, factor):
    machine = clone(MACHINES[name])
    machine.set_params(kernel=factor * machine.kernel)
    found = path(machine, X, Y[:, 0])
    plain = path(MACHINES[name], X, Y[:, 0])
    assert len(found.lams) == 50 and (np.diff(found.lams) > 0).all()
    assert np.allclose(found.lams, factor * plain.lams)
    assert np.allclose(found.loo_mse, plain.loo_mse, rtol=1e-4)  # the same machines, so the same errors


def test_the_best_of_the_path_is_a_good_machine():
    found = path(KernelRidge(Gaussian(1.0), offset=False), X, Y[:, 0])
    errors = found.loo_mse
    assert 0 < found.best < 49  # not at either end
    assert errors[found.best] < 0.5 * min(errors[0], errors[-1])


def test_the_machine_is_left_alone():
    machine = KernelRidge(lam=123.0, offset=False)
    path(machine, X, Y, LAMS)
    assert machine.lam == 123.0 and not hasattr(machine, "kernel_")


def test_other_machines_with_the_squared_loss():
    ridge = path(KernelRidge(Gaussian(1.0), offset=False), X, Y[:, 0], LAMS)
    assert np.array_equal(
        path(KernelRegressor(Gaussian(1.0), offset=False), X, Y[:, 0], LAMS).coefs, ridge.coefs
    )
    labels = Y[:, 0] > 2
    two = path(KernelClassifier(Gaussian(1.0), loss="squared", offset=False), X, labels, LAMS)
    coded = path(KernelRidge(Gaussian(1.0), offset=False), X, np.where(labels, 1.0, -1.0), LAMS)
    assert np.array_equal(two.coefs, coded.coefs) and np.array_equal(two.loo_mse, coded.loo_mse)
    three = path(KernelClassifier(Gaussian(1.0), loss="squared", offset=False), X, np.arange(N) % 3, LAMS)
    assert three.coefs.shape == (6, N, 3)


def test_loo():
    machine = KernelRidge(Gaussian(1.0), lam=1e-2, offset=False)
    assert np.array_equal(loo(machine, X, Y, W), clone(machine).fit(X, Y, W).loo_residuals())
    assert loo(machine, X, Y[:, 0]).shape == (N,)
    labels = Y[:, 0] > 2
    assert loo(KernelClassifier(Gaussian(1.0), loss="squared", lam=1e-2, offset=False), X, labels).shape == (
        N,
    )
    assert not hasattr(machine, "function_")


def test_only_for_least_squares_and_ridge():
    for call in (path, loo):
        with pytest.raises(ValueError, match="squared loss"):
            call(KernelLogistic(offset=False), X, Y[:, 0] > 2)
        with pytest.raises(ValueError, match="penalty λ‖f‖²"):
            call(KernelRidge(Linear(), representation=Lasso(), offset=False), X, Y[:, 0])


def test_how_many_values():
    found = path(KernelRidge(Gaussian(1.0), offset=False), X, Y, 11)
    assert np.allclose(found.lams, np.logspace(-9, 1, 11))


def test_what_does_not_fit_into_memory_is_refused_before_it_is_allocated(monkeypatch):
    n = 200_000
    many, y = np.zeros((n, 1)), np.zeros(n)
    exact = KernelRidge(Gaussian(1.0), representation="full", offset=False)
    room = importlib.import_module("mercer.solvers.loo")
    monkeypatch.setattr(room, "available_memory", lambda: 20 << 30)
    with pytest.raises(ValueError, match="200,000 examples.*1600.* GB.*5 matrices.*representation='nystrom'"):
        path(exact, many, y)
    with pytest.raises(ValueError, match="leaving one out for 200,000 examples.* 640.0 GB.*21.5 GB are free"):
        loo(exact, many, y)
    with pytest.raises(ValueError, match="6 matrices"):
        path(exact, many, y, sample_weight=np.arange(n))
    monkeypatch.setattr(room, "available_memory", lambda: 1 << 20)
    with pytest.raises(ValueError, match="fewer than 9 centres or features"):
        path(MACHINES["centres"], X, Y)


def test_a_machine_that_may_choose_goes_through_centres(monkeypatch):
    rng = np.random.default_rng(5)
    points = rng.uniform(-3, 3, (1500, 1))
    y = np.sin(points[:, 0]) + 0.1 * rng.standard_normal(1500)
    machine, room = KernelRidge(Gaussian(1.0), random_state=0), importlib.import_module("mercer.solvers.loo")
    exact = path(machine, points, y, [1e-5, 1e-3])
    assert exact.plan.unknowns == 1500 and "coefficients" not in repr(exact)
    monkeypatch.setattr(room, "available_memory", lambda: 8 * 4 * 1500**2)  # less than a spectrum takes
    monkeypatch.setattr(room, "_BLOCKS", 0)
    coarse = path(machine, points, y, [1e-5, 1e-3])
    assert isinstance(coarse.plan.representation, Nystrom) and coarse.plan.unknowns < 1500
    assert "centres, since a path over 2 values of λ for 1,500 examples" in coarse.plan.reasons[0]
    assert f"with {coarse.plan.unknowns:,} coefficients" in repr(coarse)
    assert np.allclose(coarse.loo_mse, exact.loo_mse, rtol=1e-3)
    with pytest.raises(ValueError, match="representation='nystrom'"):
        path(KernelRidge(Gaussian(1.0), representation="full"), points, y, [1e-5, 1e-3])


def test_loo_residuals_are_refused_before_anything_is_allocated(monkeypatch):
    machine = KernelRidge(Gaussian(1.0), lam=0.1).fit(X, Y)
    monkeypatch.setattr(importlib.import_module("mercer.solvers.loo"), "available_memory", lambda: 1000)
    with pytest.raises(ValueError, match="leaving one out for .* GB are free: representation='nystrom'"):
        machine.loo_residuals()


def test_a_path_says_how_far_it_is():
    lines = []
    with progress(lines.append, every=0):
        path(MACHINES["centres"], X, Y)
    assert any(line.startswith("leaving one out: 0 of ") for line in lines)


@pytest.mark.parametrize("lams", [[], [0.1, 0.0], [-1.0], [np.nan], [np.inf], 0.1, [[0.1]], 0], ids=str)
def test_lams_are_positive_numbers(lams):
    with pytest.raises(ValueError, match="lams must be a list of positive numbers"):
        path(KernelRidge(offset=False), X, Y, lams)


def test_a_path_prints_in_one_line():
    X = np.linspace(0, 3, 40)[:, None]
    wiggly = np.sin(X[:, 0])
    found = path(KernelRidge(Gaussian(1.0), offset=False), X, wiggly, [1e-2, 1e-1, 1.0])
    assert repr(found).startswith("<3 values of lam from 0.01 to 1; smallest leave-one-out error")
    assert repr(found).endswith("at 0.01, at the edge of the grid>")
