"""Bounds: the numbers against SciPy and formulas by hand, the promise against simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.theory import (
    Bound,
    binomial_bound,
    finite_class_bound,
    finite_class_examples,
    kl_inverse,
    mean_bound,
    rademacher_bound,
    support_vector_bound,
    vc_bound,
    vc_examples,
)
from mercer.theory.bounds import examples_needed, finite_class_excess, vc_excess
from mercer.theory.learnability import HalfSpaces, vc_dimension


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
        machine = KernelRidge(Gaussian(1.0), lam=0.01, offset=False).fit(X, y)

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
    assert "fixed before" in rademacher.assumptions and rademacher.largest_term[0] == "complexity"
    assert rademacher.slack == pytest.approx(rademacher.value - 0.1)
    average = support_vector_bound(3, 10)
    assert str(average).endswith("≤ 0.3 on average") and average.largest_term is None


@pytest.mark.parametrize(
    "errors, n, delta", [(-1, 5, 0.1), (6, 5, 0.1), (0, 0, 0.1), (1, 5, 0.0), (1, 5, 1.0)]
)
def test_impossible_counts(errors, n, delta):
    with pytest.raises(ValueError, match="must lie between|must be a whole number from 0 to n"):
        binomial_bound(errors, n, delta)


@pytest.mark.parametrize(
    "change", [{"norm": -1.0}, {"trace": -1.0}, {"slope": -1.0}, {"n": 0}, {"delta": 0.0}, {"delta": 1.0}]
)
def test_impossible_sizes(change):
    sizes = {"empirical": 0.1, "norm": 1.0, "trace": 10.0, "n": 10, "slope": 1.0, "delta": 0.05, **change}
    with pytest.raises(ValueError, match="must be nonnegative"):
        rademacher_bound(**sizes)


DELTA = st.floats(1e-6, 0.5)


@pytest.mark.parametrize(
    "mean, n, delta, largest", [(0.0, 30, 0.05, 1.0), (0.4, 100, 0.1, 2.0), (3.0, 50, 0.01, 8.0)]
)
def test_means_of_bounded_losses(mean, n, delta, largest):
    bound = mean_bound(mean, n, delta, largest)
    assert bound.value == pytest.approx(largest * kl_inverse(mean / largest, math.log(1 / delta) / n))
    assert bound.value <= mean + largest * math.sqrt(math.log(1 / delta) / (2 * n))  # Hoeffding's
    assert sum(v for _, v in bound.terms) == pytest.approx(bound.value)


def test_vc_by_hand():
    """(3(ln(10000/3) + 1) + ln 80)/5000 = 0.0063434…"""
    assert vc_excess(3, 5000, 0.05) ** 2 * 5000 == pytest.approx(
        3 * (math.log(10_000 / 3) + 1) + math.log(80), rel=1e-12
    )
    bound = vc_bound(0.05, 3, 5000)
    assert bound.value == pytest.approx(0.05 + 0.0796454, abs=1e-6) and not bound.vacuous
    assert bound.terms[1] == ("VC dimension", pytest.approx(0.0796454, abs=1e-6))
    assert vc_excess(0, 100, 0.05) == pytest.approx(math.sqrt(math.log(80) / 100))
    assert vc_bound(0.0, math.inf, 100).vacuous and vc_bound(0.0, math.inf, 100).needed is None


@given(st.floats(0, 500), st.floats(0.02, 0.9), DELTA)
def test_how_many_examples_by_vc_dimension(dimension, epsilon, delta):
    n = vc_examples(dimension, epsilon, delta)
    assert vc_excess(dimension, n, delta) <= epsilon * (1 + 1e-12)
    assert n <= max(math.ceil(dimension / 2), 1) or vc_excess(dimension, n - 1, delta) > epsilon


@given(st.integers(1, 10**30), st.floats(0.01, 0.9), DELTA)
def test_how_many_examples_for_a_finite_class(size, epsilon, delta):
    n = finite_class_examples(size, epsilon, delta)
    assert finite_class_excess(size, n, delta) <= epsilon
    assert n == 1 or finite_class_excess(size, n - 1, delta) > epsilon


def test_finite_class_by_hand():
    """√((ln 1000 + ln 20)/4000)"""
    bound = finite_class_bound(0.1, 1000, 2000, 0.05)
    assert bound.value == pytest.approx(0.1 + math.sqrt((math.log(1000) + math.log(20)) / 4000), rel=1e-12)
    assert finite_class_bound(0.3, 3**2000, 100).vacuous  # a size beyond floats


@given(st.floats(0, 0.9), st.integers(1, 200), st.integers(10, 2000))
def test_as_many_as_needed_make_it_say_something(empirical, dimension, n):
    bound = vc_bound(empirical, dimension, n)
    if bound.needed is None:
        assert not bound.vacuous
    else:
        assert vc_bound(empirical, dimension, bound.needed).value < 1
        assert vc_bound(empirical, dimension, bound.needed - 1).value >= 1


def test_never_enough():
    assert examples_needed(lambda n: 2.0, 10) is None
    assert vc_bound(1.0, 3, 100).needed is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: vc_bound(1.2, 3, 10),
        lambda: vc_bound(0.1, -1, 10),
        lambda: vc_examples(math.inf, 0.1),
        lambda: vc_examples(3, 0.0),
        lambda: vc_examples(3, 1e-12),
        lambda: finite_class_bound(0.1, 0, 10),
        lambda: finite_class_examples(0, 0.1),
        lambda: finite_class_examples(2, -0.1),
        lambda: vc_bound(0.1, math.nan, 10),
        lambda: binomial_bound(1.5, 4),
        lambda: rademacher_bound(math.nan, 1.0, 10.0, 10, 1.0),
        lambda: rademacher_bound(1.5, 1.0, 10.0, 10, 1.0),
        lambda: rademacher_bound(0.1, math.nan, 10.0, 10, 1.0),
        lambda: mean_bound(0.5, 0),
        lambda: mean_bound(2.0, 10),
        lambda: mean_bound(0.5, 10, delta=1.0),
    ],
)
def test_what_makes_no_sense(call):
    with pytest.raises(ValueError):
        call()


def test_a_dimension_that_was_searched_for():
    found = vc_dimension(HalfSpaces(2))
    assert vc_bound(0.1, found, 1000) == vc_bound(0.1, 3, 1000)
    assert vc_examples(found, 0.1) == vc_examples(3, 0.1)
    for wrong in ("3", HalfSpaces(2), None):
        with pytest.raises(TypeError, match="what vc_dimension found"):
            vc_bound(0.1, wrong, 1000)
