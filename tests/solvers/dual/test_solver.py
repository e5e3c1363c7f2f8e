"""The dual solver: duality gaps written out, SciPy's minima for smooth losses, what it says of itself."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import losses
from mercer.engines import Tiled
from mercer.kernels import FunctionKernel, Gaussian, Linear
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from mercer.operators import Identity, Matrix
from mercer.solvers import ConvergenceWarning, Dual, IncompatibleError, Newton, Problem, coordinates
from mercer.solvers.dual import columns, solver
from mercer.testing import check_solver
from oracles import LOSSES, gaussian, minimum, whitening

RNG = np.random.default_rng(0)
N = 60
X = RNG.standard_normal((N, 2))
K = gaussian(X, X)
PHI = RNG.standard_normal((N, 5))
W = RNG.uniform(0, 2, N)
W[:3] = 0
W *= N / W.sum()
LAM = 5e-3
ALL = [Hinge(), SquaredHinge(), EpsilonInsensitive(0.2), SquaredEpsilonInsensitive(0.1)]
ALL += [Absolute(), Quantile(0.8), Huber(1.0), Squared()]
KINDS = ("full", "centres", "features")


def targets(loss, t=1):
    s = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 0] - 0.3, X.prod(axis=1)])[:, :t]
    s = s + 0.3 * np.random.default_rng(5).standard_normal(s.shape)
    return np.where(s > 0, 1.0, -1.0) if loss.classification else 2 * s


def build(kind, loss, *, w=None, offset=False, lam=LAM, t=1, dtype=np.float64, y=None):
    P = X.astype(dtype)
    if kind == "full":
        A = B = Tiled(threads=1).operator(Gaussian(1.0), P)
    elif kind == "centres":
        A, B = Tiled(threads=1).operator(Gaussian(1.0), P, P[:10]), Matrix(K[:10, :10])
    else:
        A, B = Matrix(PHI.astype(dtype)), Identity(5)
    return Problem(A, B, targets(loss, t) if y is None else y, loss, lam, w, offset)


def dense(kind):
    return {"full": (K, K), "centres": (K[:, :10], K[:10, :10]), "features": (PHI, np.eye(5))}[kind]


def features(kind):
    A, B = dense(kind)
    return A @ whitening(B)


# V(y, s) and V*(y, −a), from the texts; a in the box that is the first of the three.
FORMULAS = {
    "Hinge": lambda y, p: (
        lambda a: (y * a >= -1e-12) & (y * a <= 1 + 1e-12),
        lambda s: np.maximum(0, 1 - y * s),
        lambda a: -y * a,
    ),
    "SquaredHinge": lambda y, p: (
        lambda a: y * a >= 0,
        lambda s: np.maximum(0, 1 - y * s) ** 2,
        lambda a: -y * a + a**2 / 4,
    ),
    "EpsilonInsensitive": lambda y, p: (
        lambda a: np.abs(a) <= 1 + 1e-12,
        lambda s: np.maximum(0, np.abs(y - s) - p.epsilon),
        lambda a: -y * a + p.epsilon * np.abs(a),
    ),
    "SquaredEpsilonInsensitive": lambda y, p: (
        lambda a: a == a,
        lambda s: np.maximum(0, np.abs(y - s) - p.epsilon) ** 2,
        lambda a: -y * a + p.epsilon * np.abs(a) + a**2 / 4,
    ),
    "Absolute": lambda y, p: (
        lambda a: np.abs(a) <= 1 + 1e-12,
        lambda s: np.abs(y - s),
        lambda a: -y * a,
    ),
    "Quantile": lambda y, p: (
        lambda a: (a <= p.q + 1e-12) & (a >= p.q - 1 - 1e-12),
        lambda s: np.where(y > s, p.q * (y - s), (1 - p.q) * (s - y)),
        lambda a: -y * a,
    ),
    "Huber": lambda y, p: (
        lambda a: np.abs(a) <= 2 * p.delta + 1e-12,
        lambda s: np.where(np.abs(y - s) <= p.delta, (y - s) ** 2, 2 * p.delta * np.abs(y - s) - p.delta**2),
        lambda a: -y * a + a**2 / 4,
    ),
    "Squared": lambda y, p: (lambda a: a == a, lambda s: (y - s) ** 2, lambda a: -y * a + a**2 / 4),
}


def primal_and_dual(kind, problem, solution):
    """(P, D) for one output, from the textbook: P ≥ minimum ≥ D whatever the coefficients are."""
    A, B = dense(kind)
    y, n = problem.y[:, 0], problem.n
    w = np.ones(n) if problem.weights is None else problem.weights
    c, d = solution.coef[:, 0], solution.dual_coef[:, 0]
    allowed, V, conjugate = FORMULAS[type(problem.loss).__name__](y, problem.loss)
    P = (w * V(A @ c + solution.intercept[0])).mean() + problem.lam * c @ B @ c
    a = np.divide(2 * problem.lam * n * d, w, out=np.zeros(n), where=w > 0)
    assert allowed(a).all() and not d[w == 0].any()
    if problem.offset:
        assert abs(d.sum()) < 1e-10 * max(np.abs(d).sum(), 1)
    Phi = features(kind)
    u = Phi.T @ d
    return P, -(w * conjugate(a)).mean() - problem.lam * u @ u


# -- the minimum ------------------------------------------------------------------------------------------


def test_every_loss_with_a_dual_form_is_tried():
    public = [getattr(losses, name) for name in losses.__all__ if name not in ("Loss", "FunctionLoss")]
    known = {v.__name__ for v in public if v().has_dual} & set(FORMULAS)
    assert known == {type(v).__name__ for v in ALL} == set(FORMULAS)


@pytest.mark.parametrize("few", [True, False], ids=["at once", "working sets"])
@pytest.mark.parametrize("offset", [False, True], ids=["", "offset"])
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_no_duality_gap(loss, kind, w, offset, few, monkeypatch):
    if not few:
        monkeypatch.setattr(solver, "_FEW", 0)
    problem = build(kind, loss, w=w, offset=offset)
    s = Dual(tol=1e-7, working_set=None if few else 16, max_iter=20_000).run(problem)
    P, D = primal_and_dual(kind, problem, s)
    assert s.converged and s.solver == "dual"
    gap = P - D
    assert -1e-12 <= gap < 1e-6 * max(P, 1e-3)
    assert s.certificate.objective == pytest.approx(P, rel=1e-8)
    assert s.certificate.gap == pytest.approx(gap, abs=1e-8)
    assert s.certificate.violation <= 1e-7
    # Where there is one coefficient per example they are the same thing; elsewhere c comes from them.
    A = dense(kind)[0]
    if kind == "full":
        assert np.array_equal(s.coef, s.dual_coef)
    assert np.abs(A @ s.coef - features(kind) @ (features(kind).T @ s.dual_coef)).max() < 1e-8
    assert offset or not s.intercept.any()


@pytest.mark.parametrize("offset", [False, True], ids=["", "offset"])
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", [v for v in ALL if v.smooth], ids=repr)
def test_smooth_losses_by_scipy(loss, kind, w, offset):
    problem = build(kind, loss, w=w, offset=offset, t=2)
    Phi = features(kind)
    u, b, value = minimum(LOSSES[type(loss).__name__], Phi, problem.y, LAM, w, offset)
    s = Dual(tol=1e-8).run(problem)
    assert s.certificate.objective == pytest.approx(value, rel=1e-8)
    expected = Phi @ u + b
    assert np.abs(dense(kind)[0] @ s.coef + s.intercept - expected).max() < 1e-5 * np.abs(expected).max()
    newton = Newton().run(problem)
    assert newton.certificate.objective == pytest.approx(s.certificate.objective, rel=1e-8)


def test_laws():
    check_solver(Dual())
    check_solver(Dual(tol=1e-6, working_set=4, cache=0))


def test_laws_in_working_sets(monkeypatch):
    monkeypatch.setattr(solver, "_FEW", 0)
    check_solver(Dual(tol=1e-8, working_set=8))


# -- the certificate --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("offset", [False, True], ids=["", "offset"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_gap_covers_what_is_left(loss, kind, offset, monkeypatch):
    """Stopped early: the certificate is at least the true distance to the minimum, and not absurd."""
    monkeypatch.setattr(solver, "_FEW", 0)
    problem = build(kind, loss, w=W, offset=offset)
    best = Dual(tol=1e-9, working_set=30).run(problem).certificate.objective
    for rounds in (1, 2, 3, 6):
        s = Dual(tol=1e-9, working_set=4, max_iter=rounds).run(problem)
        P, D = primal_and_dual(kind, problem, s)
        assert s.status == "max_iter" and s.iterations == rounds
        assert s.certificate.objective == pytest.approx(P, rel=1e-9)
        assert P - best <= s.certificate.gap + 1e-10
        assert s.certificate.gap == pytest.approx(P - D, rel=1e-6)
        assert best - D >= -1e-9


def test_stopping_early_warns_with_advice(monkeypatch):
    monkeypatch.setattr(solver, "_FEW", 0)
    problem = build("full", Hinge(), lam=1e-12, offset=True)
    words = "dual stopped at its limit of 1 iterations: the steepest slope left is .*decrease C"
    with pytest.warns(ConvergenceWarning, match=words):
        s = Dual(max_iter=1, working_set=4).run(problem)
    assert s.status == "max_iter" and s.certificate.violation > 1e-3


def test_the_default_tolerance_is_in_the_units_of_the_targets(monkeypatch):
    """Eight times the targets and the tube: eight times the solution, by the same steps."""
    monkeypatch.setattr(solver, "_FEW", 0)
    y = targets(Absolute())
    one = Dual(working_set=16).run(build("full", EpsilonInsensitive(0.25), y=y, offset=True))
    much = build("full", EpsilonInsensitive(2.0), y=8 * y, offset=True, lam=LAM / 8)
    eight = Dual(working_set=16).run(much)
    assert np.allclose(eight.coef, 8 * one.coef, rtol=0, atol=1e-9)
    assert eight.iterations == one.iterations > 1
    assert 1e-7 < one.certificate.violation <= 1e-3 * np.abs(y - np.median(y)).max()


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.2)], ids=repr)
def test_support_is_counted(loss):
    problem = build("full", loss, w=W, offset=True, t=2)
    s = Dual(tol=1e-9).run(problem)
    bound = (W / (2 * LAM * N))[:, None]
    at_bound = (np.abs(np.abs(s.coef) - bound) < 1e-12) & (s.coef != 0)
    free = (s.coef != 0) & ~at_bound
    assert s.support.bounded == tuple(at_bound.sum(axis=0)) and s.support.free == tuple(free.sum(axis=0))
    assert min(s.support.bounded) > 3 and min(s.support.free) > 3
    total = int((s.coef != 0).sum())
    assert str(s.support) == f"{total:,} support vectors, {sum(s.support.bounded):,} of them at their bound"
    assert str(s.support) in str(s) and "violation" in str(s)
    # Free ones lie exactly on the margin, or on the edge of the tube.
    f = K @ s.coef + s.intercept
    edge = problem.y * f - 1 if loss == Hinge() else np.abs(problem.y - f) - 0.2
    assert np.abs(edge[free]).max() < 1e-6


# -- weights and outputs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ALL, ids=repr)
@pytest.mark.parametrize("offset", [False, True], ids=["", "offset"])
def test_weight_zero_is_absent_and_two_is_twice(loss, offset):
    w = np.ones(N)
    w[:10], w[10:20] = 0, 2
    s = Dual(tol=1e-9).run(build("full", loss, w=w, offset=offset))
    index = np.concatenate([np.arange(10, N), np.arange(10, 20)])
    P = X[index]
    A = Tiled(threads=1).operator(Gaussian(1.0), P)
    other = Dual(tol=1e-9).run(Problem(A, A, targets(loss)[index], loss, LAM, None, offset))
    assert s.certificate.objective == pytest.approx(other.certificate.objective, rel=1e-8)
    scores = K @ s.coef + s.intercept
    assert np.abs(scores - gaussian(X, P) @ other.coef - other.intercept).max() < 1e-5


@pytest.mark.parametrize("few", [True, False], ids=["at once", "working sets"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.2)], ids=repr)
def test_outputs_are_problems_of_their_own(loss, kind, few, monkeypatch):
    if not few:
        monkeypatch.setattr(solver, "_FEW", 0)
    s = Dual(tol=1e-8).run(build(kind, loss, w=W, offset=True, t=3))
    alone = [
        Dual(tol=1e-8).run(build(kind, loss, w=W, offset=True, y=targets(loss, 3)[:, [j]])) for j in range(3)
    ]
    A = dense(kind)[0]
    for j, one in enumerate(alone):
        assert np.abs(A @ (s.coef[:, [j]] - one.coef)).max() < 1e-6
        assert s.intercept[j] == pytest.approx(one.intercept[0], abs=1e-6)
    assert s.certificate.objective == pytest.approx(sum(o.certificate.objective for o in alone), rel=1e-8)
    assert s.certificate.gap == pytest.approx(sum(o.certificate.gap for o in alone), abs=1e-9)


def test_several_levels_are_several_losses():
    levels = (0.9, 0.1, 0.5)
    y = targets(Absolute())
    s = Dual(tol=1e-8).run(build("full", Quantile(levels), y=np.repeat(y, 3, axis=1), offset=True))
    for j, q in enumerate(levels):
        one = Dual(tol=1e-8).run(build("full", Quantile(q), y=y, offset=True))
        assert np.abs(K @ (s.coef[:, [j]] - one.coef)).max() < 1e-6
        below = (y[:, 0] < K @ s.coef[:, j] + s.intercept[j] + 1e-9).mean()
        assert abs(below - q) < 0.1


def test_a_vanished_class_has_a_constant_answer():
    """Every example of positive weight is of one class: f = 0, and b on its side."""
    y = targets(Hinge())
    w = np.where(y[:, 0] > 0, 1.0, 0.0)
    s = Dual().run(build("full", Hinge(), w=w * N / w.sum(), offset=True))
    assert s.converged and not s.coef.any() and s.intercept[0] >= 1
    assert s.certificate.objective == 0 and s.certificate.gap < 1e-15


def test_the_offset_lies_in_the_middle_where_it_is_free():
    """All coefficients at their bounds: b may be anything between −1 + k and 1 − k, k = k(x,x) C small."""
    P = np.array([[0.0], [9.0]])
    A = Tiled(threads=1).operator(Gaussian(1.0), P)
    s = Dual().run(Problem(A, A, np.array([[1.0], [-1.0]]), Hinge(), 10.0, None, True))
    assert s.support.bounded == (2,) and s.intercept[0] == pytest.approx(0, abs=1e-12)


# -- starts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [False, True], ids=["", "offset"])
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.2), SquaredHinge(), Squared()], ids=repr)
def test_a_good_start_saves_steps(loss, offset, monkeypatch):
    monkeypatch.setattr(solver, "_FEW", 0)
    taken = []

    def counted(*args, **options):
        state = minimise(*args, **options)
        taken.append(state.steps)
        return state

    minimise = solver.minimise
    monkeypatch.setattr(solver, "minimise", counted)

    def steps(problem):
        taken.clear()
        s = Dual(tol=1e-6, working_set=16).run(problem)
        return sum(taken), s

    problem = build("full", loss, offset=offset)
    cold, s = steps(problem)
    again, same = steps(replace(problem, start=s.dual_coef))
    assert again == 0 and np.array_equal(same.coef, s.coef)
    near = replace(problem, lam=0.95 * LAM)
    cold, expected = steps(near)
    warm, found = steps(replace(near, start=s.dual_coef / 0.95))
    assert warm < cold
    assert found.certificate.objective == pytest.approx(expected.certificate.objective, rel=1e-6)


@pytest.mark.parametrize("offset", [False, True], ids=["", "offset"])
def test_a_start_outside_the_box_is_no_harm(offset):
    problem = build("full", Hinge(), offset=offset)
    wild = replace(problem, start=1e3 * RNG.standard_normal((N, 1)))
    a, b = (Dual(tol=1e-8).run(p) for p in (problem, wild))
    assert a.certificate.objective == pytest.approx(b.certificate.objective, rel=1e-8)


# -- precision --------------------------------------------------------------------------------------------


@pytest.fixture
def stages(monkeypatch):
    """dtypes in which kernel values were used, one after the other; every problem counts as large."""
    monkeypatch.setattr(solver, "_FEW", 0)
    used = []

    def noted(K, *args):
        used.append(K.dtype.name)
        return columns.columns_of(K, *args)

    monkeypatch.setattr(solver, "columns_of", noted)
    return used


def test_float32_values_come_first_and_usually_suffice(stages):
    problem = build("full", Hinge(), offset=True)
    s = Dual(tol=1e-3, working_set=16).run(problem)
    assert stages == ["float32"]
    P, D = primal_and_dual("full", problem, s)
    assert s.certificate.objective == pytest.approx(P, rel=1e-5)
    # What rounding did is in the certificate.
    assert s.certificate.gap >= P - D - 1e-12
    f = K @ s.coef[:, 0]
    slopes = f - problem.y[:, 0]
    C = 1 / (2 * LAM * N)
    c, y = s.coef[:, 0], problem.y[:, 0]
    rise, fall = c < np.maximum(C * y, 0), c > np.minimum(C * y, 0)
    violation = slopes[fall].max() - slopes[rise].min()
    assert violation <= s.certificate.violation + 1e-12 <= 1e-3 + 1e-12


def test_the_gap_is_that_of_float64_kernel_values(stages, monkeypatch):
    """Solved with float32 values of points far from 0, and measured with those of `predict`."""
    A = Tiled(threads=1).operator(Gaussian(1.0), X + 1e3)
    problem = Problem(A, A, targets(Hinge()), Hinge(), LAM, None, True)
    monkeypatch.setattr(Dual, "_harmless", staticmethod(lambda *args: True))
    s = Dual(tol=1e-3, working_set=16).run(problem)
    assert stages == ["float32"]
    best = Dual(tol=1e-9).run(problem).certificate.objective
    K = A.dense()
    losses = np.maximum(1 - problem.y * (K @ s.coef + s.intercept), 0)
    objective = losses.mean() + LAM * (s.coef * (K @ s.coef)).sum()
    assert s.certificate.objective == pytest.approx(objective, rel=1e-12)
    assert objective - best <= s.certificate.gap + 1e-12


def test_a_fine_tolerance_takes_float64_at_once(stages):
    Dual(tol=1e-5, working_set=16).run(build("full", Hinge(), offset=True))
    assert stages == ["float64"]


def test_float32_is_left_out_where_its_rounding_exceeds_the_tolerance(stages):
    far = X + 300
    A = Tiled(threads=1).operator(Linear(), far)
    Dual(tol=1e-3, working_set=16).run(Problem(A, A, np.sign(X[:, :1]), Hinge(), 1e-3, None, True))
    assert stages == ["float64"]


@pytest.mark.parametrize("shift", [20.0])
def test_harm_by_rounding_is_seen_and_repaired(shift, stages):
    """Far from the origin products of float32 numbers have errors beyond the tolerance."""
    far = X + shift
    A = Tiled(threads=1).operator(Linear(), far)
    y = np.sign(X[:, :1])
    problem = Problem(A, A, y, Hinge(), 1e-3, None, True)
    s = Dual(tol=1e-3, working_set=16).run(problem)
    assert stages == ["float32", "float64"]
    f = far @ (far.T @ s.coef[:, 0])
    c, C = s.coef[:, 0], 1 / (2e-3 * N)
    slopes = f - y[:, 0]
    rise, fall = c < np.maximum(C * y[:, 0], 0), c > np.minimum(C * y[:, 0], 0)
    assert slopes[fall].max() - slopes[rise].min() <= 1e-3 + 1e-9


@pytest.mark.parametrize("few", [True, False], ids=["at once", "working sets"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.2), SquaredHinge()], ids=repr)
def test_float32_data(loss, kind, few, monkeypatch):
    if not few:
        monkeypatch.setattr(solver, "_FEW", 0)
    s = Dual(tol=1e-3, working_set=16).run(build(kind, loss, offset=True, dtype=np.float32))
    exact = Dual(tol=1e-8).run(build(kind, loss, offset=True))
    A = dense(kind)[0]
    assert s.converged and s.coef.dtype == np.float64
    assert np.abs(A @ (s.coef - exact.coef) + s.intercept - exact.intercept).max() < 2e-2
    assert s.certificate.objective == pytest.approx(exact.certificate.objective, abs=2e-3)


# -- where values come from -------------------------------------------------------------------------------


@pytest.mark.parametrize("cache", [0, 5000, 500e6])
@pytest.mark.parametrize("kernel", ["words", "wide", "cheap"])
def test_whatever_is_kept_the_answer_is_the_same(kernel, cache, monkeypatch):
    monkeypatch.setattr(solver, "_FEW", 0)
    words = np.array(["".join(RNG.choice(list("abc"), 5)) for _ in range(N)], dtype=object)
    points, k = {
        "words": (words, FunctionKernel(lambda a, b: sum(x == z for x, z in zip(a, b)))),
        "wide": (RNG.standard_normal((N, 100)) / 10, Gaussian(1.0)),
        "cheap": (X, Gaussian(1.0)),
    }[kernel]
    A = Tiled(threads=1).operator(k, points)
    problem = Problem(A, A, targets(Hinge()), Hinge(), LAM, None, True)
    s = Dual(tol=1e-6, cache=cache, working_set=16).run(problem)
    monkeypatch.setattr(solver, "_FEW", 1000)
    once = Dual(tol=1e-6).run(problem)
    assert s.certificate.objective == pytest.approx(once.certificate.objective, rel=1e-5)
    M = A.dense()
    assert np.abs(M @ (s.coef - once.coef) + s.intercept - once.intercept).max() < 1e-3


def test_a_matrix_in_memory_is_a_kernel_matrix():
    full = Matrix(K)
    s = Dual(tol=1e-8).run(Problem(full, full, targets(Hinge()), Hinge(), LAM, None, True))
    other = Dual(tol=1e-8).run(build("full", Hinge(), offset=True))
    assert s.certificate.objective == pytest.approx(other.certificate.objective, rel=1e-9)


# -- refusals ---------------------------------------------------------------------------------------------


def test_refusals():
    assert "maximum over lines or parabolas" in Dual().refusal(Logistic(), "ridge")
    assert "newton" in Dual().refusal(Logistic(), "ridge")
    assert "coordinate" in Dual().refusal(Hinge(), "lasso")
    assert all(Dual().refusal(loss, "ridge") is None for loss in ALL)


def test_centres_that_cannot_be_factored_are_refused(monkeypatch):
    monkeypatch.setattr(coordinates, "LARGEST_FACTOR", 5)
    with pytest.raises(IncompatibleError, match="centres whose matrix can be factored.*smoothing"):
        Dual().run(build("centres", Hinge()))


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"tol": 0}, "tol must be a positive number"),
        ({"tol": -1e-3}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1"),
        ({"cache": -1}, "cache must be a number of bytes"),
        ({"cache": "much"}, "cache must be a number of bytes"),
        ({"cache": float("nan")}, "cache must be a number of bytes"),
        ({"working_set": 1}, "working_set must be a whole number of at least 2"),
        ({"working_set": 2.5}, "working_set must be a whole number of at least 2"),
    ],
)
def test_wrong_parameters(wrong, words):
    with pytest.raises(ValueError, match=words):
        Dual(**wrong).run(build("full", Hinge()))


def test_the_problem_is_left_alone():
    problem = build("full", Hinge(), w=W, offset=True)
    start = RNG.standard_normal((N, 1))
    problem = replace(problem, start=start)
    before = [a.copy() for a in (problem.y, problem.weights, start, problem.A.X)]
    Dual().run(problem)
    after = (problem.y, problem.weights, problem.start, problem.A.X)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_working_sets_grow_with_the_problem_within_limits():
    assert Dual().size(100) == Dual().size(10_000) == 2048
    assert Dual().size(10**6) == 4096 and 2048 < Dual().size(25_000) < 4096
    assert Dual(working_set=77).size(10**6) == 77
