"""Gradient descent: slow, and it gets there."""

import numpy as np
import pytest

from mercer.losses import Huber, Logistic, Multinomial, Squared
from mercer.operators import Identity, Matrix
from mercer.solvers import ConvergenceWarning, GradientDescent, Problem
from mercer.testing import check_solver
from oracles import LOSSES, gaussian, minimum, whitening

RNG = np.random.default_rng(0)
N = 30
X = RNG.standard_normal((N, 2))
K = gaussian(X, X)
PHI = RNG.standard_normal((N, 4))


def problem(kind, loss, lam=0.05, w=None, offset=False):
    s = np.sin(2 * X[:, :1]) + X[:, 1:]
    if loss.joint:
        y = np.eye(3)[np.digitize(s[:, 0], [-0.5, 0.5])]
    else:
        y = np.where(s > 0, 1.0, -1.0) if loss.classification else 2 * s
    full = Matrix(K)
    A, B = {"full": (full, full), "centres": (Matrix(K[:, :8]), Matrix(K[:8, :8]))}.get(
        kind, (Matrix(PHI), Identity(4))
    )
    return Problem(A, B, y, loss, lam, w, offset)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("kind", ["full", "centres", "features"])
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Multinomial(), Huber()], ids=repr)
def test_reaches_the_same_minimum(loss, kind, offset):
    w = np.linspace(0, 2, N) * N / np.linspace(0, 2, N).sum()
    p = problem(kind, loss, w=w, offset=offset)
    A = p.A.values
    B = np.eye(4) if kind == "features" else p.B.values
    Phi = A @ whitening(B)
    u, b, value = minimum(LOSSES[type(loss).__name__], Phi, p.y, 0.05, w, offset)
    s = GradientDescent(tol=1e-7).run(p)
    assert s.converged
    assert s.certificate.objective == pytest.approx(value, rel=1e-8)
    assert np.abs(A @ s.coef + s.intercept - Phi @ u - b).max() < 1e-4


def test_a_fixed_step_is_the_iteration_of_the_texts():
    """c_i ← c_i + (γ/n) y_i/(1+exp(y_i f(x_i))) − 2γλ c_i, f(x_i) = Σ_k K_ik c_k."""
    p, γ = problem("full", Logistic()), 0.5
    c = np.zeros((N, 1))
    for _ in range(7):
        c = c + γ / N * p.y / (1 + np.exp(p.y * (K @ c))) - 2 * γ * 0.05 * c
    with pytest.warns(ConvergenceWarning, match="descent stopped at its limit of 7 iterations"):
        s = GradientDescent(step=γ, max_iter=7).run(p)
    assert np.allclose(s.coef, c, rtol=1e-12)
    assert len(s.history) == 8


def test_the_objective_never_rises_with_steps_found():
    p = problem("full", Logistic(), lam=1e-3)
    values = []
    for steps in range(1, 15):
        with pytest.warns(ConvergenceWarning):
            values.append(GradientDescent(max_iter=steps).run(p).certificate.objective)
    assert (np.diff(values) < 0).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gap_bounds_the_distance_to_the_minimum():
    p = problem("full", Logistic(), lam=1e-3)
    value = minimum(LOSSES["Logistic"], K @ whitening(K), p.y, 1e-3)[2]
    for steps in (1, 3, 10, 100):
        s = GradientDescent(max_iter=steps).run(p)
        assert 0 < s.certificate.objective - value <= s.certificate.gap


def test_too_large_a_step_is_told():
    with pytest.raises(ValueError, match=r"diverges with step=1000; take a smaller one, or step=None"):
        GradientDescent(step=1000.0).run(problem("full", Squared()))


def test_laws():
    check_solver(GradientDescent())
