"""Spectra: against linear algebra, and laws that are known found again from data."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.theory import (
    CircleProblem,
    effective_dimension,
    fit_decay,
    minimax_exponent,
    smoothness,
    spectrum,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 2))
K = Gaussian(1.0)(X)


def test_effective_dimension_is_a_trace():
    lams = np.array([1e-4, 1e-2, 1.0])
    exact = [np.trace(K @ np.linalg.inv(K + 200 * lam * np.eye(200))) for lam in lams]
    for found in (
        effective_dimension(K, lams),
        effective_dimension(Gaussian(1.0), lams, X),
        effective_dimension(spectrum(K), lams),
    ):
        np.testing.assert_allclose(found.low, exact, rtol=1e-6)
        np.testing.assert_array_equal(found.low, found.high)


@pytest.mark.parametrize("centres", [5, 40, 150])
def test_effective_dimension_from_centres(centres):
    lams = np.logspace(-4, 0, 5)
    exact = effective_dimension(K, lams).low
    found = effective_dimension(Gaussian(1.0), lams, X, centres=centres, random_state=1)
    assert (found.low <= exact * (1 + 1e-6)).all() and (exact <= found.high * (1 + 1e-6)).all()
    if centres == 150:
        np.testing.assert_allclose(found.low[2:], found.high[2:], rtol=0.03)


def test_effective_dimension_of_many_points():
    X = np.random.default_rng(1).standard_normal((10_000, 2))  # two blocks and a rest
    found = effective_dimension(Gaussian(1.0), 1e-3, X, centres=200)
    few = effective_dimension(Gaussian(1.0), 1e-3, X[:1500])
    assert found.low[0] <= found.high[0] < found.low[0] + 1
    assert few.low[0] == pytest.approx(found.low[0], rel=0.08)  # of the points drawn so many are a sample


def test_energy():
    y = RNG.standard_normal(200)
    found = spectrum(K, y)
    assert found.energy.sum() == pytest.approx(np.mean(y**2)) and found.values.sum() == pytest.approx(1.0)
    assert (np.diff(found.values) <= 1e-12).all() and found.n == 200 and spectrum(K).energy is None


@pytest.mark.parametrize("b", [2, 4])
def test_capacity_of_the_circle(b):
    problem = CircleProblem(b, 0.5)
    X, _ = problem.draw(800, RNG)
    law = fit_decay(spectrum(problem.kernel(X)).values)
    assert law.kind == "polynomial" and law.exponent == pytest.approx(b, rel=0.06)


def test_capacity_of_the_gaussian():
    """Normal points: eigenvalues fall like B^i with B = b/(a+b+√(a²+2ab)), a = 1/4, b = 1/2σ²."""
    law = fit_decay(
        spectrum(Gaussian(0.5)(np.random.default_rng(1).standard_normal((1500, 1)))).values, last=12
    )
    B = 2 / (0.25 + 2 + np.sqrt(0.25**2 + 2 * 0.25 * 2))
    assert law.kind == "exponential" and law.exponent == pytest.approx(-np.log(B), rel=0.1)
    assert fit_decay(0.5 ** np.arange(1, 30)).at([1, 5]) == pytest.approx([0.5, 0.5**5])


@pytest.mark.parametrize("b, r, noise", [(2, 0.5, 0.1), (2, 1.0, 0.1), (4, 0.5, 0.1), (2, 0.75, 0.3)])
def test_source_condition_of_the_circle(b, r, noise):
    problem = CircleProblem(b, r, noise)
    X, y = problem.draw(1000, np.random.default_rng(0))
    found = smoothness(spectrum(problem.kernel(X), y))
    assert found.r == pytest.approx(r, rel=0.25) and found.noise == pytest.approx(noise**2, rel=0.25)
    assert found.exponent == pytest.approx(problem.exponent, abs=0.05)
    assert found.exponent == pytest.approx(minimax_exponent(found.b, found.r))


def test_the_exponent_by_hand():
    assert minimax_exponent(2, 0.5) == pytest.approx(2 / 3) and minimax_exponent(4, 1) == pytest.approx(8 / 9)
    assert minimax_exponent(2, 3, ridge=True) == minimax_exponent(2, 1) and minimax_exponent(1e9, 1) > 0.999


def test_the_exponent_in_norm_by_hand():
    assert minimax_exponent(2, 1, norm=True) == pytest.approx(2 / 5)
    assert minimax_exponent(4, 0.75, norm=True) == pytest.approx(2 / 7)
    assert minimax_exponent(2, 9, ridge=True, norm=True) == minimax_exponent(2, 1.5, norm=True)
    for gamma in (0.1, 0.5, 1.0):  # theorem 22, where nothing is known of the spectrum
        assert minimax_exponent(1, gamma + 0.5, norm=True) == pytest.approx(gamma / (gamma + 1))
    for b, r in ((2, 0.6), (4, 1.5)):
        assert minimax_exponent(b, r, norm=True) < minimax_exponent(b, r)


def test_bias_and_variance_in_norm():
    """Exact, of ridge regression with eigenvalues i^−b: Σ λ²(μ/(μ+λ))²… balanced over λ has the exponent."""
    i = np.arange(1, 200_001.0)
    for b, r in ((2.0, 0.75), (2.0, 1.25), (3.0, 2.5)):
        mu = i**-b
        truth = mu ** (2 * r) * i**-1.02 / mu  # squared coefficients in H_K: f* = L^r g

        def least(n, mu=mu, truth=truth):
            lams = np.geomspace(1e-5, 1, 100)
            bias = [np.sum((lam / (mu + lam)) ** 2 * truth) for lam in lams]
            variance = [np.sum(mu / (mu + lam) ** 2) / n for lam in lams]
            return min(np.add(bias, variance))

        ns = np.array([1e3, 1e4, 1e5])
        slope = -np.polyfit(np.log(ns), np.log([least(n) for n in ns]), 1)[0]
        assert slope == pytest.approx(minimax_exponent(b, r, ridge=True, norm=True), abs=0.04), (b, r)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: spectrum(np.ones((2, 3))), "square"),
        (lambda: spectrum(K, [1.0]), "one number for each"),
        (lambda: effective_dimension(K, 0.0), "positive"),
        (lambda: effective_dimension(Gaussian(1.0), 1.0), "give X"),
        (lambda: fit_decay([1.0, 0.0, 0.0, 0.0]), "at least three eigenvalues"),
        (lambda: fit_decay(np.ones(10), "linear"), "kind"),
        (lambda: smoothness(spectrum(K)), "make the spectrum with y"),
        (lambda: smoothness(spectrum(K, RNG.standard_normal(200))), "stand out of the noise"),
        (lambda: smoothness(spectrum(K, X[:, 0]), fit_decay(0.5 ** np.arange(1, 30))), "exponentially"),
        (lambda: minimax_exponent(0, 1), "positive"),
        (lambda: minimax_exponent(2, 0.5, norm=True), "not in H_K"),
        (lambda: CircleProblem(2, 0.5).norm_exponent, "not in H_K"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_width_left_to_the_points():
    X = np.random.default_rng(0).random((80, 2))
    exact, near = (
        effective_dimension(Gaussian(), 0.01, X),
        effective_dimension(Gaussian(), 0.01, X, centres=60),
    )
    assert near.low[0] <= exact.low[0] * (1 + 1e-6) and exact.high[0] <= near.high[0] * (1 + 1e-6)


def test_no_law_for_these():
    for values, options, message in (
        (np.arange(1, 50.0), {}, "largest first"),
        ([1.0, np.nan, 0.5, 0.2, 0.1], {}, "finite"),
        (np.arange(1, 50.0) ** -2, {"first": 0}, "counted from 1"),
    ):
        with pytest.raises(ValueError, match=message):
            fit_decay(values, **options)
    with pytest.raises(TypeError, match="spectrum"):
        smoothness(np.eye(3))
