"""What all learners share: numbers drawn for examples, points with more columns."""

import numpy as np
import pytest

from mercer.online.expansion import draws
from mercer.online.learner import widened


def test_draws_are_uniform_and_belong_to_examples():
    u = draws(7, 0, 20000)
    assert ((u >= 0) & (u < 1)).all()
    np.testing.assert_array_equal(np.concatenate([draws(7, 0, 13), draws(7, 13, 20)]), u[:33])
    assert u.mean() == pytest.approx(0.5, abs=0.01)
    assert u.var() == pytest.approx(1 / 12, abs=0.005)
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 0.03
    assert abs(np.corrcoef(u, draws(8, 0, 20000))[0, 1]) < 0.03
    assert len(np.unique(u)) == len(u)
    assert len(draws(2**31 - 2, 10**9, 4)) == 4


def test_points_get_more_columns():
    A = np.arange(6.0).reshape(3, 2)
    wide = widened(A.astype(np.float32), 2)
    np.testing.assert_array_equal(wide, np.hstack([A, np.zeros((3, 2))]))
    assert wide.dtype == np.float32
