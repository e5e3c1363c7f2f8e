"""Smoothing: losses with kinks to a stated gap, against SciPy, liblinear and the exact dual solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from mercer import operators
from mercer.engines import Tiled
from mercer.kernels import Gaussian
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Quantile,
    Squared,
    SquaredHinge,
)
from mercer.losses.dual import Smoothed
from mercer.operators import Identity, Matrix
from mercer.solvers import (
    ConvergenceWarning,
    Dual,
    IncompatibleError,
    Problem,
    Smoothing,
    coordinates,
    smooth,
    smooth_examples,
)
from mercer.solvers import smoothing as module
from mercer.solvers.smoothing import Rounded
from mercer.testing import check_solver
from oracles import gaussian, whitening

RNG = np.random.default_rng(0)
N = 60
X = RNG.standard_normal((N, 2))
K = gaussian(X, X)
PHI = RNG.standard_normal((N, 8))
W = RNG.uniform(0, 2, N)
W[:3] = 0
W *= N / W.sum()
KINKED = [Hinge(), Absolute(), EpsilonInsensitive(0.2), Quantile(0.8), Quantile([0.1, 0.5, 0.9])]
SMOOTH = [Huber(0.3), SquaredHinge(), Squared()]
KINDS = ["full", "centres", "features"]


def targets(loss):
    s = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 0], X[:, 1] ** 2])
    s = s + 0.5 * np.random.default_rng(1).standard_normal(s.shape)
    if isinstance(loss, Quantile) and loss.several:
        return np.repeat(s[:, :1], 3, axis=1)
    return np.where(s > 0, 1.0, -1.0)[:, :2] if loss.classification else s[:, :2]


def build(kind, loss, lam=1e-2, w=None, offset=False, dtype=np.float64, y=None):
    P = X.astype(dtype)
    if kind == "full":
        A = B = Tiled().operator(Gaussian(1.0), P)
    elif kind == "centres":
        A, B = Tiled().operator(Gaussian(1.0), P, P[:15]), Matrix(K[:15, :15])
    else:
        A, B = Matrix(PHI.astype(dtype)), Identity(8)
    return Problem(A, B, targets(loss) if y is None else y, loss, lam, w, offset)


def matrices(kind):
    return {"full": (K, K), "centres": (K[:, :15], K[:15, :15]), "features": (PHI, np.eye(8))}[kind]


def objective(kind, problem, s):
    """C(f), from the formula."""
    A, B = matrices(kind)
    w = np.ones(N) if problem.weights is None else problem.weights
    values = problem.loss.value(problem.y, A @ s.coef + s.intercept)
    return float(w @ values.sum(axis=1)) / N + problem.lam * float((s.coef * (B @ s.coef)).sum())


def formula(loss, y, s):
    """V for one output, as the texts have it."""
    if isinstance(loss, Hinge):
        return np.maximum(1 - y * s, 0)
    r = y - s
    if isinstance(loss, Quantile):
        return np.maximum(loss.q * r, (loss.q - 1) * r)
    return np.maximum(np.abs(r) - getattr(loss, "epsilon", 0), 0)


def oracle(kind, loss, y, lam, w, offset):
    """min C for one output as a quadratic programme in (u, b, V), by SLSQP from a good start; float64."""
    A, B = matrices(kind)
    Phi = A @ whitening(B)
    F = np.hstack([Phi, np.ones((N, 1))]) if offset else Phi
    p = F.shape[1]
    w = np.ones(N) if w is None else w
    # V ≥ each of its lines: slope · s + constant.
    if isinstance(loss, Hinge):
        lines = [(-y, np.ones(N)), (0 * y, np.zeros(N))]
    else:
        up, down, epsilon = (
            (loss.q, 1 - loss.q, 0.0)
            if isinstance(loss, Quantile)
            else (1.0, 1.0, getattr(loss, "epsilon", 0.0))
        )
        lines = [(-up + 0 * y, up * (y - epsilon)), (down + 0 * y, -down * (y + epsilon)), (0 * y, 0 * y)]
    G = np.vstack([np.hstack([-slope[:, None] * F, np.eye(N)]) for slope, _ in lines])
    h = np.concatenate([constant for _, constant in lines])
    ridge = np.concatenate([np.full(Phi.shape[1], lam), np.zeros(p - Phi.shape[1]), np.zeros(N)])
    linear = np.concatenate([np.zeros(p), w / N])
    start = np.concatenate([np.zeros(p), formula(loss, y, 0 * y)])
    found = minimize(
        lambda v: ridge @ v**2 + linear @ v,
        start,
        jac=lambda v: 2 * ridge * v + linear,
        constraints={"type": "ineq", "fun": lambda v: G @ v - h, "jac": lambda v: G},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    s = F @ found.x[:p]
    return float(w @ formula(loss, y, s)) / N + float(ridge[:p] @ found.x[:p] ** 2)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", ["centres", "features"])
@pytest.mark.parametrize("loss", KINKED[:4], ids=repr)
def test_against_quadratic_programming(loss, kind, w, offset):
    y = targets(loss)[:, :1]
    value = oracle(kind, loss, y[:, 0], 1e-2, w, offset)
    p = build(kind, loss, w=w, offset=offset, y=y)
    s = Smoothing(tol=1e-8).run(p)
    assert s.converged
    assert s.certificate.objective == pytest.approx(objective(kind, p, s), rel=1e-10)
    # What SLSQP finds is above the minimum, too, by as much as it leaves.
    assert value - 2e-6 <= s.certificate.objective <= value + s.certificate.gap + 1e-12


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", KINKED + SMOOTH, ids=repr)
def test_against_the_dual_solver(loss, kind, w, offset):
    p = build(kind, loss, w=w, offset=offset)
    exact = Dual(tol=1e-9).run(p)
    low = exact.certificate.objective - exact.certificate.gap
    for tol in (1e-2, 1e-4, 1e-9):
        s = Smoothing(tol=tol).run(p)
        assert s.converged and 0 <= s.certificate.gap <= tol * s.certificate.objective
        assert s.certificate.objective == pytest.approx(objective(kind, p, s), rel=1e-9)
        above = s.certificate.objective - exact.certificate.objective
        assert low - 1e-12 <= s.certificate.objective
        assert above <= s.certificate.gap + 1e-11
    assert offset or not s.intercept.any()
    A, _ = matrices(kind)
    error = A @ (s.coef - exact.coef) + (s.intercept - exact.intercept) * (not offset)
    if not offset:
        assert np.abs(error).max() < 1e-2


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", KINKED + SMOOTH, ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_stopped_early_the_gap_still_covers_what_is_left(loss, kind, offset):
    p = build(kind, loss, lam=1e-3, offset=offset)
    exact = Dual(tol=1e-9).run(p)
    for steps in (1, 3, 6, 10):
        s = Smoothing(tol=1e-10, max_iter=steps).run(p)
        assert s.iterations <= steps and len(s.history) == s.iterations + 1
        assert s.certificate.objective == pytest.approx(objective(kind, p, s), rel=1e-9)
        assert s.certificate.objective - exact.certificate.objective <= s.certificate.gap + 1e-10


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_gap_is_an_upper_bound(data):
    """Small problems of any scale, with ties and repeated rows, against linear programming and the dual."""
    n = data.draw(st.integers(1, 12), "n")
    p = data.draw(st.integers(1, 4), "p")
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6), "seed"))
    Phi = np.round(rng.standard_normal((n, p)), data.draw(st.integers(0, 3), "digits"))
    loss = data.draw(st.sampled_from(KINKED[:4] + SMOOTH), "loss")
    scale = 10.0 ** data.draw(st.integers(-3, 3), "scale")
    y = np.round(rng.standard_normal((n, 1)), 1) * scale
    y = np.where(y > 0, 1.0, -1.0) if loss.classification else y
    w = rng.integers(0, 3, n).astype(float) if data.draw(st.booleans(), "weighted") else None
    if w is not None:
        w = w * (n / w.sum()) if w.sum() else None
    lam = 10.0 ** data.draw(st.integers(-5, 1), "lam")
    offset = data.draw(st.booleans(), "offset")
    problem = Problem(Matrix(Phi), Identity(p), y, loss, lam, w, offset)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        s = Smoothing(max_iter=data.draw(st.sampled_from([1, 2, 4, 8, 200]), "steps")).run(problem)
        exact = Dual(tol=1e-10 * scale).run(problem)
    slack = 1e-9 * max(exact.certificate.objective, s.certificate.objective) + 1e-14 * scale
    assert s.certificate.objective - exact.certificate.objective <= s.certificate.gap + slack
    assert exact.certificate.objective - exact.certificate.gap <= s.certificate.objective + slack


def test_quantile_without_penalty_is_a_linear_programme():
    rng = np.random.default_rng(2)
    Phi, y = rng.standard_normal((80, 3)), rng.standard_normal(80)
    s = Smoothing(tol=1e-6).run(
        Problem(Matrix(Phi), Identity(3), y[:, None], Quantile(0.3), 1e-9, None, True)
    )
    F = np.hstack([Phi, np.ones((80, 1))])
    cost = np.concatenate([np.zeros(4), np.full(80, 0.3 / 80), np.full(80, 0.7 / 80)])
    free, positive = [(None, None)] * 4, [(0, None)] * 160
    lp = linprog(cost, A_eq=np.hstack([F, np.eye(80), -np.eye(80)]), b_eq=y, bounds=free + positive)
    assert s.certificate.objective == pytest.approx(lp.fun, rel=1e-5)


@pytest.mark.parametrize("offset", [False, True])
def test_many_examples_against_liblinear(offset, monkeypatch):
    """The sample first, then all; liblinear penalises b, so there it is one more feature."""
    rng = np.random.default_rng(3)
    n = 25_000
    Phi = rng.standard_normal((n, 10))
    y = np.where(Phi[:, 0] + 0.5 * rng.standard_normal(n) > 0.3, 1.0, -1.0)
    sizes = []
    monkeypatch.setattr(
        smooth_examples.PrimalForm,
        "among",
        lambda self, rows, loss, among=smooth_examples.PrimalForm.among: (
            sizes.append(len(rows)),
            among(self, rows, loss),
        )[1],
    )
    lam = 1e-3
    F = np.hstack([Phi, np.ones((n, 1))]) if not offset else Phi
    s = Smoothing(tol=1e-5).run(
        Problem(Matrix(F), Identity(F.shape[1]), y[:, None], Hinge(), lam, None, offset)
    )
    assert sizes == [5000] and s.converged
    machine = LinearSVC(loss="hinge", C=1 / (2 * lam * n), fit_intercept=False, tol=1e-6, max_iter=200_000)
    if not offset:
        u = machine.fit(F, y).coef_[0]
        value = np.maximum(1 - y * (F @ u), 0).mean() + lam * u @ u
        assert -1e-5 * value <= s.certificate.objective - value <= s.certificate.gap + 1e-9
    else:
        u, b = s.coef[:, 0], s.intercept[0]
        value = np.maximum(1 - y * (F @ u + b), 0).mean() + lam * u @ u
        assert s.certificate.objective == pytest.approx(value, rel=1e-12)
        exact = Dual(tol=1e-6).run(Problem(Matrix(F), Identity(10), y[:, None], Hinge(), lam, None, True))
        assert abs(s.certificate.objective - exact.certificate.objective) <= 1e-5 * value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_single_precision(loss, kind):
    exact = Dual(tol=1e-9).run(build(kind, loss, w=W, offset=True))
    s = Smoothing().run(build(kind, loss, w=W, offset=True, dtype=np.float32))
    assert s.converged
    value = exact.certificate.objective
    assert -1e-5 * value <= s.certificate.objective - value <= s.certificate.gap + 1e-5 * value


@pytest.mark.parametrize("kind", KINDS)
def test_inner_conjugate_gradients(kind, monkeypatch):
    """As for large problems: no factorisation of all, few of the rows, inexact steps."""
    monkeypatch.setattr(smooth_examples, "DIRECT_EXAMPLES", 0)
    monkeypatch.setattr(smooth, "DIRECT_FEATURES", 0)
    for loss in (Hinge(), Quantile([0.1, 0.5, 0.9])):
        p = build(kind, loss, w=W, offset=True)
        exact = Dual(tol=1e-9).run(p)
        s = Smoothing(tol=1e-6, rank=5).run(p)
        assert s.converged
        assert s.certificate.objective - exact.certificate.objective <= s.certificate.gap + 1e-11


def test_without_the_matrix_in_memory(monkeypatch):
    monkeypatch.setattr(operators.dense, "available_memory", lambda: 0)
    monkeypatch.setattr(smooth, "available_memory", lambda: 1 << 40)
    for kind in KINDS:
        p = build(kind, Hinge(), offset=True)
        exact = Dual(tol=1e-9).run(p)
        s = Smoothing(tol=1e-6).run(p)
        assert s.converged
        assert abs(s.certificate.objective - exact.certificate.objective) <= s.certificate.gap + 1e-11
    monkeypatch.setattr(smooth, "available_memory", lambda: 0)
    again = Smoothing(tol=1e-6).run(p)
    assert again.certificate.objective == pytest.approx(s.certificate.objective, rel=1e-6)


@pytest.mark.parametrize("offset", [False, True])
def test_coefficients_of_centres_as_they_are(offset, monkeypatch):
    """More centres than are made orthonormal, which solver 'dual' refuses."""
    monkeypatch.setattr(module, "_SAMPLE_LEAST", 10)
    monkeypatch.setattr(module, "_SAMPLE_ROWS", 1)
    exact = Dual(tol=1e-9).run(build("centres", Hinge(), w=W, offset=offset))
    monkeypatch.setattr(coordinates, "LARGEST_FACTOR", 5)
    p = build("centres", Hinge(), w=W, offset=offset)
    s = Smoothing(tol=1e-5).run(p)
    assert s.converged
    value = exact.certificate.objective
    assert -1e-9 <= s.certificate.objective - value <= s.certificate.gap + 1e-6 * value


def test_sparse_features():
    values = np.where(np.abs(PHI) > 1, PHI, 0)
    y = targets(Hinge())
    some = [
        Smoothing(tol=1e-8).run(Problem(Matrix(F), Identity(8), y, Hinge(), 1e-2, None, True))
        for F in (values, csr_array(values))
    ]
    assert some[0].certificate.objective == pytest.approx(some[1].certificate.objective, rel=1e-7)


def test_rows_of_weight_0_and_rows_that_do_not_count():
    """Weight 0, or y = 0 as pairs of classes have it: as if they were not there."""
    y = targets(Hinge())[:, :1]
    here = Smoothing(tol=1e-9).run(build("features", Hinge(), w=W, offset=True, y=y))
    kept = np.flatnonzero(W)
    w = W[kept] * len(kept) / W[kept].sum()
    p = Problem(Matrix(PHI[kept]), Identity(8), y[kept], Hinge(), 1e-2, w, True)
    there = Smoothing(tol=1e-9).run(p)
    assert here.certificate.objective == pytest.approx(there.certificate.objective, rel=1e-8)
    hidden = y.copy()
    hidden[:20] = 0
    here = Smoothing(tol=1e-9).run(build("features", Hinge(), offset=True, y=hidden))
    # The mean is still over all of them.
    p = Problem(Matrix(PHI[20:]), Identity(8), y[20:], Hinge(), 1e-2 * N / (N - 20), None, True)
    there = Smoothing(tol=1e-9).run(p)
    assert here.certificate.objective * N == pytest.approx(there.certificate.objective * (N - 20), rel=1e-8)
    exact = Dual(tol=1e-9).run(build("features", Hinge(), offset=True, y=hidden))
    assert here.certificate.objective == pytest.approx(exact.certificate.objective, rel=1e-8)


def test_outputs_do_not_disturb_each_other():
    """Units that differ by a million: each output is as good as alone."""
    y = np.column_stack([targets(Absolute())[:, 0] * 1e3, targets(Absolute())[:, 1] * 1e-3])
    both = Smoothing(tol=1e-7).run(build("centres", Absolute(), offset=True, y=y))
    alone = [
        Smoothing(tol=1e-7).run(build("centres", Absolute(), offset=True, y=y[:, j : j + 1])) for j in (0, 1)
    ]
    total = sum(s.certificate.objective for s in alone)
    assert both.certificate.objective == pytest.approx(total, rel=1e-6)
    A, _ = matrices("centres")
    for j, s in enumerate(alone):
        there = A @ s.coef[:, 0] + s.intercept[0]
        assert np.abs(A @ both.coef[:, j] + both.intercept[j] - there).max() < 0.02 * np.abs(there).max()


def test_nothing_to_learn():
    K2 = Matrix(np.zeros((4, 4)))
    y = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    s = Smoothing().run(Problem(K2, K2, y, Hinge(), 0.1))
    assert s.converged and s.certificate.objective == 1.0
    inside = Smoothing().run(build("features", EpsilonInsensitive(1e3)))
    assert inside.converged and inside.certificate.objective == 0 and not inside.coef.any()
    constant = Smoothing().run(build("full", Absolute(), offset=True, y=np.full((N, 1), 7.0)))
    assert constant.converged and constant.intercept[0] == pytest.approx(7)


@pytest.mark.parametrize("kind", KINDS)
def test_one_class_only(kind):
    """All labels the same: b = 1 and f = 0 cost nothing."""
    s = Smoothing().run(build(kind, Hinge(), offset=True, y=np.ones((N, 1))))
    assert s.converged and s.certificate.objective < 1e-12
    assert s.intercept[0] >= 1 - 1e-9


@pytest.mark.parametrize("offset", [False, True])
def test_targets_far_from_0(offset):
    y = targets(Absolute())[:, :1] + 1e4
    p = build("full", Absolute(), lam=1e-6, offset=offset, y=y)
    s = Smoothing().run(p)
    exact = Dual(tol=1e-6, max_iter=100_000).run(p)
    assert s.converged
    assert s.certificate.objective - exact.certificate.objective <= s.certificate.gap + exact.certificate.gap


@pytest.mark.parametrize("kind", KINDS)
def test_separable_data_and_tiny_penalty(kind):
    y = np.where(X[:, :1] > 0, 1.0, -1.0)
    s = Smoothing().run(build(kind, Hinge(), lam=1e-9, offset=True, y=y))
    assert s.converged and s.certificate.gap <= 1e-4 * s.certificate.objective


def test_history_and_words():
    s = Smoothing().run(build("centres", Hinge(), offset=True))
    assert s.history[-1] <= 1e-4 < s.history[0] and len(s.history) == s.iterations + 1
    assert np.all(np.diff(s.history) <= 1e-15)
    assert str(s).startswith("smoothing: converged after ")
    assert "above the minimum over these 15 centres" in str(s)
    assert "over these" not in str(Smoothing().run(build("full", Hinge())))


def test_stopping_early_warns_with_advice():
    with pytest.warns(
        ConvergenceWarning,
        match="smoothing stopped at its limit of 2 iterations: the duality gap is .* of the objective, "
        "the tolerance 1.0e-04.*max_iter",
    ):
        s = Smoothing(max_iter=2).run(build("full", Hinge()))
    assert s.status == "max_iter"
    with pytest.warns(ConvergenceWarning, match="no further progress at this precision.*float64"):
        s = Smoothing(tol=1e-13).run(build("centres", Hinge(), lam=1e-4, dtype=np.float32))
    assert s.status in ("stalled", "max_iter")


def test_refusals():
    assert "maximum over lines or parabolas" in Smoothing().refusal(Logistic(), "ridge")
    assert "Lasso" in Smoothing().refusal(Hinge(), "lasso")
    assert Smoothing().refusal(Hinge(), "ridge") is None
    p = build("full", Hinge(), offset=True)
    with pytest.raises(IncompatibleError, match="one-class problems.*use solver='dual'"):
        Smoothing().run(Problem(p.A, p.B, p.y, p.loss, p.lam, None, True, offset_price=-0.1))
    for bad, match in (
        (Smoothing(tol=0), "tol"),
        (Smoothing(max_iter=0), "max_iter"),
        (Smoothing(rank=-1), "rank"),
    ):
        with pytest.raises(ValueError, match=match):
            bad.run(p)


@pytest.mark.parametrize("loss", KINKED + SMOOTH, ids=repr)
def test_the_loss_inside_is_the_smoothed_one(loss):
    y = targets(loss)
    s = np.random.default_rng(4).standard_normal(y.shape)
    rounded = Rounded.of(build("features", loss, y=y))
    for mu in (0.7, 0.6):
        own, theirs = rounded.at(np.full(y.shape[1], mu)), Smoothed(loss, mu)
        assert np.allclose(own.value(y, s), theirs.value(y, s))
        assert np.allclose(own.grad(y, s), theirs.grad(y, s))
        assert np.allclose(own.hess(y, s), theirs.hess(y, s))
        value, young = own.measure(s, W)
        assert value == pytest.approx((W @ loss.value(y, s)).sum() / N)
        assert young >= 0
        b = own.balance(s, W)
        assert np.abs(W @ own.grad(y, s + b)).max() < 1e-10 * N
        # A few of the rows, and the parabolas of those in the window.
        few = own.rows(np.arange(5))
        assert np.array_equal(few.grad(y[:5], s[:5]), own.grad(y, s)[:5])
        frozen = own.frozen(s, own.mu)
        assert np.allclose(frozen.grad(y, s), own.grad(y, s))
        assert np.allclose(frozen.hess(y, s), own.hess(y, s))
        assert np.allclose(frozen.hess(y, s + 100), own.hess(y, s))


def test_laws():
    check_solver(Smoothing(tol=1e-12))
