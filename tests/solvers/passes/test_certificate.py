"""Claims about rows that live elsewhere against minima found without the library, in long double."""

from dataclasses import replace

import numpy as np
import pytest

import certified
from mercer import KernelLogistic, KernelRegressor, KernelRidge
from mercer.kernels import Gaussian
from mercer.losses import Huber
from mercer.representations import Nystrom
from mercer.rows import ArrayRows
from mercer.solvers import Passes
from mercer.solvers.coordinates import to_primal
from mercer.solvers.passes.certificate import Assessment
from mercer.solvers.passes.work import FinalSums

pytestmark = pytest.mark.usefixtures("small_samples")


def fitted(machine, X, y, w):
    return machine.fit(ArrayRows(X, y, w, rows=max(len(X) // 3, 1)))


def drawn(seed):
    """A case at random, to be solved where its rows are."""
    rng = np.random.default_rng(seed)
    while True:
        case = certified.draw(rng)
        if case.representation in ("nystrom", "explicit", "random"):
            return replace(case, solver="passes", lam=max(case.lam, 1e-6), n=case.n + 40 * (case.n > 30))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", range(4))
def test_random_problems(block):
    # The first ones: the problem of a window is solved before it begins, or its objective is negative.
    for seed in ([121], [238], [], [])[block] + [*range(8 * block, 8 * block + 8)]:
        case = drawn(seed)
        assert certified.check(case, fitted) == [], case


@pytest.mark.parametrize("cls", [KernelRidge, KernelLogistic])
@pytest.mark.parametrize("away", [1e-3, 0.03, 3.0])
def test_an_offset_that_is_off_draws_f_along(cls, away):
    """f is best for its b, and b is not: moving both gains more than moving b alone."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 2))
    t = X[:, 0] + 0.5 * rng.standard_normal(90)
    y = t if cls is KernelRidge else np.where(t > 0, 1, -1)
    machine = cls(Gaussian(1.0), lam=1e-4, representation=Nystrom(centres=X[:12]))
    problem, _ = machine.problem(ArrayRows(X, y, rows=30))
    K, B = Gaussian(1.0)(X, X[:12]), Gaussian(1.0)(X[:12], X[:12])
    targets = y.astype(float)  # labels are coded −1 and 1

    def objective(v):
        s = K @ v[:12] + v[12]
        slopes, bends = (part(targets, s) / 90 for part in (problem.loss.grad, problem.loss.hess))
        wide = np.column_stack([K, np.ones(90)])
        penalty = 1e-4 * np.block([[B, np.zeros((12, 1))], [np.zeros((1, 13))]])
        value = problem.loss.value(targets, s).mean() + v @ penalty @ v
        return value, wide.T @ slopes + 2 * penalty @ v, (wide.T * bends) @ wide + 2 * penalty

    def minimum(v, free):
        for _ in range(200):
            value, g, H = objective(v)
            step = np.zeros(13)
            step[:free] = np.linalg.lstsq(H[:free, :free], g[:free], rcond=None)[0]
            while objective(v - step)[0] > value and np.abs(step).max() > 1e-14:
                step /= 2
            v = v - step
        return v

    best = minimum(np.zeros(13), 13)
    stuck = best.copy()
    stuck[12] += away
    stuck = minimum(stuck, 12)
    above = objective(stuck)[0] - objective(best)[0]
    coef, intercept = stuck[:12, None], stuck[12:]
    judge = Assessment(problem, to_primal(problem.sample, store=True))
    shifts = judge.shifts(coef, intercept, np.abs(objective(stuck)[1][12:]))
    errors = judge.score_errors(coef)
    sums = problem.A.adding(FinalSums(problem.loss))(coef, intercept, None, errors, shifts)
    found = judge.measured(coef, intercept, sums, shifts, 1.0, False)
    assert found.objective == pytest.approx(objective(stuck)[0], rel=1e-9)
    assert found.gap is not None and above <= found.gap <= max(1e4 * above, 1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_curvature_that_ends_before_the_best_offset(seed):
    """Huber's loss is a line far from the targets: two groups of them, and b between the two."""
    n, rng = 6000, np.random.default_rng(0)
    X = 1e-3 * rng.standard_normal((n, 1))
    y = np.where(np.arange(n) < n // 2 + 30, 0.0, 30.0) + 0.1 * rng.standard_normal(n)
    machine = KernelRegressor(
        "linear", loss=Huber(1.0), lam=1.0, solver=Passes(max_iter=2), random_state=seed
    ).fit(ArrayRows(X, y, rows=1000))
    known = machine.solution_.certificate

    def value(b):  # with f = 0, which is no better than the best f
        return Huber(1.0).value(y, np.full(n, b)).mean()

    best = min(value(b) for b in np.linspace(0, 30, 3001))
    assert known.gap is None or known.objective - best <= known.gap
