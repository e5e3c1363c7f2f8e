"""Evaluations of likelihoods, and their search: against inverses, differences, and a clock set by hand."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.kernels import Gaussian, Linear, Matern
from mercer.posterior import ExactPosterior
from mercer.representations import Nystrom
from mercer.selection import ascent
from mercer.selection.ascent import Ascent, LogPosterior, inverse_in_place
from mercer.selection.priors import Gamma, LogNormal

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1]]) + 0.1 * RNG.standard_normal((60, 2))
W = RNG.uniform(0.2, 3.0, 60)
KERNEL = 0.7 * Gaussian(1.0).scaled([1.0, 2.0]) + Matern(1.5, 2.0) * Linear()


def asked(representation="full", scale="likelihood", offset=True, w=None, beliefs=None, free=None):
    machine = KernelRidge(KERNEL, lam=5e-3, representation=representation, offset=offset, random_state=0)
    seen = machine.fit(X, Y, w).posterior().seen
    theta = seen.theta
    return LogPosterior(
        seen, scale, theta, np.ones(len(theta), bool) if free is None else free, beliefs or {}
    )


def differences(f, at, h=1e-5):
    return np.array([(f(at + h * e)[0] - f(at - h * e)[0]) / (2 * h) for e in np.eye(len(at))])


@pytest.mark.parametrize("n", [1, 5, 256, 700])
def test_the_inverse_is_numpys(n):
    B = RNG.standard_normal((n, n))
    A = B @ B.T + n * np.eye(n)
    found = np.linalg.cholesky(A) + np.triu(
        np.full((n, n), 7.0), 1
    )  # what is above the diagonal is no matter
    inverse_in_place(found)
    np.testing.assert_allclose(found, np.linalg.inv(A), atol=1e-12)


@pytest.mark.parametrize("representation", ["full", Nystrom(12)])
@pytest.mark.parametrize("scale", ["likelihood", 0.5])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("w", [None, W], ids=["", "weights"])
def test_slopes_are_central_differences(representation, scale, offset, w):
    objective = asked(representation, scale, offset, w, {0: LogNormal(2.0, 0.5), 4: Gamma(2.0, 3.0)})
    _, slopes, _ = objective(objective.first)
    np.testing.assert_allclose(slopes, differences(objective, objective.first), rtol=1e-5, atol=1e-5)


def test_without_memory_for_all_pairs_slopes_are_the_same(monkeypatch):
    objective = asked(w=W)
    at_once = objective(objective.first)
    monkeypatch.setattr(ascent, "available_memory", lambda: 0)
    by_panels = objective(objective.first)
    assert by_panels[0] == pytest.approx(at_once[0], rel=1e-10)
    np.testing.assert_allclose(by_panels[1], at_once[1], rtol=1e-8)


def test_what_does_not_move_has_no_slopes():
    free = np.zeros(5, bool)
    free[-1] = True
    alone, together = asked(free=free), asked()
    value, slopes, _ = alone(alone.first[-1:])
    assert slopes.shape == (1,) and value == together(together.first)[0]
    np.testing.assert_allclose(slopes, together(together.first)[1][-1:], rtol=1e-10)


def test_before_is_the_posteriors():
    objective = asked(w=W)
    assert objective.before() == pytest.approx(ExactPosterior(objective.seen).log_marginal_likelihood())


class Clock:
    """A time that goes on by hand."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(ascent, "time", made)
    return made


@pytest.mark.parametrize("seconds, count", [(0.0, 1), (34.0, 3), (36.0, 4)])
def test_the_time_holds_to_within_half_an_evaluation(clock, seconds, count):
    def objective(part):
        clock.now += 10.0
        return float(part @ part) ** 2, 4 * float(part @ part) * part, (0.0, None)

    search = Ascent(objective, seconds, began=100.0)
    found = search.climb([np.array([3.0, -1.0])] * 3, [(-9.0, 9.0)] * 2, 50)
    assert search.count == count and len(found) == 1 and found[0].status == "out of time"
    assert clock.now - 100.0 <= max(seconds + 5.0, 10.0)


def test_what_can_not_be_factored_is_no_point():
    def objective(part):
        if part[0] > 1:
            raise np.linalg.LinAlgError
        return float(part @ part), 2 * part, (-float(part @ part), None)

    search = Ascent(objective, 60.0, began=0.0)
    search.seconds = float("inf")
    found = search.climb([np.array([3.0]), np.array([0.5])], [(-9.0, 9.0)], 50)
    assert len(found) == 1 and found[0].value < 1e-10 and search.at_first == -np.inf
