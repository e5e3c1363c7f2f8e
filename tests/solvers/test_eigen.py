"""Largest eigenpairs from products: against LAPACK, and where there are fewer than were asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.solvers.eigen import largest_eigenpairs


def of(A, count, **options):
    return largest_eigenpairs(lambda V: A @ V, len(A), count, np.random.default_rng(0), **options)


def symmetric(values, seed=0):
    """A matrix with these eigenvalues in random directions."""
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))
    A = (Q * values) @ Q.T
    return (A + A.T) / 2


@pytest.mark.parametrize(
    "values",
    [
        0.5 ** np.arange(200.0),  # as of smooth kernels
        1 / np.arange(1.0, 301) ** 2,
        np.concatenate([np.ones(7), np.linspace(0, 0.5, 200)]),  # a multiple eigenvalue
        np.linspace(-1, 1, 150),  # of both signs
    ],
    ids=["geometric", "quadratic", "multiple", "signs"],
)
def test_equals_lapack(values):
    A = symmetric(values)
    found = of(A, 7, tol=1e-9)
    np.testing.assert_allclose(found.values, np.sort(values)[::-1][:7], atol=1e-12)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(7), atol=1e-10)
    left = np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0)
    np.testing.assert_allclose(left, found.residuals, atol=1e-12)
    assert left.max() <= 1e-9 and found.status == "converged"


@given(n=st.integers(1, 40), rank=st.integers(0, 5), count=st.integers(1, 45), seed=st.integers(0, 2**32 - 1))
def test_few_directions(n, rank, count, seed):
    """Rank below what is asked for, and more asked for than there are."""
    F = np.random.default_rng(seed).standard_normal((n, rank))
    found = of(F @ F.T, count)
    exact = np.linalg.eigvalsh(F @ F.T)[::-1][:count]
    np.testing.assert_allclose(found.values, exact, atol=1e-9 * max(1.0, np.abs(exact).max()))
    assert len(found.values) == min(n, count)


def test_restarts_lose_nothing():
    """A flat spectrum needs more vectors than are kept at once."""
    values = np.concatenate([[1.2, 1.15, 1.1], np.linspace(0, 1, 2000)])
    found = largest_eigenpairs(lambda V: values[:, None] * V, 2003, 3, np.random.default_rng(0), tol=1e-8)
    np.testing.assert_allclose(found.values, [1.2, 1.15, 1.1], atol=1e-13)
    assert found.passes > 8


def test_says_how_far_it_came():
    values = np.linspace(0, 1, 3000)
    found = largest_eigenpairs(lambda V: values[:, None] * V, 3000, 2, np.random.default_rng(0), 1e-12, 5)
    assert found.status == "max_iter" and found.passes == 5 and found.residuals.max() > 1e-12


def test_rounding_ends_it():
    """Products in single precision: what they allow, and no endless search for more."""
    A = symmetric(0.7 ** np.arange(400.0)).astype(np.float32)
    found = largest_eigenpairs(
        lambda V: (A @ V.astype(np.float32)).astype(np.float64), 400, 5, np.random.default_rng(0), 1e-12
    )
    assert found.status == "stalled" and found.passes < 60
    np.testing.assert_allclose(found.values, 0.7 ** np.arange(5.0), atol=1e-5)
