"""Prediction intervals: exact ranks, and coverage that holds in simulations."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from mercer.kernels import Gaussian
from mercer.tables.model.conformal import Conformal

KERNEL = Gaussian(1.0).scaled([1.0, 1.0])


def of(errors, points=None):
    points = np.zeros((len(errors), 2)) if points is None else points
    return Conformal.of(np.asarray(errors, dtype=float), points, KERNEL)


@pytest.mark.parametrize("n", [1, 2, 3, 9, 10, 19, 20, 50, 99])
def test_ranks_are_exact(n):
    """The ⌈(n+1)·coverage⌉-th smallest error, in exact arithmetic; infinite where there is none."""
    found = of(np.random.default_rng(n).permutation(np.arange(1, n + 1)) * np.where(np.arange(n) % 2, -1, 1))
    for percent in range(1, 100):
        rank = math.ceil((n + 1) * Fraction(percent, 100))
        half = found.half_width(np.zeros((3, 2)), percent / 100)
        expected = rank if rank <= n else math.inf
        assert half.tolist() == [expected] * 3, percent


def test_wider_for_more_coverage():
    found = of(np.random.default_rng(0).standard_normal(60))
    halves = [found.half_width(np.zeros((1, 2)), c)[0] for c in np.linspace(0.05, 0.95, 19)]
    assert halves == sorted(halves)


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, math.nan])
def test_impossible_coverage(coverage):
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        of(np.ones(10)).half_width(np.zeros((1, 2)), coverage)


@pytest.mark.parametrize("n", [15, 60])
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_coverage_of_one_new_row(n, coverage):
    """Over repetitions new errors are covered with probability rank/(n+1), whatever they are like."""
    rng, repetitions = np.random.default_rng(1), 3000
    errors = rng.standard_t(2, (repetitions, n + 1))
    hits = sum(abs(e[-1]) <= of(e[:-1]).half_width(np.zeros((1, 2)), coverage)[0] for e in errors)
    expected = math.ceil((n + 1) * Fraction(str(coverage))) / (n + 1)
    low, high = binom.ppf([1e-4, 1 - 1e-4], repetitions, expected)
    assert low <= hits <= high


def noisy(rng, n, uneven):
    X = rng.uniform(-2, 2, (n, 2))
    size = np.exp(X[:, 0]) if uneven else np.ones(n)
    return X, size * rng.standard_normal(n), size


def test_even_noise_needs_no_widths_of_its_own():
    X, errors, _ = noisy(np.random.default_rng(0), 400, uneven=False)
    found = of(errors, X)
    assert found.spread is None
    assert np.ptp(found.half_width(X, 0.9)) == 0


def test_wider_where_noise_is_larger():
    X, errors, size = noisy(np.random.default_rng(0), 500, uneven=True)
    found = of(errors, X)
    assert found.spread is not None
    fresh, _, size = noisy(np.random.default_rng(1), 500, uneven=True)
    half = found.half_width(fresh, 0.9)
    assert np.corrcoef(np.log(half), np.log(size))[0, 1] > 0.9
    assert half[size > 4].mean() > 5 * half[size < 0.3].mean()


@pytest.mark.parametrize("uneven", [False, True])
def test_coverage_with_widths(uneven):
    """300 known errors, 300 new rows, again and again."""
    rng = np.random.default_rng(2)
    hits = {0.5: [], 0.9: []}
    small, large = [], []
    for _ in range(12):
        X, errors, _ = noisy(rng, 300, uneven)
        fresh, new, size = noisy(rng, 300, uneven)
        found = of(errors, X)
        for coverage, seen in hits.items():
            seen.append(np.mean(np.abs(new) <= found.half_width(fresh, coverage)))
        inside = np.abs(new) <= found.half_width(fresh, 0.9)
        small.append(inside[size <= np.median(size)].mean())
        large.append(inside[size >= np.median(size)].mean())
    for coverage, seen in hits.items():
        # Both samples vary: √(c(1−c)(1/300 + 1/300)/12) is a standard deviation of the mean.
        deviation = math.sqrt(coverage * (1 - coverage) * 2 / 300 / 12)
        assert abs(np.mean(seen) - coverage) < 4 * deviation, coverage
    if uneven:
        assert 0.82 < np.mean(small) < 0.97 and 0.82 < np.mean(large) < 0.97


@pytest.mark.parametrize(
    "errors",
    [
        np.zeros(150),
        np.ones(150),
        np.r_[np.zeros(100), np.ones(50)],
        np.full(150, 1e-300),
        np.full(150, 1e150),
    ],
    ids=["none", "all alike", "mostly none", "tiny", "huge"],
)
def test_errors_of_one_size(errors):
    X = np.random.default_rng(0).uniform(-1, 1, (150, 2))
    half = of(errors, X).half_width(X, 0.9)
    assert half == pytest.approx(np.full(150, np.abs(errors).max()))


def test_repeatable_and_bounded():
    X, errors, _ = noisy(np.random.default_rng(0), 300, uneven=True)
    a, b = of(errors, X), of(errors, X)
    far = np.array([[1e8, -1e8], [0.0, 0.0]])
    assert (a.half_width(far, 0.9) == b.half_width(far, 0.9)).all()
    assert np.log(a.scale(far)).min() >= a.low and np.log(a.scale(far)).max() <= a.high
