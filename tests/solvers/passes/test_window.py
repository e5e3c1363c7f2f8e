"""The problem of examples near a kink, with the slopes of all others: against the objective written out."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import KernelRegressor, KernelSVC
from mercer.kernels import Gaussian
from mercer.losses import Absolute
from mercer.representations import Nystrom
from mercer.rows import ArrayRows
from mercer.solvers.coordinates import to_primal
from mercer.solvers.passes.points import Measure
from mercer.solvers.passes.window import KinkWindow, TiltedForm, solve_sample
from mercer.solvers.passes.work import Slopes
from mercer.solvers.smoothing import Rounded

rng = np.random.default_rng(0)
X = rng.standard_normal((80, 2))
t = X[:, 0] + 0.3 * rng.standard_normal(80)


def parts(cls, y, offset=True, lam=1e-2, **params):
    machine = cls(Gaussian(1.0), lam=lam, representation=Nystrom(centres=X[:6]), offset=offset, **params)
    problem, _ = machine.problem(ArrayRows(X, y, rows=30))
    primal = to_primal(problem.sample, store=True)
    return problem, primal, Measure(problem.A.adding(Slopes(problem.loss, 80)), primal, lam, 80)


CASES = [(KernelSVC, t > 0, {}), (KernelRegressor, t, {"loss": Absolute()})]


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("cls, y, params", CASES)
def test_with_all_examples_it_is_the_whole_problem(cls, y, params, offset):
    problem, primal, measure = parts(cls, y, offset, **params)
    sample = problem.sample
    _, mu = solve_sample(sample, primal, 0.3)
    u = 0.1 * rng.standard_normal((len(primal.penalty), 1))
    point = measure(u, mu, np.array([1e3]))
    assert point.near[0].count == 80
    window = KinkWindow(primal, sample.y, None, 1.0, problem)
    found, mu = window.solve(point, mu, 1e-6)
    best, least_mu = solve_sample(sample, primal, 1e-6)
    values = [measure(v, m).objective for v, m in ((found, mu), (best, least_mu))]
    assert values[0] == pytest.approx(values[1], rel=1e-5) and values[0] <= point.objective


@pytest.mark.parametrize("cls, y, params", CASES)
def test_others_stand_for_their_slopes(cls, y, params):
    """The gradient of the window's problem at the point is that of all examples, and so is its value."""
    problem, primal, measure = parts(cls, y, **params)
    sample = problem.sample
    u, mu = solve_sample(sample, primal, 1e-2)
    point = measure(u, mu, np.array([0.2]))
    rows = point.near[0].rows
    assert 0 < len(rows) < 80
    A, y_near, w = problem.A.taken(rows)
    near = primal.facing(A)
    window = KinkWindow(near, y_near, w, len(rows) / 80, problem)
    slopes = (
        -Rounded.of(window.problem)
        .at(mu)
        .form.slope(Rounded.of(window.problem).form.centre - near.Phi @ u, mu)
    )
    own = near.Phi.adjoint(window.problem.weighted(slopes)) / window.problem.n
    tilt = point.gradient - 2 * problem.lam * primal.penalise(u) - own
    loss = Rounded.of(window.problem).at(mu)
    form = TiltedForm(replace(window.problem, loss=loss), near, tilt, u, point.value)
    assert np.allclose(form.gradient, point.gradient, atol=1e-10)
    assert form.value == pytest.approx(point.value)
    found, new_mu = window.solve(point, mu, 1e-4)
    assert (new_mu <= mu + 1e-15).all() and np.isfinite(found).all()


def test_no_example_near_a_kink():
    """Separable, far from the margin: the sample stands in."""
    far = np.where(np.arange(80)[:, None] % 2, X + 50, X - 50)
    y = np.arange(80) % 2
    machine = KernelSVC(Gaussian(1.0), lam=1e-4, representation=Nystrom(centres=far[:6]))
    machine.fit(ArrayRows(far, y, rows=30))
    assert machine.solution_.status == "converged"
    other = KernelSVC(Gaussian(1.0), lam=1e-4, representation=Nystrom(centres=far[:6])).fit(far, y)
    ours, theirs = (m.solution_.certificate for m in (machine, other))
    assert ours.objective - theirs.objective <= ours.gap + theirs.gap
