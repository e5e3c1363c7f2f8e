"""The circle: its kernel's series, its spectrum, its truth."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import KernelRidge
from mercer.kernels import check
from mercer.theory import CircleProblem, CircleSpline, spectrum

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
