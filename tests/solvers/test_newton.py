"""Newton's method: every smooth loss, against SciPy."""

import numpy as np
import pytest

from mercer import losses, operators
from mercer.engines import Tiled
from mercer.kernels import Gaussian
from mercer.losses import Huber, Logistic, Loss, Multinomial, Poisson, Squared
from mercer.operators import Identity, KernelOperator, Matrix
from mercer.solvers import ConvergenceWarning, Newton, Problem, forms
from mercer.testing import check_solver
from oracles import LOSSES, gaussian, huber, minimum, whitening

RNG = np.random.default_rng(0)
N = 40
X = RNG.standard_normal((N, 2))
K = gaussian(X, X)
PHI = RNG.standard_normal((N, 5))
W = RNG.uniform(0, 2, N)
W[:2] = 0
W *= N / W.sum()
SMOOTH = [
    getattr(losses, name)() for name in losses.__all__ if name != "Loss" and getattr(losses, name).smooth
]


def targets(loss, t=2):
    s = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 0]])[:, :t]
    if loss.joint:
        return np.eye(3)[np.digitize(s[:, 0], [-0.5, 0.5])]
    if loss.classification:
        return np.where(s > 0, 1.0, -1.0)
    return np.round(np.exp(s)) if isinstance(loss, Poisson) else 3 * s


def build(kind, loss, lam, w=None, offset=False, dtype=np.float64):
    y = targets(loss)
    P = X.astype(dtype)
    if kind == "full":
        A = B = KernelOperator(Gaussian(1.0), P, P, Tiled())
    elif kind == "centres":
        A, B = KernelOperator(Gaussian(1.0), P, P[:10], Tiled()), Matrix(K[:10, :10])
    else:
        A, B = Matrix(PHI.astype(dtype)), Identity(5)
    return Problem(A, B, y, loss, lam, w, offset)


def oracle(kind, loss, lam, w=None, offset=False, formula=None):
    """(scores, objective) of the minimum."""
    A, B = {"full": (K, K), "centres": (K[:, :10], K[:10, :10]), "features": (PHI, np.eye(5))}[kind]
    Phi = A @ whitening(B)
    u, b, value = minimum(formula or LOSSES[type(loss).__name__], Phi, targets(loss), lam, w, offset)
    return Phi @ u + b, value


def scores(kind, solution):
    A = {"full": K, "centres": K[:, :10], "features": PHI}[kind]
    return A @ solution.coef + solution.intercept


def test_every_smooth_loss_is_tried():
    assert {type(loss).__name__ for loss in SMOOTH} == set(LOSSES)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", ["full", "centres", "features"])
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_reaches_the_minimum(loss, kind, w, offset):
    expected, value = oracle(kind, loss, 1e-2, w, offset)
    s = Newton().run(build(kind, loss, 1e-2, w, offset))
    assert s.converged and s.iterations <= 25
    assert s.certificate.objective == pytest.approx(value, rel=1e-9)
    assert np.abs(scores(kind, s) - expected).max() < 1e-5 * max(np.abs(expected).max(), 1)


@pytest.mark.parametrize("kind", ["full", "centres", "features"])
@pytest.mark.parametrize("loss", [Logistic(), Multinomial(), Huber(0.3)], ids=repr)
def test_inner_conjugate_gradients(loss, kind, monkeypatch):
    """As for large problems: no factorisation, inexact steps."""
    monkeypatch.setattr(forms, "_DIRECT_EXAMPLES", 0)
    monkeypatch.setattr(forms, "_DIRECT_FEATURES", 0)
    formula = huber(0.3) if isinstance(loss, Huber) else None
    expected, value = oracle(kind, loss, 1e-2, W, True, formula)
    for rank in (None, 5):
        s = Newton(rank=rank).run(build(kind, loss, 1e-2, W, True))
        assert s.converged
        assert s.certificate.objective == pytest.approx(value, rel=1e-9)
        assert np.abs(scores(kind, s) - expected).max() < 1e-5 * max(np.abs(expected).max(), 1)


@pytest.mark.parametrize("kind", ["full", "centres", "features"])
def test_without_the_matrix_in_memory(kind, monkeypatch):
    monkeypatch.setattr(operators, "available_memory", lambda: 0)
    expected, value = oracle(kind, Logistic(), 1e-2)
    s = Newton().run(build(kind, Logistic(), 1e-2))
    assert s.certificate.objective == pytest.approx(value, rel=1e-9)
    assert np.abs(scores(kind, s) - expected).max() < 1e-5


@pytest.mark.parametrize("kind", ["full", "centres", "features"])
@pytest.mark.parametrize("loss", [Logistic(), Multinomial(), Huber()], ids=repr)
def test_single_precision(loss, kind):
    """float32 data: within 1e-3 of the float64 scores."""
    expected, value = oracle(kind, loss, 1e-2)
    s = Newton().run(build(kind, loss, 1e-2, dtype=np.float32))
    assert s.converged
    assert s.certificate.objective == pytest.approx(value, rel=1e-5)
    assert np.abs(scores(kind, s) - expected).max() < 1e-3 * max(np.abs(expected).max(), 1)


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("kind", ["full", "centres", "features"])
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gap_bounds_the_distance_to_the_minimum(loss, kind, steps):
    """Stopped early, by up to half of the objective: the certificate must cover what is left."""
    value = oracle(kind, loss, 1e-3)[1]
    s = Newton(max_iter=steps).run(build(kind, loss, 1e-3))
    A, B = {"full": (K, K), "centres": (K[:, :10], K[:10, :10]), "features": (PHI, np.eye(5))}[kind]
    now = (
        LOSSES[type(loss).__name__](targets(loss), A @ s.coef)[0].mean()
        + 1e-3 * (s.coef * (B @ s.coef)).sum()
    )
    assert s.certificate.objective == pytest.approx(now, rel=1e-9)
    assert now - value <= s.certificate.gap + 1e-12 * abs(value)


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_representer_theorem_holds_at_the_optimum(loss):
    """c_i = −V'(y_i, f(x_i))/(2λn)."""
    s = Newton().run(build("full", loss, 1e-2, W))
    slope = LOSSES[type(loss).__name__](targets(loss), K @ s.coef)[1]
    assert np.abs(s.coef + W[:, None] * slope / (2e-2 * N)).max() < 1e-6 * np.abs(s.coef).max()
    assert s.certificate.representer_residual < 1e-6


def test_least_squares_takes_one_step():
    s = Newton().run(build("full", Squared(), 1e-2))
    c = np.linalg.solve(K + 1e-2 * N * np.eye(N), targets(Squared()))
    assert s.iterations == 1
    assert np.allclose(s.coef, c)


def test_history_falls_and_ends_quadratically():
    s = Newton().run(build("full", Logistic(), 1e-3))
    h = np.array(s.history)
    assert len(h) == s.iterations + 1 and h[0] == 1.0
    assert h[-1] <= 1e-8 and h[-1] < 1e-2 * h[-2]


def test_stopping_early_warns_with_advice():
    with pytest.warns(
        ConvergenceWarning, match="newton stopped at its limit of 2 iterations.*Increase lam or max_iter"
    ):
        s = Newton(max_iter=2).run(build("full", Logistic(), 1e-5))
    assert s.status == "max_iter"


def test_tolerance_is_obeyed():
    loose, tight = (Newton(tol=tol).run(build("full", Logistic(), 1e-4)) for tol in (1e-1, 1e-10))
    assert loose.iterations < tight.iterations
    assert 1e-10 < loose.certificate.relative_gradient <= 1e-1
    assert tight.certificate.relative_gradient <= 1e-10


def test_nothing_to_learn():
    """f = 0 is the minimum: the answer, and no division by zero."""
    K2 = Matrix(np.zeros((4, 4)))
    y = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    s = Newton().run(Problem(K2, K2, y, Logistic(), 0.1))
    assert s.converged and s.iterations == 0 and s.certificate.relative_gradient == 0


def test_a_loss_of_ones_own():
    class LogCosh(Loss):
        curvature = 1.0

        def value(self, y, s):
            return np.logaddexp(s - y, y - s) - np.log(2)

        def grad(self, y, s):
            return np.tanh(s - y)

        def hess(self, y, s):
            return 1 - np.tanh(s - y) ** 2

    def formula(y, s):
        e = s - y
        h = np.zeros((*s.shape, s.shape[1]))
        h[:, range(s.shape[1]), range(s.shape[1])] = 1 / np.cosh(e) ** 2
        return np.log(np.cosh(e)).sum(axis=1), np.tanh(e), h

    expected, value = oracle("full", LogCosh(), 1e-2, None, True, formula)
    s = Newton().run(build("full", LogCosh(), 1e-2, None, True))
    assert s.certificate.objective == pytest.approx(value, rel=1e-9)
    assert np.abs(scores("full", s) - expected).max() < 1e-5


@pytest.mark.parametrize("kind", ["full", "centres"])
def test_separable_data_and_tiny_penalty(kind):
    """Scores run far beyond ±100: nothing overflows, nothing warns."""
    x = np.concatenate([np.linspace(-2, -1, 20), np.linspace(1, 2, 20)])[:, None]
    A = KernelOperator(Gaussian(1.0), x, x, Tiled())
    B = A if kind == "full" else Matrix(gaussian(x, x))
    y = np.sign(x)
    s = Newton().run(Problem(A, B, y, Logistic(), 1e-10))
    assert s.converged
    assert (y * (gaussian(x, x) @ s.coef) > 10).all()


def test_laws():
    check_solver(Newton())
    check_solver(Newton(tol=1e-6, rank=3))
