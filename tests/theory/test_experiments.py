"""Experiments: rates that theory knows, bias and variance by brute force, seeds, progress."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mercer import KernelNeighborsRegressor, KernelRidge
from mercer.kernels import Gaussian
from mercer.theory import CircleProblem, PointsProblem, bias_variance, risk_curve


@pytest.mark.parametrize("b, r", [(2, 0.5), (4, 0.5)])
def test_kernel_ridge_attains_the_best_rate(b, r):
    problem = CircleProblem(b, r)
    curve = risk_curve(
        lambda n: KernelRidge(problem.kernel, lam=problem.lam(n), offset=False),
        problem.draw,
        [50, 100, 200, 400],
        risk=problem.excess,
        repetitions=15,
    )
    assert curve.rate.low - 0.05 <= problem.exponent <= curve.rate.high + 0.05
    assert (np.diff(curve.mean) < 0).all() and (curve.error < curve.mean).all()


def test_too_large_a_lam_does_not_learn():
    problem = CircleProblem()
    curve = risk_curve(
        KernelRidge(problem.kernel, lam=10.0, offset=False), problem.draw, [30, 60, 120], risk=problem.excess
    )
    assert curve.rate.exponent < 0.1


def test_error_rates_on_fresh_examples():
    problem, told = PointsProblem(noise=0.0), []
    machine, sizes = LogisticRegression(), [20, 40]
    curve = risk_curve(
        machine, problem.labels, sizes, repetitions=3, test=500, random_state=1, progress=told.append
    )
    assert curve.risks.shape == (3, 2) and (curve.risks < 0.4).all() and curve.rate is None
    assert [line.split(":")[0] for line in told] == ["n = 20", "n = 40"]
    again = risk_curve(machine, problem.labels, sizes, repetitions=3, test=500, random_state=1)
    np.testing.assert_array_equal(curve.risks, again.risks)
    other = risk_curve(machine, problem.labels, sizes, repetitions=3, test=500, random_state=2)
    assert (curve.risks != other.risks).any()
    assert not hasattr(machine, "coef_")  # a clone was fitted


def test_the_floor_is_taken_off():
    problem = CircleProblem(noise=0.5)
    machine = KernelRidge(problem.kernel, lam=1e-3, offset=False)
    options = dict(repetitions=4, test=1500)
    with_noise = risk_curve(machine, problem.draw, [30, 60, 120], floor=0.0, **options)
    without = risk_curve(machine, problem.draw, [30, 60, 120], floor=0.25, **options)
    np.testing.assert_array_equal(with_noise.risks, without.risks)
    assert without.rate.exponent > with_noise.rate.exponent


def test_bias_and_variance_of_a_constant():
    """All neighbours together give the mean of y: of variance σ²/n, and one too large here."""
    n = 20

    def draw(n, rng):
        return rng.random((n, 1)), rng.standard_normal(n) + 3

    machine = KernelNeighborsRegressor(Gaussian(1.0))
    found = bias_variance(
        machine, "n_neighbors", [n], draw, lambda X: np.full(len(X), 2.0), n, repetitions=400
    )
    assert found.variance[0] == pytest.approx(1 / n, rel=0.2) and found.bias[0] == pytest.approx(1, rel=0.05)


def test_they_pull_in_opposite_directions():
    problem, told = CircleProblem(), []
    at = np.linspace(0, 1, 60)[:, None]
    found = bias_variance(
        KernelRidge(problem.kernel, offset=False),
        "lam",
        np.logspace(-6, 0, 4),
        problem.draw,
        problem.truth,
        60,
        at=at,
        repetitions=20,
        progress=told.append,
    )
    assert (np.diff(found.bias[1:]) > 0).all() and (np.diff(found.variance) < 0).all() and len(told) == 4
    assert found.best in found.values[1:3] and (found.excess == found.bias + found.variance).all()


def test_widths_and_neighbours():
    problem = CircleProblem()
    for machine, name, values in (
        (KernelRidge(Gaussian(), lam=1e-3, offset=False), "kernel__sigma", [0.01, 0.2]),
        (KernelNeighborsRegressor(Gaussian(1.0)), "n_neighbors", [1, 20]),
    ):
        found = bias_variance(machine, name, values, problem.draw, problem.truth, 60, repetitions=15)
        assert found.variance[0] > found.variance[1]


@pytest.mark.parametrize(
    "call",
    [
        lambda d: risk_curve(KernelRidge(offset=False), d, []),
        lambda d: risk_curve(KernelRidge(offset=False), d, [10], repetitions=0),
        lambda d: bias_variance(KernelRidge(offset=False), "lam", [1.0], d, len, 10, repetitions=1),
        lambda d: bias_variance(KernelRidge(offset=False), "lam", [], d, len, 10),
    ],
)
def test_nothing_to_do(call):
    with pytest.raises(ValueError):
        call(CircleProblem().draw)
