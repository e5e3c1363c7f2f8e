"""A point and its Hessians: against those of the objective written out."""

import numpy as np
import pytest

from mercer import KernelLogistic, KernelRidge
from mercer.kernels import Gaussian
from mercer.representations import Nystrom
from mercer.rows import ArrayRows
from mercer.solvers.coordinates import to_primal
from mercer.solvers.passes.points import Curvature, Measure
from mercer.solvers.passes.work import Bends, Slopes

rng = np.random.default_rng(0)
X = rng.standard_normal((80, 2))
t = X[:, 0] + 0.1 * rng.standard_normal(80)
CASES = [
    (KernelRidge, t),
    (KernelRidge, np.stack([t, X[:, 1]], axis=1)),
    (KernelLogistic, np.digitize(t, [-0.5, 0.5])),
]


def measured(cls, y, offset=True, weights=None):
    machine = cls(Gaussian(1.0), lam=0.01, representation=Nystrom(centres=X[:6]), offset=offset)
    problem, _ = machine.problem(ArrayRows(X, y, weights, rows=30))
    primal = to_primal(problem.sample, store=True)
    bends = problem.A.adding(Bends(problem.loss)) if problem.loss.quadratic else None
    sums = problem.A.adding(Slopes(problem.loss))
    measure = Measure(sums, primal, problem.lam, problem.n, bends=bends)
    return problem, primal, measure


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("cls, y", CASES)
def test_value_and_gradient(cls, y, offset):
    problem, primal, measure = measured(cls, y, offset)
    targets = problem.sample.y
    u = rng.standard_normal((len(primal.penalty), targets.shape[1]))
    point = measure(u)
    c, b = primal.back(u)
    K, B = Gaussian(1.0)(X, X[:6]), Gaussian(1.0)(X[:6], X[:6])
    by_hand = problem.loss.value(targets, K @ c + b).sum() / 80 + 0.01 * (c * (B @ c)).sum()
    assert point.value == pytest.approx(by_hand, rel=1e-9) == point.objective
    assert measure.passes == 1
    h = 1e-6
    for place in np.ndindex(u.shape):
        step = np.zeros(u.shape)
        step[place] = h
        slope = (measure(u + step).value - measure(u - step).value) / (2 * h)
        assert slope == pytest.approx(point.gradient[place], abs=1e-6)
    # The gradient's length in H_K is that of its Riesz representative.
    G = point.gradient[: len(u) - offset]
    assert point.norm >= np.linalg.norm(G) * 0.1 and np.isfinite(point.norm)


@pytest.mark.parametrize("cls, y", CASES[:2])
def test_the_inverse_of_the_hessian(cls, y):
    """All examples are the sample here, so that a Newton step solves least squares."""
    _, primal, measure = measured(cls, y)
    u = rng.standard_normal((len(primal.penalty), np.atleast_2d(y.T).shape[0]))
    sample = measured(cls, y)[0].sample
    point = measure(u)
    after = measure(u - Curvature(sample, primal).inverse(u)(point.gradient))
    assert np.abs(after.gradient).max() < 1e-9 * np.abs(point.gradient).max()


@pytest.mark.parametrize("weights", [None, np.arange(80) % 3 * 1.0])
def test_the_hessian_times_a_vector(weights):
    """… is the difference of two gradients, where the objective is quadratic."""
    _, primal, measure = measured(KernelRidge, CASES[1][1], weights=weights)
    u, d = rng.standard_normal((2, len(primal.penalty), 2))
    assert np.allclose(measure.bent(d), measure(u + d).gradient - measure(u).gradient, atol=1e-9)
    assert measure.passes == 3


def test_outputs_share_a_hessian_if_there_are_many():
    y = rng.standard_normal((80, 7))
    problem, primal, measure = measured(KernelRidge, y)
    u = np.zeros((len(primal.penalty), 7))
    point = measure(u)
    after = measure(u - Curvature(problem.sample, primal).inverse(u)(point.gradient))
    assert np.abs(after.gradient).max() < 1e-9
