"""Newton's method: every smooth loss, against SciPy."""

import numpy as np
import pytest

from mercer import KernelRegressor, losses, operators
from mercer.engines import Tiled
from mercer.kernels import Gaussian
from mercer.losses import FunctionLoss, Huber, Logistic, Loss, Multinomial, Poisson, Squared
from mercer.operators import Identity, Matrix
from mercer.solvers import (
    ConvergenceWarning,
    GradientDescent,
    Newton,
    Problem,
    smooth,
    smooth_examples,
)
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
# Those of which oracles.py has a formula of its own; tests/test_matrix.py tries all.
SMOOTH = [getattr(losses, name)() for name in losses.__all__ if name in LOSSES]


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
        A = B = Tiled().operator(Gaussian(1.0), P)
    elif kind == "centres":
        A, B = Tiled().operator(Gaussian(1.0), P, P[:10]), Matrix(K[:10, :10])
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
    monkeypatch.setattr(smooth_examples, "DIRECT_EXAMPLES", 0)
    monkeypatch.setattr(smooth, "DIRECT_FEATURES", 0)
    formula = huber(0.3) if isinstance(loss, Huber) else None
    expected, value = oracle(kind, loss, 1e-2, W, True, formula)
    for rank in (None, 5):
        s = Newton(rank=rank).run(build(kind, loss, 1e-2, W, True))
        assert s.converged
        assert s.certificate.objective == pytest.approx(value, rel=1e-9)
        assert np.abs(scores(kind, s) - expected).max() < 1e-5 * max(np.abs(expected).max(), 1)


@pytest.mark.parametrize("kind", ["full", "centres", "features"])
def test_without_the_matrix_in_memory(kind, monkeypatch):
    monkeypatch.setattr(operators.dense, "available_memory", lambda: 0)
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
    A = Tiled().operator(Gaussian(1.0), x)
    B = A if kind == "full" else Matrix(gaussian(x, x))
    y = np.sign(x)
    s = Newton().run(Problem(A, B, y, Logistic(), 1e-10))
    assert s.converged
    assert (y * (gaussian(x, x) @ s.coef) > 10).all()


def test_laws():
    check_solver(Newton())
    check_solver(Newton(tol=1e-6, rank=3))


# -- losses that are not convex -------------------------------------------------------------------


class Welsch(Loss):
    """1 − exp(−r²): bounded, so outliers do not pull at all, and not convex."""

    convex = False

    def value(self, y, s):
        return 1 - np.exp(-((y - s) ** 2))

    def grad(self, y, s):
        return 2 * (s - y) * np.exp(-((y - s) ** 2))

    def hess(self, y, s):
        return (2 - 4 * (y - s) ** 2) * np.exp(-((y - s) ** 2))


class WelschWithoutHess(Welsch):
    hess = Loss.hess


def own_welsch():
    return FunctionLoss(lambda y, s: 1 - np.exp(-((y - s) ** 2)), convex=False)


def one_number(y, kind, loss, lam=1e-3):
    """min over u of mean V(y_i, u) + λu², as a problem of each kind."""
    ones = np.ones((len(y), 1))
    full = Matrix(ones @ ones.T)
    A, B = {"full": (full, full), "features": (Matrix(ones), Identity(1))}[kind]
    return Problem(A, B, np.array(y, float)[:, None], loss, lam)


def minima(y, lam=1e-3):
    """All local minima (u, C(u)) of that function, by a fine grid."""
    u = np.linspace(-10, 10, 200_001)
    C = sum(1 - np.exp(-((v - u) ** 2)) for v in y) / len(y) + lam * u**2
    at = np.flatnonzero((C[1:-1] < C[:-2]) & (C[1:-1] < C[2:])) + 1
    return sorted((float(C[i]), float(u[i])) for i in at)


TWO = [3.0] * 6 + [-0.6] * 4


@pytest.mark.parametrize("solver", [Newton(), GradientDescent(tol=1e-7)], ids=lambda s: s.name)
@pytest.mark.parametrize("kind", ["full", "features"])
@pytest.mark.parametrize("loss", [Welsch(), own_welsch()], ids=["subclass", "function"])
def test_the_best_of_two_minima(loss, kind, solver):
    known = minima(TWO)
    assert len(known) == 2 and known[0][1] == pytest.approx(3, abs=0.1)
    s = solver.run(one_number(TWO, kind, loss))
    score = float(s.coef.sum())
    assert score == pytest.approx(known[0][1], abs=1e-4)
    assert s.certificate.objective == pytest.approx(known[0][0], abs=1e-9)
    assert len(s.starts) == 5 and min(s.starts) == pytest.approx(s.certificate.objective, rel=1e-12)
    # From f = 0 alone the other one is reached: restarts are what finds the better.
    alone = type(solver)(tol=1e-7, restarts=0).run(one_number(TWO, kind, loss))
    assert float(alone.coef.sum()) == pytest.approx(known[1][1], abs=1e-4)
    assert alone.starts == (alone.certificate.objective,) and alone.starts[0] > s.certificate.objective + 0.1
    assert s.starts[0] == pytest.approx(alone.certificate.objective, abs=1e-9)


def test_random_starts_find_what_least_squares_does_not():
    """f = 0 and the least squares fit lead elsewhere; the best minimum is at 6."""
    y = [6.0] * 5 + [-0.6] * 3 + [-6.0] * 2
    known = minima(y)
    assert known[0][1] == pytest.approx(6, abs=0.1) and len(known) == 3
    few = Newton(restarts=1).run(one_number(y, "full", Welsch()))
    assert len(few.starts) == 2 and min(few.starts) > known[0][0] + 0.1
    many = Newton(restarts=30).run(one_number(y, "full", Welsch()))
    assert many.certificate.objective == pytest.approx(known[0][0], abs=1e-9)
    assert len(many.starts) == 31
    # Every start ends in one of the minima, or on the flat land beyond them, where λu² leads back to 0.
    ends = [*(value for value, _ in known), 1.0]
    assert all(min(abs(v - e) for e in ends) < 1e-3 for v in many.starts)


def test_a_stationary_point_is_called_that():
    s = Newton().run(one_number(TWO, "full", Welsch()))  # warnings are errors: there is none
    assert s.status == "stationary" and not s.converged
    assert s.certificate.relative_gradient <= 1e-8 and s.certificate.gap is None
    assert str(s).startswith("newton: stationary after ")
    assert str(s).endswith("a stationary point, the best of 5 starts; a lower one may exist")
    assert "above the minimum" not in str(s)
    alone = Newton(restarts=0).run(one_number(TWO, "full", Welsch()))
    assert str(alone).endswith("a stationary point, the best of 1 start; a lower one may exist")
    with pytest.warns(ConvergenceWarning, match="stopped at its limit of 1 iteration"):
        early = Newton(max_iter=1).run(one_number(TWO, "full", Welsch()))
    assert early.status == "max_iter" and early.iterations == 1
    assert "the best of 5 starts" in str(early) and "stationary" not in str(early)


def outliers(kind, loss, lam, offset=False, w=None):
    rng = np.random.default_rng(3)
    y = np.sin(2 * X[:, :1]) + X[:, 1:]
    hit = rng.random(N) < 0.3
    y[hit] += rng.normal(scale=4, size=(int(hit.sum()), 1))
    A, B = {"full": (K, K), "centres": (K[:, :10], K[:10, :10]), "features": (PHI, np.eye(5))}[kind]
    A, B = Matrix(A), Identity(5) if kind == "features" else Matrix(B)
    return Problem(A, A if kind == "full" else B, y, loss, lam, w, offset)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("lam", [1e-2, 1e-5])
@pytest.mark.parametrize("kind", ["full", "centres", "features"])
def test_the_gradient_vanishes_where_curvature_is_negative(kind, lam, w, offset):
    """By the formula, not by the certificate: A'g/n + 2λBc = 0, at a point with outliers of V'' < 0."""
    p = outliers(kind, Welsch(), lam, offset, w)
    s = Newton().run(p)
    assert s.status == "stationary" and s.iterations <= 60
    A, B = p.A.values, np.eye(5) if kind == "features" else p.B.values
    scores = A @ s.coef + s.intercept
    assert (Welsch().hess(p.y, scores) < -0.01).any()
    g = Welsch().grad(p.y, scores) * (1 if w is None else w[:, None])
    zero = Welsch().grad(p.y, 0 * p.y)
    limit = 1e-6 * np.abs(A.T @ zero / N).max()
    assert np.abs(A.T @ g / N + 2 * lam * B @ s.coef).max() < limit
    assert not offset or abs(g.mean()) < limit
    assert s.certificate.objective <= min(s.starts) + s.certificate.rounding
    if kind == "full":
        # c_i = −w_i V'(y_i, f(x_i))/(2λn) holds at every stationary point.
        expected = -g / (2 * lam * N)
        residual = np.abs(s.coef - expected).max() / np.abs(s.coef).max()
        assert s.certificate.representer_residual == pytest.approx(residual, abs=1e-9)
        assert s.certificate.representer_residual < 1e-4
    else:
        assert s.certificate.representer_residual is None


@pytest.mark.parametrize("offset", [False, True])
def test_where_the_loss_is_flat_at_zero(offset):
    """y = 100: e^(−100²) is 0, and so is the gradient at f = 0. It is stationary, and far from best."""
    p = outliers("full", Welsch(), 1e-7, offset)
    p = Problem(p.A, p.A, p.y + 100, p.loss, 1e-7, None, offset)
    s = Newton().run(p)
    assert s.starts[0] == 1.0 and s.certificate.objective < 0.6
    alone = Newton(restarts=0).run(p)
    assert alone.iterations == 0 and alone.status == "stationary" and alone.certificate.objective == 1.0


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("kind", ["full", "features"])
def test_forms_start_anywhere(kind, offset):
    """Objective and gradient at a function of one's choice, by the formula."""
    p = outliers(kind, Welsch(), 1e-2, offset, W)
    rng = np.random.default_rng(4)
    c, b = rng.standard_normal((p.A.shape[1], 1)), rng.standard_normal(1) * offset
    form = smooth_examples.form_of(p)
    form.start(c, b)
    A, B = p.A.values, np.eye(5) if kind == "features" else p.B.values
    s = A @ c + b
    assert np.allclose(form.scores, s, rtol=1e-12)
    expected = (W[:, None] * Welsch().value(p.y, s)).mean() + 1e-2 * (c * (B @ c)).sum()
    assert form.value == pytest.approx(expected, rel=1e-12)
    ρ = W[:, None] * Welsch().grad(p.y, s) / N
    square = (ρ + 2e-2 * c).T @ K @ (ρ + 2e-2 * c) if kind == "full" else ((A.T @ ρ + 2e-2 * c) ** 2).sum()
    assert form.norm == pytest.approx(float(np.sqrt(square + offset * ρ.sum() ** 2).item()), rel=1e-9)
    coef, intercept = form.result()
    assert np.allclose(coef, c) and np.allclose(intercept, b)


def test_steepest_where_newton_does_not_descend(monkeypatch):
    expected = Newton(restarts=0).run(outliers("full", Welsch(), 1e-1))
    newton = smooth_examples.FullForm.newton

    def uphill(self, tol):
        d = newton(self, tol)
        return self._direction(-d.coef, -d.offset)

    monkeypatch.setattr(smooth_examples.FullForm, "newton", uphill)
    s = Newton(restarts=0, max_iter=5000, tol=1e-6).run(outliers("full", Welsch(), 1e-1))
    assert s.status == "stationary" and s.iterations > expected.iterations
    assert s.certificate.objective == pytest.approx(expected.certificate.objective, rel=1e-8)


def test_restarts_are_reproducible_and_counted():
    runs = [Newton(restarts=7).run(outliers("centres", Welsch(), 1e-4)) for _ in range(2)]
    assert runs[0].starts == runs[1].starts and len(runs[0].starts) == 8
    assert np.array_equal(runs[0].coef, runs[1].coef)
    assert len(runs[0].history) == runs[0].iterations + 1
    other = outliers("centres", Welsch(), 1e-4)
    other = Newton(restarts=7).run(
        Problem(other.A, other.B, other.y, other.loss, 1e-4, rng=np.random.default_rng(9))
    )
    assert other.starts[:2] == runs[0].starts[:2] and other.starts != runs[0].starts
    for solver in (Newton(restarts=-1), GradientDescent(restarts=1.5)):
        with pytest.raises(ValueError, match="restarts must be a whole number of at least 0"):
            solver.validate()


@pytest.mark.parametrize("kind", ["full", "centres", "features"])
def test_convex_losses_end_in_one_point_wherever_they_start(kind):
    alone = Newton().run(build(kind, Logistic(), 1e-2, W, True))
    assert alone.starts == () and "start" not in str(alone)
    s = Newton(restarts=3).run(build(kind, Logistic(), 1e-2, W, True))
    assert s.converged and len(s.starts) == 4
    assert np.ptp(s.starts) < 1e-12
    assert np.abs(scores(kind, s) - scores(kind, alone)).max() < 1e-6


def test_without_second_derivatives_descent_is_left():
    assert "defines no hess" in Newton().refusal(WelschWithoutHess(), "ridge")
    s = GradientDescent().run(outliers("full", WelschWithoutHess(), 1e-1))
    newton = Newton().run(outliers("full", Welsch(), 1e-1))
    assert s.status == "stationary" and len(s.starts) == 5
    assert s.certificate.objective == pytest.approx(newton.certificate.objective, rel=1e-6)


def test_overflowing_starts_are_left_out():
    """The least squares fit to y = 2000 is nothing that e^s could be taken of."""
    loss = FunctionLoss(lambda y, s: np.exp(s) - y * s + np.cos(s), convex=False)
    K2 = Matrix(np.eye(3))
    s = Newton().run(Problem(K2, K2, np.full((3, 1), 2000.0), loss, 1e-6))
    assert s.status == "stationary" and 1 <= len(s.starts) < 5
    assert np.abs(np.log(2000) - s.coef).max() < 0.01


def test_no_curvature_at_the_start():
    """Huber's loss far from every target is a line; in large units nothing overflows on that way."""
    X = np.linspace(0, 6, 40)[:, None]
    y, unit = 1e3 * np.sin(X[:, 0]) + 3e3, 1e5

    def machine(unit):
        return KernelRegressor(Gaussian(1.0), loss=Huber(unit), lam=1e-3, representation="full", offset=False)

    with np.errstate(all="raise", under="ignore"):
        large = machine(unit).fit(X, unit * y)
    assert large.solution_.converged
    small = machine(1.0).fit(X, y)
    np.testing.assert_allclose(large.predict(X), unit * small.predict(X), rtol=1e-6)


@pytest.mark.parametrize("size", [20.0, 100.0, 1e5])
def test_counts_far_from_one(size):
    """The best constant is the log of the mean; a step of the size of y overshoots an exponential by far."""
    x = np.linspace(0, 1, 50)
    y = size * np.arange(50)
    machine = KernelRegressor("linear", loss=Poisson(), lam=1e-3).fit(x[:, None], y)
    a, b = 0.0, np.log(y.mean())  # f(x) = a x, so ‖f‖ = |a|
    for _ in range(100):
        mean = np.exp(a * x + b)
        g = np.array([((mean - y) * x).mean() + 2e-3 * a, (mean - y).mean()])
        H = np.array([[(mean * x * x).mean() + 2e-3, (mean * x).mean()], [(mean * x).mean(), mean.mean()]])
        a, b = np.array([a, b]) - np.linalg.solve(H, g)
    assert machine.solution_.status == "converged"
    assert machine.intercept_ == pytest.approx(b, rel=1e-6)
    assert machine.function_.norm() == pytest.approx(abs(a), rel=1e-6)
