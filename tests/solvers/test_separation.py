"""Whether examples can be told apart, by a closed form on a line."""

import numpy as np
import pytest

from mercer.solvers.separation import separable, strictly_separable


@pytest.mark.parametrize("seed", range(40))
def test_on_a_line(seed):
    """By a threshold or not at all; strictly if no point lies on it."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 6, 5).astype(float), np.array([-1.0, -1, 1, 1, rng.choice([-1.0, 1])])
    low, high = x[y < 0], x[y > 0]
    apart = low.max() <= high.min() or high.max() <= low.min()
    same = low.max() == low.min() == high.max() == high.min()
    strictly = low.max() < high.min() or high.max() < low.min()
    rows = y[:, None] * np.column_stack([x, np.ones(5)])
    assert separable(rows) == (apart and not same)
    assert bool(strictly_separable(rows)) == strictly


def test_as_many_coordinates_as_rows_and_rows_of_zeros():
    rng = np.random.default_rng(0)
    assert separable(rng.standard_normal((6, 6)))
    assert not separable(np.zeros((3, 2))) and strictly_separable(np.zeros((3, 2))) is False
    assert separable(np.array([[0.0, 0.0], [1.0, 0.0]]))
