"""Least squares with one coefficient per example: factored, and by conjugate gradients."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.engines import Tiled
from mercer.kernels import Constant, Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.losses import Squared
from mercer.operators import Matrix, NotPositiveDefinite
from mercer.representations import Nystrom
from mercer.solvers import CG, Cholesky, ConvergenceWarning, Problem, least_squares
from mercer.testing import check_solver
from oracles import gaussian

RNG = np.random.default_rng(0)
X = RNG.standard_normal((70, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2, RNG.standard_normal(70)]) + 2
W = RNG.uniform(0, 2, 70)
W[:3] = 0
W *= 70 / W.sum()


def problem(kernel, lam, w=None, offset=False, dtype=np.float64, y=Y):
    points = X.astype(dtype)
    K = Tiled().operator(kernel, points)
    return Problem(K, K, y, Squared(), lam, w, offset)


def exact(K, y, lam, w=None, offset=False):
    """The bordered system W(Kc + b1) + λnc = Wy, 1ᵀc = 0, as it stands."""
    n, t = y.shape
    w = np.ones(n) if w is None else w
    M = w[:, None] * K + lam * n * np.eye(n)
    if not offset:
        return np.linalg.solve(M, w[:, None] * y), np.zeros(t)
    bordered = np.block([[M, w[:, None]], [np.ones((1, n)), np.zeros((1, 1))]])
    solved = np.linalg.solve(bordered, np.vstack([w[:, None] * y, np.zeros((1, t))]))
    return solved[:-1], solved[-1]


KERNELS = [Gaussian(1.0), Laplacian(2.0), Matern(2.5, 1.0), Polynomial(3), Linear() + 0.1 * Gaussian(0.5)]


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_cholesky(kernel, w, offset):
    lam = 1e-3
    K = kernel(X)
    c, b = exact(K, Y, lam, w, offset)
    solution = Cholesky().run(problem(kernel, lam, w, offset))
    assert solution.converged
    assert np.abs(solution.coef - c).max() < 1e-9 * np.abs(c).max()
    assert np.abs(solution.intercept - b).max() < 1e-9 * max(np.abs(b).max(), 1)


@pytest.mark.parametrize("solver", [CG(), CG(store=False), CG(rank=10), CG(rank=0, store=False)], ids=repr)
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_cg(kernel, w, offset, solver):
    lam = 1e-3
    K = kernel(X)
    c, b = exact(K, Y, lam, w, offset)
    solution = solver.run(problem(kernel, lam, w, offset))
    assert solution.converged and solution.iterations >= 1
    assert solution.certificate.relative_gradient <= 1e-8
    f, expected = K @ solution.coef + solution.intercept, K @ c + b
    assert np.abs(f - expected).max() < 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_three_ways_agree(kernel):
    """Factored, by conjugate gradients, and Nyström with every point a centre: to 1e-6 in prediction."""
    new = np.random.default_rng(1).standard_normal((30, 3))
    direct = (
        KernelRidge(kernel, lam=1e-4, representation="full", solver="cholesky", offset=False)
        .fit(X, Y)
        .predict(new)
    )
    size = np.abs(direct).max()
    iterative = (
        KernelRidge(kernel, lam=1e-4, representation="full", solver="cg", offset=False).fit(X, Y).predict(new)
    )
    assert np.abs(iterative - direct).max() < 1e-6 * size
    for solver in ("cholesky", "cg"):
        centres = (
            KernelRidge(kernel, lam=1e-4, representation=Nystrom(n_centres=70), solver=solver, offset=False)
            .fit(X, Y)
            .predict(new)
        )
        assert np.abs(centres - direct).max() < 1e-6 * size


@pytest.mark.parametrize("solver", [Cholesky(), CG()], ids=repr)
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("offset", [False, True])
def test_single_precision(solver, w, offset):
    """float32 data: within 1e-4 of the float64 answer at λ = 1e-2."""
    K = gaussian(X, X)
    c, b = exact(K, Y, 1e-2, w, offset)
    solution = solver.run(problem(Gaussian(1.0), 1e-2, w, offset, np.float32))
    assert solution.converged
    f, expected = K @ solution.coef + solution.intercept, K @ c + b
    assert np.abs(f - expected).max() < 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("offset", [False, True])
def test_float32_factor_with_float64_refinement(monkeypatch, w, offset):
    monkeypatch.setattr(least_squares, "MIXED_FROM", 10)
    K = gaussian(X, X)
    c, b = exact(K, Y, 1e-3, w, offset)
    solution = Cholesky().run(problem(Gaussian(1.0), 1e-3, w, offset))
    assert solution.converged
    f, expected = K @ solution.coef + solution.intercept, K @ c + b
    assert np.abs(f - expected).max() < 1e-9 * np.abs(expected).max()


def test_mixed_precision_gives_up_where_it_must(monkeypatch):
    """At λ = 1e-11 a float32 factor is worthless; the answer must not suffer.

    The gradient ends at about the tolerance; on which side, rounding decides.
    """
    monkeypatch.setattr(least_squares, "MIXED_FROM", 10)
    K = gaussian(X, X, 3.0)
    c, _ = exact(K, Y, 1e-11)
    solution = Cholesky().run(problem(Gaussian(3.0), 1e-11))
    assert np.abs(K @ solution.coef - K @ c).max() < 1e-5 * np.abs(K @ c).max()


def objective(K, y, c, b, lam, w=None):
    w = np.ones(len(y)) if w is None else w
    return (w[:, None] * (y - K @ c - b) ** 2).sum() / len(y) + lam * (c * (K @ c)).sum()


@pytest.mark.parametrize(
    "solver",
    [
        Cholesky(),
        CG(),
        CG(store=False),
        CG(max_iter=3, rank=8),
        CG(max_iter=3, rank=8, store=False),
        CG(max_iter=3, rank=0, store=False),
        CG(max_iter=1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("lam", [1e-1, 1e-3, 1e-5])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_certificate_says_the_truth(solver, w, lam):
    K, n = gaussian(X, X), len(X)
    s = solver.run(problem(Gaussian(1.0), lam, w))
    said, c = s.certificate, s.coef
    best = objective(K, Y, *exact(K, Y, lam, w), lam, w)
    now = objective(K, Y, c, 0, lam, w)
    assert said.objective == pytest.approx(now, rel=1e-9)
    weights = np.ones(n) if w is None else w

    def norm(c):
        ρ = 2 * weights[:, None] * (K @ c - Y) / n + 2 * lam * c
        return np.sqrt((ρ * (K @ ρ)).sum())

    # It may be an upper bound where that is small; it is never below the truth (beyond rounding).
    # Strong convexity, or the fact that squared errors are not negative: whichever says more.
    relative, gap = norm(c) / norm(0 * c), min(norm(c) ** 2 / (4 * lam), now)
    assert relative <= said.relative_gradient * (1 + 1e-6) + 1e-11
    if not s.converged:
        assert said.relative_gradient == pytest.approx(relative, rel=1e-5)
        # The coefficients are a point of the dual problem, too, which may say more.
        assert said.gap <= gap * (1 + 1e-5) + 2 * said.rounding
    assert now - best <= said.gap
    with np.errstate(divide="ignore"):
        residual = np.abs(c + weights[:, None] * 2 * (K @ c - Y) / (2 * lam * n)).max() / np.abs(c).max()
    assert said.representer_residual == pytest.approx(residual, rel=1e-4, abs=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "solver", [Cholesky(), CG(max_iter=3, rank=8), CG(max_iter=1, rank=0, store=False)], ids=repr
)
def test_the_gap_with_an_offset(solver):
    """With the best b for its f, C is as strongly convex in f as without."""
    K = gaussian(X, X)
    best = objective(K, Y, *exact(K, Y, 1e-2, offset=True), 1e-2)
    s = solver.run(problem(Gaussian(1.0), 1e-2, offset=True))
    above = objective(K, Y, s.coef, s.intercept, 1e-2) - best
    assert above <= s.certificate.gap
    assert s.certificate.gap < (1e-11 if s.converged else 100 * above)


@pytest.mark.parametrize("store", [True, False])
def test_running_out_of_iterations_warns_with_advice(store):
    with pytest.warns(
        ConvergenceWarning, match=r"cg stopped at its limit of 3 iterations.*Increase lam, max_iter or rank"
    ):
        s = CG(max_iter=3, rank=5, store=store).run(problem(Gaussian(1.0), 1e-6))
    assert s.status == "max_iter" and s.iterations == 3 and not s.converged


def test_history_falls():
    s = CG(rank=10, store=False).run(problem(Gaussian(1.0), 1e-3))
    h = np.array(s.history)
    assert len(h) == s.iterations + 1 and h[0] == 1.0 and h[-1] < 1e-8
    assert (np.minimum.accumulate(h)[5:] < h[:-5]).mean() > 0.9


def test_tolerance_is_obeyed():
    K = gaussian(X, X)
    loose, tight = (
        CG(tol=tol, rank=5, store=False).run(problem(Gaussian(1.0), 1e-4)) for tol in (1e-2, 1e-10)
    )
    assert loose.iterations < tight.iterations
    size = np.linalg.norm(Y)
    assert 1e-9 < np.linalg.norm(K @ loose.coef + 70e-4 * loose.coef - Y) / size < 3e-2
    assert np.linalg.norm(K @ tight.coef + 70e-4 * tight.coef - Y) / size < 1e-9


def test_zero_targets():
    for solver in (Cholesky(), CG()):
        s = solver.run(problem(Gaussian(1.0), 1e-2, y=np.zeros((70, 2))))
        assert s.converged and not s.coef.any() and s.certificate.objective == 0


def test_singular_matrix_gets_a_reported_jitter():
    """Every point twice and λ far below rounding: K + λnI is singular to the last bit."""
    points = np.repeat(X[:20], 2, axis=0)
    y = np.repeat(np.sin(points[::2, :1]), 2, axis=0)
    K = Tiled().operator(Gaussian(1.0), points)
    s = Cholesky().run(Problem(K, K, y, Squared(), 1e-30))
    assert 0 < s.certificate.jitter < 1e-6
    assert "jitter" in str(s)
    assert np.abs(gaussian(points, points) @ s.coef - y).max() < 1e-4


def test_a_matrix_will_do_for_a_kernel():
    K = Matrix(gaussian(X, X))
    c, _ = exact(K.values, Y, 1e-3)
    for solver in (Cholesky(), CG()):
        assert np.allclose(solver.run(Problem(K, K, Y, Squared(), 1e-3)).coef, c, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("solver", [Cholesky(), CG(), CG(rank=0), CG(rank=4)], ids=repr)
def test_laws(solver):
    check_solver(solver)


# -- targets that are all the same, or of any size -----------------------------------------------------------

WAYS = {
    "cholesky": Cholesky(),
    "cg": CG(),
    "cg, products": CG(store=False),
    "cg, no columns": CG(store=False, rank=0),
}
ways = pytest.mark.parametrize("way", WAYS)
SOME = np.random.default_rng(5)


@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("value", [0.1, 0.7, -3e-7, 1e8 + 0.1])
@ways
def test_one_value_is_learnt_exactly(way, value, w):
    """Even where the mean of n such numbers is rounded to another number."""
    w = None if w is None else w[:60]
    for lam in ("auto", 1e-3):
        machine = KernelRidge(lam=lam, solver=WAYS[way]).fit(X[:60], np.full(60, value), sample_weight=w)
        assert machine.solution_.converged and machine.solution_.certificate.relative_gradient == 0
        assert (machine.predict(X + 1) == value).all() and not machine.dual_coef_.any()


@pytest.mark.parametrize("n", [200, 3500])
def test_one_value_of_many_examples(n):
    points = np.random.default_rng(0).standard_normal((n, 2))
    for lam in ("auto", 1e-3):
        machine = KernelRidge(lam=lam).fit(points, np.full(n, 0.1))
        assert machine.solution_.converged and (machine.predict(points[:9]) == 0.1).all()


@pytest.mark.parametrize("lam", [1e-3, 1e-9])
@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1])
@ways
def test_values_that_differ_by_rounding_are_one(way, value, lam):
    ulp = np.spacing(value)
    y = value + ulp * SOME.integers(-1, 2, len(X)) * (SOME.random(len(X)) < 0.1)
    machine = KernelRidge(lam=lam, solver=WAYS[way]).fit(X, y)
    assert machine.solution_.converged
    assert np.abs(machine.predict(X + 1) - value).max() <= 2 * ulp


@ways
def test_a_small_signal_on_a_large_mean_is_learnt(way):
    """One column of three is constant; of the others one is the third of a millionth of its mean apart."""
    signal = np.sin(X[:, 0])
    y = np.column_stack([np.full(len(X), 0.1), 1e8 + 1e-3 * signal, signal])
    machine = KernelRidge(Gaussian(1.0), lam=1e-3, solver=WAYS[way]).fit(X, y)
    f = machine.predict(X)
    c, b = exact(gaussian(X, X), y[:, 1:] - [1e8, 0], 1e-3, offset=True)
    expected = gaussian(X, X) @ c + b
    assert machine.solution_.converged and (f[:, 0] == 0.1).all()
    assert np.abs(f[:, 1] - 1e8 - expected[:, 0]).max() < 4 * np.spacing(1e8)
    assert np.abs(f[:, 2] - expected[:, 1]).max() < 1e-6


@pytest.mark.parametrize("size", [1e39, 1e-40, 1e60])
@ways
def test_targets_of_any_size(monkeypatch, way, size):
    """Factors in float32, and a mean of 1 beside targets that float32 does not hold."""
    monkeypatch.setattr(least_squares, "MIXED_FROM", 10)
    K = gaussian(X, X)
    for offset in (False, True):
        c, b = exact(K, Y, 1e-3, offset=offset)
        machine = KernelRidge(Gaussian(1.0), lam=1e-3, offset=offset, solver=WAYS[way]).fit(X, size * Y)
        assert machine.solution_.converged
        assert np.abs(machine.predict(X) / size - K @ c - b).max() < 1e-6 * np.abs(K @ c + b).max()


@ways
def test_kernels_that_float32_does_not_hold(monkeypatch, way):
    monkeypatch.setattr(least_squares, "MIXED_FROM", 10)
    c, _ = exact(gaussian(X, X), Y, 1e-3)
    machine = KernelRidge(1e-40 * Gaussian(1.0), lam=1e-43, offset=False, solver=WAYS[way]).fit(X, Y)
    assert machine.solution_.converged
    assert np.abs(machine.predict(X) - gaussian(X, X) @ c).max() < 1e-6 * np.abs(Y).max()


def test_points_far_away_are_named_as_the_reason():
    """Of K, with entries of 2e14, nothing is left that a jitter could mend."""
    points = np.random.default_rng(0).uniform(-2, 2, (60, 2)) + 1e7
    with pytest.raises(NotPositiveDefinite, match="subtract the means of the features"):
        KernelRidge(Linear() + Gaussian(1.0), lam=1e-4).fit(points, points[:, 0] - 1e7)


@pytest.mark.parametrize("solver", ["cg", "cholesky"])
@pytest.mark.parametrize(
    ("kernel", "scale"), [(Gaussian(1.0), 0.0), (Gaussian(1.0), 1e-9), (Constant(), 1.0)], ids=repr
)
def test_centres_that_have_nothing_to_add_to_the_offset(kernel, scale, solver):
    """All of the residual is rounding, and no reason for a warning."""
    rng = np.random.default_rng(0)
    y, points = rng.standard_normal(2000), 1 + scale * rng.standard_normal((2000, 1))
    machine = KernelRidge(kernel, lam=1e-3, representation=Nystrom(40), solver=solver).fit(points, y)
    assert machine.solution_.converged
    assert np.abs(machine.predict(points) - y.mean()).max() < 1e-7
    assert machine.solution_.certificate.objective == pytest.approx(y.var(), rel=1e-12)
