"""Support vector machines on more examples than are solved at once: what defaults claim, holds."""

import os
import signal
import threading

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from mercer import KernelClassifier, KernelOneClass, KernelRegressor, KernelSVC
from mercer.kernels import Gaussian, Linear
from mercer.losses import Absolute, Hinge
from mercer.representations import Nystrom
from mercer.solvers import ConvergenceWarning, Dual
from oracles import gaussian

RNG = np.random.default_rng(0)
N = 1400
X = RNG.standard_normal((N, 3))
Y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * RNG.standard_normal(N) > 0, 1.0, -1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
def test_the_stated_gap_covers_the_true_one(C, dtype):
    """P and D of the coefficients found, from the dense float64 matrix of the points as given."""
    P = X.astype(dtype)
    machine = KernelSVC.from_C(C, kernel=Gaussian(1.0)).fit(P, Y)
    K = gaussian(P.astype(np.float64), P.astype(np.float64))
    c, b = machine.solution_.coef[:, 0], machine.intercept_
    f = K @ c
    lam = 1 / (2 * C * N)
    primal = np.maximum(0, 1 - Y * (f + b)).mean() + lam * c @ f
    dual = 2 * lam * (Y @ c - 0.5 * c @ f)
    stated = machine.solution_.certificate
    assert machine.solution_.converged
    assert (Y * c).min() >= 0 and (Y * c).max() <= C * (1 + 1e-12) and abs(c.sum()) < 1e-8 * np.abs(c).sum()
    assert primal - dual <= stated.gap * (1 + 1e-6) + 1e-15
    assert stated.objective == pytest.approx(primal, abs=stated.gap)
    slopes = f - Y
    rise, fall = c < np.maximum(C * Y, 0), c > np.minimum(C * Y, 0)
    assert slopes[fall].max() - slopes[rise].min() <= 1e-3


def test_one_class_keeps_its_share_outside():
    machine = KernelOneClass(Gaussian(0.3), nu=0.1).fit(X)
    assert (machine.predict(X) == -1).mean() <= 0.1
    assert len(machine.support_) >= 0.1 * N


@pytest.mark.parametrize("w", [1 / N, 1e-5, 1e5])
def test_one_class_does_not_see_the_scale_of_weights(w):
    plain = KernelOneClass(Gaussian(1.0), nu=0.1).fit(X)
    scaled = KernelOneClass(Gaussian(1.0), nu=0.1).fit(X, sample_weight=np.full(N, w))
    assert np.abs(plain.decision_function(X) - scaled.decision_function(X) / w).max() < 1e-3 * plain.offset_
    assert (plain.predict(X) == scaled.predict(X)).mean() > 0.995


@pytest.mark.parametrize(
    "kernel, representation", [(Linear(), "auto"), (Gaussian(1.0), Nystrom(n_centres=40))]
)
def test_one_class_finds_a_solver_with_features(kernel, representation):
    machine = KernelOneClass(kernel, nu=0.2, representation=representation, random_state=0).fit(X + 3)
    assert machine.solution_.solver == "dual"
    assert (machine.predict(X + 3) == -1).mean() <= 0.2


def test_outputs_of_different_size_are_solved_equally_well():
    targets = np.column_stack([1000 * np.sin(X[:, 0]), 1e-3 * np.sin(X[:, 0])])
    machine = KernelRegressor(Gaussian(1.0), loss=Absolute(), lam=1e-5, offset=True)
    both = machine.fit(X, targets).predict(X)
    alone = machine.fit(X, targets[:, 1]).predict(X)
    assert np.abs(both[:, 1] - alone).max() < 1e-5
    assert np.abs(both[:, 1] - targets[:, 1]).max() < 2e-4


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_features_of_very_different_size(C):
    """Coordinates a pair at a time get nowhere; with features Newton's method steps in."""
    data, labels = load_breast_cancer(return_X_y=True)
    machine = KernelSVC.from_C(C, kernel=Linear()).fit(data, labels)
    certificate = machine.solution_.certificate
    assert machine.solution_.converged and certificate.gap < 1e-3 * certificate.objective
    assert machine.score(data, labels) > 0.95


def test_without_features_the_limit_is_said():
    data, labels = load_breast_cancer(return_X_y=True)
    machine = KernelSVC.from_C(100, kernel=Linear(), representation="full", solver=Dual(max_iter=3))
    with pytest.warns(ConvergenceWarning, match="steepest slope left .* Scale the features"):
        machine.fit(data, labels)
    assert machine.solution_.status == "max_iter" and machine.solution_.certificate.gap > 0


def test_an_interruption_ends_all_fits_soon(monkeypatch):
    """Outputs are fitted in threads, which an interruption does not reach: they would go on for ever."""
    from mercer.solvers.dual import solver

    monkeypatch.setattr("mercer.operators.kernel.cpu_count", lambda: 2)
    first = solver.minimise

    def endless(*args, **keywords):
        return first(*args, **{**keywords, "tol": -1.0, "max_rounds": 10**9})

    monkeypatch.setattr(solver, "minimise", endless)
    monkeypatch.setattr("mercer.solvers.dual.minimise._PATIENCE", 10**9)
    monkeypatch.setattr("mercer.solvers.dual.minimise._UNMOVED", 10**9)
    labels = np.digitize(X[:600, 0], [-0.5, 0.5])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            KernelSVC(Gaussian(1.0)).fit(X[:600], labels)
    finally:
        signal.signal(signal.SIGINT, before)
    timer.join()


def test_hinge_by_name_is_the_same_machine():
    a = KernelSVC(Gaussian(1.0)).fit(X, Y)
    b = KernelClassifier(Gaussian(1.0), loss=Hinge(), offset=True).fit(X, Y)
    assert np.abs(a.decision_function(X) - b.decision_function(X)).max() < 1e-9
