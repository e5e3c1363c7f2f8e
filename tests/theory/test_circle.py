"""The circle: its kernel's series, its spectrum, its truth."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import KernelRidge
from mercer.kernels import check
from mercer.theory import CircleProblem, CircleSpline, risk_curve, spectrum

X = np.random.default_rng(0).random((40, 1))


@pytest.mark.parametrize("b", [2, 4, 6, 8])
def test_the_series(b):
    j = np.arange(1, 20_000)
    t = np.array([0.0, 0.1, 0.5, 0.93])
    series = (2 * np.cos(2 * np.pi * j * t[:, None]) / (2 * np.pi * j) ** b).sum(axis=1)
    np.testing.assert_allclose(
        CircleSpline(b)(t[:, None], [[0.0]])[:, 0], series, atol=1e-5 if b == 2 else 1e-12
    )
    kernel = CircleSpline(b)
    np.testing.assert_allclose(kernel(X + 1, X), kernel(X), atol=1e-12)  # a circle
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)))
    assert kernel.amplitude() == pytest.approx(kernel.diag(X)[0])
    assert check(kernel, X).ok and clone(kernel) == kernel


def test_eigenvalues():
    """On a grid of n points eigenvalue j is Σ_l (2π|j + ln|)^−b: nearly (2πj)^−b."""
    grid = np.arange(400)[:, None] / 400
    values = spectrum(CircleSpline(4)(grid)).values
    np.testing.assert_allclose(values[:10:2], (2 * np.pi * np.arange(1, 6)) ** -4.0, rtol=1e-6)
    np.testing.assert_allclose(values[:10:2], values[1:10:2], rtol=1e-6)


def test_the_truth():
    problem = CircleProblem(b=2, r=0.5, noise=0.3)
    grid = np.arange(4096)[:, None] / 4096
    j = np.arange(1, 1001)
    assert np.mean(problem.truth(grid) ** 2) == pytest.approx(np.sum(j**-3.0))
    drawn, y = problem.draw(4000, np.random.default_rng(0))
    assert np.std(y - problem.truth(drawn)) == pytest.approx(0.3, rel=0.05)


def test_the_excess_risk():
    problem = CircleProblem()
    nothing = KernelRidge(problem.kernel, offset=False).fit(X, np.zeros(40))
    assert problem.excess(nothing) == pytest.approx(np.sum(np.arange(1, 1001) ** -3.0), rel=1e-3)


def test_no_such_spline():
    with pytest.raises(ValueError, match="b must be 2, 4, 6 or 8"):
        CircleSpline(3)(X)


def test_the_distance_in_norm():
    """Against coefficients: the space is ℓ² of Fourier coefficients over √eigenvalues."""
    problem = CircleProblem(b=4, r=0.8, noise=0.1)
    P, y = problem.draw(60, np.random.default_rng(1))
    machine = KernelRidge(problem.kernel, lam=1e-6, offset=False).fit(P, y)
    j = np.arange(1, 1001)
    mu = (2 * np.pi * j) ** -4.0
    angle = 2 * np.pi * j[:, None] * machine.function_.points[:, 0]
    c = machine.function_.coef
    cosines, sines = np.sqrt(2) * mu * (np.cos(angle) @ c), np.sqrt(2) * mu * (np.sin(angle) @ c)
    expected = np.sum((cosines - j**-3.7) ** 2 / mu) + np.sum(sines**2 / mu)
    assert problem.squared_distance(machine) == pytest.approx(expected, rel=1e-4)


def test_the_rate_in_norm():
    problem = CircleProblem(b=2, r=1.0, noise=0.2)

    def machine(n):
        return KernelRidge(problem.kernel, lam=problem.lam(n), offset=False)

    sizes = [50, 100, 200, 400]
    near = risk_curve(machine, problem.draw, sizes, risk=problem.squared_distance, repetitions=20)
    right = risk_curve(machine, problem.draw, sizes, risk=problem.excess, repetitions=20)
    assert near.rate.exponent == pytest.approx(problem.norm_exponent, abs=0.15)
    assert near.rate.exponent < right.rate.exponent
    assert near.rate.low < problem.norm_exponent + 0.1 and near.rate.high > problem.norm_exponent - 0.1


def test_what_has_no_distance():
    fitted = KernelRidge(CircleSpline(2), lam=0.1).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="not in H_K"):
        CircleProblem(2, 0.5).squared_distance(fitted)
    with pytest.raises(ValueError, match=r"CircleSpline\(b=4\) is needed"):
        CircleProblem(4, 1.0).squared_distance(fitted)
