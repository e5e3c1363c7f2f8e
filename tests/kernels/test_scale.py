"""Length scales read off the data."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from mercer.kernels import Gaussian
from mercer.kernels.radial import median_distance
from mercer.kernels.statistics import L1Distance, SquaredDistance


@pytest.mark.parametrize("n", [2, 3, 10, 101])
@pytest.mark.parametrize("d", [1, 3, 8])
def test_median_of_all_pairs(n, d):
    X = np.random.default_rng(n).standard_normal((n, d)) + 50
    assert median_distance(SquaredDistance(), X) == pytest.approx(np.median(pdist(X)))
    assert median_distance(L1Distance(), X) == pytest.approx(np.median(pdist(X, "cityblock")))


def test_sparse_points():
    X = sp.random(30, 20, density=0.3, format="csr", random_state=0)
    assert median_distance(SquaredDistance(), X) == pytest.approx(np.median(pdist(X.toarray())))


def test_many_points_are_sampled_evenly():
    # A table that repeats every 4 rows: rows taken with a stride would see only some of them.
    X = np.tile([[0.0], [1.0], [2.0], [3.0]], (1500, 1))
    X += 0.01 * np.random.default_rng(0).standard_normal(X.shape)
    assert median_distance(SquaredDistance(), X) == pytest.approx(1.0, abs=0.05)
    assert median_distance(SquaredDistance(), X) == median_distance(SquaredDistance(), X)


def test_mostly_equal_points():
    X = np.array([[0.0]] * 8 + [[2.0]])  # 28 of 36 pairs coincide
    assert median_distance(SquaredDistance(), X) == 2.0


@pytest.mark.parametrize("X", [np.zeros((5, 2)), np.ones((1, 2)), np.zeros((0, 2))])
def test_no_distance_to_go_by(X):
    assert median_distance(SquaredDistance(), X) == 1.0


def test_single_precision_gives_a_plain_float():
    sigma = Gaussian().resolve(np.array([[0.0], [2.0]], np.float32)).sigma
    assert type(sigma) is float


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_copies_of_a_point_count_once(make):
    distinct = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0], [6.0, 8.0]])
    X = distinct[[2, 0, 0, 1, 0, 3, 0, 0]]
    assert median_distance(SquaredDistance(), make(X)) == pytest.approx(np.median(pdist(distinct)))
    assert median_distance(SquaredDistance(), make(X)) != pytest.approx(np.median(pdist(X)))


@pytest.mark.parametrize(
    "X", [1e200 * np.eye(3), 1e30 * np.eye(3, dtype=np.float32)], ids=["double", "single"]
)
def test_points_that_are_too_large(X):
    with pytest.raises(ValueError, match=f"no {X.dtype} numbers: scale them first"):
        median_distance(SquaredDistance(), X)
