"""Kernels on finite domains and precomputed Gram matrices."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import KernelRidge
from mercer.functions import section
from mercer.kernels import Finite, Gaussian, Linear, Precomputed, check

M = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 1.0]])


def test_values_are_entries_of_the_matrix():
    k = Finite(M)
    X, Z = [2, 0, 0], [1, 2]
    expected = [[M[i, j] for j in Z] for i in X]
    np.testing.assert_array_equal(k(X, Z), expected)
    np.testing.assert_array_equal(k(np.array(X, dtype=np.uint8)), [[M[i, j] for j in X] for i in X])
    np.testing.assert_array_equal(k.diag(X), [1.0, 2.0, 2.0])
    assert len(k) == 3


@pytest.mark.parametrize("points", [[1, 2], np.array([1.0, 2.0]), [[1], [2]], np.array([[1.0], [2.0]])])
def test_ways_to_write_points(points):
    np.testing.assert_array_equal(Finite(M)(points), M[1:, 1:])


@pytest.mark.parametrize("make", [list, np.asarray, sp.csr_array, sp.csr_matrix])
def test_ways_to_write_the_matrix(make):
    k = Finite(make(M))
    np.testing.assert_array_equal(k([0, 1, 2]), M)
    assert k.dimension() == 3
    assert check(k).ok


def test_float32_and_integer_matrices():
    assert Finite(M.astype(np.float32))([0, 1]).dtype == np.float32
    assert Finite([[2, 1], [1, 2]])([0]).dtype == np.float64


@pytest.mark.parametrize("points", [[3], [-1], [0.5], [np.nan], ["a"], [[[0]]], 0])
def test_points_outside_the_domain_are_refused(points):
    with pytest.raises(ValueError, match="integers 0 … 2"):
        Finite(M)(points)


@pytest.mark.parametrize(
    "matrix, reason",
    [
        ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "square"),
        ([1.0, 2.0], "square"),
        ([[1.0, 2.0], [0.0, 1.0]], r"symmetric: entry \(0, 1\) is 2 but \(1, 0\) is 0"),
        ([[1.0, np.nan], [np.nan, 1.0]], "NaN or infinity"),
        ([["a", "b"], ["b", "a"]], "real numbers"),
        ([[1j, 0], [0, 1j]], "real numbers"),
    ],
)
def test_bad_matrices_are_refused_with_the_reason(matrix, reason):
    with pytest.raises(ValueError, match=reason):
        Finite(matrix)([0])


@pytest.mark.parametrize("rank", [0, 1, 2, 4])
def test_dimension_is_the_rank_of_the_matrix(rank):
    F = np.random.default_rng(0).standard_normal((5, rank))
    k = Finite(F @ F.T)
    assert k.dimension() == rank
    verdict = check(k)
    assert verdict.ok
    assert verdict.by == "rule"


def test_a_singular_matrix_identifies_points():
    # Two states with equal rows are the same element of the space.
    k = Finite([[1.0, 1.0], [1.0, 1.0]])
    assert k.dimension() == 1
    assert k.distance([0], [1])[0, 0] == 0


def test_an_indefinite_matrix_is_no_kernel():
    bad = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert Finite(bad).rule() is None
    verdict = check(Finite(bad))
    assert not verdict.ok
    index = verdict.points
    assert verdict.c @ bad[np.ix_(index, index)] @ verdict.c < 0


def test_new_points_by_their_kernel_values():
    # A point outside the domain is known through its row of values with the domain.
    X, new = np.random.default_rng(0).standard_normal((4, 2)), np.array([[0.3, -0.2], [1.0, 1.0]])
    k = Finite(Linear()(X))
    rows = new @ X.T
    np.testing.assert_array_equal(k(rows, [1, 3]), rows[:, [1, 3]])
    np.testing.assert_array_equal(k([1, 3], rows), rows[:, [1, 3]].T)
    for call, words in (
        (lambda: k(rows, rows), "two points outside"),
        (lambda: k.diag(rows), "outside the domain"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(ValueError, match="kernel values with the 4 points.*length 3"):
        k(np.ones((2, 3)), [0])
    with pytest.raises(ValueError, match="NaN"):
        k(np.full((2, 4), np.nan), [0])


def test_takes_part_in_the_algebra():
    k = 2 * Finite(M) + Finite(np.eye(3)) * Finite(M)
    np.testing.assert_allclose(k([0, 1, 2]), 2 * M + np.eye(3) * M)
    # One column of states beside one of numbers.
    table = np.array([[0, 0.5], [2, 1.5], [1, -1.0]])
    mixed = Finite(M).on([0]) * Gaussian(1.0).on([1])
    states, x = table[:, 0].astype(int), table[:, 1]
    np.testing.assert_allclose(mixed(table), M[np.ix_(states, states)] * np.exp(-0.5 * (x[:, None] - x) ** 2))


def test_precomputed_becomes_finite_at_fit():
    kernel, points = Precomputed().bind(M)
    assert kernel == Finite(M)
    np.testing.assert_array_equal(points, [0, 1, 2])
    np.testing.assert_array_equal(kernel(points), M)


@pytest.mark.parametrize("make", [sp.csr_array, list])
def test_precomputed_takes_any_matrix(make):
    kernel, points = Precomputed().bind(make(M))
    np.testing.assert_array_equal(kernel(points), M)


@pytest.mark.parametrize(
    "matrix, reason", [(M[:2], "square"), (M + np.triu(M, 1), "symmetric"), (M * np.nan, "NaN")]
)
def test_precomputed_refuses_what_is_no_gram_matrix(matrix, reason):
    with pytest.raises(ValueError, match=f"precomputed Gram matrix.*{reason}"):
        Precomputed().bind(matrix)


def test_precomputed_stands_alone():
    with pytest.raises(ValueError, match="Finite"):
        Precomputed()(M)
    with pytest.raises(ValueError, match="Finite"):
        (2 * Precomputed()).bind(M)
    with pytest.raises(ValueError, match="Finite"):
        (Linear() * Linear() + Precomputed()).bind(M)


def test_a_domain_that_begins_with_one():
    """[000] has X = {1, …, L}."""
    k = Finite(M, first=1)
    np.testing.assert_array_equal(k([3, 1], [2, 2]), M[np.ix_([2, 0], [1, 1])])
    np.testing.assert_array_equal(k.diag([3, 1]), [1.0, 2.0])
    np.testing.assert_array_equal(k(k.domain()), M)
    np.testing.assert_array_equal(k(k.points(k.points([1, 3]))), M[np.ix_([0, 2], [0, 2])])
    np.testing.assert_array_equal(k([[0.5, 0.2, 0.1]], [3, 1]), [[0.1, 0.5]])  # a new point, by its values
    for points in ([0, 1], [4], [1.5]):
        with pytest.raises(ValueError, match="integers 1 … 3"):
            k(points)
    for first in (0.5, "one", None, True):
        with pytest.raises(ValueError, match="first must be an integer"):
            Finite(M, first=first)([1])
    assert (
        Finite(M, first=1) != Finite(M)
        and repr(Finite([[1.0]], first=1)) == "Finite(matrix=[[1.0]], first=1)"
    )


def test_functions_and_machines_on_it():
    k, y = Finite(M, first=1), [1.0, 2.0, 0.5, 1.5]
    f = section(k, 2)
    np.testing.assert_array_equal(f([1, 2, 3]), M[1])
    assert f @ section(k, 3) == M[1, 2]
    ours = KernelRidge(k, lam=0.1).fit([1, 3, 2, 3], y)
    same = KernelRidge(Finite(M), lam=0.1).fit([0, 2, 1, 2], y)
    np.testing.assert_array_equal(ours.predict([1, 2, 3]), same.predict([0, 1, 2]))


def test_a_witness_on_it_has_its_names():
    bad = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 2.0, 1.0]])
    assert sorted(check(Finite(bad, first=1)).points) == [2, 3]
    with pytest.raises(ValueError) as refused:
        KernelRidge(Finite(bad, first=1), lam=0.1).fit([1, 2, 3], [1.0, 2.0, 3.0])
    assert sorted(refused.value.verdict.points) == [2, 3]
    KernelRidge(Finite(bad, first=1), lam=0.1).fit([1, 2], [1.0, 2.0])  # without 3 it is one
