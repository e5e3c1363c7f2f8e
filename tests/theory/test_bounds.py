"""Bounds: the numbers against SciPy and formulas by hand, the promise against simulation."""

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.theory import Bound, binomial_bound, rademacher_bound


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.3])
@pytest.mark.parametrize(
    "errors, n", [(0, 1), (0, 50), (1, 10), (7, 20), (19, 20), (300, 5000), (4999, 5000)]
)
def test_clopper_and_pearson_by_scipy(errors, n, delta):
    bound = binomial_bound(errors, n, delta)
    # SciPy's interval has two sides; 1 − 2δ leaves δ above it.
    two_sided = binomtest(errors, n).proportion_ci(1 - 2 * delta, method="exact")
    assert bound.value == pytest.approx(two_sided.high, rel=1e-9)
    assert bound.measured == errors / n and bound.delta == delta
    # What it says: at that rate so few errors have probability δ.
    assert binom.cdf(errors, n, bound.value) == pytest.approx(delta, rel=1e-6)


def test_all_wrong():
    bound = binomial_bound(12, 12)
    assert bound.value == 1 and bound.vacuous and "vacuous" in str(bound)


def test_grows_with_errors_and_confidence_and_shrinks_with_examples():
    assert binomial_bound(3, 40).value < binomial_bound(4, 40).value
    assert binomial_bound(3, 40, 0.1).value < binomial_bound(3, 40, 0.01).value
    assert binomial_bound(30, 400).value < binomial_bound(3, 40).value


@pytest.mark.parametrize("rate", [0.02, 0.2, 0.6])
@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_the_binomial_bound_holds_as_often_as_it_says(rate, delta):
    rng, repetitions = np.random.default_rng(0), 4000
    drawn = rng.binomial(60, rate, repetitions)
    holds = {int(k): binomial_bound(int(k), 60, delta).value >= rate for k in np.unique(drawn)}
    failures = sum(not holds[int(k)] for k in drawn)
    # It may fail with probability δ; so many failures would be a wonder (1 in 10,000).
    assert failures <= binom.ppf(1 - 1e-4, repetitions, delta)


@pytest.mark.parametrize("norm, rounded, j", [(1.0, 1.0, 0), (1.01, 2.0, 1), (5.0, 8.0, 3), (0.3, 0.5, -1)])
def test_rademacher_by_hand(norm, rounded, j):
    n, trace, slope, delta = 400, 300.0, 2.0, 0.1
    bound = rademacher_bound(0.07, norm, trace, n, slope, delta, risk="capped error")
    share = delta / (2 * (abs(j) + 1) * (abs(j) + 2))
    expected = (
        0.07 + 2 * slope * rounded * math.sqrt(trace) / n + 3 * math.sqrt(math.log(2 / share) / (2 * n))
    )
    assert bound.value == pytest.approx(expected, rel=1e-12)
    assert (bound.measured, bound.delta, bound.risk) == (0.07, delta, "capped error")
    assert bound.vacuous == (expected >= 1)


def test_shares_of_all_radii_are_paid_for():
    """Σ_j δ_j over all whole j, positive and negative, is at most δ."""
    total = sum(1 / (2 * (abs(j) + 1) * (abs(j) + 2)) for j in range(-100_000, 100_001))
    assert total <= 1


def test_the_zero_function():
    bound = rademacher_bound(0.2, 0.0, 100.0, 100, 1.0)
    assert 0.2 < bound.value < 1 and not bound.vacuous


def test_the_rademacher_bound_holds_in_a_simulation():
    """For a kernel fixed beforehand; the truth is the mean over very many fresh examples."""
    rng = np.random.default_rng(0)

    def draw(n):
        x = rng.uniform(-2, 2, (n, 1))
        return x, np.sin(2 * x[:, 0]) + 0.2 * rng.standard_normal(n)

    fresh_x, fresh_y = draw(5000)
    for _ in range(20):
        X, y = draw(300)
        machine = KernelRidge(Gaussian(1.0), lam=0.01).fit(X, y)

        def loss(x, y, machine=machine):
            return float(np.minimum(np.abs(machine.predict(x) - y), 1).mean())

        norm = math.sqrt(machine.function_.squared_norm())
        bound = rademacher_bound(loss(X, y), norm, 300.0, 300, 1.0)
        assert not bound.vacuous
        assert loss(fresh_x, fresh_y) <= bound.value


def test_in_words():
    bound = binomial_bound(5, 100, 0.1, risk="share of errors above 2")
    assert isinstance(bound, Bound) and not bound.vacuous
    assert str(bound) == f"Test-set bound: share of errors above 2 ≤ {bound.value:.3g} with probability 90%"
    assert "independent" in bound.assumptions and "without them" in bound.assumptions
    rademacher = rademacher_bound(0.1, 100.0, 100.0, 100, 1.0)
    assert rademacher.vacuous and str(rademacher).endswith("(vacuous: it says nothing)")
    assert "tuned" in rademacher.assumptions


@pytest.mark.parametrize(
    "errors, n, delta", [(-1, 5, 0.1), (6, 5, 0.1), (0, 0, 0.1), (1, 5, 0.0), (1, 5, 1.0)]
)
def test_impossible_counts(errors, n, delta):
    with pytest.raises(ValueError, match="must lie between"):
        binomial_bound(errors, n, delta)


@pytest.mark.parametrize(
    "change", [{"norm": -1.0}, {"trace": -1.0}, {"slope": -1.0}, {"n": 0}, {"delta": 0.0}, {"delta": 1.0}]
)
def test_impossible_sizes(change):
    sizes = {"empirical": 0.1, "norm": 1.0, "trace": 10.0, "n": 10, "slope": 1.0, "delta": 0.05, **change}
    with pytest.raises(ValueError, match="must be nonnegative"):
        rademacher_bound(**sizes)
