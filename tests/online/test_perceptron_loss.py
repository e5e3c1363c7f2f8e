"""The perceptron's loss."""

import numpy as np

from mercer.online import PerceptronLoss
from mercer.testing import check_loss


def test_laws():
    check_loss(PerceptronLoss())


def test_a_mistake_is_a_mistake_at_zero_too():
    y, s = np.array([[1.0, -1.0, 1.0, -1.0, 1.0]]), np.array([[0.0, 0.0, 2.0, 3.0, -0.5]])
    np.testing.assert_array_equal(PerceptronLoss().grad(y, s), [[-1.0, 1.0, 0.0, 1.0, -1.0]])
    np.testing.assert_array_equal(PerceptronLoss().value(y, s), [[0.0, 0.0, 0.0, 3.0, 0.5]])


def test_conjugate_is_finite_between_the_slopes():
    u = np.array([[-1.5, -1.0, -0.3, 0.0, 0.2]])
    np.testing.assert_array_equal(
        np.isfinite(PerceptronLoss().conjugate(np.ones((1, 5)), u)), [[False, True, True, True, False]]
    )
